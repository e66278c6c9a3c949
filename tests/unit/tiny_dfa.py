"""Automata made by hand: what masks and runs are tested against without a grammar's source.

`TinyDfa` is a table in plain Python that knows nothing of terms; `constraint_of` has the engine read the same language.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.terms import UNKNOWN, Captured, Term, byte_set
from engine.budget import Budget
from engine.constraint import Constraint, Report
from engine.errors import ConstraintError, Origin

DEAD = -1


@dataclass(frozen=True, eq=False)
class TinyDfa:
    """A DFA given by `edges[state][byte] -> state`; state 0 is the start.

    `doubted`: (state, byte) cells whose byte the engine has to remember to know what follows: a mask cannot tell.
    """

    edges: dict[int, dict[int, int]]
    finals: frozenset[int]
    doubted: frozenset[tuple[int, int]] = frozenset()

    def step(self, state: int, byte: int) -> int:
        """The state after a byte, DEAD if acceptance cannot be reached from there."""
        target = self.edges.get(state, {}).get(byte, DEAD)
        return target if self.spellable(target, frozenset(range(256))) else DEAD

    def advance(self, state: int, data: bytes) -> int | None:
        for byte in data:
            state = self.step(state, byte)
            if state == DEAD:
                return None
        return state

    def is_accepting(self, state: int) -> bool:
        return state in self.finals

    def spellable(self, state: int, alphabet: frozenset[int]) -> bool:
        """Whether acceptance can be reached with these bytes alone."""
        reached = [state]
        for one in reached:
            row = self.edges.get(one, {})
            reached += {to for byte, to in row.items() if byte in alphabet and to not in reached}
        return not self.finals.isdisjoint(reached)


@dataclass(frozen=True, eq=False)
class TinyRule:
    """The states of a TinyDfa as calls: the argument of a call is a state, that of a capture the state behind it."""

    dfa: TinyDfa
    name: str = "tiny"
    sure: bool = False

    def nullable(self, state: int) -> bool:
        return self.dfa.is_accepting(state)

    def body(self, arena: Arena, state: int) -> Term:
        row = self.dfa.edges.get(state, {})
        doubted = {byte for byte in row if (state, byte) in self.dfa.doubted}
        parts = [arena.capture(self, row[byte], arena.literal(bytes([byte]))) for byte in sorted(doubted)]
        for target in sorted(set(row.values())):
            members = byte_set(byte for byte, to in row.items() if to == target and byte not in doubted)
            parts.append(arena.seq(arena.bytes(members), arena.call(self, target)))
        return arena.tag(Origin(str(state)), arena.alt([*parts, *([arena.epsilon] if self.nullable(state) else [])]))

    core = body

    def after(self, arena: Arena, target: int, text: Captured) -> Term:
        return arena.uncertain if text is UNKNOWN else arena.call(self, target)

    def parts(self, arena: Arena, state: int) -> Iterable[Term]:
        return [arena.bytes(byte_set(row)) for row in self.dfa.edges.values()]

    def forget(self, state: int) -> int:
        return state

    def words(self, state: int) -> str:
        return f"state {state}"


def constraint_of(dfa: TinyDfa) -> Constraint:
    """What compiling a source of the DFA's language would give."""
    arena = Arena(Budget())
    automaton = Automaton(arena, arena.call(TinyRule(dfa), 0))
    if automaton.start < 0:
        raise ConstraintError("No text is accepted.", unsatisfiable=True)
    return Constraint("bytes", automaton, Report("bytes", seconds=0.0, terms=len(arena)))


def word_dfa(*words: bytes) -> TinyDfa:
    """The automaton of a few words: one state per prefix."""
    prefixes = sorted(
        {word[:end] for word in words for end in range(len(word) + 1)}, key=lambda prefix: (len(prefix), prefix)
    )
    numbers = {prefix: number for number, prefix in enumerate(prefixes)}
    edges: dict[int, dict[int, int]] = {number: {} for number in numbers.values()}
    for prefix, number in numbers.items():
        if prefix:
            edges[numbers[prefix[:-1]]][prefix[-1]] = number
    return TinyDfa(edges, frozenset(numbers[word] for word in words))
