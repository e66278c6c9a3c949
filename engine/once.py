"""Values made once for all visitors and kept under a bound: who asks for one that is being made waits for it.

A key is any hashable value: a constraint's source, say, which is asked for many times, by many at once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass
class _Entry(Generic[V]):
    making: threading.Lock = field(default_factory=threading.Lock)
    value: V | None = None
    made: bool = False
    weight: int | None = None
    """None where it was used, and so may have grown, since it was weighed."""


class Once(Generic[K, V]):
    """The `most` values used last, by key. Those before the last weigh at most `heaviest` together: else the
    heaviest goes, so that it does not push out all others."""

    def __init__(self, most: int, weigh: Callable[[V], int] | None = None, heaviest: int = 0) -> None:
        self._most = most
        self._weigh = weigh
        self._heaviest = heaviest
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of `key`, which `make` gives if there is none; what it raises is raised and not kept."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            entry.weight = None
            self._entries.move_to_end(key)
            if len(self._entries) > self._most:
                self._entries.popitem(last=False)
        if not entry.made:
            with entry.making:
                if not entry.made:
                    entry.value, entry.made = make(), True
        self._lighten()
        return entry.value  # type: ignore[return-value]

    def _lighten(self) -> None:
        """Forget the heaviest of the values before the last while these weigh too much."""
        if self._weigh is None:
            return
        forgotten = []  # they may take long to free: not while others wait for the lock
        with self._lock:
            for entry in self._entries.values():
                if entry.weight is None and entry.made:
                    entry.weight = self._weigh(entry.value)  # type: ignore[arg-type]
            *others, _ = self._entries
            heaviest = sorted(others, key=lambda key: self._entries[key].weight or 0)
            excess = sum(self._entries[key].weight or 0 for key in others) - self._heaviest
            while excess > 0:
                forgotten.append(self._entries.pop(heaviest.pop()))
                excess -= forgotten[-1].weight or 0

    def held(self, key: K) -> V | None:
        """The value of `key` if it is there."""
        with self._lock:
            entry = self._entries.get(key)
        return entry.value if entry is not None else None

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._entries.clear()
