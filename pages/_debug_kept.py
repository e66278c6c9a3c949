"""Results of the model that every visitor may share, as the same question has the same answer."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_TURN = threading.Lock()


class Kept(Generic[K, V]):
    """The `most` results used last, by what was asked."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, asked: K) -> V | None:
        with self._lock:
            if asked in self._found:
                self._found.move_to_end(asked)
            return self._found.get(asked)

    def put(self, asked: K, found: V) -> None:
        with self._lock:
            self._found[asked] = found
            if len(self._found) > self._most:
                self._found.popitem(last=False)


@contextmanager
def turn(stopped: Callable[[], bool]) -> Iterator[bool]:
    """Waits until no other visitor's runs are under way, as they keep every core busy; False if stopped before."""
    while not (got := _TURN.acquire(timeout=0.1)) and not stopped():
        pass
    try:
        yield got
    finally:
        if got:
            _TURN.release()
