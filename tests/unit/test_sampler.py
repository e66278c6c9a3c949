"""Draws: masked tokens never, truncation by hand arithmetic, the same for the same seed and position."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.errors import DecodingError
from engine.decoding.records import Sampler
from engine.decoding.sampler import distributions, draw, uniform

EVERYTHING = np.ones(4, dtype=np.bool_)
WARM = Sampler(temperature=1.0)


def logits_of(*shares: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.array(shares)).astype(np.float32)


@pytest.mark.parametrize(
    "logits",
    [
        [1e30, -1e30, 0.0, 3.0, 1e30],
        [3.0e38, 3.0e38, -3.0e38, -3.0e38, 0.0],
        [-math.inf, 5.0, -math.inf, 5.0, 1e9],
        [1e9, 1e-9, 1e9, -1e-9, 1e9],
        [0.0, 0.0, 0.0, 0.0, 0.0],
    ],
)
@pytest.mark.parametrize(
    "sampler",
    [
        Sampler(temperature=1.0),
        Sampler(temperature=100.0, top_p=0.999999),
        Sampler(temperature=1e-300),
        Sampler(temperature=1.0, top_k=2),
        Sampler(temperature=1.0, top_k=3, top_p=1e-9),
        Sampler(temperature=100.0, min_p=0.5),
        Sampler(),
    ],
)
def test_masked_tokens_are_never_drawn(logits: list[float], sampler: Sampler) -> None:
    allowed = np.array([False, True, False, True, False])
    found = distributions(np.array(logits, dtype=np.float64), allowed, sampler)
    assert not found.sampling[~allowed].any()
    assert not found.renormalised[~allowed].any()
    assert found.sampling.sum() == pytest.approx(1)
    assert found.renormalised.sum() == pytest.approx(1)
    assert found.raw.sum() == pytest.approx(1)
    assert math.isfinite(found.cost)
    drawn = {draw(found.sampling, sampler, position).token_id for position in range(10_000 // 30)}
    assert drawn <= {1, 3}


def test_ten_thousand_draws_never_hit_a_masked_token() -> None:
    generator = np.random.default_rng(5)
    logits = generator.normal(size=1000) * 8
    allowed = generator.random(1000) < 0.02
    logits[~allowed] += 30
    found = distributions(logits, allowed, WARM)
    drawn = {draw(found.sampling, WARM, position).token_id for position in range(10_000)}
    assert allowed[sorted(drawn)].all()
    assert len(drawn) > 3


def test_mass_and_cost() -> None:
    allowed = np.array([False, True, True, False])
    found = distributions(logits_of(0.5, 0.2, 0.05, 0.25), allowed, WARM)
    assert found.raw == pytest.approx([0.5, 0.2, 0.05, 0.25])
    assert found.z == pytest.approx(0.25)
    assert found.cost == pytest.approx(math.log(4))
    assert found.renormalised == pytest.approx([0, 0.8, 0.2, 0])


def test_the_cost_is_finite_where_the_mass_underflows() -> None:
    found = distributions(np.array([0.0, -2000.0]), np.array([False, True]), WARM)
    assert found.z == 0
    assert found.cost == pytest.approx(2000)
    assert found.renormalised.tolist() == [0, 1]


def test_nothing_masked_costs_nothing() -> None:
    found = distributions(np.array([0.3, 0.1, -7.0, 2.0]), EVERYTHING, WARM)
    assert (found.z, found.cost) == (1.0, 0.0)


def test_logits_beyond_the_mask_are_masked() -> None:
    found = distributions(np.array([0.0, 0.0, 9.0]), np.array([True, True]), WARM)
    assert found.sampling.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (Sampler(temperature=1, top_k=2), [0.625, 0, 0.375, 0]),
        (Sampler(temperature=1, top_p=0.5), [1, 0, 0, 0]),
        (Sampler(temperature=1, top_p=0.51), [0.625, 0, 0.375, 0]),
        (Sampler(temperature=1, top_p=0.9), [0.5 / 0.95, 0, 0.3 / 0.95, 0.15 / 0.95]),
        (Sampler(temperature=1, top_k=2, top_p=0.6), [1, 0, 0, 0]),
        (Sampler(temperature=1, min_p=0.4), [0.625, 0, 0.375, 0]),
        (Sampler(temperature=1, min_p=0.29), [0.5 / 0.95, 0, 0.3 / 0.95, 0.15 / 0.95]),
        (Sampler(temperature=1, min_p=1.0), [1, 0, 0, 0]),
        (Sampler(temperature=0.5, min_p=0.4), [1, 0, 0, 0]),
        (Sampler(temperature=0.5), [0.25 / 0.365, 0.0025 / 0.365, 0.09 / 0.365, 0.0225 / 0.365]),
        (Sampler(), [1, 0, 0, 0]),
    ],
)
def test_truncation_by_hand(sampler: Sampler, expected: list[float]) -> None:
    found = distributions(logits_of(0.5, 0.05, 0.3, 0.15), EVERYTHING, sampler)
    assert found.sampling == pytest.approx(expected, abs=1e-6)


def test_top_p_is_a_share_of_the_allowed_mass() -> None:
    allowed = np.array([False, True, True, True])
    found = distributions(logits_of(0.9, 0.05, 0.03, 0.02), allowed, Sampler(temperature=1, top_p=0.5))
    assert found.sampling == pytest.approx([0, 1, 0, 0])


def test_the_lower_id_wins_ties() -> None:
    logits = np.array([1.0, 2.0, 2.0, 2.0])
    assert distributions(logits, EVERYTHING, Sampler()).sampling.tolist() == [0, 1, 0, 0]
    assert distributions(logits, EVERYTHING, Sampler(temperature=1, top_k=2)).sampling.tolist() == [0, 0.5, 0.5, 0]


def test_draws_follow_the_distribution() -> None:
    found = distributions(logits_of(0.5, 0.05, 0.3, 0.15), EVERYTHING, WARM)
    drawn = [draw(found.sampling, WARM, position).token_id for position in range(4000)]
    assert np.bincount(drawn, minlength=4) / 4000 == pytest.approx([0.5, 0.05, 0.3, 0.15], abs=0.03)


@given(st.integers(0, 2**53 - 1), st.integers(0, 10**6))
def test_the_same_seed_and_position_draw_the_same(seed: int, position: int) -> None:
    assert 0 <= uniform(seed, position) < 1
    assert uniform(seed, position) == uniform(seed, position)
    assert uniform(seed, position) != uniform(seed, position + 1)
    assert uniform(seed, position) != uniform(seed + 1, position)


@given(st.integers(0, 1000))
def test_the_distance_says_how_far_the_next_token_was(position: int) -> None:
    sampling = np.array([0.25, 0.0, 0.5, 0.25])
    drawn = draw(sampling, WARM, position)
    point = uniform(0, position)
    assert drawn.token_id == (0 if point < 0.25 else 2 if point < 0.75 else 3)
    assert drawn.distance == pytest.approx(min(abs(point - 0.25), abs(point - 0.75)))


@pytest.mark.parametrize("broken", [[math.nan, 1.0], [-math.inf, -math.inf], [math.inf, 0.0]])
def test_broken_logits_are_an_error(broken: list[float]) -> None:
    with pytest.raises(DecodingError, match="not finite"):
        distributions(np.array(broken), np.array([True, True]), WARM)


def test_allowed_tokens_without_a_chance_are_an_error() -> None:
    with pytest.raises(DecodingError, match="probability zero"):
        distributions(np.array([0.0, -math.inf]), np.array([False, True]), WARM)
