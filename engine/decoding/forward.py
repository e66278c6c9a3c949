"""Forward passes over texts that share a beginning, each token computed once where possible.

A branch begins with what its run has read, and goes on by itself: whoever follows the one does not wait for the other.
The prompt is never computed twice, also where healing takes back its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from engine.model.model import Model
    from engine.model.runner import Waiting

Logits = NDArray[np.float32]


class Forward:
    """Next-token logits after a prompt and the tokens that follow it. Safe to share between threads.

    `removed`: what healing took back from the prompt's end; it is read once, with the prompt, and then forgotten.
    """

    def __init__(self, model: Model, prompt: Sequence[int], removed: Sequence[int] = ()) -> None:
        self._model = model
        self._prompt = list(prompt)
        self._removed = list(removed)
        self._held: list[int] = []  # the tokens in the cache
        self._cache = model.new_cache()
        self._after_prompt: Logits | None = None
        self._after_removed: Logits | None = None
        self._latest: tuple[tuple[int, ...], Logits] | None = None
        self._lock = Lock()

    def logits(self, tokens: Sequence[int], ahead: Sequence[int] = (), waiting: Waiting | None = None) -> Logits:
        """The logits for the token after the prompt and `tokens`, and after each of those `ahead`, which are read in
        the same pass: float32 (1 + len(ahead), n). `waiting`: what happens until they are there. Raises Cancelled."""
        with self._lock:
            first = self._known(tokens)
            wanted = len(ahead) + (first is None)
            if not wanted:
                assert first is not None
                return first[np.newaxis]
            rows = self._read([*self._prompt, *tokens, *ahead], wanted, waiting)
            if first is not None:
                rows = np.concatenate([first[np.newaxis], rows])
            elif not tokens:
                self._after_prompt = rows[0].copy()
            self._latest = ((*tokens, *ahead), rows[-1].copy() if len(rows) > 1 else rows[0])
            return rows

    def fork(self) -> Forward:
        """Another that has read the same and goes its own way; the keys and values so far are not copied."""
        with self._lock:
            other = Forward(self._model, self._prompt, self._removed)
            other._cache = self._cache.fork(self._cache.length)
            other._held = self._held[: self._cache.length]
            other._after_prompt, other._after_removed = self._after_prompt, self._after_removed
            other._latest = self._latest
            return other

    def after_removed(self) -> Logits:
        """The logits (n,) after the whole prompt, as it was before healing took its end back."""
        with self._lock:
            if self._after_removed is None:
                self._read_whole_prompt()
            assert self._after_removed is not None
            return self._after_removed

    def _known(self, tokens: Sequence[int]) -> Logits | None:
        if self._latest is not None and self._latest[0] == tuple(tokens):
            return self._latest[1]
        if tokens:
            return None
        if self._after_prompt is None and self._removed:
            self._read_whole_prompt()
        return self._after_prompt

    def _read_whole_prompt(self) -> None:
        rows = self._read([*self._prompt, *self._removed], len(self._removed) + 1)
        self._after_prompt, self._after_removed = rows[0].copy(), rows[-1].copy()

    def _read(self, text: list[int], wanted: int, waiting: Waiting | None = None) -> Logits:
        """The logits after each of the last `wanted` tokens of `text`."""
        held = self._held[: self._cache.length]  # a pass that failed or was cancelled has left less
        common = min(_common(held, text), len(text) - wanted)  # a token is read to get the logits after it
        self._cache.crop(common)
        self._held = text
        return self._model.extend(self._cache, text[common:], keep=wanted, waiting=waiting)


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return position
    return min(len(left), len(right))
