"""A deterministic model without weights: logits are a hash of the text so far, and every token computed is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.model.runner import Waiting
from engine.vocabulary import Vocabulary

Logits = Callable[[tuple[int, ...]], np.ndarray]


@dataclass
class FakeCache:
    ids: list[int] = field(default_factory=list)

    @property
    def length(self) -> int:
        return len(self.ids)

    def fork(self, length: int) -> FakeCache:
        return FakeCache(self.ids[:length])

    def crop(self, length: int) -> None:
        assert length <= len(self.ids)
        del self.ids[length:]


class FakeModel:
    """The contract of `engine.model.Model` as far as a decoder uses it. `computed` counts forwarded tokens."""

    name = "fake"

    def __init__(self, vocabulary: Vocabulary, logits: Logits | None = None, context: int = 1000) -> None:
        self.vocabulary = vocabulary
        self.context = context
        self.computed = 0
        self._logits = logits or self._hashed

    def encode(self, prompt: str, chat_template: bool) -> list[int]:
        words = prompt.split()
        return [1] * chat_template + [2 + len(word) % (self.vocabulary.size - 2) for word in words]

    def new_cache(self) -> FakeCache:
        return FakeCache()

    def before(self, thread: int) -> int:
        return 0

    def extend(self, cache: FakeCache, ids: Sequence[int], keep: int, waiting: Waiting | None = None) -> np.ndarray:
        if waiting and waiting.meanwhile:
            waiting.meanwhile()
        rows = []
        for token_id in ids:
            cache.ids.append(token_id)
            rows.append(self._logits(tuple(cache.ids)))
        self.computed += len(ids)
        return np.array(rows, dtype=np.float32)[-keep:]

    def extend_each(self, caches: Sequence[FakeCache], texts: Sequence[Sequence[int]]) -> list[np.ndarray]:
        return [self.extend(cache, ids, 1)[-1] for cache, ids in zip(caches, texts, strict=True)]

    def read_many(self, cache: FakeCache, rows: Sequence[Sequence[int]]) -> list[np.ndarray]:
        empty = np.empty((0, self.vocabulary.size), dtype=np.float32)
        return [self.extend(FakeCache(list(cache.ids)), row, len(row)) if row else empty for row in rows]

    def _hashed(self, ids: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng(ids).normal(size=self.vocabulary.size) * 3
