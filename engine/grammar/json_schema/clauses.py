"""What a schema demands of a value, one small record per demand.

A `Clause` is a condition that a keyword puts on values of one JSON type (values of other types satisfy it) or on the
type itself. The keywords of a schema become clauses; so does the violation of a clause, which is again a conjunction of
clauses: the negation of a schema is the alternative of its clauses' violations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from engine.errors import Origin
from engine.grammar.json_schema.document import Subschema

KINDS = ("null", "true", "false", "integer", "fraction", "string", "array", "object")
"""Types, split as far as their complements need: a boolean by value, a number by whether it is whole."""

ALL_KINDS = frozenset(KINDS)
KINDS_OF_TYPE = {
    "null": ("null",),
    "boolean": ("true", "false"),
    "integer": ("integer",),
    "number": ("integer", "fraction"),
    "string": ("string",),
    "array": ("array",),
    "object": ("object",),
}
NUMBERS = frozenset(("integer", "fraction"))


@dataclass(frozen=True, slots=True)
class Denied:
    """The demand that a value does not satisfy a subschema."""

    schema: Subschema


@dataclass(frozen=True, slots=True)
class Either:
    """The demand that a value satisfies one of several conjunctions."""

    options: tuple[Conjunction, ...]


@dataclass(frozen=True, slots=True)
class All:
    """The demand that a value satisfies some clauses."""

    clauses: tuple[Clause, ...]


Demand = Subschema | Denied | Either | All
Conjunction = tuple[Demand, ...]
"""Demands that a value must satisfy together, in the order in which their author declared them."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The value is of one of these kinds."""

    origin: Origin
    kinds: frozenset[str]


Scalar = tuple[str, Any]
"""A constant with its type: ("word", "null" | "true" | "false"), ("number", Decimal) or ("string", str).

Two are equal exactly when they are equal as JSON: 1 is 1.0, true is not 1.
"""


def scalar(value: Any) -> Scalar:
    """The scalar of a null, boolean, number or string."""
    if value is None or isinstance(value, bool):
        return "word", {None: "null", True: "true", False: "false"}[value]
    return ("string", value) if isinstance(value, str) else ("number", Decimal(value))


@dataclass(frozen=True, slots=True)
class Constants:
    """The value is one (or, denied, none) of some scalar constants."""

    origin: Origin
    values: tuple[Scalar, ...]
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Count:
    """Something is there `low` to `high` times (None: any number)."""

    origin: Origin
    low: int
    high: int | None


def limits(counts: Sequence[Count]) -> tuple[int, int | None]:
    """The bounds that all counts leave."""
    highs = [count.high for count in counts if count.high is not None]
    return max((count.low for count in counts), default=0), min(highs, default=None)


@dataclass(frozen=True, slots=True)
class Length(Count):
    """A string has `low` to `high` characters."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A string matches a regex somewhere (or, denied, nowhere)."""

    origin: Origin
    pattern: str
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Format:
    """A string has a format (or, denied, has not)."""

    origin: Origin
    name: str
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Bound:
    """A number is at least (`lower`) or at most `value`; `exclusive`: and not equal."""

    origin: Origin
    value: Decimal
    lower: bool
    exclusive: bool


@dataclass(frozen=True, slots=True)
class Multiple:
    """A number is (or, denied, is not) a multiple of `of`."""

    origin: Origin
    of: Decimal
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Members:
    """What an object's members satisfy: those named, those whose name matches a pattern, the rest (None: anything)."""

    origin: Origin
    named: tuple[tuple[str, Conjunction], ...] = ()
    patterns: tuple[tuple[str, Conjunction], ...] = ()
    rest: Conjunction | None = None


@dataclass(frozen=True, slots=True)
class Required:
    """An object has members of these names."""

    origin: Origin
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemberCount(Count):
    """An object has `low` to `high` members."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of an object's members satisfy a conjunction."""

    origin: Origin
    asked: Conjunction


@dataclass(frozen=True, slots=True)
class SomeMember:
    """An object has a member whose name satisfies `name` and whose value satisfies `value`."""

    origin: Origin
    name: Conjunction
    value: Conjunction


@dataclass(frozen=True, slots=True)
class Items:
    """What the items of an array satisfy: the first ones one by one, then the rest (None: anything)."""

    origin: Origin
    first: tuple[Conjunction, ...] = ()
    rest: Conjunction | None = None


@dataclass(frozen=True, slots=True)
class ItemCount(Count):
    """An array has `low` to `high` items."""


@dataclass(frozen=True, slots=True)
class Contains:
    """`low` to `high` of an array's items, from index `start` on, satisfy a conjunction."""

    origin: Origin
    asked: Conjunction
    low: int
    high: int | None
    start: int = 0


