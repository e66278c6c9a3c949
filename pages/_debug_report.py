"""The live report about a source: does it compile, what is not enforced, what is risky, how large it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.lint import lint
from engine.budget import Budget
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.findings import Finding
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.json_schema.source import escape
from engine.grammar.requests.providers import PROVIDERS
from engine.once import Once
from pages._constraints import HEAVIEST, compiled, said, weight
from visualizations.findings import Group, findings_list, selected_finding
from visualizations.notice import notice

if TYPE_CHECKING:
    from engine.vocabulary import Vocabulary

PART_BUDGET = Budget(seconds=1.0)
PARTS_SECONDS = 3.0  # for all parts together
SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}

Key = tuple[str, str, object, object, object]
"""What the report of a source depends on: its kind, its text, its options."""


@dataclass(frozen=True, slots=True)
class PartSize:
    """A top-level property compiled alone: what it costs by itself. `seconds` None: it was refused."""

    pointer: str
    seconds: float | None
    terms: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """All that is said about a source. `constraint` None: it was refused."""

    constraint: Constraint | None
    groups: tuple[Group, ...]
    parts: tuple[PartSize, ...] = ()
    parts_left_out: int = 0

    @property
    def findings(self) -> list[Finding]:
        return [finding for group in self.groups for finding in group.findings]


def key_of(source: ConstraintSource) -> Key:
    return (source.kind, source.text, source.options, source.after, source.free_after)


_kept: Once[tuple[Key, str, tuple[str, ...]], Examined] = Once(
    64, lambda asked, found: weight(asked[0][1], found.constraint), HEAVIEST
)


def examined(source: ConstraintSource, vocabulary: Vocabulary | None, providers: Sequence[str] = ()) -> Examined:
    """The report, computed once for all visitors. Takes seconds for a monster; for a thread."""
    digest = vocabulary.digest if vocabulary is not None else ""
    names = tuple(providers)
    return _kept.get((key_of(source), digest, names), lambda: _examined(source, vocabulary, names))


def _examined(source: ConstraintSource, vocabulary: Vocabulary | None, providers: tuple[str, ...]) -> Examined:
    constraint = compiled(source)
    if isinstance(constraint, ConstraintError):
        return Examined(None, (Group("Refused", (_refusal(constraint),)),))
    report = constraint.report
    sizes, left_out = _parts(constraint)
    groups = (
        Group("Not enforced", [_unenforced(u.pointer, u.keyword, u.reason) for u in report.not_enforced]),
        Group("Parts that nothing satisfies", _unsatisfiable(constraint)),
        Group("What the provider does otherwise", report.findings),
        Group("Worth a look", _lint(constraint, providers, vocabulary), "The lint has nothing to say."),
        Group("Notes", [Finding(report.found_at, "info", "", note) for note in report.notes]),
    )
    return Examined(constraint, groups, sizes, left_out)


def _refusal(error: ConstraintError) -> Finding:
    hint = (
        "Options, “Keywords that can't be enforced”, leaves such keywords out instead."
        if error.keyword and not error.unsatisfiable
        else ""
    )
    return Finding(error.pointer, "error", error.keyword, said(error), hint)


def _unenforced(pointer: str, keyword: str, reason: str) -> Finding:
    return Finding(pointer, "warning", keyword, reason, "A text that violates it is accepted.")


def _unsatisfiable(constraint: Constraint) -> list[Finding]:
    try:
        pointers = constraint.report.unsatisfiable
    except ConstraintError as error:
        return [Finding(error.pointer, "info", "", f"Not decided: {error}")]
    return [Finding(p, "warning", "", "No value satisfies this part.", "A model can never write it.") for p in pointers]


def _lint(constraint: Constraint, providers: tuple[str, ...], vocabulary: Vocabulary | None) -> tuple[Finding, ...]:
    schema = constraint.schema
    if schema is None:
        return ()
    options = {field.name: getattr(schema.options, field.name) for field in fields(schema.options)}
    return lint(schema.value, vocabulary=vocabulary, providers=providers, at=schema.at, **options)


def _parts(constraint: Constraint) -> tuple[tuple[PartSize, ...], int]:
    """Each top-level property compiled alone, as far as the time goes, and how many were left out."""
    schema = constraint.schema
    if schema is None:
        return (), 0
    body = schema.value
    for token in schema.at.split("/")[1:]:
        body = body[int(token)] if isinstance(body, list) else body[token.replace("~1", "/").replace("~0", "~")]
    properties = body.get("properties") if isinstance(body, dict) else None
    names = list(properties) if isinstance(properties, dict) else []
    options = {field.name: getattr(schema.options, field.name) for field in fields(schema.options)}
    until, sizes = time.monotonic() + PARTS_SECONDS, list[PartSize]()
    for name in names:
        if time.monotonic() > until:
            break
        pointer = f"{schema.at}/properties/{escape(name)}"
        try:
            report = compile_json_schema(schema.value, at=pointer, budget=PART_BUDGET, **options).report
            sizes.append(PartSize(pointer, report.seconds, report.terms))
        except ConstraintError as error:
            sizes.append(PartSize(pointer, None, 0, said(error)))
    return tuple(sizes), len(names) - len(sizes)


def headline(source: ConstraintSource, found: Examined) -> None:
    """Compiled or refused, and how large it is."""
    if found.constraint is None:
        refusal = found.findings[0]
        notice(f"Refused. {refusal.message}", key="debug_refused")
        return
    report = found.constraint.report
    provider = PROVIDERS[report.provider].label if report.provider in PROVIDERS else ""
    what = f"Compiled what a request to {provider} asks for at {report.found_at}," if provider else "Compiled"
    sizes = (
        _counted(report.terms, "term"),
        f"{_counted(len(source.text.encode(errors='replace')), 'byte')} of source",
    )
    said_of = [_counted(sum(f.severity == kind for f in found.findings), word) for kind, word in SEVERITIES.items()]
    text = f"{what} in {report.seconds * 1000:,.0f} ms: {', '.join(sizes)}. {', '.join(said_of)}."
    notice(text, key="debug_compiled", kind="info")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'s' * (number != 1)}"


def report_panel(found: Examined, selected: str | None, on_select: object) -> None:
    """The remarks, each of which selects its place, and the sizes of the parts."""
    if found.constraint is not None and found.constraint.schema is not None:
        st.multiselect(
            "Also check for",
            list(PROVIDERS),
            format_func=lambda name: PROVIDERS[name].label,
            key="debug_providers",
            placeholder="providers and engines whose limits count",
            persist_state="session",
        )

    def select() -> None:
        picked = selected_finding(st.session_state["debug_findings"].select, found.groups)
        if picked is not None and callable(on_select):
            on_select(picked)

    findings_list(found.groups, selected=selected, key="debug_findings", on_select=select)
    if found.parts:
        _sizes(found)


def _sizes(found: Examined) -> None:
    with st.expander("Sizes by part"):
        st.caption("Each top-level property compiled alone: what it costs by itself.")
        rows = sorted(found.parts, key=lambda part: -part.terms)
        st.dataframe(
            {
                "part": [part.pointer for part in rows],
                "ms": [None if part.seconds is None else round(part.seconds * 1000, 1) for part in rows],
                "terms": [part.terms for part in rows],
                "refused": [part.message for part in rows],
            },
            hide_index=True,
            height=min(320, 40 + 35 * len(rows)),
        )
        if found.parts_left_out:
            st.caption(f"{found.parts_left_out:,} more were not measured: the time for it was over.")


def narrowed(pointer: str, keyword: str) -> str:
    """A place as exactly as it is known: the keyword within its part, where parts have JSON Pointers."""
    return f"{pointer}/{escape(keyword)}" if keyword and pointer[:1] in ("", "/") else pointer
