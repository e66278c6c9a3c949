"""Token paths and their probabilities: by hand on a model of equal chances, by brute force on random ones."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from fake_model import FakeModel, Logits
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.token_paths import TokenPaths, token_paths
from engine.vocabulary import Vocabulary

A, B, AB, END = range(4)
SMALL = Vocabulary.from_tokens([b"a", b"b", b"ab", b"</s>"], end_ids=[END])
PROMPT = [A]


class Canonicals:
    """A tokenizer that knows the texts of a table."""

    def __init__(self, ids: Mapping[bytes, tuple[int, ...]]) -> None:
        self.ids = ids

    def encode(self, data: bytes) -> tuple[int, ...] | None:
        return self.ids.get(data)


class PathModel(FakeModel):
    def __init__(
        self, vocabulary: Vocabulary, canonical: Mapping[bytes, tuple[int, ...]], logits: Logits | None = None
    ) -> None:
        super().__init__(vocabulary, logits)
        self.canonical = Canonicals(canonical)


def equal_chances(ids: tuple[int, ...]) -> np.ndarray:
    return np.zeros(SMALL.size)


def equal(canonical: Mapping[bytes, tuple[int, ...]]) -> PathModel:
    return PathModel(SMALL, canonical, equal_chances)


def probabilities(found: TokenPaths) -> dict[tuple[int, ...], float]:
    return {path.ids: math.exp(path.total) for path in found.paths}


def test_every_path_and_its_end_token() -> None:
    """Each token has 1/4: ab and the end 1/16, a and b and the end 1/64."""
    found = token_paths(equal({b"ab": (AB,)}), PROMPT, b"ab", taken=[A, B])
    assert probabilities(found) == pytest.approx({(AB,): 1 / 16, (A, B): 1 / 64})
    assert [path.ids for path in found.paths] == [(AB,), (A, B)]
    assert found.exact
    assert found.count == 2
    assert math.exp(found.total) == pytest.approx(5 / 64)
    assert found.canonical_share == pytest.approx(4 / 5)
    assert found.canonical is not None
    assert found.canonical.tokens == (b"ab",)
    assert found.taken is not None
    assert found.taken.logprobs == pytest.approx((math.log(1 / 4),) * 2)
    assert found.taken.end == pytest.approx(math.log(1 / 4))


def test_a_beginning_has_no_end_token() -> None:
    found = token_paths(equal({b"ab": (AB,)}), PROMPT, b"ab", whole=False)
    assert probabilities(found) == pytest.approx({(AB,): 1 / 4, (A, B): 1 / 16})
    assert {path.end for path in found.paths} == {None}


def test_all_end_tokens_count() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b"x", b"y"], end_ids=[2, 3])
    found = token_paths(PathModel(vocabulary, {}, lambda ids: np.zeros(4)), PROMPT, b"a")
    assert math.exp(found.total) == pytest.approx(1 / 4 * 2 / 4)


def test_the_empty_text() -> None:
    found = token_paths(equal({b"": ()}), PROMPT, b"")
    assert probabilities(found) == pytest.approx({(): 1 / 4})
    assert found.canonical_share == pytest.approx(1)


def test_what_it_cost() -> None:
    model = equal({b"ab": (AB,)})
    found = token_paths(model, [A, B, A], b"ab")
    assert found.paths_read == 2
    assert found.tokens_read == model.computed == 3 + 1 + 2


def test_a_text_without_canonical_tokenisation() -> None:
    found = token_paths(equal({}), PROMPT, b"ab")
    assert found.canonical is None
    assert found.canonical_share is None
    assert len(found.paths) == 2


def test_a_text_that_cannot_be_spelled() -> None:
    found = token_paths(equal({}), PROMPT, b"c")
    assert (found.count, found.paths, found.total, found.exact) == (0, (), -math.inf, True)


def test_impossible_paths_have_probability_zero() -> None:
    def never_ends(ids: tuple[int, ...]) -> np.ndarray:
        return np.array([0.0, 0.0, 0.0, -math.inf])

    found = token_paths(PathModel(SMALL, {b"ab": (AB,)}, never_ends), PROMPT, b"ab")
    assert found.total == -math.inf
    assert found.canonical_share is None


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="does not spell"):
        token_paths(equal({}), PROMPT, b"ab", taken=[A])
    with pytest.raises(ValueError, match="prompt of at least one token"):
        token_paths(equal({}), [], b"ab")
    with pytest.raises(ValueError, match="spells no text"):
        token_paths(equal({}), PROMPT, b"a", taken=[A, END])


# --- against brute force

tokens_of_a_and_b = st.lists(st.text("ab", min_size=1, max_size=4).map(str.encode), min_size=1, max_size=7, unique=True)
texts = st.text("ab", max_size=7).map(str.encode)


def brute_force(model: FakeModel, text: bytes, ids: tuple[int, ...] = ()) -> dict[tuple[int, ...], float]:
    """The probability of every path, from the definition."""
    logits = model._logits((*PROMPT, *ids))
    chances = np.exp(logits) / np.exp(logits).sum()
    if not text:
        return {ids: sum(chances[end] for end in model.vocabulary.end_ids)}
    found: dict[tuple[int, ...], float] = {}
    for token_id, token in enumerate(model.vocabulary.tokens):
        if token and text.startswith(token):
            after = brute_force(model, text[len(token) :], (*ids, token_id))
            found |= {path: chance * chances[token_id] for path, chance in after.items()}
    return found


def random_model(tokens: list[bytes], text: bytes) -> tuple[PathModel, dict[tuple[int, ...], float]]:
    """A tokenizer that takes any tokenisation, the least probable one, for its own."""
    vocabulary = Vocabulary.from_tokens([*tokens, b"", b"</s>", b"<end>"], end_ids=[len(tokens) + 1, len(tokens) + 2])
    expected = brute_force(PathModel(vocabulary, {}), text)
    canonical = {text: min(expected, key=lambda path: expected[path])} if expected else {}
    return PathModel(vocabulary, canonical), expected


@given(tokens_of_a_and_b, texts)
@settings(deadline=None)
def test_all_paths_have_the_probability_of_the_definition(tokens: list[bytes], text: bytes) -> None:
    model, expected = random_model(tokens, text)
    found = token_paths(model, PROMPT, text, beam=3)
    assert found.exact
    assert found.count == len(found.paths) == len(expected)
    assert probabilities(found) == pytest.approx(expected, rel=1e-5)
    assert math.exp(found.total) == pytest.approx(sum(expected.values()), rel=1e-5)
    if expected:
        assert found.canonical_share == pytest.approx(min(expected.values()) / sum(expected.values()), rel=1e-5)


@given(tokens_of_a_and_b, texts, st.integers(1, 4), st.integers(1, 4))
@settings(deadline=None)
def test_what_a_search_finds_is_a_lower_bound(tokens: list[bytes], text: bytes, beam: int, rounds: int) -> None:
    model, expected = random_model(tokens, text)
    found = token_paths(model, PROMPT, text, exact_up_to=0, beam=beam, rounds=rounds)
    assert found.count == len(expected)
    assert len(found.paths) == found.paths_read <= 1 + beam * (rounds - 1)
    assert found.exact == (len(found.paths) == len(expected))
    assert probabilities(found) == pytest.approx({path.ids: expected[path.ids] for path in found.paths}, rel=1e-5)
    assert math.exp(found.total) <= sum(expected.values()) * (1 + 1e-5)


def test_a_search_goes_where_the_model_puts_its_mass() -> None:
    """The canonical path of a^12 is all pairs; the model wants single letters; eight paths are read."""
    vocabulary = Vocabulary.from_tokens([b"a", b"aa", b"aaa", b"</s>"], end_ids=[3])
    wish = np.array([5.0, 0.0, -20.0, 5.0])
    model = PathModel(vocabulary, {b"a" * 12: (1,) * 6}, lambda ids: wish)
    found = token_paths(model, PROMPT, b"a" * 12, exact_up_to=10, beam=1, rounds=8)
    assert found.count == 927  # tribonacci
    assert not found.exact
    assert found.paths[0].ids == (0,) * 12


def test_the_path_taken_is_read_where_the_search_does_not_meet_it() -> None:
    model = equal({b"abab": (AB, AB)})
    found = token_paths(model, PROMPT, b"abab", taken=[A, B, A, B], exact_up_to=1, beam=1, rounds=1)
    assert [path.ids for path in found.paths] == [(AB, AB), (A, B, A, B)]
    assert found.taken is not None
    assert math.exp(found.taken.total) == pytest.approx(1 / 4**5)
    assert not found.exact
