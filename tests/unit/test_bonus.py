"""A bonus on logits against a mask; values by softmax, done by hand."""

import math

import pytest

from engine.analysis.bonus import kept_under_bonus


def test_it_is_the_softmax_of_the_changed_logits() -> None:
    logits, wanted, bonus = [1.0, 0.5, -2.0, 3.0], [0, 2], 1.7
    before = [math.exp(one) for one in logits]
    after = [math.exp(one + bonus * (place in wanted)) for place, one in enumerate(logits)]
    z, kept = (sum(values[place] for place in wanted) / sum(values) for values in (before, after))
    assert kept_under_bonus(z, bonus) == pytest.approx(kept)


def test_even_odds_and_a_bonus_of_ln_3_make_three_quarters() -> None:
    assert kept_under_bonus(0.5, math.log(3)) == pytest.approx(0.75)
    assert kept_under_bonus(0.5, 0.0) == pytest.approx(0.5)


def test_the_edges() -> None:
    assert kept_under_bonus(0.0, 10) == 0
    assert kept_under_bonus(1.0, -10) == 1
    assert kept_under_bonus(1e-300, 0.0) == pytest.approx(1e-300)
    assert kept_under_bonus(1e-320, -100) == 0
    with pytest.raises(ValueError, match="probability"):
        kept_under_bonus(1.5, 1)
