"""Products in integers: within half a step of what they are, and the same whatever else is in the pass."""

from __future__ import annotations

import numpy as np
import pytest

from engine.model.blocks import LANES, Packed, pack
from engine.model.products import multiply

INPUTS = 96


def matrix(outputs: int, levels: int, block: int) -> tuple[np.ndarray, Packed]:
    """Weights that are multiples of a sixteenth, and the same packed; `levels` of them in each block."""
    random = np.random.default_rng(levels)
    whole = random.integers(0, levels, (outputs, INPUTS // block, block))
    whole[..., :2] = 0, levels - 1
    least = random.integers(-9, 3, (outputs, INPUTS // block, 1))
    weight = ((whole + least) / 16).astype(np.float32).reshape(outputs, INPUTS)
    packed = pack(weight)
    assert packed is not None
    return weight, Packed(*(part[np.newaxis] for part in packed))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 11])
@pytest.mark.parametrize(("levels", "block"), [(16, 32), (255, 32), (64, 16)])
def test_a_product_is_within_half_a_step_of_each_number(count: int, levels: int, block: int) -> None:
    weight, packed = matrix(2 * LANES, levels, block)
    given = np.random.default_rng(count).normal(size=(count, INPUTS)).astype(np.float32)
    given[0, :block] = 0
    given[-1, -block] = 1000
    out = np.empty((count, 2 * LANES), np.float32)
    multiply(given, packed, 0, out)
    step = np.abs(given).reshape(count, -1, block).max(2).repeat(block, 1) / 32767
    exact = given.astype(np.float64) @ weight.T
    allowed = step / 2 @ np.abs(weight).T + 1e-6 * np.abs(given) @ np.abs(weight).T
    assert (np.abs(out - exact) <= allowed).all()


def test_whole_numbers_are_exact() -> None:
    weight, packed = matrix(LANES, 16, 32)
    given = np.zeros((1, INPUTS), np.float32)
    given[0, ::32] = 32767  # the scale of each block is 1
    given[0, 5::32] = -1234
    out = np.empty((1, LANES), np.float32)
    multiply(given, packed, 0, out)
    np.testing.assert_allclose(out, given @ weight.T, rtol=1e-6)


def test_a_row_gives_the_same_whatever_else_is_multiplied() -> None:
    _, packed = matrix(LANES, 16, 32)
    given = np.random.default_rng(0).normal(size=(7, INPUTS)).astype(np.float32)
    together, alone = np.empty((7, LANES), np.float32), np.empty((1, LANES), np.float32)
    multiply(given, packed, 0, together)
    for row in range(7):
        multiply(given[row : row + 1], packed, 0, alone)
        np.testing.assert_allclose(alone[0], together[row], rtol=1e-6, atol=1e-6)
