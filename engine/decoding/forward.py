"""Forward passes over texts that share a beginning, each token computed once where possible.

A run and its branches share one KV cache: going from one to the other crops it to what they have in common. The prompt
is never computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from engine.model.model import Model


class Forward:
    """Next-token logits after a prompt and the tokens that follow it. Safe to share between threads."""

    def __init__(self, model: Model, prompt: Sequence[int]) -> None:
        self._model = model
        self._prompt = list(prompt)
        self._held: list[int] = []  # the tokens in the cache
        self._cache = model.new_cache()
        self._after_prompt: NDArray[np.float32] | None = None
        self._lock = Lock()

    def logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The logits (n,) for the token after the prompt and `tokens`."""
        with self._lock:
            if tokens:
                return self._extend(self._prompt + list(tokens))
            if self._after_prompt is None:
                self._after_prompt = self._extend(self._prompt).copy()
            return self._after_prompt

    def _extend(self, text: list[int]) -> NDArray[np.float32]:
        held = self._held[: self._cache.length]  # a pass that failed may have left less
        common = min(_common(held, text), len(text) - 1)  # the last token is needed for its logits
        self._cache.crop(common)
        self._held = text[:common]
        logits: NDArray[np.float32] = self._model.extend(self._cache, text[common:], keep=1)[-1]
        self._held = text
        return logits


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return position
    return min(len(left), len(right))
