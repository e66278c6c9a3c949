"""A pushdown constraint as its reader thinks of it: one automaton per rule, and a stack of rules that were entered.

The states of the engine are what remains to be read, stack and all, so a recursive constraint has endlessly many. Here
calls of rules are edges of their own, as in a recursive transition network (Woods 1970), which leaves few states. Not
used for masks: a network may read one text in several ways, and only the first `MOST_READINGS` are followed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from engine.automaton import edges as drawn
from engine.automaton.automaton import Automaton
from engine.automaton.edges import Edge
from engine.automaton.recursion import recursive
from engine.automaton.terms import (
    DRAWN,
    Alt,
    Call,
    Repeat,
    Seq,
    Tag,
    Term,
    members_of,
)

MOST_READINGS = 32
"""Ways to read one text that are followed."""

LONGEST_TRAIL = 100

ANY_VALUE = "<any value>"

Rest = TypeVar("Rest")

Calls = list[tuple["NamedRule", Term]]
"""Rules that may be entered, each with what remains after it."""

Plain = list[tuple[int, Term]]
"""Byte sets with what remains; they may overlap."""


@dataclass(frozen=True, eq=False, slots=True)
class NamedRule:
    """A rule with a picture of its own. `terminal`: made of bytes alone. `call`: the term that stands for it."""

    number: int
    name: str
    terminal: bool
    call: Term
    start: Term


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A rule that was entered and not yet left: `state` is where it stands (or goes on once the next frame is done).

    `trail`: its states since it was entered (the last `LONGEST_TRAIL`), with the frame's own last; `caller`: the frame
    below, `depth` how many there are. `key` is equal for equal stacks.
    """

    rule: NamedRule
    state: int
    trail: tuple[int, ...]
    caller: Frame | None
    depth: int
    key: int

    @property
    def passing(self) -> bool:
        """Nothing was read in it but what the frames above it read."""
        return len(self.trail) <= 2


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """One way to read a text: the stack after its last byte, and how it was read up to there."""

    top: Frame
    before: Reading | None


