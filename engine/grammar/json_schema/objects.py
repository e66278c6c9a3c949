"""Objects: from the clauses of a branch to the plan of their members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.automaton.terms import Term
from engine.errors import BudgetError, Origin
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import (
    NEVER,
    All,
    Clause,
    Conjunction,
    Demand,
    MemberCount,
    Members,
    Names,
    Pattern,
    Required,
    SomeMember,
    limits,
)
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Subschema
from engine.grammar.json_schema.members import Extra, Member, MembersRule, ObjectPlan, Progress, subsets
from engine.grammar.json_schema.source import escape

if TYPE_CHECKING:
    from engine.grammar.json_schema.values import Values

MOST_PATTERNS = 10
"""Patterns for names in one object beyond which it is refused: every combination of them is a kind of name."""

MOST_DEMANDS = 4
"""Existential demands on members in one branch beyond which it is refused."""

MOST_MEMBERS = 300
"""minProperties beyond which an object is refused: names must be found for all of them."""


def object_term(values: Values, branch: Branch, place: str) -> Term:
    """The objects of a branch."""
    plan = _Reader(values, branch, place).plan()
    rule = MembersRule(values.text, values.layout, plan, values.liveness, values.keys)
    opening = values.arena.tag(plan.origin, values.arena.literal(b"{"))
    return values.arena.seq(opening, values.arena.call(rule, Progress()))


class _Reader:
    """Gathers what the clauses of one branch say about members."""

    def __init__(self, values: Values, branch: Branch, place: str) -> None:
        self.values = values
        self.branch = branch
        self.place = place
        self.members = branch.all(Members)
        self.named = [(clause, dict(clause.named)) for clause in self.members]
        self.asked_names = tuple(demand for clause in branch.all(Names) for demand in clause.asked)
        self.demands = branch.all(SomeMember)
        self.patterns = tuple(dict.fromkeys(p for clause in self.members for p, _ in clause.patterns))
        self.closed = values.options.objects == "closed" and self._closes()
        if len(self.patterns) > MOST_PATTERNS or len(self.demands) > MOST_DEMANDS:
            pointer = (self.demands or self.members)[0].origin.pointer
            raise BudgetError(f"Too many conditions on names meet at {pointer or 'the root'}.", pointer=pointer)

    def plan(self) -> ObjectPlan:
        """The plan of the members."""
        low, high = limits(self.branch.all(MemberCount))
        if low > MOST_MEMBERS:
            origin = self.branch.all(MemberCount)[0].origin
            message = f"More than {MOST_MEMBERS:,} members must come at {origin.pointer or 'the root'}."
            raise BudgetError(message, pointer=origin.pointer, keyword=origin.keyword)
        return ObjectPlan(
            members=tuple(self._declared()),
            extras=tuple(self._extras()),
            low=low,
            high=high,
            demands=len(self.demands),
            origin=self.values.owner(self.branch, self.place, (Members, Required, MemberCount, Names)),
            any_order=self.values.options.key_order == "any",
        )

    def _closes(self) -> bool:
        """With closed objects: members are declared and nothing is said about the others."""
        declares = any(clause.named or clause.patterns for clause in self.members)
        return declares and all(clause.rest is None for clause in self.members)

    def _declared(self) -> Iterator[Member]:
        places: dict[str, str] = {}
        for clause in self.members:
            for name, asked in clause.named:
                places.setdefault(name, _pointer(asked, f"{clause.origin.pointer}/properties/{escape(name)}"))
        required: dict[str, Origin] = {}
        for asking in self.branch.all(Required):
            for name in asking.names:
                required.setdefault(name, asking.origin)
        for name, pointer in places.items():
            yield self._member(name, pointer, Origin(pointer), name in required, late=False)
        for name, origin in required.items():
            if name not in places:
                yield self._member(name, origin.pointer, origin, required=True, late=True)

    def _member(self, name: str, pointer: str, origin: Origin, required: bool, late: bool) -> Member:
        meetable = [i for i, d in enumerate(self.demands) if self.values.string_satisfies(name, d.name)]
        said = self._said(name)
        terms = {
            meets: self.values.of(conjunction(*said, *self._demanded(meets)) if meets else said, pointer)
            for meets in subsets(meetable)
        }
        return Member(name, terms, origin, required, late)

    def _demanded(self, meets: frozenset[int]) -> Conjunction:
        return tuple(demand for index in sorted(meets) for demand in self.demands[index].value)

    def _said(self, name: str) -> Conjunction:
        """What the value of the member `name` must satisfy."""
        if self.asked_names and not self.values.string_satisfies(name, self.asked_names):
            return NEVER
        matched = frozenset(p for p in self.patterns if self.values.string_matches(name, p))
        if self.closed and not matched and not any(name in named for _, named in self.named):
            return NEVER
        return self._combined(name, matched)

    def _combined(self, name: str | None, matched: frozenset[str]) -> Conjunction:
        """What all clauses say of a member by name (None: named by none) and by the patterns that match it."""
        said: list[Demand] = []
        for clause, named in self.named:
            own = [named[name]] if name in named else []
            own += [asked for pattern, asked in clause.patterns if pattern in matched]
            if not own and clause.rest is not None:
                own = [clause.rest]
            said += [demand for asked in own for demand in asked]
        return conjunction(*said)

    def _extras(self) -> Iterator[Extra]:
        for matched in subsets(range(len(self.patterns))):
            inside = frozenset(self.patterns[index] for index in matched)
            if self.closed and not inside:
                continue
            said = self._combined(None, inside)
            origin = self._extra_origin(inside)
            clauses: list[Clause] = [Pattern(origin, p, p in inside) for p in self.patterns]
            names = self.values.string_body(conjunction(*self.asked_names, *([All(tuple(clauses))] if clauses else [])))
            for meets in subsets(range(len(self.demands))):
                value = self.values.of(conjunction(*said, *self._demanded(meets)), _pointer(said, self.place))
                wanted = [d for index in meets for d in self.demands[index].name]
                found = self.values.arena.both([names, self.values.string_body(tuple(wanted))]) if wanted else names
                if value is not self.values.arena.empty and self.values.liveness.alive(found):
                    yield Extra(found, value, meets, origin)

    def _extra_origin(self, inside: frozenset[str]) -> Origin:
        for clause in self.members:
            if inside and any(pattern in inside for pattern, _ in clause.patterns):
                return Origin(clause.origin.pointer, "patternProperties")
        for clause in self.members:
            if clause.rest is not None:
                keyword = clause.origin.keyword
                keyword = keyword if keyword.startswith("unevaluated") else "additionalProperties"
                return Origin(clause.origin.pointer, keyword)
        return Origin(self.values.owner(self.branch, self.place, (Members, Required)).pointer, "additionalProperties")


def _pointer(asked: Conjunction, otherwise: str) -> str:
    """The place of the first subschema of a conjunction."""
    for demand in asked:
        if isinstance(demand, Subschema):
            return demand.pointer
    return otherwise
