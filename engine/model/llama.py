"""The bundled model's own way through its network: Llama blocks, weights in small integers, no call per layer.

It gives what the library's network gives, but for rounding to 16 bits (see `products` and `attention`), and is many
times faster on a CPU. Every other model, and every other device, goes through `transformer`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import numpy as np

from engine.model.attention import Held, Rows, pages_of
from engine.model.blocks import LANES, Floats
from engine.model.kv_pool import BOUND, Pool, pages_within
from engine.model.llama_kernel import Turn, Weights, forward
from engine.model.runner import Part

_WORTH_A_THREAD = 3  # rows; the first three hardly take longer than one, which waits for memory
_MOST_THREADS = 8  # each reads all weights, and they come through one memory


class Llama:
    """A network as a `Runner` drives it; for one thread at a time. Its keys and values take at most `bound` bytes.

    `context`: tokens of the longest text; `vocabulary_size`: logits of a row.
    """

    pass_tokens = 48  # more at once take as much longer as they are more; a prompt has room beside 32 that decode

    def __init__(self, weights: Weights, bound: int = BOUND) -> None:
        self.context, half = weights.cosines.shape
        self.vocabulary_size = weights.embedding.whole.shape[1] * LANES
        self._weights = weights
        layers, outputs, size = len(weights.norms), weights.queries_keys_values.whole.shape[1] * LANES, 2 * half
        key_heads = (outputs - 2 * weights.attention_out.whole.shape[2]) // size // 2
        page_bytes = pages_of(1, layers, key_heads, size).nbytes
        store = pages_of(pages_within(page_bytes, self.context, bound), layers, key_heads, size)
        self._held = Held(store, store.view(np.float32))
        self.pool = Pool(store)
        self._cores = min(_cores(), _MOST_THREADS)
        self._threads = ThreadPoolExecutor(self._cores, thread_name_prefix="part of a forward pass")

    def read(self, parts: Sequence[Part]) -> list[Floats]:
        """The logits after the last wanted tokens of each part, float32 (wanted, vocabulary size)."""
        groups = _groups(parts, self._cores)
        done = np.zeros(len(groups), np.int64)
        turns = [Turn(done, first, me) for me, (first, _) in enumerate(groups)]
        work = (self._threads.map if len(groups) > 1 else map)(self._read, [pieces for _, pieces in groups], turns)
        found = iter([logits for group in work for logits in group if len(logits)])
        return [_joined(found, part.wanted, self.vocabulary_size) for part in parts]

    def _read(self, parts: Sequence[Part], turn: Turn) -> list[Floats]:
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
        logits = forward(self._weights, rows, self._held, np.array(wanted, np.int32), turn)
        return np.split(logits, list(accumulate(part.wanted for part in parts))[:-1])


def _groups(parts: Sequence[Part], most: int) -> list[tuple[int, list[Part]]]:
    """The rows of a pass in equal shares for up to `most` threads, each with the first thread whose rows it looks at.

    Only the rows of a text that is shared out look at those of other threads. Nobody else waits before the end of the
    pass, so that a thread whose core is taken by something else for a moment holds up little.
    """
    total = sum(len(part.tokens) for part in parts)
    count = max(1, min(most, total // _WORTH_A_THREAD))
    bounds = [total * number // count for number in range(count + 1)]
    groups: list[tuple[int, list[Part]]] = [(number, []) for number in range(count)]
    start = 0
    for part in parts:
        end = start + len(part.tokens)
        sharing = [number for number in range(count) if bounds[number] < end and start < bounds[number + 1]]
        for number in sharing:
            low, high = max(start, bounds[number]) - start, min(end, bounds[number + 1]) - start
            first, pieces = groups[number]
            groups[number] = (min(first, sharing[0]), [*pieces, _piece(part, low, high)])
        start = end
    return groups


def _piece(part: Part, low: int, high: int) -> Part:
    """The tokens from `low` to `high` of a part."""
    wanted = max(0, high - max(low, len(part.tokens) - part.wanted))
    return Part(part.tokens[low:high], part.start + low, wanted, part.pages)


def _joined(found: Iterator[Floats], wanted: int, vocabulary_size: int) -> Floats:
    """The next `wanted` rows of those found."""
    pieces: list[Floats] = []
    while wanted:
        pieces.append(next(found))
        wanted -= len(pieces[-1])
    return pieces[0] if len(pieces) == 1 else np.concatenate([np.empty((0, vocabulary_size), np.float32), *pieces])


def _cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