class Rules:
    """The rules of one constraint and their states; both grow as they are looked at. Numbers are of this object."""

    def __init__(self, automaton: Automaton, calls_all: bool, first: str) -> None:
        """`calls_all`: every rule without arguments has its own picture, not only those that recursion goes through.

        `first`: how to call the rule that the whole begins with.
        """
        self.automaton = automaton
        self.arena = automaton.arena
        self.known: list[NamedRule] = []
        self._by_call: dict[Term, NamedRule] = {}
        self._terms: list[Term] = []
        self._numbers: dict[tuple[int, Term], int] = {}
        self._rule_of: list[NamedRule] = []
        self._split: dict[Term, tuple[Calls, Plain]] = {}
        self._edges: dict[int, tuple[Edge, ...]] = {}
        self._read: dict[bytes, tuple[Reading, ...]] = {}
        self._stacks: dict[tuple[int, int], int] = {}
        self._recursive = recursive(self.arena, automaton.root)
        self._calls_all = calls_all
        root = self.arena.to_form(automaton.root, DRAWN)
        self.root = self._rule(root, first, terminal=False)

    @property
    def is_pushdown(self) -> bool:
        """Whether some rule can be entered within itself."""
        return bool(self._recursive)

    # A machine (edges.py) over the states of all rules: the edges of a state stay in its rule.

    @property
    def start(self) -> int:
        """The state in which the whole constraint begins."""
        return self.first(self.root)

    def first(self, rule: NamedRule) -> int:
        """The state in which a rule begins."""
        return self._number(rule, rule.start)

    def has(self, state: int) -> bool:
        """Whether there is a state of that number."""
        return 0 <= state < len(self._terms)

    def rule_of(self, state: int) -> NamedRule:
        """The rule a state belongs to."""
        return self._rule_of[state]

    def term(self, state: int) -> Term:
        """What remains to be read of the state's rule."""
        return self._terms[state]

    def is_accepting(self, state: int) -> bool:
        """Whether the rule may end here."""
        return self._terms[state].nullable

    def moves(self, state: int) -> Sequence[tuple[int, int]]:
        """Disjoint byte sets with the state of the rule that each leads to; calls aside."""
        rule = self._rule_of[state]
        return [(members, self._number(rule, rest)) for members, rest in self._joined(state) if self._is_alive(rest)]

    def dead(self, state: int) -> int:
        """Ways out that lead to no accepted text."""
        return sum(1 for _, rest in self._joined(state) if not self._is_alive(rest))

    def edges(self, state: int) -> tuple[Edge, ...]:
        """Edges out of a state: bytes, characters folded, and calls of rules."""
        if state not in self._edges:
            called = [
                Edge(self._number(self._rule_of[state], rest), f"⟨{rule.name}⟩", self._first_bytes(rule), rule.number)
                for rule, rest in self._parts(state)[0]
            ]
            self._edges[state] = (*drawn.folded(self, state), *called)
        return self._edges[state]

    # Reading a text.

    def read(self, path: bytes) -> tuple[Reading, ...]:
        """The ways to read a text, the first `MOST_READINGS`; none where it leaves the language."""
        done = next((n for n in range(len(path), 0, -1) if path[:n] in self._read), 0)
        readings = self._read[path[:done]] if done else (self._begin(),)
        for offset in range(done, len(path)):
            readings = self._after(readings, path[offset])
            if len(self._read) > 512:
                self._read.clear()
            self._read[path[: offset + 1]] = readings
        return readings

    def _begin(self) -> Reading:
        return Reading(self._enter(self.root, None), None)

    def _after(self, readings: Iterable[Reading], byte: int) -> tuple[Reading, ...]:
        found: dict[int, Reading] = {}
        for reading in readings:
            for frame in self._entered(reading.top):
                for members, target in self.moves(frame.state):
                    if members >> byte & 1:
                        top = self._left(self._moved(frame, target))
                        found.setdefault(top.key, Reading(top, reading))
        return tuple(found.values())[:MOST_READINGS]

    def _left(self, frame: Frame) -> Frame:
        """The frame, or the one below where nothing of it remains."""
        while frame.caller is not None and self._terms[frame.state] is self.arena.epsilon:
            frame = frame.caller
        return frame

    def _entered(self, top: Frame) -> list[Frame]:
        """The frames in which the next byte may be read: the top one, those it may end into, those it may enter."""
        pending = deque([top])
        found: dict[int, Frame] = {}
        while pending and len(found) < 8 * MOST_READINGS:
            frame = pending.popleft()
            if frame.key in found:
                continue
            found[frame.key] = frame
            for rule, rest in self._parts(frame.state)[0]:
                pending.append(self._enter(rule, self._moved(frame, self._number(frame.rule, rest))))
            if frame.caller is not None and self.is_accepting(frame.state):
                pending.append(frame.caller)
        return list(found.values())

    def _enter(self, rule: NamedRule, caller: Frame | None) -> Frame:
        state = self.first(rule)
        return Frame(rule, state, (state,), caller, caller.depth + 1 if caller else 0, self._key(state, caller))

    def _moved(self, frame: Frame, state: int) -> Frame:
        trail = (*frame.trail[1 - LONGEST_TRAIL :], state)
        return Frame(frame.rule, state, trail, frame.caller, frame.depth, self._key(state, frame.caller))

    def _key(self, state: int, caller: Frame | None) -> int:
        return self._stacks.setdefault((state, caller.key if caller else -1), len(self._stacks))

    # Taking terms apart.

    def _rule(self, call: Term, name: str, terminal: bool) -> NamedRule:
        if call not in self._by_call:
            start = self.arena.body(call) if isinstance(call, Call) and not terminal else call
            rule = NamedRule(len(self.known), name, terminal, call, start)
            self.known.append(rule)
            self._by_call[call] = rule
        return self._by_call[call]

    def _number(self, rule: NamedRule, term: Term) -> int:
        key = (rule.number, term)
        if key not in self._numbers:
            self._numbers[key] = len(self._terms)
            self._terms.append(term)
            self._rule_of.append(rule)
        return self._numbers[key]

    def _is_alive(self, term: Term) -> bool:
        return self.automaton.liveness.alive(term)

    def _first_bytes(self, rule: NamedRule) -> int:
        first = 0
        for members, _ in self.arena.moves(rule.start):
            first |= members
        return first

    def _parts(self, state: int) -> tuple[Calls, Plain]:
        rule, term = self._rule_of[state], self._terms[state]
        if rule.terminal:
            return [], list(self.arena.moves(term))
        if term not in self._split:
            calls, plain = self._take_apart(term)
            alive = [(r, rest) for r, rest in calls if self._is_alive(rest) and self._is_alive(r.call)]
            self._split[term] = (list(dict.fromkeys(alive)), plain)
        return self._split[term]

    def _joined(self, state: int) -> list[tuple[int, Term]]:
        """The plain moves as disjoint ones."""
        by_byte: dict[int, dict[Term, None]] = {}
        for members, rest in self._parts(state)[1]:
            for byte in members_of(members):
                by_byte.setdefault(byte, {})[rest] = None
        merged: dict[Term, int] = {}
        for byte, rests in by_byte.items():
            rest = self.arena.alt(rests)
            merged[rest] = merged.get(rest, 0) | 1 << byte
        return [(members, rest) for rest, members in merged.items()]

    def _take_apart(self, term: Term) -> tuple[Calls, Plain]:
        if isinstance(term, Seq):
            return self._take_sequence(term)
        if self._is_called(term):
            return [(self._rule(term, self._name(term), terminal=False), self.arena.epsilon)], []
        name = terminal_name(term)
        if name and not term.nullable:
            return [(self._rule(term, name, terminal=True), self.arena.epsilon)], []
        if isinstance(term, Alt):
            parts = [self._take_apart(member) for member in term.members]
            return self._merged(c for calls, _ in parts for c in calls), [p for _, plain in parts for p in plain]
        if isinstance(term, Repeat) and not name:
            calls, plain = self._take_apart(term.body)
            again = self.arena.repeat(term.body, max(term.low - 1, 0), None if term.high is None else term.high - 1)
            return self._then(calls, again), self._then(plain, again)
        if isinstance(term, Call):
            return self._take_apart(self.arena.body(term))
        return [], list(self.arena.moves(term))

    def _take_sequence(self, term: Seq) -> tuple[Calls, Plain]:
        name = terminal_name(term.head)
        if name and not self._is_called(term.head):
            parts, rest = [term.head], term.tail
            while isinstance(rest, Seq) and terminal_name(rest.head) == name:
                parts.append(rest.head)
                rest = rest.tail
            if terminal_name(rest) == name and not isinstance(rest, Seq):
                parts.append(rest)
                rest = self.arena.epsilon
            whole = self.arena.concat(parts)
            if not whole.nullable:
                return [(self._rule(whole, name, terminal=True), rest)], []
        calls, plain = self._take_apart(term.head)
        calls, plain = self._then(calls, term.tail), self._then(plain, term.tail)
        if term.head.nullable:
            more_calls, more_plain = self._take_apart(term.tail)
            calls, plain = calls + more_calls, plain + more_plain
        return calls, plain

    def _merged(self, calls: Iterable[tuple[NamedRule, Term]]) -> Calls:
        """The texts of one terminal with one continuation are one call, however many alternatives they come in."""
        groups: dict[tuple[str, bool, Term], list[NamedRule]] = {}
        for rule, rest in calls:
            groups.setdefault((rule.name, rule.terminal, rest), []).append(rule)
        return [
            (self._rule(self.arena.alt(rule.call for rule in group), name, terminal) if terminal else rule, rest)
            for (name, terminal, rest), group in groups.items()
            for rule in (group[:1] if terminal else group)
        ]

    def _then(self, parts: list[tuple[Rest, Term]], tail: Term) -> list[tuple[Rest, Term]]:
        return [(first, self.arena.seq(rest, tail)) for first, rest in parts]

    def _is_called(self, term: Term) -> bool:
        """Whether a call is drawn as an edge: a rule of the source, without arguments."""
        if not isinstance(term, Call) or term.args != ():
            return False
        return self._calls_all or id(term.rule) in self._recursive

    def _name(self, call: Term) -> str:
        """The name of a rule; what takes any value has none of its own wherever it stands."""
        assert isinstance(call, Call)
        words = call.rule.words(call.args)
        return words[1:-1] if words == ANY_VALUE else call.rule.name


def terminal_name(term: Term) -> str:
    """The name in `<name>` that owns every byte of a term, "" if there is none or a part of it is read already."""
    if isinstance(term, Tag):
        return term.label[1:-1] if term.label.startswith("<") else ""
    if isinstance(term, Call):
        words = term.rule.words(term.args) if term.args != () else ""
        return words[1:-1] if words.startswith("<") else ""
    if isinstance(term, Alt):
        names = {terminal_name(member) for member in term.members}
        return names.pop() if len(names) == 1 else ""
    if isinstance(term, Seq):
        first, rest = terminal_name(term.head), terminal_name(term.tail)
        return first if first == rest else ""
    return terminal_name(term.body) if isinstance(term, Repeat) else ""
