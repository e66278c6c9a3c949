"""Arrays: from the clauses of a branch to terms."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from engine.automaton.terms import Term
from engine.errors import ConstraintError, Origin
from engine.grammar.json_schema.clauses import (
    All,
    Conjunction,
    Contains,
    Demand,
    ItemCount,
    Items,
    Unique,
    deny,
    limits,
)
from engine.grammar.json_schema.conjunction import Branch, conjunction
from engine.grammar.json_schema.document import Subschema
from engine.grammar.json_schema.domain import Domain, can_differ
from engine.grammar.json_schema.items import ArrayPlan, Counted, Item, ItemsRule, Progress
from engine.grammar.json_schema.numbers import plain_decimal
from engine.grammar.json_schema.reading import constant

if TYPE_CHECKING:
    from engine.grammar.json_schema.values import Values


def array_term(values: Values, branch: Branch, place: str) -> Term:
    """The arrays of a branch."""
    reader = _Reader(values, branch, place)
    arena = values.arena
    opening = arena.tag(reader.origin, arena.literal(b"["))
    if not (reader.first or reader.contains or reader.unique):
        return arena.seq(opening, reader.repetition())
    return arena.seq(opening, arena.call(ItemsRule(values.layout, reader.plan()), Progress()))


class _Reader:
    """Gathers what the clauses of one branch say about items."""

    def __init__(self, values: Values, branch: Branch, place: str) -> None:
        self.values = values
        self.place = place
        self.items = branch.all(Items)
        self.contains = branch.all(Contains)
        self.unique = branch.all(Unique)
        self.first = max((len(clause.first) for clause in self.items), default=0)
        self.low, self.high = limits(branch.all(ItemCount))
        self.origin = values.owner(branch, place, (Items, ItemCount, Contains, Unique))

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
        unique = any(clause.positive for clause in self.unique)
        if unique and any(clause.low > 1 for clause in self.contains):
            pointer = f"{self.origin.pointer}/uniqueItems"
            raise ConstraintError(
                f"uniqueItems together with minContains above 1 (at {pointer}) is not enforced.",
                pointer=pointer,
                keyword="uniqueItems",
            )

        def barred(start: int, used: frozenset[str]) -> frozenset[str] | None:
            return can_differ([domains(min(i, self.first)) for i in range(start, self._least())], used)

        return ArrayPlan(
            item=self.term,
            first=self.first,
            low=self.low,
            high=self.high,
            counted=tuple(Counted(clause.low, clause.high, clause.start) for clause in self.contains),
            unique=unique,
            repeats=any(not clause.positive for clause in self.unique),
            barred=barred,
            normal=normal,
            origin=self.origin,
        )

    def _least(self) -> int:
        """Items that must come at least; more than that are never needed to tell whether values run out."""
        return self.low

    def _domain(self, index: int) -> Domain:
        return self.values.domain(self._asked(index), self.low)

    def term(self, item: Item) -> Term:
        """The term of an item."""
        asked = list(self._asked(item.index))
        for number in sorted(item.counts):
            asked.extend(self.contains[number].asked)
        for number in sorted(item.excludes):
            asked += deny(self.contains[number].asked)
        for text in sorted(item.unlike):
            asked += deny(self._equal(text))
        if item.like is not None:
            asked += self._equal(item.like)
        place = next((demand.pointer for demand in asked if isinstance(demand, Subschema)), self.place)
        return self.values.of(conjunction(*asked), place)

    def _equal(self, text: str) -> Conjunction:
        value = json.loads(text, parse_float=Decimal)
        return (All(constant(self.values.document, Origin(self.origin.pointer, "uniqueItems"), value, self.place)),)

    def _asked(self, index: int) -> Conjunction:
        """What all clauses ask of the item at an index."""
        asked: list[Demand] = []
        for clause in self.items:
            if index < len(clause.first):
                asked += clause.first[index]
            elif clause.rest is not None:
                asked += clause.rest
        return conjunction(*asked)


def normal(text: bytes) -> str:
    """One JSON text for all texts of equal values: names sorted, numbers without exponent, no white space."""
    return _normal(json.loads(text, parse_float=Decimal))


def _normal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_normal(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_normal, value)) + "]"
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return plain_decimal(Decimal(value) + 0)
    return json.dumps(value)
