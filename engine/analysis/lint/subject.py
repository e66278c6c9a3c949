"""The schema under examination: the places where a value may stand, with all that is asked of it there.

What is asked at a place is the conjunction of everything that the schema says of it, through `$ref`, `allOf` and the
branches that hold, so a finding speaks of what the model meets and not of how the schema is spelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.automaton.arena import Arena
from engine.automaton.terms import Term
from engine.constraint import Constraint
from engine.errors import BudgetError, ConstraintError, Origin
from engine.grammar.json_schema.branch import Branch
from engine.grammar.json_schema.clauses import (
    NEVER,
    Conjunction,
    Constants,
    Demand,
    Items,
    Members,
    Names,
    Required,
    Scalar,
)
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Document, Subschema
from engine.grammar.json_schema.relation import SchemaSource
from engine.grammar.json_schema.source import escape, unescape
from engine.grammar.json_schema.values import Values

LONGEST = 2.0
"""Seconds after which the lint stops; whatever it has found by then is told."""

MOST_POSITIONS = 3_000
"""Places that are looked at."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place where a value stands: its pointer, what is asked there, and the branches that some value satisfies."""

    pointer: str
    asked: Conjunction
    branches: tuple[Branch, ...]

    @property
    def kinds(self) -> frozenset[str]:
        """The types that a value may have there."""
        return frozenset(kind for branch in self.branches for kind in branch.kinds)


@dataclass(frozen=True, slots=True)
class Field:
    """A member of an object that has a name in the schema."""

    name: str
    pointer: str
    asked: Conjunction
    required: bool


