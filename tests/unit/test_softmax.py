"""The compiled loops of a step, beside their definitions in numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.decoding.records import Sampler
from engine.decoding.sampler import FAVOURITES, distributions, draw
from engine.decoding.softmax import locate, rank_of, softmax, sums, survey, uniform

SIZES = (1, 2, 23, 24, 25, 255, 256, 257, 600, 5000)
SEEDS = range(12)


def logits_and_mask(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits with ties and, for some seeds, many at minus infinity; a mask from narrow to wide, never empty."""
    random = np.random.default_rng((size, seed))
    logits = (random.normal(size=size) * 8).round(seed % 3)
    if seed % 4 == 0:
        logits[random.random(size) < 0.7] = -math.inf
    mask = random.random(size) < random.random() ** 3
    sure = random.integers(size)
    mask[sure], logits[sure] = True, 1.5
    return logits, mask


def by_rank(logits: np.ndarray) -> np.ndarray:
    return np.lexsort((np.arange(len(logits)), -logits))


def entropy(shares: np.ndarray) -> float:
    kept = shares[shares > 0]
    return float(-(kept * np.log(kept)).sum())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_survey_finds_the_favourites(size: int, seed: int) -> None:
    logits, mask = logits_and_mask(size, seed)
    ids, allowed_ids, count = survey(logits, mask, FAVOURITES)
    order = by_rank(logits)
    assert ids.tolist() == order[:FAVOURITES].tolist()
    assert allowed_ids.tolist() == order[mask[order]][:FAVOURITES].tolist()
    assert count == mask.sum()


