"""A language model as the decoder sees it: text to ids, ids to logits, and a cache that can be cut back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache

from engine.model.prompts import closing_token, encode_chat, encode_plain, template_around
from engine.vocabulary import Canonical, Vocabulary

# Tokens per forward pass while a prompt is read: other sessions get their turn in between.
_PREFILL = 256

# Rows and tokens per forward pass where many texts are read at once: their logits and caches are held together.
_BATCH_ROWS = 32
_BATCH_TOKENS = 512


class Cache:
    """The keys and values of the tokens read so far. Belongs to one run; not to be used from two threads at once."""

    def __init__(self, states: DynamicCache | None = None) -> None:
        self.states = DynamicCache() if states is None else states

    @property
    def length(self) -> int:
        """Tokens read so far."""
        return int(self.states.get_seq_length())

    def crop(self, length: int) -> None:
        """Forget all tokens but the first `length`."""
        if not 0 <= length <= self.length:
            raise ValueError(f"A cache of {self.length} tokens cannot be cropped to {length}.")
        if length == 0:
            self.states = DynamicCache()
        elif length < self.length:
            self.states.crop(length - self.length)

    def fork(self, length: int) -> Cache:
        """An independent cache that holds the first `length` tokens."""
        if not 0 <= length <= self.length:
            raise ValueError(f"A cache of {self.length} tokens has no first {length}.")
        if length == 0:
            return Cache()
        layers = ((layer.keys[..., :length, :], layer.values[..., :length, :]) for layer in self.states.layers)
        return Cache(DynamicCache(layers))

    def repeated(self, rows: int) -> DynamicCache:
        """The same keys and values for each row of a batch, without copying them."""
        if not self.length:
            return DynamicCache()
        return DynamicCache(
            (layer.keys.expand(rows, -1, -1, -1), layer.values.expand(rows, -1, -1, -1)) for layer in self.states.layers
        )


class Model:
    """A causal language model with its tokenizer. One is shared by all sessions; every method may be called from any
    thread.

    `path`: the folder with the tokenizer and the weights; `context`: tokens the model can read and write in all;
    `device`: where it runs. `has_chat_template`: whether `chat_template=True` has an effect.
    """

    def __init__(self, network: Any, tokenizer: Any, *, path: Path, name: str, context: int) -> None:
        self.tokenizer = tokenizer
        self.path = path
        self.name = name
        self.context = context
        self.device = str(network.device)
        self._network = network
        self._forward_lock = threading.Lock()
        self._tokenizer_lock = threading.Lock()
        self._around = template_around(tokenizer)
        self.vocabulary = Vocabulary.from_tokenizer(
            tokenizer, _end_ids(network, tokenizer), size=network.get_output_embeddings().weight.shape[0]
        )

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
        return Cache()

    def extend(self, cache: Cache, ids: Sequence[int], keep: int | None = None) -> NDArray[np.float32]:
        """Read `ids` after what `cache` holds: logits, float32 (len(ids), vocabulary size), one row per token read.

        `keep` returns the rows of the last `keep` tokens only (a long prompt's logits are large and only its last row
        is needed). Raises ValueError if the ids do not fit in the context.
        """
        if cache.length + len(ids) > self.context:
            raise ValueError(f"{cache.length} + {len(ids)} tokens do not fit in a context of {self.context}.")
        first_kept = 0 if keep is None else max(0, len(ids) - keep)
        rows = [np.empty((0, self.vocabulary.size), dtype=np.float32)]
        for start in range(0, len(ids), _PREFILL):
            part = ids[start : start + _PREFILL]
            wanted = max(0, start + len(part) - max(start, first_kept))
            rows.append(self._forward(cache, part, wanted))
        return np.concatenate(rows)

    def read_many(self, cache: Cache, rows: Sequence[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Read each of `rows` by itself after what `cache` holds: logits, float32 (len(row), vocabulary size), of each.

        The cache stays as it is. Rows are read many at a time, so their logits may differ in the last bits from those
        that `extend` gives. Raises ValueError if a row does not fit in the context.
        """
        longest = max(map(len, rows), default=0)
        if cache.length + longest > self.context:
            raise ValueError(f"{cache.length} + {longest} tokens do not fit in a context of {self.context}.")
        found: list[NDArray[np.float32]] = [np.empty((0, self.vocabulary.size), dtype=np.float32)] * len(rows)
        for batch in _batches(rows):
            for place, logits in zip(batch, self._read_batch(cache, [rows[place] for place in batch]), strict=True):
                found[place] = logits
        return found

    def _read_batch(self, cache: Cache, rows: list[Sequence[int]]) -> list[NDArray[np.float32]]:
        """Rows are padded at their ends: what comes after a token is not seen by it."""
        width = max(map(len, rows))
        padded = [[*row, *[0] * (width - len(row))] for row in rows]
        with self._forward_lock, torch.inference_mode():
            read = torch.tensor(padded, device=self._network.device)
            output = self._network(read, cache=cache.repeated(len(rows)), use_cache=True)
            return [output.logits[place, : len(row)].float().cpu().numpy().copy() for place, row in enumerate(rows)]

    def _forward(self, cache: Cache, ids: Sequence[int], keep: int) -> NDArray[np.float32]:
        with self._forward_lock, torch.inference_mode():  # inference mode is a property of the thread
            read = torch.tensor([list(ids)], device=self._network.device)
            # logits_to_keep=0 means all of them
            output = self._network(read, cache=cache.states, use_cache=True, logits_to_keep=keep or 1)
            logits: NDArray[np.float32] = output.logits[0].float().cpu().numpy()
        return logits[-keep:] if keep else logits[:0]


def _batches(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Places of rows read together: of similar length, within the bounds of a batch; empty rows are left out."""
    batch: list[int] = []
    for place in sorted((place for place, row in enumerate(rows) if row), key=lambda place: -len(rows[place])):
        if batch and (len(batch) == _BATCH_ROWS or (len(batch) + 1) * len(rows[batch[0]]) > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _end_ids(network: Any, tokenizer: Any) -> set[int]:
    """All stop ids of the generation config, and the token that closes a turn in the chat template."""
    configured = network.generation_config.eos_token_id
    ends = set(configured if isinstance(configured, list) else [configured]) | {closing_token(tokenizer)}
    return {int(token_id) for token_id in ends if token_id is not None}