class Subject:
    """One schema, compiled. `failures`: what was raised at places that can be reached only later in a text."""

    def __init__(self, constraint: Constraint) -> None:
        assert constraint.schema is not None, "a JSON Schema's constraint knows its schema"
        self.constraint = constraint
        self.source: SchemaSource = constraint.schema
        self.options = self.source.options
        self.arena = Arena(self.source.budget)
        self._lease = self.arena.lifetime.lease()
        self.arena.clock.start(min(LONGEST, self.source.budget.seconds))
        self.document = Document(self.source.value, self.options, self.source.at)
        self.values = Values(self.document, self.options, self.arena)
        self.failures: list[ConstraintError] = []
        self.dead: list[tuple[str, Conjunction]] = []

    @property
    def is_late(self) -> bool:
        """Whether the time for the lint is over."""
        return self.arena.clock.late

    @cached_property
    def positions(self) -> list[Position]:
        """Every place that some value can reach; those that none can are noted in `dead`."""
        return list(self._walk())

    def raw(self, pointer: str) -> Any:
        """The part of the document at a pointer, as written."""
        part = self.source.value
        for token in pointer.split("/")[1:]:
            part = part[int(token)] if isinstance(part, list) else part[unescape(token)]
        return part

    def term(self, asked: Conjunction) -> Term:
        """The values that satisfy a conjunction."""
        return self.values.of(asked, "")

    def strings(self, branch: Branch) -> Term:
        """The strings of a branch."""
        return self.values.branch(Branch(branch.clauses, frozenset(("string",))), "")

    def is_alive(self, asked: Conjunction) -> bool:
        """Whether any value satisfies a conjunction."""
        return self.values.liveness.alive(self.term(asked))

    def decide(self, asked: Conjunction) -> bool | None:
        """Whether any value satisfies a conjunction, None if that cannot be told."""
        try:
            return self.is_alive(asked)
        except (ConstraintError, RecursionError):
            return None

    def witness(self, asked: Conjunction) -> bytes | None:
        """A shortest text that satisfies a conjunction, None if there is none or it cannot be told."""
        try:
            return self.values.liveness.shortest(self.term(asked))
        except (ConstraintError, RecursionError):
            return None

    def accepts(self, asked: Conjunction, text: bytes) -> bool:
        """Whether a JSON text is a value that satisfies a conjunction."""
        term = self.term(asked)
        for byte in text:
            moves = self.arena.moves(term, 1 << byte)
            if not moves:
                return False
            term = moves[0][1]
        return term.nullable

    def fields(self, branch: Branch) -> list[Field]:
        """The members with names, in declared order; those that are only required come last."""
        required = {name: clause.origin for clause in branch.all(Required) for name in clause.names}
        places: dict[str, str] = {}
        for clause in branch.all(Members):
            for name, asked in clause.named:
                places.setdefault(name, place_of(asked, f"{clause.origin.pointer}/properties/{escape(name)}"))
        for name, origin in required.items():
            places.setdefault(name, f"{origin.pointer}/required")
        return [Field(name, place, self._asked(branch, name), name in required) for name, place in places.items()]

    def closes(self, branch: Branch) -> bool:
        """Whether the language options close the objects of a branch."""
        members = branch.all(Members)
        declares = any(clause.named or clause.patterns for clause in members)
        return self.options.objects == "closed" and declares and all(clause.rest is None for clause in members)

    def undeclared(self, branch: Branch) -> Iterator[tuple[str, Conjunction]]:
        """What is asked of members without a name in the schema, by pattern and of the rest, with the place."""
        members = branch.all(Members)
        for pattern in dict.fromkeys(pattern for clause in members for pattern, _ in clause.patterns):
            place = next(c.origin.pointer for c in members if pattern in dict(c.patterns))
            asked = _combined(members, None, frozenset((pattern,)))
            yield place_of(asked, f"{place}/patternProperties/{escape(pattern)}"), asked
        if not self.closes(branch):
            asked = _combined(members, None, frozenset())
            yield place_of(asked, ""), asked

    def items(self, branch: Branch) -> Iterator[tuple[str, Conjunction]]:
        """What is asked of the items of an array, one by one and of the rest, with the place."""
        clauses = branch.all(Items)
        first = max((len(clause.first) for clause in clauses), default=0)
        for index in range(first + 1):
            asked: list[Demand] = []
            for clause in clauses:
                own = clause.first[index] if index < len(clause.first) else clause.rest
                asked += own or ()
            origin = clauses[0].origin if clauses else Origin("")
            yield place_of(asked, f"{origin.pointer}/{origin.keyword}/{index}"), conjunction(*asked)

    def _asked(self, branch: Branch, name: str) -> Conjunction:
        """What a branch asks of the member of a name."""
        names = tuple(demand for clause in branch.all(Names) for demand in clause.asked)
        if not self.values.string_satisfies(name, names):
            return NEVER
        members = branch.all(Members)
        patterns = dict.fromkeys(pattern for clause in members for pattern, _ in clause.patterns)
        matched = frozenset(pattern for pattern in patterns if self.values.string_matches(name, pattern))
        declared = any(name == named for clause in members for named, _ in clause.named)
        if self.closes(branch) and not declared and not matched:
            return NEVER
        return _combined(members, name, matched)

    def _walk(self) -> Iterator[Position]:
        pending = deque([(self.document.root.pointer, conjunction(self.document.root))])
        seen: set[tuple[str, Conjunction]] = set()
        while pending and len(seen) < MOST_POSITIONS and not self.is_late:
            pointer, asked = pending.popleft()
            key = ("" if asked else pointer, asked)  # places at which nothing is asked differ all the same
            if key in seen:
                continue
            seen.add(key)
            try:
                if not self.is_alive(asked):
                    self.dead.append((pointer, asked))
                    continue
                position = Position(pointer, asked, self._live_branches(asked))
                pending.extend(self._below(position))
            except ConstraintError as error:
                self.failures.append(error)
                continue
            except RecursionError:
                self.failures.append(BudgetError("It is nested too deeply.", pointer=pointer))
                continue
            yield position

    def _live_branches(self, asked: Conjunction) -> tuple[Branch, ...]:
        branches = self.values.branches.of(asked)
        if len(branches) == 1:
            return tuple(branches)
        alive = self.values.liveness.alive
        return tuple(branch for branch in branches if alive(self.values.branch(branch, "")))

    def _below(self, position: Position) -> Iterator[tuple[str, Conjunction]]:
        """The places within the values of a position."""
        for branch in position.branches:
            if "object" in branch.kinds and constants(branch) is None:
                yield from ((field.pointer, field.asked) for field in self.fields(branch))
                yield from (part for part in self.undeclared(branch) if _is_asked(part[1]))
            if "array" in branch.kinds and constants(branch) is None:
                *first, rest = self.items(branch)
                yield from first
                if _is_asked(rest[1]):
                    yield rest


def constants(branch: Branch) -> tuple[Scalar, ...] | None:
    """The scalars that a branch lists, None if it lists none: those of its shortest enum or const."""
    listed = [clause.values for clause in branch.all(Constants) if clause.positive]
    return min(listed, key=len, default=None)


def place_of(asked: Conjunction | list[Demand], otherwise: str) -> str:
    """The place of the first subschema of a conjunction."""
    return next((demand.pointer for demand in asked if isinstance(demand, Subschema)), otherwise)


def _is_asked(asked: Conjunction) -> bool:
    """Whether a rest is worth a look: it is neither left open nor closed."""
    closed = any(isinstance(demand, Subschema) and demand.value is False for demand in asked)
    return bool(asked) and asked != NEVER and not closed


def _combined(members: list[Members], name: str | None, matched: frozenset[str]) -> Conjunction:
    """What all clauses say of a member by its name (None: it has none) and by the patterns that it matches."""
    said: list[Demand] = []
    for clause in members:
        own = [asked for named, asked in clause.named if named == name]
        own += [asked for pattern, asked in clause.patterns if pattern in matched]
        if not own and clause.rest is not None:
            own = [clause.rest]
        said += [demand for asked in own for demand in asked]
    return conjunction(*said)
