"""An answer that is written before the reasoning it should rest on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.analysis.lint.subject import Field, Subject
from engine.findings import Finding
from engine.grammar.json_schema.branch import Branch

# fmt: off
ANSWERS = frozenset((
    "answer", "answers", "category", "choice", "class", "classification", "conclusion", "decision", "diagnosis",
    "final", "grade", "judgement", "judgment", "label", "labels", "outcome", "prediction", "rating",
    "recommendation", "result", "results", "score", "scores", "sentiment", "solution", "verdict",
))
REASONINGS = frozenset((
    "analysis", "argument", "cot", "deliberation", "derivation", "evidence", "explanation", "explanations",
    "justification", "rationale", "reason", "reasoning", "reasons", "reflection", "scratchpad", "steps",
    "thinking", "thought", "thoughts", "why", "working", "workings",
))
# fmt: on
"""Words of names, lower case."""

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
TEXTS = frozenset(("string", "array", "object"))
"""Types that can hold a reasoning; the count of steps is none."""

WHY = (
    "A model writes from left to right, and members come in declared order: what stands later cannot help to find "
    "what is fixed already."
)


def order_findings(subject: Subject) -> Iterator[Finding]:
    """Answers that are declared before a reasoning, in the declared order (`key_order="schema"`)."""
    if subject.options.key_order != "schema":
        return
    for position in subject.positions:
        for branch in position.branches:
            if "object" in branch.kinds:
                yield from _of_object(subject, branch)


def _of_object(subject: Subject, branch: Branch) -> Iterator[Finding]:
    fields = subject.fields(branch)
    reasoning: Field | None = None
    for field in reversed(fields):
        words = frozenset(word.lower() for word in WORDS.findall(field.name))
        if words & REASONINGS:
            reasoning = field if _holds_text(subject, field) else reasoning
        elif words & ANSWERS and reasoning is not None:
            message = (
                f"{field.name!r} is written before {reasoning.name!r}, so it is fixed before any of the reasoning is "
                f"there. Declare {reasoning.name!r} first."
            )
            yield Finding(field.pointer, "warning", "properties", message, WHY)


def _holds_text(subject: Subject, field: Field) -> bool:
    return any(branch.kinds & TEXTS for branch in subject.values.branches.of(field.asked))
