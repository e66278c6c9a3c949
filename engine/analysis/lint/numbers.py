"""Bounds of numbers, which the mask enforces digit by digit and no model keeps by itself."""

from __future__ import annotations

from collections.abc import Iterator

from engine.analysis.lint.subject import Subject, constants
from engine.findings import Finding
from engine.grammar.json_schema.clauses import NUMBERS, Bound, Multiple
from engine.grammar.json_schema.numbers.text import NumberFacts, plain_decimal
from engine.grammar.json_schema.scalars import number_facts

MOST_COUNTED = 1_000
MOST_LISTED = 20
"""Values up to which an enum is advised instead."""

WHY = (
    "Digits are decided from the left, before the model knows that a bound is near: the mask then forces those that "
    "still lead to an allowed number, whatever number was meant."
)


def number_findings(subject: Subject) -> Iterator[Finding]:
    """Numbers with bounds or divisors; a bound of 0 alone only rules out the minus sign."""
    for position in subject.positions:
        for branch in position.branches:
            facts = number_facts(branch)
            if branch.kinds & NUMBERS and constants(branch) is None and _forces_digits(facts):
                owner = subject.values.owner(branch, position.pointer, (Multiple, Bound))
                yield Finding(owner.pointer, "info", owner.keyword, _message(subject, facts), WHY)


def _forces_digits(facts: NumberFacts) -> bool:
    return facts.high is not None or bool(facts.low) or any(divisor != 1 for divisor in facts.multiples)


def _message(subject: Subject, facts: NumberFacts) -> str:
    message = f"The mask, not the model, keeps the number {_range(facts)}."
    values = subject.values.numbers.count_up_to(facts, MOST_COUNTED)
    if values is None:
        return f"{message} Name the bounds in the prompt."
    left = f"{message} It leaves {len(values):,} value{'s' if len(values) != 1 else ''}"
    advice = ": list them in an enum, or name" if len(values) <= MOST_LISTED else "; name"
    return f"{left}{advice} the bounds in the prompt."


def _range(facts: NumberFacts) -> str:
    low = "" if facts.low is None else plain_decimal(facts.low)
    high = "" if facts.high is None else plain_decimal(facts.high)
    if low and high and not (facts.low_exclusive or facts.high_exclusive):
        parts = [f"from {low} to {high}"]
    else:
        parts = [f"{'above' if facts.low_exclusive else 'at least'} {low}"] if low else []
        parts += [f"{'below' if facts.high_exclusive else 'at most'} {high}"] if high else []
    parts += [f"a multiple of {plain_decimal(divisor)}" for divisor in facts.multiples]
    return " and ".join(parts)
