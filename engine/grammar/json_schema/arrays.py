"""Arrays: from the clauses of a branch to terms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from engine.automaton.terms import Term
from engine.errors import BudgetError, ConstraintError, Origin
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import (
    All,
    Conjunction,
    Constants,
    Contains,
    Demand,
    Either,
    ItemCount,
    Items,
    Unique,
    deny,
    limits,
    scalar,
)
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Subschema
from engine.grammar.json_schema.domain import MANY, Domain, can_differ
from engine.grammar.json_schema.items import ArrayPlan, Counted, Item, ItemsRule, Progress
from engine.grammar.json_schema.numbers.text import check_length, plain_decimal
from engine.grammar.json_schema.reading import constant

if TYPE_CHECKING:
    from engine.grammar.json_schema.values import Values

MOST_DISTINCT = 200
"""Items that must come and differ (or not) beyond which it is not decided whether there are enough values."""

MOST_COUNTED = 10_000
"""Items that must come and are not all alike beyond which the array is refused: each is a state."""


def array_term(values: Values, branch: Branch, place: str) -> Term:
    """The arrays of a branch."""
    reader = _Reader(values, branch, place)
    arena = values.arena
    if reader.is_impossible():
        return arena.empty
    opening = arena.tag(reader.origin, arena.literal(b"["))
    if not (reader.first or reader.contains or reader.unique):
        return arena.seq(opening, reader.repetition())
    return arena.seq(opening, arena.call(ItemsRule(values.layout, reader.plan()), Progress()))


class _Reader:
    """Gathers what the clauses of one branch say about items."""

    def __init__(self, values: Values, branch: Branch, place: str) -> None:
        self.values = values
        self.place = place
        self.items = [*branch.all(Items), *map(_without, filter(_forbids, branch.all(Contains)))]
        self.contains = [clause for clause in branch.all(Contains) if not _forbids(clause)]
        self.unique = branch.all(Unique)
        self.first = max((len(clause.first) for clause in self.items), default=0)
        self.low, self.high = limits(branch.all(ItemCount))
        self.origin = values.owner(branch, place, (Items, ItemCount, Contains, Unique))

    @property
    def _differ(self) -> bool:
        return any(clause.positive for clause in self.unique)

    @property
    def _repeat(self) -> bool:
        return any(not clause.positive for clause in self.unique)

    def is_impossible(self) -> bool:
        """Whether the counts and what is said about equal items contradict each other.

        Raises `ConstraintError` where that depends on which values the items take.
        """
        if self._differ and self._repeat:
            return True
        most = max([self.low, *(clause.low for clause in self.contains)])
        if self.unique and most > MOST_DISTINCT:
            raise self._refused(f"more than {MOST_DISTINCT:,} items that must come")
        if self._repeat and self.contains:
            raise self._refused("contains")
        if most > MOST_COUNTED and (self.first or self.contains):
            pointer = self.origin.pointer
            message = f"More than {MOST_COUNTED:,} items must come at {pointer or 'the root'}."
            raise BudgetError(message, pointer=pointer)
        return self._differ and not all(map(self._has_enough, self.contains))

    def _has_enough(self, counted: Contains) -> bool:
        """Whether there are enough values for items that all differ and of which some are counted."""
        asked = self._asked(self.first)
        if counted.start:
            # Items before those that count may use up what these need.
            inside = self.values.domain(conjunction(*asked, *counted.asked), counted.low + counted.start)
            if inside is not MANY or counted.low > 1 or counted.high is not None:
                raise self._refused("a condition on later items alone")
        if counted.low <= 1 and counted.high is None:
            return True  # an item that counts can take the place of any other
        if self.first or len(self.contains) > 1:
            raise self._refused("minContains or maxContains beside prefixItems or another contains")
        inside = self.values.domain(conjunction(*asked, *counted.asked), max(counted.low, self.low, 1))
        if inside is MANY and counted.high is None:
            return True
        if inside is not MANY and len(inside) < counted.low:
            return False
        most = [count for count in (counted.high, None if inside is MANY else len(inside)) if count is not None]
        others = self.low - min(most)
        if others <= 0:
            return True
        outside = self.values.domain(conjunction(*asked, *deny(counted.asked)), others)
        return outside is MANY

    def _refused(self, what: str) -> ConstraintError:
        pointer = f"{self.unique[0].origin.pointer}/uniqueItems"
        message = f"uniqueItems together with {what} (at {pointer}) is not enforced."
        return ConstraintError(message, pointer=pointer, keyword="uniqueItems")

    def repetition(self) -> Term:
        """Items that are all alike: a repetition."""
        values, arena = self.values, self.values.arena
        if self.high is not None and self.low > self.high:
            return arena.empty
        item = self.term(Item(0))
        space = arena.tag(self.origin, values.layout.space)
        closing = arena.tag(self.origin, arena.literal(b"]"))
        comma = arena.concat([values.layout.space, arena.literal(b","), values.layout.after_comma])
        options = [closing] if self.low == 0 else []
        if self.high != 0:
            most = None if self.high is None else self.high - 1
            again = arena.seq(arena.tag(self.origin, comma), item)
            more = arena.tag(self.origin, arena.repeat(again, max(self.low - 1, 0), most))
            options.append(arena.concat([item, more, space, closing]))
        return arena.seq(space, arena.alt(options))

    def plan(self) -> ArrayPlan:
        """The plan of items that are not all alike."""
        domains = cache(self._domain)

        def row(start: int, end: int) -> list[Domain]:
            return [domains(min(index, self.first)) for index in range(start, end)]

        def barred(start: int, used: frozenset[str], waiting: tuple[int, ...]) -> frozenset[str] | None:
            found = [can_differ(row(start, self.low), used)]
            for number in waiting:
                ways = []
                for last in self._places(start, number):
                    asked = [*row(start, last), domains(min(last, self.first), number), *row(last + 1, self.low)]
                    ways.append(can_differ(asked, used))
                possible = [way for way in ways if way is not None]
                found.append(frozenset.intersection(*possible) if possible else None)
            return None if None in found else frozenset[str]().union(*(some for some in found if some))

        return ArrayPlan(
            item=cache(self.term),
            first=self.first,
            low=self.low,
            high=self.high,
            counted=tuple(Counted(clause.low, clause.high, clause.start) for clause in self.contains),
            unique=self._differ,
            repeats=self._repeat,
            barred=barred,
            normal=partial(normal, pointer=self.origin.pointer),
            origin=self.origin,
        )

    def _places(self, start: int, number: int) -> Iterator[int]:
        """Where behind `start` the item that a condition waits for may stand; later places are like the last."""
        first = max(start + 1, self.contains[number].start)
        for place in range(first, max(first, self.first) + 1):
            if self.high is None or place < self.high:
                yield place

    def _domain(self, index: int, number: int | None = None) -> Domain:
        """The values of an item; of those that satisfy a condition, if one is given by its number."""
        asked = self._asked(index) if number is None else (*self._asked(index), *self.contains[number].asked)
        most = max(self.low, self.first + 2) if self.first and self.contains else self.low
        return self.values.domain(conjunction(*asked), most)

    def term(self, item: Item) -> Term:
        """The term of an item."""
        asked = list(self._asked(item.index))
        for number in sorted(item.counts):
            asked.extend(self.contains[number].asked)
        for number in sorted(item.excludes):
            asked += deny(self.contains[number].asked)
        asked += self._none_of(sorted(item.unlike))
        if item.like is not None:
            asked += self._equal(item.like)
        if item.again:
            asked.append(Either(tuple(self._later(item.index))))
        place = next((demand.pointer for demand in asked if isinstance(demand, Subschema)), self.place)
        return self.values.of(conjunction(*asked), place)

    def _later(self, index: int) -> Iterator[Conjunction]:
        """What is asked of the items after an index, as far as they can come at all."""
        for later in range(index + 1, max(self.first, index + 1) + 1):
            asked = self._asked(later)
            if (self.high is not None and later >= self.high) or self.values.of(asked, "") is self.values.arena.empty:
                return
            yield asked

    def _equal(self, text: str) -> Conjunction:
        return (All(constant(self.values.document, self._unique_origin, _value(text), self.place)),)

    def _none_of(self, texts: list[str]) -> Conjunction:
        scalars = tuple(scalar(_value(text)) for text in texts if text[0] not in "[{")
        others = [demand for text in texts if text[0] in "[{" for demand in deny(self._equal(text))]
        return (*([All((Constants(self._unique_origin, scalars, False),))] if scalars else []), *others)

    @property
    def _unique_origin(self) -> Origin:
        return Origin(self.origin.pointer, "uniqueItems")

    def _asked(self, index: int) -> Conjunction:
        """What all clauses ask of the item at an index."""
        asked: list[Demand] = []
        for clause in self.items:
            if index < len(clause.first):
                asked += clause.first[index]
            elif clause.rest is not None:
                asked += clause.rest
        return conjunction(*asked)


def _value(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def _forbids(clause: Contains) -> bool:
    return (clause.low, clause.high) == (0, 0)


def _without(clause: Contains) -> Items:
    """The same demand, said of every item."""
    return Items(clause.origin, ((),) * clause.start, deny(clause.asked))


def normal(text: bytes, pointer: str = "") -> str:
    """One JSON text for all texts of equal values: names sorted, numbers without exponent, no white space.

    Raises `BudgetError` with the pointer for a number of more than `LONGEST_CONSTANT` digits.
    """
    return _normal(_value(text), pointer)


def _normal(value: Any, pointer: str) -> str:
    if isinstance(value, dict):
        members = (f"{json.dumps(name)}:{_normal(value[name], pointer)}" for name in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_normal(item, pointer) for item in value) + "]"
    if isinstance(value, Decimal):
        check_length(value, pointer, "uniqueItems")
        return plain_decimal(value) if value else "0"
    return json.dumps(value)
