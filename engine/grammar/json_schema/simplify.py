"""Branches that cannot hold, noticed while they are made.

Denied alternatives multiply: `oneOf` over n objects denies n - 1 of them, each violated in several ways. Most of these
ways contradict what is demanded of the same member already; to see that early keeps their number small.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import (
    NEVER,
    Clause,
    Conjunction,
    Demand,
    Denied,
    Kinds,
    Members,
    Required,
    SomeMember,
)
from engine.grammar.json_schema.document import Subschema


class Simplifier:
    """Joins the clauses of two branches.

    `disjoint(asked)`: no value satisfies a conjunction (False if unknown); `admits(name, asked)`: a name does.
    """

    def __init__(self, disjoint: Callable[[Conjunction], bool], admits: Callable[[str, Conjunction], bool]) -> None:
        self.disjoint = disjoint
        self.admits = admits
        self._keys: dict[Demand, object] = {}
        self._exclusive: dict[frozenset[object], bool] = {}

    def join(self, one: tuple[Clause, ...], other: tuple[Clause, ...]) -> tuple[Clause, ...] | None:
        """The clauses of both, None if no object satisfies them.

        `other` is compared with `one` member by member; what else contradicts is found later.
        """
        members = [clause for clause in one if isinstance(clause, Members)]
        added: list[Clause] = []
        for clause in other:
            if isinstance(clause, SomeMember):
                named = self._named(clause, members)
                if named is None:
                    return None
                added += named
            else:
                added.append(clause)
        new_members = [clause for clause in added if isinstance(clause, Members)]
        for name in _required(added):
            if self._clash(name, members, new_members):
                return None
        for name in _required(one):
            if any(name == n for clause in new_members for n, _ in clause.named) and self._clash(
                name, members, new_members
            ):
                return None
        return (*one, *added)

    def implies(self, one: Branch, other: Branch) -> bool:
        """Whether every value of the first branch is one of the second, as far as types, names and constants show."""
        if not one.kinds <= other.kinds:
            return False
        members = [clause for clause in one.clauses if isinstance(clause, Members)]
        required = _required(one.clauses)
        return all(self._is_implied(clause, required, members) for clause in other.clauses)

    def _is_implied(self, clause: Clause, required: dict[str, None], members: list[Members]) -> bool:
        if isinstance(clause, Kinds):
            return True
        if isinstance(clause, Required):
            return required.keys() >= set(clause.names)
        if not isinstance(clause, Members) or clause.patterns or clause.rest is not None:
            return False
        return all(self._is_met(demand, name, members) for name, asked in clause.named for demand in asked)

    def _is_met(self, demand: Demand, name: str, members: list[Members]) -> bool:
        """Whether what is asked of a member already answers a demand."""
        ours = _asked(name, members)
        if demand in ours:
            return True
        return isinstance(demand, Denied) and any(self._excludes(one, demand.schema) for one in ours)

    def _named(self, clause: SomeMember, members: list[Members]) -> list[Clause] | None:
        """The clause, by the one name that can be meant if there is only one; None if there is none."""
        closed = [m for m in members if not m.patterns and m.rest is not None and _is_never(m.rest)]
        if not closed:
            return [clause]
        names = [name for name, _ in closed[0].named if self.admits(name, clause.name)]
        if not names:
            return None
        if len(names) > 1:
            return [clause]
        wanted: list[Clause] = [Required(clause.origin, (names[0],))]
        return [*wanted, Members(clause.origin, ((names[0], clause.value),))] if clause.value else wanted

    def _clash(self, name: str, members: list[Members], new: list[Members]) -> bool:
        """Whether what two sides ask of a required member contradicts each other."""
        ours, theirs = _asked(name, members), _asked(name, new)
        if any(_is_never((demand,)) for demand in (*ours, *theirs)):
            return True
        return any(self._excludes(one, other) for one in ours for other in theirs)

    def _excludes(self, one: Demand, other: Demand) -> bool:
        if one == other:
            return False
        pair = frozenset((self._key(one), self._key(other)))
        if pair not in self._exclusive:
            self._exclusive[pair] = self.disjoint((one, other))
        return self._exclusive[pair]

    def _key(self, demand: Demand) -> object:
        """Equal for demands that ask the same, as far as that can be seen; with a reference it cannot."""
        if demand not in self._keys:
            key: object = demand
            schema = demand.schema if isinstance(demand, Denied) else demand
            if isinstance(schema, Subschema):
                text = json.dumps(schema.value, sort_keys=True, default=str)
                key = demand if 'Ref"' in text or '$ref"' in text else (isinstance(demand, Denied), text)
            self._keys[demand] = key
        return self._keys[demand]


def _required(clauses: Iterable[Clause]) -> dict[str, None]:
    return dict.fromkeys(name for clause in clauses if isinstance(clause, Required) for name in clause.names)


def _asked(name: str, members: list[Members]) -> list[Demand]:
    """What the clauses ask of a member by its name, patterns aside."""
    asked: list[Demand] = []
    for clause in members:
        own = [said for n, said in clause.named if n == name]
        if not own and clause.rest is not None and not clause.patterns:
            own = [clause.rest]
        asked += [demand for said in own for demand in said]
    return asked


def _is_never(asked: Conjunction) -> bool:
    return any(isinstance(demand, Subschema) and demand.value is False for demand in asked) or asked == NEVER
