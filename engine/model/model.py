"""A language model as the decoder sees it: text to ids, ids to logits, and a cache that can be cut back.

Forward passes of all threads go through one runner; see `runner` for who is served when, `kv_pool` for the caches.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.model.kv_pool import Cache
from engine.model.prompts import closing_tokens, encode_chat, encode_plain, template_around
from engine.model.runner import Network, Reading, Runner, Waiting
from engine.vocabulary import Canonical, Vocabulary

# Texts that branch off from one and are read together: each has a page of its own.
_ROWS = 32


class Model:
    """A causal language model with its tokenizer. One is shared by all sessions; every method may be called from any
    thread.

    `path`: the folder with the tokenizer and the weights; `context`: tokens the model can read and write in all;
    `device`: where it runs. `end_ids` are those of its configuration; the token that closes a turn in the chat template
    is one as well. `has_chat_template`: whether `chat_template=True` has an effect.
    """

    def __init__(
        self,
        network: Network,
        tokenizer: Any,
        *,
        path: Path,
        name: str,
        context: int,
        device: str,
        vocabulary_size: int,
        end_ids: Iterable[int],
    ) -> None:
        self.tokenizer = tokenizer
        self.path = path
        self.name = name
        self.context = context
        self.device = device
        self._network = network
        self._runner = Runner(network)
        self._tokenizer_lock = threading.Lock()
        self._around = template_around(tokenizer)
        ends = {*end_ids, *closing_tokens(tokenizer)}
        self.vocabulary = Vocabulary.from_tokenizer(tokenizer, ends, size=vocabulary_size)

    @cached_property
    def canonical(self) -> Canonical:
        """The tokenizer's own way to write bytes in the middle of a text."""
        with self._tokenizer_lock:
            return Canonical(self.tokenizer, self.vocabulary)

    @property
    def has_chat_template(self) -> bool:
        return self._around is not None

    def prompt_text(self, prompt: str, chat_template: bool) -> str:
        """What the model reads for a prompt, as text."""
        if not chat_template or self._around is None:
            return prompt
        before, after = self._around
        return before + prompt + after

    def encode(self, prompt: str, chat_template: bool) -> list[int]:
        """The token ids the model reads for a prompt; the prompt itself never becomes a special token."""
        with self._tokenizer_lock:
            if not chat_template or self._around is None:
                return encode_plain(self.tokenizer, prompt)
            return encode_chat(self.tokenizer, self._around, prompt, self.vocabulary.special_ids)

    def new_cache(self) -> Cache:
        return Cache(self._network.pool)

    def before(self, thread: int) -> int:
        """How many others are served before a thread (its ident) that waits for a forward pass has its turn."""
        return self._runner.before(thread)

    def extend(
        self, cache: Cache, ids: Sequence[int], keep: int | None = None, waiting: Waiting | None = None
    ) -> NDArray[np.float32]:
        """Read `ids` after what `cache` holds: logits, float32 (len(ids), vocabulary size), one row per token read.

        `keep` returns the rows of the last `keep` tokens only (a long prompt's logits are large and only its last row
        is needed). `waiting`: what happens until they are there. Raises ValueError if the ids do not fit in the
        context, Busy if too many wait already, and Cancelled.
        """
        self._check_fits(cache.length, len(ids))
        text = [*cache.tokens, *ids]
        reading = Reading(cache, text, len(text) - len(ids) if keep is None else max(cache.length, len(text) - keep))
        self._runner.read([reading], waiting)
        return self._rows(reading)

    def read_many(self, cache: Cache, rows: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Read each of `rows` by itself after what `cache` holds: logits, float32 (len(row), vocabulary size), of each.

        The cache stays as it is. Raises ValueError if a row does not fit in the context, and Busy.
        """
        self._check_fits(cache.length, max(map(len, rows), default=0))
        found: list[NDArray[np.float32]] = []
        for start in range(0, len(rows), _ROWS):
            here = rows[start : start + _ROWS]
            forks = [cache.fork(cache.length) for _ in here]
            readings = [
                Reading(fork, [*cache.tokens, *row], cache.length) for fork, row in zip(forks, here, strict=True)
            ]
            self._runner.read(readings)
            found += map(self._rows, readings)
        return found

    def extend_each(self, caches: Sequence[Cache], texts: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Read each of `texts` (none empty) after what the cache at its place holds, in common passes: the logits (n,)
        after the last token of each. Raises as `extend`."""
        for cache, ids in zip(caches, texts, strict=True):
            self._check_fits(cache.length, len(ids))
        readings = [
            Reading(cache, [*cache.tokens, *ids], cache.length + len(ids) - 1)
            for cache, ids in zip(caches, texts, strict=True)
        ]
        self._runner.read(readings)
        return [reading.logits[-1][-1] for reading in readings]

    def _check_fits(self, held: int, more: int) -> None:
        if held + more > self.context:
            raise ValueError(f"{held} + {more} tokens do not fit in a context of {self.context}.")

    def _rows(self, reading: Reading) -> NDArray[np.float32]:
        return np.concatenate([np.empty((0, self.vocabulary.size), dtype=np.float32), *reading.logits])
