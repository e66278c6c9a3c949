"""Attention over pages beside the formula, for several numbers of heads; and the same whatever else is looked at."""

from __future__ import annotations

import numpy as np
import pytest

from engine.model.attention import Held, Rows, attend, keep, pages_of
from engine.model.kv_pool import PAGE

LENGTHS = (1, 2, 31, 32, 33, 64, 65, 130)
MOST = -(-max(LENGTHS) // PAGE)
LAYERS, LAYER = 3, 1

Floats = np.ndarray


def pool(key_heads: int, size: int) -> Held:
    """Pages in which there is nothing that may be looked at."""
    store = pages_of(len(LENGTHS) * MOST, LAYERS, key_heads, size)
    store.view(np.float32)[:] = np.nan
    return Held(store, store.view(np.float32))


def read(texts: list[Floats], heads: int, held: Held) -> None:
    """Each text into pages of its own, which lie in no order."""
    for text, mixed in enumerate(texts):
        places = np.arange(len(mixed), dtype=np.int32)
        keep(mixed, Rows(places, places, np.full(len(mixed), text, np.int32), pages()), LAYER, heads, held)


def pages() -> np.ndarray:
    order = np.random.default_rng(1).permutation(len(LENGTHS) * MOST)
    return order.reshape(len(LENGTHS), MOST).astype(np.int32)


def last_rows(texts: list[Floats]) -> tuple[Floats, Rows]:
    positions = np.array([len(mixed) - 1 for mixed in texts], np.int32)
    return np.stack([mixed[-1] for mixed in texts]), Rows(positions, positions, np.arange(len(texts)), pages())


def formula(mixed: Floats, heads: int, key_heads: int, size: int) -> Floats:
    """softmax(q k / sqrt(size)) v for the last row, in double precision."""
    parts = mixed.astype(np.float64).reshape(len(mixed), -1, size)
    keys, values = parts[:, heads : heads + key_heads], parts[:, heads + key_heads :]
    found = []
    for head, query in enumerate(parts[-1, :heads]):
        scores = keys[:, head // (heads // key_heads)] @ query / np.sqrt(size)
        shares = np.exp(scores - scores.max())
        found.append(shares @ values[:, head // (heads // key_heads)] / shares.sum())
    return np.concatenate(found)


@pytest.mark.parametrize("strength", [1, 30])
@pytest.mark.parametrize(
    ("heads", "key_heads", "size"), [(9, 3, 64), (4, 4, 32), (4, 2, 96), (4, 1, 64), (5, 1, 32), (12, 2, 32)]
)
def test_it_is_the_formula_to_sixteen_bits(heads: int, key_heads: int, size: int, strength: float) -> None:
    random = np.random.default_rng(0)
    width = (heads + 2 * key_heads) * size
    texts = [random.normal(size=(length, width)).astype(np.float32) for length in LENGTHS]
    for mixed in texts:
        mixed[:, : heads * size] *= strength  # how much the scores differ
    held = pool(key_heads, size)
    read(texts, heads, held)
    queries, rows = last_rows(texts)
    out = np.empty((len(texts), heads * size), np.float32)
    attend(queries, rows, LAYER, heads, held, out)
    for mixed, found in zip(texts, out, strict=True):
        np.testing.assert_allclose(found, formula(mixed, heads, key_heads, size), atol=2e-4 * strength)


def test_a_row_gives_the_very_same_whatever_else_is_looked_at() -> None:
    heads, key_heads, size = 9, 3, 64
    random = np.random.default_rng(0)
    texts = [random.normal(size=(length, 15 * size)).astype(np.float32) for length in LENGTHS]
    held = pool(key_heads, size)
    read(texts, heads, held)
    queries, rows = last_rows(texts)
    together, alone = np.empty((len(texts), heads * size), np.float32), np.empty((1, heads * size), np.float32)
    attend(queries, rows, LAYER, heads, held, together)
    for row in range(len(texts)):
        only = Rows(*(part[row : row + 1] for part in rows[:3]), rows.pages)
        attend(queries[row : row + 1], only, LAYER, heads, held, alone)
        np.testing.assert_array_equal(alone[0], together[row])


def test_a_key_and_a_value_of_nothing_but_zeros() -> None:
    mixed = np.zeros((1, 3 * 32), np.float32)
    held = pool(1, 32)
    read([mixed], 1, held)
    queries, rows = last_rows([mixed])
    out = np.empty((1, 32), np.float32)
    attend(queries, rows, LAYER, 1, held, out)
    np.testing.assert_array_equal(out, mixed[:, :32])


def test_pages_begin_with_a_line_of_the_cache() -> None:
    store = pages_of(3, 2, 1, 32)
    assert store.shape == (3, 2, 2, 1, PAGE * 34)
    assert store.ctypes.data % 64 == 0
