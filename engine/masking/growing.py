"""Arrays that grow by rows, to be read by compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growing:
    """`array[:count]` are the rows; `array` is replaced when there is no room for more."""

    def __init__(self, columns: tuple[int, ...], kind: type[np.generic], room: int = 64) -> None:
        self.array: NDArray[Any] = np.empty((room, *columns), dtype=kind)
        self.count = 0

    def extend(self, rows: Sequence[Any] | NDArray[Any]) -> tuple[int, int]:
        """Add rows; the number of the first, and of the one after the last."""
        start = self.count
        self.count += len(rows)
        while self.count > len(self.array):
            self.array = np.concatenate([self.array, np.empty_like(self.array)])
        if isinstance(rows, bytes):
            memoryview(self.array)[start : self.count] = rows  # type: ignore[arg-type]
        else:
            self.array[start : self.count] = rows
        return start, self.count

    def append(self, row: Any) -> int:
        """Add a row, and give its number."""
        if self.count == len(self.array):
            self.array = np.concatenate([self.array, np.empty_like(self.array)])
        self.array[self.count] = row
        self.count += 1
        return self.count - 1
