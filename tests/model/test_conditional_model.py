"""Exact and masked distributions of the bundled model over small languages."""

from __future__ import annotations

import math

import pytest

from engine import compile_choices, compile_regex
from engine.analysis.conditional import Conditional, Over, conditional
from engine.analysis.importance import importance
from engine.analysis.two_calls import generate_then_convert
from engine.constraint import Constraint
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec
from engine.masking import Masker
from engine.model import load_model
from engine.model.model import Model

pytestmark = pytest.mark.model

BINARY = "00000|1[01]{4}"


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(device="cpu")


def found(model: Model, prompt: str, constraint: Constraint, over: Over = "all") -> Conditional:
    result = conditional(model, prompt, Masker(constraint, model.vocabulary), over=over)
    assert result is not None
    return result


def test_seventeen_strings(model: Model) -> None:
    """The example of the ASAp paper: after a liked "0" only four more zeros are allowed, which are hardly liked."""
    result = found(model, "Write a binary number of five digits.", compile_regex(BINARY))
    assert len(result.texts) == 17
    assert sum(text.exact for text in result.texts) == pytest.approx(1, abs=1e-5)
    assert sum(text.masked for text in result.texts) == pytest.approx(1, abs=1e-5)
    zeros = next(text for text in result.texts if text.text == b"00000")
    assert zeros.exact < 1e-4
    assert zeros.masked > 0.05
    assert result.kl_masked_exact > 1
    estimates = importance(result, 500, seed=1).running[-1]
    assert estimates.total_variation < 0.1 < estimates.counted_total_variation


def test_tokenisations_of_words(model: Model) -> None:
    """The canonical path is one of several of its text, and the probability of a path is that of a run along it."""
    words = ["tea", "coffee", "water"]
    prompt = "What would you like to drink? Answer with one word."
    every, own = (found(model, prompt, compile_choices(words), over) for over in ("all", "canonical"))
    for result in (every, own):
        assert sum(text.exact for text in result.texts) == pytest.approx(1, abs=1e-5)
        assert sum(text.masked for text in result.texts) == pytest.approx(1, abs=1e-5)
    canonical = {text.text: text for text in own.texts}
    for text in every.texts:
        assert text.paths > canonical[text.text].paths == 1
        assert text.log_raw >= canonical[text.text].log_raw
    path = next(prefix.tokens for prefix in own.tree if prefix.text == b"coffee")
    source = ConstraintSource("regex", "|".join(words))
    run = Decoder(model, RunSpec(prompt, source, choices=tuple(enumerate(path))))
    *steps, last = run.run()
    along = math.prod(step.raw for step in steps) * sum(one.raw for one in last.candidates if one.end)
    assert canonical[b"coffee"].log_raw == pytest.approx(math.log(along), abs=1e-3)


def test_generate_then_convert(model: Model) -> None:
    source = ConstraintSource("regex", "[0-9]{1,4}")
    both = generate_then_convert(model, "How many legs has a spider? Answer with one word.", source, free_tokens=12)
    assert both.free.spec.constraint is None
    assert both.free.text.decode() in both.converted.spec.prompt
    assert both.converted.text.decode().isdecimal()