@dataclass(frozen=True, slots=True)
class Unique:
    """No two items of an array are equal (or, denied, some two are)."""

    origin: Origin
    positive: bool = True


Clause = (
    Kinds
    | Constants
    | Length
    | Pattern
    | Format
    | Bound
    | Multiple
    | Members
    | Required
    | MemberCount
    | Names
    | SomeMember
    | Items
    | ItemCount
    | Contains
    | Unique
)

NEVER: Conjunction = (Either(()),)
"""What no value satisfies."""


def deny(asked: Conjunction) -> Conjunction:
    """The demand that a conjunction is not satisfied."""
    options: list[Conjunction] = []
    for demand in asked:
        if isinstance(demand, Subschema):
            options.append((Denied(demand),))
        elif isinstance(demand, Denied):
            options.append((demand.schema,))
        elif isinstance(demand, Either):
            options.append(tuple(denied for option in demand.options for denied in deny(option)))
        else:
            options += [(All(violation),) for clause in demand.clauses for violation in violations(clause)]
    return options[0] if len(options) == 1 else (Either(tuple(options)),)


def violations(clause: Clause) -> Iterable[tuple[Clause, ...]]:
    """The alternatives in which a value violates a clause."""
    origin = clause.origin
    if isinstance(clause, Kinds):
        yield (Kinds(origin, ALL_KINDS - clause.kinds),)
    elif isinstance(clause, Constants):
        yield (Constants(origin, clause.values, not clause.positive),)
    elif isinstance(clause, Unique):
        yield Kinds(origin, frozenset(("array",))), Unique(origin, not clause.positive)
    elif isinstance(clause, (Pattern, Format)):
        denied: Clause = (
            Pattern(origin, clause.pattern, not clause.positive)
            if isinstance(clause, Pattern)
            else Format(origin, clause.name, not clause.positive)
        )
        yield Kinds(origin, frozenset(("string",))), denied
    elif isinstance(clause, Bound):
        yield Kinds(origin, NUMBERS), Bound(origin, clause.value, not clause.lower, not clause.exclusive)
    elif isinstance(clause, Multiple):
        yield Kinds(origin, NUMBERS), Multiple(origin, clause.of, not clause.positive)
    elif isinstance(clause, Count):
        kind = {Length: "string", MemberCount: "object", ItemCount: "array"}[type(clause)]
        for low, high in _outside(clause.low, clause.high):
            yield Kinds(origin, frozenset((kind,))), type(clause)(origin, low, high)
    elif isinstance(clause, Contains):
        for low, high in _outside(clause.low, clause.high):
            yield Kinds(origin, frozenset(("array",))), Contains(origin, clause.asked, low, high, clause.start)
    elif isinstance(clause, Items):
        yield from _item_violations(clause)
    else:
        for violation in _object_violations(clause):
            yield Kinds(origin, frozenset(("object",))), *violation


def _outside(low: int, high: int | None) -> Iterable[tuple[int, int | None]]:
    if low > 0:
        yield 0, low - 1
    if high is not None:
        yield high + 1, None


def _item_violations(clause: Items) -> Iterable[tuple[Clause, ...]]:
    origin = clause.origin
    array = Kinds(origin, frozenset(("array",)))
    for index, asked in enumerate(clause.first):
        if asked:
            before: tuple[Conjunction, ...] = ((),) * index
            yield array, ItemCount(origin, index + 1, None), Items(origin, (*before, deny(asked)))
    if clause.rest:
        yield array, Contains(origin, deny(clause.rest), 1, None, len(clause.first))


def _object_violations(
    clause: Members | Required | MemberCount | Names | SomeMember,
) -> Iterable[tuple[Clause, ...]]:
    origin = clause.origin
    if isinstance(clause, Required):
        for name in clause.names:
            yield (Members(origin, ((name, NEVER),)),)
    elif isinstance(clause, Names):
        yield (SomeMember(origin, deny(clause.asked), ()),)
    elif isinstance(clause, Members):
        for name, asked in clause.named:
            if asked:
                yield Required(origin, (name,)), Members(origin, ((name, deny(asked)),))
        for pattern, asked in clause.patterns:
            if asked:
                yield (SomeMember(origin, (All((Pattern(origin, pattern),)),), deny(asked)),)
        if clause.rest:
            yield (SomeMember(origin, undeclared(clause), deny(clause.rest)),)


def undeclared(clause: Members) -> Conjunction:
    """What the name of a member satisfies that is neither named nor matched by a pattern."""
    outside: list[Clause] = [Pattern(clause.origin, pattern, positive=False) for pattern, _ in clause.patterns]
    if clause.named:
        outside.append(Constants(clause.origin, tuple(("string", name) for name, _ in clause.named), positive=False))
    return (All(tuple(outside)),) if outside else ()
