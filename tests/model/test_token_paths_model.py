"""Token paths on the real model: their probabilities are those of reading each by itself, and sum to at most 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engine.analysis.token_paths import token_paths
from engine.analysis.tokenisations import extensible, prefix_related

if TYPE_CHECKING:
    from engine.model.model import Model

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def prompt(model: Model) -> list[int]:
    return model.encode("Give me the age of Bob as JSON.", chat_template=True)


def test_paths_of_a_key(model: Model, prompt: list[int]) -> None:
    """`age` may be cut in four ways (age, a|ge, ag|e, a|g|e), `":` in two, and no token crosses from one to another."""
    found = token_paths(model, prompt, b'"age":', whole=False)
    assert found.exact
    assert found.count == 4 * 2
    assert found.canonical is not None
    assert found.canonical.tokens == (b'"', b"age", b'":')
    assert found.canonical == found.paths[0]
    assert found.total >= found.canonical.total
    assert found.canonical_share is not None
    assert 0.9 < found.canonical_share < 1


def test_a_path_has_the_probability_of_reading_it(model: Model, prompt: list[int]) -> None:
    taken = [model.canonical.encode(part)[0] for part in (b'"', b"a", b"ge", b'"', b":")]  # type: ignore[index]
    found = token_paths(model, prompt, b'"age":', taken)
    assert found.taken is not None
    logits = model.extend(model.new_cache(), [*prompt, *taken], keep=len(taken) + 1).astype(np.float64)
    logprobs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert found.taken.logprobs == pytest.approx(logprobs[np.arange(len(taken)), taken].tolist(), abs=1e-3)
    end = np.log(np.exp(logprobs[-1, sorted(model.vocabulary.end_ids)]).sum())
    assert found.taken.end == pytest.approx(float(end), abs=1e-3)


def test_texts_that_exclude_each_other_are_at_most_certain_together(model: Model) -> None:
    prompt = model.encode("Is the sky blue? Answer with one word: yes or no.", chat_template=True)
    totals = [math.exp(token_paths(model, prompt, text).total) for text in (b"Yes", b"No", b"No.")]
    assert all(total > 0 for total in totals)
    assert sum(totals) <= 1


def test_a_search_is_a_lower_bound_that_comes_close(model: Model, prompt: list[int]) -> None:
    exact = token_paths(model, prompt, b'{"age": 3}')
    searched = token_paths(model, prompt, b'{"age": 3}', exact_up_to=0, beam=4, rounds=2)
    assert exact.exact
    assert not searched.exact
    assert searched.count == exact.count
    assert exact.total - 0.05 < searched.total <= exact.total + 1e-3


def test_most_tokens_go_on(model: Model) -> None:
    """Whether a token begins others is read off the whole vocabulary, for a common one also name by name."""
    goes_on = extensible(model.vocabulary)
    (age,) = model.canonical.encode(b" age") or ()
    longer = [model.vocabulary.tokens[token_id] for token_id in prefix_related(model.vocabulary, age).longer]
    assert b" ages" in longer
    assert longer == sorted(
        token for token in model.vocabulary.tokens if token.startswith(b" age") and token != b" age"
    )
    assert goes_on[age]
    assert 0 < goes_on.sum() < model.vocabulary.size
