"""The second step of the ladder: the mask of every state, before anything is generated.

A regular constraint has finitely many states, and a mask depends on nothing else. So explore them all, try every token
once from each, and look the answer up while generating (Willard and Louf, "Efficient Guided Generation for Large
Language Models", 2307.09702). A mask then costs nothing; what costs is every state, wanted or not, and a constraint
with a stack has no end of them.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from engine.automaton.automaton import DEAD
from engine.automaton.terms import members_of
from engine.constraint import Constraint
from engine.errors import BudgetError
from engine.masking.ladder.work import Answer, Spelling, Work, batches, never, state_after
from engine.vocabulary import Vocabulary

MOST_STATES = 256
"""States up to which an automaton is indexed: each is a pass over the whole vocabulary."""


class Index:
    """The masks of all states that the start leads to. Keeps one bit for each state and token.

    `states`: how many there are. Each takes a pass over all tokens, some hundredths of a second for 50,000: `cancelled`
    is asked before each batch of them. Raises BudgetError beyond `most_states`, WorkCancelled if stopped.
    """

    name = "index"

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        most_states: int = MOST_STATES,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        started = perf_counter()
        self._constraint = constraint
        self._vocabulary = vocabulary
        self._masks: dict[int, NDArray[np.uint8]] = {}
        checks = bytes_read = 0
        states, rows = explored(constraint, most_states)
        spellable = Spelling(constraint.automaton, vocabulary)
        for number, state in enumerate(states):
            allowed = np.zeros(vocabulary.size, dtype=np.bool_)
            for batch in batches(range(vocabulary.size), cancelled):
                for token_id in batch:
                    if not (token := vocabulary.tokens[token_id]):
                        continue  # a control token spells nothing to try
                    after, read = _follow(rows, number, token)
                    checks += 1
                    bytes_read += read
                    allowed[token_id] = after >= 0 and spellable(states[after])
            allowed[list(vocabulary.end_ids)] = constraint.is_accepting(state)
            self._masks[state] = np.packbits(allowed)
        self.preparation = Work(checks, bytes_read, self._memory, perf_counter() - started)

    @property
    def states(self) -> int:
        """States that are indexed."""
        return len(self._masks)

    def mask(self, text: bytes) -> Answer:
        """The tokens that may follow. Raises ValueError if `text` leaves the language."""
        state = state_after(self._constraint, text)
        started = perf_counter()
        allowed = np.unpackbits(self._masks[state], count=self._vocabulary.size).view(np.bool_)
        return Answer(allowed, Work(0, 0, self._memory, perf_counter() - started))

    @property
    def _memory(self) -> int:
        return sum(mask.nbytes for mask in self._masks.values())


def explored(constraint: Constraint, most_states: int) -> tuple[list[int], list[list[int]]]:
    """All states that can be reached, the start first, and their transitions: 256 places in that list, or DEAD.

    Raises BudgetError beyond `most_states`.
    """
    states = [constraint.start]
    places = {constraint.start: 0}
    rows: list[list[int]] = []
    for state in states:  # grows as it is read
        row = [DEAD] * 256
        for members, target in constraint.moves(state):
            if target not in places:
                places[target] = len(states)
                states.append(target)
            for byte in members_of(members):
                row[byte] = places[target]
        if len(states) > most_states:
            raise BudgetError(
                f"The automaton has more than {most_states:,} states, and an index needs a mask for each of them. "
                "Walk the trie instead, state by state as the text comes to them, or make the bounds smaller."
            )
        rows.append(row)
    return states, rows


def _follow(rows: list[list[int]], place: int, token: bytes) -> tuple[int, int]:
    """Where a token leads, negative if nowhere, and how many of its bytes were asked for."""
    for read, byte in enumerate(token):
        place = rows[place][byte]
        if place < 0:
            return place, read + 1
    return place, len(token)
