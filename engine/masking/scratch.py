"""Buffers of the walk, shared by the constraints of a vocabulary: one set for each mask being made at a time."""

from __future__ import annotations

import numpy as np

FEW = 512
"""Items that all but few masks have room in; the more, the more memory a mask sweeps."""


class Scratch:
    """See `walk`. `root`: the item of a cell that is read at the root. Pages that no walk touches take no memory."""

    def __init__(self, nodes: int, longest: int) -> None:
        self.path = np.empty((2, longest + 1), dtype=np.int32)
        self.root = np.array([0, -1, 0, 0, 0], dtype=np.int32)
        self.stack = np.empty((4 * nodes + 64, 5), dtype=np.int32)
        self.later = np.empty_like(self.stack)
        self.doubtful = np.empty(len(self.stack), dtype=np.int32)
        self.visited = np.zeros(FEW, dtype=np.int64)

    def grow(self) -> None:
        """Make room for four times as many items."""
        self.visited = np.zeros(4 * len(self.visited), dtype=np.int64)
        if 16 * len(self.visited) > len(self.stack):
            self.stack = np.empty((2 * len(self.stack), 5), dtype=np.int32)
            self.later = np.empty_like(self.stack)
            self.doubtful = np.empty(len(self.stack), dtype=np.int32)


class Pool:
    """Buffers that nobody uses at the moment. Safe to share between threads."""

    def __init__(self, nodes: int, longest: int) -> None:
        self._size = nodes, longest
        self._free: list[Scratch] = []

    @property
    def is_unused(self) -> bool:
        """Whether nobody has given buffers back yet."""
        return not self._free

    def take(self) -> Scratch:
        """Buffers for one who gives them back."""
        try:
            return self._free.pop()
        except IndexError:
            return Scratch(*self._size)

    def give(self, scratch: Scratch) -> None:
        """Take buffers back, unless they were grown."""
        if len(scratch.visited) == FEW:
            self._free.append(scratch)
