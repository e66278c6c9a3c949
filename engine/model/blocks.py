"""Weights as small integers, where that loses nothing.

The weights of a GGUF file were made from small integers: in each block of 16 or 32 neighbours they are a least value
plus a whole multiple of a step (Q4_0 to Q8_0 and the K formats alike). Read as float32 they are four bytes each, and a
forward pass for one token does little else than fetch them from memory. `pack` finds the integers again; they are kept
only if they give every weight back, so the model stays the very same.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]

LANES = 64
"""Outputs computed side by side: neighbours in memory, so that one vector instruction works on many of them."""

_BLOCKS = (32, 16)
_MOST = 255
_CLOSE = 2e-3  # of a step; float32 rounding is below 1e-4 of it, and no 16 arbitrary numbers come this close by chance
_EXACT = 2e-6  # of the largest weight of a block: what two float32 roundings may lose


class Packed(NamedTuple):
    """A matrix (outputs, inputs): weight = least + step * whole, the latter two per block of inputs.

    Shapes, LANES outputs side by side: `whole` uint8 (outputs / LANES, inputs / 2, LANES, 2), two inputs together;
    `step` and `least` float32 (outputs / LANES, inputs / block, LANES).
    """

    whole: NDArray[np.uint8]
    step: Floats
    least: Floats


def pack(weight: Floats) -> Packed | None:
    """The same matrix in integers, or None if its weights are not such multiples or its shape does not fit."""
    outputs, inputs = weight.shape
    if outputs % LANES:
        return None
    for block in _BLOCKS:
        if inputs % block:
            continue
        whole = np.empty((outputs, inputs), np.uint8)
        step = np.empty((outputs, inputs // block), np.float32)
        least = np.empty_like(step)
        if _find(weight, block, whole, step, least):
            return Packed(_side_by_side(whole, 2), _side_by_side(step, 1)[..., 0], _side_by_side(least, 1)[..., 0])
    return None


def stacked(matrices: list[Packed]) -> Packed:
    """The same kind of matrix of every layer, in one."""
    return Packed(*(np.stack(parts) for parts in zip(*matrices, strict=True)))


def _side_by_side(values: NDArray[Any], together: int) -> NDArray[Any]:
    outputs, width = values.shape
    divided = values.reshape(outputs // LANES, LANES, width // together, together)
    return np.ascontiguousarray(divided.transpose(0, 2, 1, 3))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _find(weight: Floats, block: int, whole: NDArray[np.uint8], step: Floats, least: Floats) -> bool:
    """Fill in the integers of every block; False as soon as one has none."""
    for row in range(weight.shape[0]):
        for place in range(weight.shape[1] // block):
            part = weight[row, place * block : (place + 1) * block]
            low, high = part.min(), part.max()
            steps = _steps(part, low, high)
            if steps == 0:
                return False
            size = np.float32((high - low) / steps)
            least[row, place], step[row, place] = low, size
            allowed = _EXACT * max(abs(low), abs(high))
            for i in range(block):
                number = np.uint8(round((part[i] - low) / size)) if size > 0 else np.uint8(0)
                whole[row, place * block + i] = number
                if abs(low + size * np.float32(number) - part[i]) > allowed:
                    return False
    return True


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _steps(part: Floats, low: float, high: float) -> int:
    """Into how many equal steps the range of a block is divided so that each of its weights is on one, 0 if none."""
    spread = np.float64(high) - np.float64(low)
    if spread == 0:
        return 1
    for steps in range(1, _MOST + 1):
        fits = True
        for value in part:
            number = (np.float64(value) - low) / spread * steps
            if abs(number - round(number)) > _CLOSE:
                fits = False
                break
        if fits:
            return steps
    return 0