@pytest.mark.parametrize("size", SIZES)
def test_ranks_are_places_in_the_order(size: int) -> None:
    logits, _ = logits_and_mask(size, 1)
    order = by_rank(logits).tolist()
    for token_id in {0, size // 2, size - 1}:
        assert rank_of(logits, token_id) == order.index(token_id)


def test_exponentials_are_exact_to_the_last_digits() -> None:
    values = -np.concatenate([np.linspace(0, 690, 20_000), np.geomspace(1e-300, 1, 5000)])
    shares = np.empty(len(values))
    total, _ = softmax(values, np.ones(len(values), np.bool_), 0.0, 1.0, shares)
    np.testing.assert_allclose(shares * total, np.exp(values), rtol=2e-15, atol=0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", SEEDS)
def test_sums_and_entropies_are_those_of_the_definition(size: int, seed: int) -> None:
    logits, mask = logits_and_mask(size, seed)
    top = logits.max()
    weights = np.exp(logits - top)
    allowed = np.where(mask, weights, 0.0)
    total, raw_entropy, allowed_total, allowed_entropy = sums(logits, mask, top)
    assert total == pytest.approx(weights.sum(), rel=1e-12)
    assert allowed_total == pytest.approx(allowed.sum(), rel=1e-12)
    assert raw_entropy == pytest.approx(entropy(weights / weights.sum()), abs=1e-12)
    assert allowed_entropy == pytest.approx(entropy(allowed / allowed.sum()), abs=1e-12)


@pytest.mark.parametrize("temperature", [1.0, 0.7, 3.0, 1e-3, 1e-300, 5e-324])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_softmax_is_the_definitions(seed: int, temperature: float) -> None:
    logits, mask = logits_and_mask(700, seed)
    shares = np.empty(len(logits))
    top = logits[mask].max()
    total, found_entropy = softmax(logits, mask, top, temperature, shares)
    with np.errstate(over="ignore"):
        weights = np.where(mask, np.exp((np.where(mask, logits, -math.inf) - top) / temperature), 0.0)
    np.testing.assert_allclose(shares, weights / weights.sum(), rtol=1e-12, atol=1e-300)
    assert (shares[~mask] == 0).all()
    assert total == pytest.approx(weights.sum(), rel=1e-12)
    assert found_entropy == pytest.approx(entropy(shares), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_far_below_keeps_its_digits(seed: int) -> None:
    """The allowed logits' own distribution does not depend on how far above them the masked ones are."""
    logits, mask = logits_and_mask(700, seed)
    mask[np.argmax(logits)] = False
    mask[:3], logits[:3] = True, [0.25, 0.5, 0.75]
    alone = distributions(np.where(mask, logits, -math.inf), mask, Sampler(temperature=1.0))
    for height in (20.0, 31.0, 33.0, 300.0, 5000.0):
        found = distributions(np.where(mask, logits, logits + height), mask, Sampler(temperature=1.0))
        assert found.renormalised == pytest.approx(alone.renormalised, rel=1e-12)
        assert found.renormalised_entropy == pytest.approx(alone.renormalised_entropy, abs=1e-11)
        assert found.allowed_total == pytest.approx(alone.allowed_total, rel=1e-12)
        one = found.allowed_favourites[0]
        assert found.renormalised_of(float(found.logits[one])) == pytest.approx(alone.renormalised[one], rel=1e-12)
        assert found.raw_of(float(found.logits[one])) == pytest.approx(found.raw[one], rel=1e-12)


def test_a_masked_logit_beyond_all_scales_leaves_the_entropy_of_the_others() -> None:
    logits, mask = np.array([1e308, 0.0, 0.0, 0.0, 0.0]), np.array([False, True, True, True, True])
    found = distributions(logits, mask, Sampler(temperature=0.01))
    assert found.sampling.tolist() == [0, 0.25, 0.25, 0.25, 0.25]
    assert found.sampling_entropy == pytest.approx(math.log(4), abs=1e-12)


@pytest.mark.parametrize(
    "sampler",
    [
        Sampler(1.0, top_k=40),
        Sampler(0.7, top_k=3000, top_p=0.9),
        Sampler(1.3, top_p=0.95),
        Sampler(2.0, top_p=0.999999),
        Sampler(1.0, top_p=1e-9),
        Sampler(1.0, top_p=0.99, min_p=0.01),
        Sampler(0.2, min_p=1e-4),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_truncation_is_that_of_a_whole_sort(seed: int, sampler: Sampler) -> None:
    logits, mask = logits_and_mask(5000, seed)
    weights = distributions(logits, mask, Sampler(sampler.temperature)).sampling
    order = np.argsort(-weights, kind="stable")
    order = order[: sampler.top_k or len(order)]
    if sampler.top_p < 1:
        held = np.cumsum(weights[order])
        order = order[: int(np.searchsorted(held, sampler.top_p * held[-1])) + 1]
    order = order[weights[order] >= sampler.min_p * weights[order[0]]]
    expected = np.zeros(len(weights))
    expected[order] = weights[order] / weights[order].sum()
    found = distributions(logits, mask, sampler)
    np.testing.assert_allclose(found.sampling, expected, rtol=1e-12, atol=0)
    assert found.sampling_entropy == pytest.approx(entropy(expected), abs=1e-12)


@given(st.integers(0, 2**53 - 1), st.integers(0, 2**40))
def test_random_numbers_are_those_of_numpys_philox(seed: int, position: int) -> None:
    assert uniform(seed, position) == np.random.Generator(np.random.Philox(key=seed, counter=position)).random()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_draw_inverts_the_cumulative_distribution(size: int, seed: int) -> None:
    logits, mask = logits_and_mask(size, seed)
    sampling = distributions(logits, mask, Sampler(temperature=2.0)).sampling
    edges = np.cumsum(sampling)
    for part in np.random.default_rng(seed).random(50):
        point = part * edges[-1]
        expected = int(np.searchsorted(edges, point, side="right"))
        shown = [edge for edge in {0.0, *edges} if 0 < edge < edges[-1] * (1 - 1e-12)]
        around = [edges[expected], edges[expected - 1] if expected else 0.0]
        near = min((abs(point - edge) for edge in shown if edge in around), default=math.inf)
        token_id, distance = locate(sampling, part)
        if near > 1e-12:
            assert token_id == expected
        assert distance == pytest.approx(near, abs=1e-12)


def test_a_point_behind_the_last_share_takes_the_last_token_with_one() -> None:
    sampling = np.array([0.0, 0.5, 0.5, 0.0])
    assert locate(sampling, np.nextafter(1.0, 0.0))[0] == 2
    assert locate(sampling, 0.0) == (1, 0.5)
    assert locate(np.array([0.0, 1.0, 0.0]), 0.25) == (1, math.inf)
    assert draw(np.array([0.0, 1.0, 0.0]), Sampler(temperature=1.0), 3).distance == 1.0
