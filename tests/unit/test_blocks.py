"""Weights as small integers: found where they are there, refused where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from engine.model.blocks import LANES, Packed, pack


def unpacked(packed: Packed, block: int) -> np.ndarray:
    """By the shapes that `Packed` tells."""
    pairs = packed.whole.transpose(0, 2, 1, 3)
    rows = [side.reshape(len(side) * LANES, -1) for side in (pairs, *(part.transpose(0, 2, 1) for part in packed[1:]))]
    whole, step, least = rows[0].astype(np.float64), rows[1].repeat(block, 1), rows[2].repeat(block, 1)
    return least + step * whole


@pytest.mark.parametrize(("block", "levels"), [(32, 16), (32, 255), (16, 64)])
def test_multiples_of_a_step_are_found(block: int, levels: int) -> None:
    random = np.random.default_rng(0)
    shape = (LANES, 96 // block, block)
    whole = random.integers(0, levels, shape)
    step = random.uniform(0.001, 0.01, (*shape[:2], 1)).astype(np.float16).astype(np.float32)
    weight = (step * whole.astype(np.float32) - np.float32(0.25)).astype(np.float32).reshape(LANES, 96)
    packed = pack(weight)
    assert packed is not None
    assert packed.step.shape[1] == 96 // block
    np.testing.assert_allclose(unpacked(packed, block), weight, rtol=0, atol=2e-6 * np.abs(weight).max())


def test_constant_blocks() -> None:
    packed = pack(np.full((LANES, 32), 0.5, np.float32))
    assert packed is not None
    assert (unpacked(packed, 32) == 0.5).all()


def test_other_weights_are_refused() -> None:
    assert pack(np.random.default_rng(0).normal(size=(LANES, 64)).astype(np.float32)) is None
    assert pack(np.zeros((LANES + 1, 64), np.float32)) is None
