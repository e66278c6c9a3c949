"""Intervals against scipy, retry arithmetic against arithmetic by hand and scipy's geometric distribution."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, geom

from engine.analysis.intervals import (
    calls_per_request,
    calls_per_success,
    calls_quantile,
    done_within,
    failures_left,
    wilson,
)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95]))
def test_wilson_is_scipys(case: tuple[int, int], confidence: float) -> None:
    successes, n = case
    expected = binomtest(successes, n).proportion_ci(confidence, method="wilson")
    found = wilson(successes, n, confidence)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= found.low <= found.share <= found.high <= 1


def test_nothing_and_everything_leave_an_interval() -> None:
    assert wilson(0, 10).low == 0
    assert wilson(0, 10).high == pytest.approx(0.2775, abs=1e-4)
    assert wilson(10, 10).high == 1
    assert (wilson(0, 0).low, wilson(0, 0).high, wilson(0, 0).share) == (0, 1, 0)


@pytest.mark.parametrize(("successes", "n", "confidence"), [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0), (1, 2, 0.0)])
def test_impossible_counts_are_refused(successes: int, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"successes|confidence"):
        wilson(successes, n, confidence)


def test_five_percent_and_three_tries() -> None:
    assert failures_left(0.05, 3) == Fraction(1, 8000)
    assert calls_per_success(0.05) == Fraction(20, 19)
    assert float(calls_per_success(0.05)) == pytest.approx(1.0526, abs=1e-4)


def test_the_95th_percentile_sits_on_the_edge_at_exactly_five_percent() -> None:
    assert done_within(0.05, 1) == Fraction(95, 100)
    assert calls_quantile(0.05, 0.95) == 1
    assert calls_quantile(0.05, 0.9501) == 2
    assert calls_quantile(0.0501, 0.95) == 2
    assert calls_quantile(0.05, 0.9975) == 2
    assert calls_quantile(0.05, 0.9976) == 3


@given(st.integers(0, 95), st.integers(0, 99))
def test_quantiles_are_those_of_the_geometric_distribution(failing: int, percentile: int) -> None:
    calls = calls_quantile(Fraction(failing, 100), Fraction(percentile, 100))
    assert done_within(Fraction(failing, 100), calls) >= Fraction(percentile, 100)
    assert calls == 1 or done_within(Fraction(failing, 100), calls - 1) < Fraction(percentile, 100)
    exact = geom(1 - failing / 100)
    assert float(done_within(Fraction(failing, 100), calls)) == pytest.approx(exact.cdf(calls), abs=1e-12)


def test_calls_per_request_are_counted_until_one_gives_up() -> None:
    assert calls_per_request(0.05, 3) == Fraction(10525, 10000)  # 1 + 0.05 + 0.0025
    assert calls_per_request(0.6, 1) == 1


def test_giving_up_does_not_change_the_calls_per_success() -> None:
    failing, tries = Fraction(3, 10), 4
    calls = sum(failing**k for k in range(tries))
    assert calls / (1 - failures_left(failing, tries)) == calls_per_success(failing)


@pytest.mark.parametrize("rate", [1, 1.5, -0.1])
def test_rates_that_never_succeed_are_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="failure rate"):
        calls_per_success(rate)
    with pytest.raises(ValueError, match="share"):
        calls_quantile(0.5, 1)
