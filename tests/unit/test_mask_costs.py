"""The benchmark of mask costs: texts that fit their schemas, slopes by hand, the vocabularies that it is run on."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from benchmarks.mask_costs import AXES, Axis, Point, plot, slopes
from benchmarks.peers.vocabularies import CONTROLS, tokenizer
from engine.vocabulary import Vocabulary


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_values_fit_their_schemas(axis: Axis) -> None:
    for size in axis.sizes[:-1]:
        case = axis.case(size)
        Draft202012Validator(case.schema).validate(case.value)


def test_a_square_has_slope_two_and_a_constant_slope_zero() -> None:
    assert slopes([10, 100, 1000], [1.0, 100.0, 10_000.0]) == pytest.approx((2, 2))
    assert slopes([10, 100, 1000], [3.0, 3.0, 3.0]) == pytest.approx((0, 0))


def test_the_slope_at_the_end_is_that_of_the_last_two() -> None:
    assert slopes([1, 10, 100], [1.0, 1.0, 100.0]) == pytest.approx((1, 2))


def test_what_was_not_measured_is_not_drawn() -> None:
    figure = plot("enum", [Point("enum", 10, "a", "done", 5, 1.0, 2.0, 3.0), Point("enum", 100, "a", "timeout")])
    assert [line.x for line in figure.data] == [(10,)] * 3
    assert [line.y for line in figure.data] == [(1.0,), (2.0,), (3.0,)]


def test_a_smaller_tekken_has_its_first_tokens() -> None:
    """The bytes come first, and its own first merge is two spaces."""
    pytest.importorskip("mistral_common", reason="the package that carries the vocabulary")
    vocabulary = Vocabulary.from_tokenizer(tokenizer("1300"))
    assert vocabulary.size == 1300
    assert not any(vocabulary.tokens[:CONTROLS])
    assert vocabulary.tokens[CONTROLS : CONTROLS + 256] == tuple(bytes([byte]) for byte in range(256))
    assert vocabulary.tokens[CONTROLS + 256] == b"  "
    assert len(set(vocabulary.tokens[CONTROLS:])) == 300
    assert [vocabulary.name(end) for end in vocabulary.end_ids] == ["</s>"]
