"""Stacks of what remains to be read, shared: a cell is a part and the cell behind it, and equal cells are one.

So what a rule may begin with is worked out once, whatever follows the rule, and a deep text costs no more than a flat
one.
"""

from __future__ import annotations

import numpy as np

from engine.masking.walk import Ints, cons, reindex

MOST_CELLS = 1 << 20
"""Cells that are kept; then they are made anew."""


class Cells:
    """The cells of one constraint. `rows` and `index` are those of `walk.cons`; both are replaced when they grow."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all cells but END."""
        self.count = 1
        self.rows = np.empty((256, 3), dtype=np.int32)
        self.rows[0] = -1, 0, 1
        self.index = np.zeros(512, dtype=np.int32)

    def add(self, parts: Ints, after: int, flags: Ints) -> int:
        """The cell that holds some parts, then what the cell `after` holds. `flags`: `parts` of `walk`."""
        while True:
            cell, count = cons(parts, 0, len(parts), after, flags, self.rows, self.index, self.count)
            if count >= 0:
                self.count = int(count)
                return int(cell)
            self.grow()

    def grow(self) -> None:
        """Make room for twice as many. What was added after the last one counted is forgotten."""
        self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
        self.index = np.zeros(2 * len(self.rows), dtype=np.int32)
        reindex(self.rows, self.count, self.index)
