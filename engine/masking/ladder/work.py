"""What every step of the cost ladder does, and what it counts.

One question, which tokens may follow this text, has answers that cost a thousand times more than others. The methods of
this package give the same mask and count what it took them, so that the difference is measured and not claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.automaton.automaton import Automaton
from engine.constraint import Constraint
from engine.vocabulary import Vocabulary

BATCH = 1_024
"""Tokens that are tried at a time; between two batches others may use the automaton, and may stop the work."""


class WorkCancelled(Exception):
    """Someone asked for the work to stop."""


def never() -> bool:
    """Nobody asks for the work to stop."""
    return False


def batches(ids: Sequence[int], cancelled: Callable[[], bool]) -> Iterator[Sequence[int]]:
    """The ids, some at a time. Before each batch `cancelled` is asked; raises WorkCancelled where it says so."""
    for start in range(0, len(ids), BATCH):
        if cancelled():
            raise WorkCancelled
        yield ids[start : start + BATCH]


@dataclass(frozen=True, slots=True)
class Work:
    """What something took.

    `checks`: tokens looked at one by one; those that fall with a whole subtree of the trie are not, and a remembered
    mask takes none. `bytes_read`: transitions of the automaton that were asked for to do so. `memory_bytes`: what the
    method keeps from then on, masks and trie; the automaton, which every method asks, is left out, as are the tokens
    themselves. `seconds` by the clock: they depend on the machine and on the language the method is written in.
    """

    checks: int
    bytes_read: int
    memory_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The allowed tokens after a text, bool (size,), with what it took to find them."""

    allowed: NDArray[np.bool_]
    work: Work


class Method(Protocol):
    """A way to find the mask. `preparation`: what was done before the first text was known."""

    name: str
    preparation: Work

    def mask(self, text: bytes) -> Answer:
        """The tokens that may follow `text`, written from the constraint's start on.

        A decoder holds the state of what it has written, one transition for each byte; reaching it is not counted,
        except where a method has no use for it. Raises ValueError if `text` leaves the language.
        """


def state_after(constraint: Constraint, text: bytes) -> int:
    """The state that a decoder holds after a text. Raises ValueError if it leaves the language."""
    state = constraint.advance(constraint.start, text)
    if state is None:
        raise ValueError("The text leaves the language of the constraint.")
    return state


def read_bytes(automaton: Automaton, state: int, data: bytes) -> tuple[int, int]:
    """The state after some bytes, negative if they cannot be read, and how many of them were asked for."""
    for read, byte in enumerate(data):
        state = automaton.step(state, byte)
        if state < 0:
            return state, read + 1
    return state, len(data)


class Spelling:
    """Whether acceptance can be spelled from a state with the vocabulary's one-byte tokens, asked once for each."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self._automaton = automaton
        self._one_byte = vocabulary.one_byte
        self._known: dict[int, bool] = {}

    def __call__(self, state: int) -> bool:
        known = self._known.get(state)
        if known is None:
            with self._automaton.lock:
                known = self._known[state] = self._automaton.spellable(state, self._one_byte)
        return known
