"""The bundled model's own way through its network: Llama blocks, weights in small integers, no call per layer.

It gives the same as the library's network and is several times faster on a CPU. Every other model, and every other
device, goes through `transformer`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import numpy as np

from engine.model.blocks import LANES, Floats
from engine.model.kv_pool import BOUND, PAGE, Pool, pages_within
from engine.model.llama_kernel import Rows, Weights, forward
from engine.model.runner import Part

_WORTH_A_THREAD = 4  # rows: that many go through a matrix together


class Llama:
    """A network as a `Runner` drives it; for one thread at a time. Its keys and values take at most `bound` bytes.

    `context`: tokens of the longest text; `vocabulary_size`: logits of a row.
    """

    pass_tokens = 32  # more at once take as much longer as they are more

    def __init__(self, weights: Weights, bound: int = BOUND) -> None:
        self.context, half = weights.cosines.shape
        self.vocabulary_size = weights.embedding.whole.shape[1] * LANES
        self._weights = weights
        layers, outputs, size = len(weights.norms), weights.queries_keys_values.whole.shape[1] * LANES, 2 * half
        key_heads = (outputs - weights.attention_out.whole.shape[2]) // size // 2
        page = (layers, 2, key_heads, PAGE * size)
        pages = pages_within(int(np.prod(page)) * 4, self.context, bound)
        self._store = np.empty((pages, *page), np.float32)
        self.pool = Pool(self._store)
        self._cores = _cores()
        self._threads = ThreadPoolExecutor(self._cores, thread_name_prefix="part of a forward pass")

    def read(self, parts: Sequence[Part]) -> list[Floats]:
        """The logits after the last wanted tokens of each part, float32 (wanted, vocabulary size)."""
        groups = _groups(parts, self._cores)
        found = self._threads.map(self._read, groups) if len(groups) > 1 else map(self._read, groups)
        return [logits for group in found for logits in group]

    def _read(self, parts: Sequence[Part]) -> list[Floats]:
        tokens = [token for part in parts for token in part.tokens]
        positions = [part.start + place for part in parts for place in range(len(part.tokens))]
        texts = [text for text, part in enumerate(parts) for _ in part.tokens]
        pages = np.zeros((len(parts), max(len(part.pages) for part in parts)), np.int32)
        for row, part in zip(pages, parts, strict=True):
            row[: len(part.pages)] = part.pages
        ends = list(accumulate(len(part.tokens) for part in parts))
        wanted = [row for part, end in zip(parts, ends, strict=True) for row in range(end - part.wanted, end)]
        columns = np.array([tokens, positions, texts], np.int32)
        rows = Rows(columns[0], columns[1], columns[2], pages)
        logits = forward(self._weights, rows, self._store, np.array(wanted, np.int32))
        return np.split(logits, list(accumulate(part.wanted for part in parts))[:-1])


def _groups(parts: Sequence[Part], most: int) -> list[list[Part]]:
    """Parts of about equal size for up to `most` threads, in their order. No thread waits for another before the end of
    a pass, so that one whose core is taken by something else for a moment does not hold up the rest at every layer."""
    ends = list(accumulate(len(part.tokens) for part in parts))
    count = max(1, min(most, ends[-1] // _WORTH_A_THREAD))
    groups: list[list[Part]] = [[] for _ in range(count)]
    for part, end in zip(parts, ends, strict=True):
        middle = end - len(part.tokens) / 2
        groups[int(middle * count / ends[-1])].append(part)
    return [group for group in groups if group]


def _cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
