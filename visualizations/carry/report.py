"""A run as one HTML file that replays by itself: no server, no network, nothing but what is in it."""

from __future__ import annotations

import json
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

from engine.decoding.records import Candidate, Step, Trace
from visualizations.tokens import argmax_text, candidate_text, token_text, visible

_FILES = Path(__file__).with_name("page")

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This report replays a run with a small script of its own; scripts are switched off here.</noscript>
<main></main>
<script type="application/json" id="run">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def report(trace: Trace) -> str:
    """The file. Text of the run's stands in it as JSON only, which the page puts into text nodes."""
    data = json.dumps(_data(trace), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return _PAGE.format(
        title=escape(f"Run {trace.run_id} of {trace.model}"),
        style=(_FILES / "report.css").read_text(encoding="utf-8"),
        script=(_FILES / "report.js").read_text(encoding="utf-8"),
        data=data.replace("<", "\\u003c"),
    )


def _data(trace: Trace) -> dict[str, Any]:
    spec = trace.spec
    source, sampler = spec.constraint, spec.sampler
    totals = accumulate(step.cost for step in trace.steps)
    return {
        "run": trace.run_id,
        "model": trace.model,
        "vocabulary": trace.vocabulary_size,
        "prompt": spec.prompt,
        "constraint": {"kind": source.kind, "text": source.text, "options": list(source.options)} if source else None,
        "settings": {
            "chat template": spec.chat_template,
            "temperature": sampler.temperature,
            "top-k": sampler.top_k,
            "top-p": sampler.top_p,
            "min-p": sampler.min_p,
            "seed": sampler.seed,
            "token limit": spec.max_tokens,
            "policy": spec.policy,
            "healing": spec.healing,
            "jump-forward": spec.jump_forward,
            "close in time": spec.close_in_time,
            "free text up to": source.after if source else "",
        },
        "healed": visible(trace.healed.prefix) if trace.healed else "",
        "output": trace.text.decode(errors="replace"),
        "finish": trace.finish or "going on",
        "missing": trace.missing,
        "passes": trace.passes,
        "steps": [_step(step, total) for step, total in zip(trace.steps, totals, strict=True)],
    }


def _step(step: Step, total: float) -> dict[str, Any]:
    return {
        "token": token_text(step.token, step.token_id, step.end),
        "kind": "end" if step.end else step.kind,
        "before": step.before,
        "speaking": [str(origin) for origin in step.origins],
        "allowed": step.allowed_count,
        "z": step.z,
        "total": total,
        "rank": step.rank,
        "raw": step.raw,
        "renormalised": step.renormalised,
        "wanted": argmax_text(step) if step.argmax_masked else "",
        "by": [str(origin) for origin in step.argmax_origins],
        "candidates": [_candidate(candidate) for candidate in step.candidates],
    }


def _candidate(candidate: Candidate) -> list[Any]:
    return [candidate_text(candidate), candidate.rank, candidate.raw, candidate.renormalised, int(candidate.allowed)]
