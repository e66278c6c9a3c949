"""What the clauses of a branch say about scalars: the constants that are left, what is asked of a number."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import NUMBERS, Bound, Constants, Format, Length, Multiple, Pattern, Scalar
from engine.grammar.json_schema.numbers.text import NumberFacts


def number_facts(branch: Branch) -> NumberFacts:
    """What the clauses of a branch say about numbers, constants aside."""
    kinds = branch.kinds & NUMBERS
    integer = None if len(kinds) == 2 else "integer" in kinds
    lows = [clause for clause in branch.all(Bound) if clause.lower]
    highs = [clause for clause in branch.all(Bound) if not clause.lower]
    low = max(lows, key=lambda clause: (clause.value, clause.exclusive), default=None)
    high = min(highs, key=lambda clause: (clause.value, not clause.exclusive), default=None)
    multiples = branch.all(Multiple)
    return NumberFacts(
        integer=integer,
        low=low.value if low else None,
        low_exclusive=bool(low and low.exclusive),
        high=high.value if high else None,
        high_exclusive=bool(high and high.exclusive),
        multiples=tuple(dict.fromkeys(clause.of for clause in multiples if clause.positive)),
        not_multiples=tuple(dict.fromkeys(clause.of for clause in multiples if not clause.positive)),
        excluded=tuple(of_type(excluded_of(branch), "number")),
    )


def admits(facts: NumberFacts, value: Decimal) -> bool:
    """Whether a number satisfies the facts."""
    if facts.integer is not None and (value == value.to_integral_value()) != facts.integer:
        return False
    if facts.low is not None and (value < facts.low or (facts.low_exclusive and value == facts.low)):
        return False
    if facts.high is not None and (value > facts.high or (facts.high_exclusive and value == facts.high)):
        return False
    multiples = all(_is_multiple(value, of) for of in facts.multiples)
    return multiples and not any(_is_multiple(value, of) for of in facts.not_multiples)


def _is_multiple(value: Decimal, of: Decimal) -> bool:
    return Fraction(value) % Fraction(of) == 0


def constants_of(branch: Branch) -> list[Scalar] | None:
    """The scalars that every enum and const of the branch admits and none excludes, None if it has neither."""
    listed: list[Scalar] | None = None
    for clause in branch.all(Constants):
        if clause.positive:
            admitted = set(clause.values)
            listed = [value for value in (clause.values if listed is None else listed) if value in admitted]
    if listed is None:
        return None
    excluded = set(excluded_of(branch))
    return [value for value in listed if value not in excluded]


def excluded_of(branch: Branch) -> list[Scalar]:
    """The scalars that an enum or const rules out."""
    denied = [clause for clause in branch.all(Constants) if not clause.positive]
    return [value for clause in denied for value in clause.values]


def of_type(scalars: Iterable[Scalar], kind: str) -> list[Any]:
    """The values of the scalars of one kind."""
    return [value for named, value in scalars if named == kind]


def speaks_of_strings(branch: Branch) -> bool:
    """Whether a clause asks something of strings, constants aside."""
    return any(isinstance(clause, (Length, Pattern, Format)) for clause in branch.clauses)
