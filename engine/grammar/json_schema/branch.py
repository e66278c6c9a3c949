"""Branches: clauses that hold together, and which parts of a value they evaluate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from engine.errors import Origin
from engine.grammar.json_schema.clauses import ALL_KINDS, Clause, Conjunction, Contains, Either, Items, Kinds, Members

MANY = 1000
"""Clauses of a branch that need not be told apart before all are known."""

MOST_COMPARED = 300
"""Branches up to which each is compared with all others, to leave out those that are implied."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The parts of a value that some keyword of a branch evaluated."""

    names: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    every_name: bool = False
    items: int = 0
    every_item: bool = False
    containing: tuple[Conjunction, ...] = ()

    def __or__(self, other: Evaluated) -> Evaluated:
        if other is NOTHING:
            return self
        if self is NOTHING:
            return other
        return Evaluated(
            self.names | other.names,
            self.patterns | other.patterns,
            self.every_name or other.every_name,
            max(self.items, other.items),
            self.every_item or other.every_item,
            tuple(dict.fromkeys((*self.containing, *other.containing))),
        )


NOTHING = Evaluated()

SomeClause = TypeVar("SomeClause")


@dataclass(frozen=True, slots=True)
class Branch:
    """Clauses that hold together; `kinds` is what is left of the types."""

    clauses: tuple[Clause, ...] = ()
    kinds: frozenset[str] = ALL_KINDS
    evaluated: Evaluated = field(default=NOTHING)

    def all(self, kind: type[SomeClause]) -> list[SomeClause]:
        """The clauses of one kind."""
        return [clause for clause in self.clauses if isinstance(clause, kind)]


def in_both(kinds: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """The types of both sides. Most branches of thousands have the same: they share one set."""
    return kinds if kinds <= others else others if others <= kinds else kinds & others


def of_both(clauses: tuple[Clause, ...], others: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """The clauses of both sides. Of very many, each once: schemas that refer to each other in 2^20 ways repeat them."""
    both = (*clauses, *others)
    return both if len(both) <= MANY else tuple(dict.fromkeys(both))


def branch_of(clauses: Iterable[Clause], evaluated: Evaluated = NOTHING) -> list[Branch]:
    """The branch of some clauses, none if their types leave nothing."""
    kinds = ALL_KINDS
    kept = tuple(clauses)
    for clause in kept:
        if isinstance(clause, Kinds):
            kinds &= clause.kinds
    return [Branch(kept, kinds, evaluated)] if kinds else []


def without_implied(branches: list[Branch]) -> list[Branch]:
    """Each branch once, and each clause; without the branches that demand all that another one does, and more."""
    single = (Branch(tuple(dict.fromkeys(branch.clauses)), branch.kinds, branch.evaluated) for branch in branches)
    branches = list(dict.fromkeys(single))
    if len(branches) > MOST_COMPARED:
        return branches
    demands = [frozenset(branch.clauses) for branch in branches]
    return [branch for branch, own in zip(branches, demands, strict=True) if not any(other < own for other in demands)]


def on_unevaluated(origin: Origin, evaluated: Evaluated, asked: Conjunction) -> Clause:
    """What an unevaluated* keyword demands, given what was evaluated: the same as one for what is not named."""
    if origin.keyword == "unevaluatedProperties":
        named = tuple((name, ()) for name in sorted(evaluated.names))
        patterns = tuple((pattern, ()) for pattern in sorted(evaluated.patterns))
        return Members(origin, named, patterns, () if evaluated.every_name else asked)
    if evaluated.every_item:
        return Items(origin)
    rest = asked
    if evaluated.containing and asked:
        rest = (Either((*evaluated.containing, asked)),)
    return Items(origin, ((),) * evaluated.items, rest)


def evaluated_by(clauses: tuple[Clause, ...], draft: str) -> Evaluated:
    """What the keywords of one subschema evaluate by themselves."""
    result = NOTHING
    for clause in clauses:
        if isinstance(clause, Members):
            names = frozenset(name for name, _ in clause.named)
            patterns = frozenset(pattern for pattern, _ in clause.patterns)
            result |= Evaluated(names, patterns, every_name=clause.rest is not None)
        elif isinstance(clause, Items):
            result |= Evaluated(items=len(clause.first), every_item=clause.rest is not None)
        elif isinstance(clause, Contains) and draft == "2020-12":
            result |= Evaluated(containing=(clause.asked,), every_item=not clause.asked)
    return result
