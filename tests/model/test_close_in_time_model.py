"""The bundled model with a token limit: every run closes in time, whatever the model would rather write."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import jsonschema
import numpy as np
import pytest

from engine import Masker
from engine.decoding.decoder import Decoder
from engine.decoding.errors import DecodingError
from engine.examples import EXAMPLES, Example, example
from engine.grammar.sources import compile_source
from engine.masking import Place
from engine.masking.distance import CloseInTime
from engine.model import load_model
from engine.model.model import Model

pytestmark = pytest.mark.model

CONSTRAINED = [entry for entry in EXAMPLES if entry.constraint is not None]


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(device="cpu")


def test_a_tree_without_end_closes_in_time(model: Model) -> None:
    entry = example("A tree without end")
    assert entry.constraint is not None
    free = Decoder(model, replace(entry.spec(), max_tokens=32))
    list(free.run())
    assert free.finish == "limit"
    closing = Decoder(model, replace(entry.spec(), max_tokens=32, close_in_time=True))
    steps = list(closing.run())
    assert closing.finish == "complete"
    assert len(steps) <= 32
    assert steps[-1].end
    value = json.loads(closing.trace.text)
    jsonschema.validate(value, json.loads(entry.constraint.text), jsonschema.Draft202012Validator)


def test_a_limit_that_is_too_small_says_which_one_is_enough(model: Model) -> None:
    spec = replace(example("ISO date (regex)").spec(), close_in_time=True)
    # Every digit and hyphen of the ten is a token of its own, and the end token counts.
    with pytest.raises(DecodingError, match="The smallest limit that can is 11"):
        list(Decoder(model, replace(spec, max_tokens=10)).run())
    run = Decoder(model, replace(spec, max_tokens=11))
    assert len(list(run.run())) == 11
    assert run.finish == "complete"


@pytest.mark.parametrize("entry", CONSTRAINED, ids=lambda entry: entry.name)
def test_random_runs_close_with_few_tokens_to_spare(model: Model, entry: Example) -> None:
    assert entry.constraint is not None
    constraint = compile_source(entry.constraint)
    masker = Masker(constraint, model.vocabulary)
    closing, random = CloseInTime(masker), Random(1)
    limit = closing.distance(constraint.start).tokens + 2
    state, tokens = constraint.start, list[int]()
    while not tokens or tokens[-1] not in model.vocabulary.end_ids:
        place = Place(constraint.start, 0, tuple(tokens), state, limit - len(tokens))
        allowed = np.flatnonzero(closing.narrow(masker.mask(state).to_bool(), place))
        tokens.append(random.choice(allowed.tolist()))
        after = masker.advance(state, tokens[-1])
        assert after is not None
        state = after
    text = b"".join(model.vocabulary.tokens[token_id] for token_id in tokens)
    assert constraint.check(text).kind == "accepted"
    assert len(tokens) <= limit
