"""The first step of the ladder: try every token, each from the start of the text.

This is the definition of a mask, and what one writes first. The text is read again for every token of the vocabulary.
`Validator` asks a question that seems the same and is not: whether the text with the token is accepted already. A
validator at hand (a JSON parser, say) answers that one, and a model under its mask cannot write a first token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from engine.constraint import Constraint
from engine.masking.ladder.work import Answer, Spelling, Work, batches, never, read_bytes, state_after
from engine.vocabulary import Vocabulary


class Naive:
    """Every token on the automaton, from the start of the text. Keeps nothing and prepares nothing.

    `tokens`: the ids to try, all if None; the mask says False of the others. It takes seconds for a long text and a
    large vocabulary: `cancelled` is asked before each batch of tokens, and `WorkCancelled` raised where it says so.

    The automaton is the exact one of runs, which gets a state for every text tried that it has to remember (the name of
    an undeclared member): give it a constraint of its own.
    """

    name = "naive"
    preparation = Work(0, 0, 0, 0.0)

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        tokens: Sequence[int] | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        self._constraint = constraint
        self._vocabulary = vocabulary
        self._tried = range(vocabulary.size) if tokens is None else tokens
        self._cancelled = cancelled
        self._spellable = Spelling(constraint.automaton, vocabulary)

    def mask(self, text: bytes) -> Answer:
        """The tokens that may follow. Raises ValueError if `text` leaves the language, WorkCancelled if stopped."""
        state_after(self._constraint, text)  # else every token would be masked without a word
        allowed = np.zeros(self._vocabulary.size, dtype=np.bool_)
        checks = bytes_read = 0
        started = perf_counter()
        for batch in batches(self._tried, self._cancelled):
            with self._constraint.automaton.lock:
                for token_id in batch:
                    token = self._vocabulary.tokens[token_id]
                    is_end = token_id in self._vocabulary.end_ids
                    if not token and not is_end:
                        continue  # a control token spells nothing to try
                    state, read = read_bytes(self._constraint.automaton, self._constraint.start, text + token)
                    checks += 1
                    bytes_read += read
                    allowed[token_id] = self._is_accepting(state) if is_end else self._suits(state)
        return Answer(allowed, Work(checks, bytes_read, 0, perf_counter() - started))

    def _suits(self, state: int) -> bool:
        """Completable: acceptance can still be reached."""
        return state >= 0 and self._spellable(state)

    def _is_accepting(self, state: int) -> bool:
        return state >= 0 and self._constraint.is_accepting(state)


class Validator(Naive):
    """Every token after which the text is accepted already: what a validator allows, and what generates nothing."""

    name = "validator"

    def _suits(self, state: int) -> bool:
        return self._is_accepting(state)
