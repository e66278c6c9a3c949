"""A hand-made automaton with the automaton's contract: what masks and runs are tested against without a grammar."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock

import numpy as np

from engine.automaton.automaton import DEAD, UNCERTAIN, UNKNOWN
from engine.errors import Origin


@dataclass
class TinyDfa:
    """A DFA given by `edges[state][byte] -> state`; state 0 is the start. Rows are filled on demand, as the real one's.

    `doubted` are (state, byte) cells that the table calls UNCERTAIN. States that cannot reach acceptance are dead.
    """

    edges: dict[int, dict[int, int]]
    finals: frozenset[int]
    doubted: frozenset[tuple[int, int]] = frozenset()
    start: int = 0
    filled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lock = RLock()
        self.size = 1 + max([0, *self.edges, *(to for row in self.edges.values() for to in row.values())])
        self.table = np.full((self.size, 256), UNKNOWN, dtype=np.int32)
        self.accepting = np.array([state in self.finals for state in range(self.size)])
        self._live = self._reaching(frozenset(range(256)))

    def step(self, state: int, byte: int) -> int:
        target = self.edges.get(state, {}).get(byte, DEAD)
        return target if target in self._live else DEAD

    def advance(self, state: int, data: bytes) -> int | None:
        for byte in data:
            state = self.step(state, byte)
            if state == DEAD:
                return None
        return state

    def is_accepting(self, state: int) -> bool:
        return state in self.finals

    def describe(self, state: int) -> str:
        return f"state {state}"

    def origins(self, state: int) -> tuple[Origin, ...]:
        return (Origin(str(state)),)

    def expected(self, state: int) -> tuple[str, ...]:
        return tuple(repr(chr(byte)) for byte in sorted(self.edges.get(state, {})))

    def mask_state(self, state: int, longest: int) -> int:
        return state

    def fill_row(self, state: int) -> None:
        self.filled.append(state)
        self.table = self.table.copy()  # the real table moves as it grows
        for byte in range(256):
            self.table[state, byte] = UNCERTAIN if (state, byte) in self.doubted else self.step(state, byte)

    def spellable(self, state: int, alphabet: frozenset[int]) -> bool:
        return state in self._reaching(alphabet)

    def alphabet(self) -> frozenset[int]:
        return frozenset(
            byte for state in self._live for byte, to in self.edges.get(state, {}).items() if to in self._live
        )

    def shortest(self, state: int) -> bytes:
        paths = {state: b""}
        for reached in (queue := [state]):
            if reached in self.finals:
                return paths[reached]
            for byte, to in sorted(self.edges.get(reached, {}).items()):
                if to not in paths:
                    paths[to] = paths[reached] + bytes([byte])
                    queue.append(to)
        raise AssertionError("the state is dead")

    def _reaching(self, alphabet: frozenset[int]) -> set[int]:
        """The states from which acceptance can be reached over `alphabet`."""
        live = set(self.finals)
        while more := {
            state
            for state, row in self.edges.items()
            if state not in live and any(byte in alphabet and to in live for byte, to in row.items())
        }:
            live |= more
        return live


@dataclass
class TinyConstraint:
    """A constraint around a TinyDfa."""

    automaton: TinyDfa

    @property
    def start(self) -> int:
        return self.automaton.start

    def __getattr__(self, name: str) -> object:
        return getattr(self.automaton, name)


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
