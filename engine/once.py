"""Values made once for all visitors and kept under a bound: who asks for one that is being made waits for it.

A key is any hashable value: a constraint's source, say, which is asked for many times, by many at once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


ANEW = 4
"""Entries that are weighed anew when another is made: so each is, before there are a quarter more."""


@dataclass
class _Entry(Generic[V]):
    making: threading.Lock = field(default_factory=threading.Lock)
    value: V | None = None
    made: bool = False
    weight: int = 0
    """When it was last weighed: it may have grown since."""


class Once(Generic[K, V]):
    """The `most` values used last, by key. Those before the last weigh at most `heaviest` together: else the
    heaviest goes, so that it does not push out all others. Whenever a value is made, some others are weighed anew, in
    turns: who holds one may let it grow without asking here again."""

    def __init__(self, most: int, weigh: Callable[[K, V], int] | None = None, heaviest: int = 0) -> None:
        self._most = most
        self._weigh = weigh
        self._heaviest = heaviest
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._held = 0  # what all weigh
        self._turn = 0  # the first entry to be weighed anew
        self._lock = threading.Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of `key`, which `make` gives if there is none; what it raises is raised and not kept."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            forgotten = self._forget(next(iter(self._entries))) if len(self._entries) > self._most else None
        del forgotten  # it may take long to free: not while others wait for the lock
        is_new = not entry.made
        if is_new:
            with entry.making:
                if not entry.made:
                    entry.value, entry.made = make(), True
        value: V = entry.value  # type: ignore[assignment]
        if self._weigh is not None:
            due = [(key, entry), *(self._due() if is_new else ())]
            self._enter([(k, e, self._weigh(k, e.value)) for k, e in due if e.made])
        return value

    def _due(self) -> list[tuple[K, _Entry[V]]]:
        """The entries whose turn it is to be weighed anew."""
        with self._lock:
            due = list(islice(self._entries.items(), self._turn, self._turn + ANEW))
            self._turn = self._turn + ANEW if len(due) == ANEW else 0
        return due

    def _enter(self, weights: list[tuple[K, _Entry[V], int]]) -> None:
        """Note what entries weigh now, and forget the heaviest of those before the last while they are too heavy."""
        forgotten = []
        with self._lock:
            for key, entry, weight in weights:
                if self._entries.get(key) is entry:
                    self._held += weight - entry.weight
                    entry.weight = weight
            last = next(reversed(self._entries), None)
            if last is None or self._held - self._entries[last].weight <= self._heaviest:
                return
            others = sorted((k for k in self._entries if k != last), key=lambda k: self._entries[k].weight)
            while others and self._held - self._entries[last].weight > self._heaviest:
                forgotten.append(self._forget(others.pop()))

    def _forget(self, key: K) -> _Entry[V]:
        """Take an entry out; hold the lock."""
        entry = self._entries.pop(key)
        self._held -= entry.weight
        return entry

    def held(self, key: K) -> V | None:
        """The value of `key` if it is there."""
        with self._lock:
            entry = self._entries.get(key)
        return entry.value if entry is not None else None

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._entries.clear()
            self._held = 0
