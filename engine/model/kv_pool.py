"""Keys and values of all texts that are being read, in one bounded pool of pages.

A text's keys and values lie in pages of a few tokens (the paged attention of Kwon et al. 2309.06180). Texts that share
their beginning share its pages, and a page is copied only when one of them writes into it. Where the pool is full, the
text that was read longest ago loses its pages. Its tokens stay: whoever reads on reads them again, and notices nothing
but the time.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Collection, Sequence
from threading import RLock
from typing import Any, Protocol

PAGE = 32
"""Tokens in a page."""

BOUND = 2**30
"""Bytes of keys and values, of all sessions together: about 45,000 tokens of the bundled model."""


def common(one: list[int], other: list[int]) -> int:
    """How many tokens two texts have in common at their beginning. Slices are compared: it is asked of every two in a
    room."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


class Store(Protocol):
    """The pages themselves, a tensor or an array: first axis the page."""

    def __len__(self) -> int: ...
    def __getitem__(self, page: int, /) -> Any: ...
    def __setitem__(self, page: int, value: Any, /) -> None: ...


def pages_within(page_bytes: int, context: int, bound: int = BOUND) -> int:
    """How many pages of a size the bound allows, but at least those of one text of `context` tokens."""
    return max(bound // page_bytes, -(-context // PAGE))


class Cache:
    """The tokens that a run has read. Belongs to one run; not to be used from two threads at once.

    `tokens`: all read so far; `held`: of how many the pool has keys and values; `pages`: where, for the pool to know.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.tokens: list[int] = []
        self.pages: list[int] = []
        self.held = 0
        self.used = 0
        pool.adopt(self)

    @property
    def length(self) -> int:
        """Tokens read so far."""
        return len(self.tokens)

    def crop(self, length: int) -> None:
        """Forget all tokens but the first `length`."""
        if not 0 <= length <= self.length:
            raise ValueError(f"A cache of {self.length} tokens cannot be cropped to {length}.")
        del self.tokens[length:]
        self._pool.crop(self, length)

    def fork(self, length: int) -> Cache:
        """An independent cache that holds the first `length` tokens."""
        if not 0 <= length <= self.length:
            raise ValueError(f"A cache of {self.length} tokens has no first {length}.")
        other = Cache(self._pool)
        self._pool.share(self, other, length)
        return other


class Pool:
    """Who has which page of a `store`; every method may be called from any thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        count = len(store)
        self._free = list(range(count - 1, -1, -1))
        self._owners = [0] * count  # texts that share a page
        self._caches: weakref.WeakSet[Cache] = weakref.WeakSet()
        self._left: deque[list[int]] = deque()  # pages of caches that are gone; a finaliser must not wait for a lock
        self._clock = 0
        self._lock = RLock()

    @property
    def pages_free(self) -> int:
        """Pages that no text has."""
        with self._lock:
            self._collect()
            return len(self._free)

    def adopt(self, cache: Cache) -> None:
        """Know a new cache."""
        with self._lock:
            self._caches.add(cache)
            weakref.finalize(cache, self._left.append, cache.pages).atexit = False

    def crop(self, cache: Cache, length: int) -> None:
        """Keep the keys and values of the first `length` tokens, as far as they are held."""
        with self._lock:
            cache.held = min(cache.held, length)
            kept = -(-cache.held // PAGE)
            self._release(cache.pages[kept:])
            del cache.pages[kept:]

    def share(self, cache: Cache, other: Cache, length: int) -> None:
        """Let `other`, which has no pages, begin with the first `length` tokens of `cache`."""
        with self._lock:
            tokens = cache.tokens[:length]  # fewer, if it is being cropped
            if len(tokens) > other.length:
                other.tokens = tokens
            other.held = min(cache.held, len(tokens))
            other.pages += cache.pages[: -(-other.held // PAGE)]
            other.used = cache.used
            for page in other.pages:
                self._owners[page] += 1

    def lender(self, text: list[int]) -> tuple[int, Cache | None]:
        """The cache that holds most of what `text` begins with, and how many tokens that is."""
        with self._lock:
            caches = list(self._caches)
        lengths = [min(cache.held, common(cache.tokens, text)) for cache in caches]
        best = max(lengths, default=0)
        return best, caches[lengths.index(best)] if best else None

    def reserve(self, cache: Cache, count: int, kept: Collection[Cache] = ()) -> bool:
        """Pages for `count` more tokens, its own from there on. Others lose theirs if need be, except those `kept`;
        False if that is not enough."""
        with self._lock:
            self._clock += 1
            cache.used = self._clock
            shared = bool(cache.held % PAGE) and self._owners[cache.pages[-1]] > 1
            more = -(-(cache.held + count) // PAGE) - len(cache.pages)
            if not self._make_free(more + shared, {cache, *kept}):
                return False
            if shared and self._owners[cache.pages[-1]] > 1:
                self._copy_last(cache)
            cache.pages += [self._taken() for _ in range(more)]
            return True

    def _make_free(self, count: int, kept: set[Cache]) -> bool:
        self._collect()
        if len(self._free) >= count:
            return True
        for cache in sorted((cache for cache in self._caches if cache not in kept), key=lambda cache: cache.used):
            self._release(cache.pages)
            cache.pages.clear()
            cache.held = 0
            if len(self._free) >= count:
                return True
        return False

    def _copy_last(self, cache: Cache) -> None:
        page = self._taken()
        self.store[page] = self.store[cache.pages[-1]]
        self._release(cache.pages[-1:])
        cache.pages[-1] = page

    def _taken(self) -> int:
        page = self._free.pop()
        self._owners[page] = 1
        return page

    def _release(self, pages: Sequence[int]) -> None:
        for page in pages:
            self._owners[page] -= 1
            if not self._owners[page]:
                self._free.append(page)

    def _collect(self) -> None:
        while self._left:
            self._release(self._left.popleft())
