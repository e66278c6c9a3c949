"""The steps of a run as CSV, one row each."""

from __future__ import annotations

import csv
import io
from itertools import accumulate

from engine.decoding.records import Trace
from visualizations.tokens import argmax_text, token_text

COLUMNS = (
    "step",
    "offset",
    "token_id",
    "token",
    "kind",
    "rank",
    "raw",
    "renormalised",
    "allowed_count",
    "z",
    "cost",
    "running_cost",
    "raw_entropy",
    "renormalised_entropy",
    "first_choice",
    "first_choice_masked",
    "masked_by",
    "speaking",
    "before",
)

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def steps_csv(trace: Trace) -> str:
    """The table, comma-separated, with a header. Costs and entropies in nats."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    totals = accumulate(step.cost for step in trace.steps)
    for step, total in zip(trace.steps, totals, strict=True):
        writer.writerow(
            [
                step.index,
                step.offset,
                step.token_id,
                _text(token_text(step.token, step.token_id, step.end)),
                step.kind,
                step.rank,
                step.raw,
                step.renormalised,
                step.allowed_count,
                step.z,
                step.cost,
                f"{total:.9g}",
                step.raw_entropy,
                step.renormalised_entropy,
                _text(argmax_text(step)),
                step.argmax_masked,
                _text("; ".join(map(str, step.argmax_origins))),
                _text("; ".join(map(str, step.origins))),
                _text(step.before),
            ]
        )
    return out.getvalue()


def _text(value: str) -> str:
    """A cell that a spreadsheet takes for text: what begins like a formula would be run."""
    return f"'{value}" if value.startswith(_FORMULA) else value
