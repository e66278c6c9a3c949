"""The bundled model under constraints: what it finishes is valid by an independent judge."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import jsonschema
import pytest

from engine.decoding.decoder import Decoder
from engine.decoding.records import Sampler
from engine.decoding.trace import load_trace, save_trace
from engine.examples import Example, example
from engine.model import load_model
from engine.model.model import Model
from engine.shipped import differences, record, shipped_names, shipped_trace

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def model() -> Model:
    return load_model(device="cpu")


def finished(model: Model, entry: Example) -> str:
    run = Decoder(model, entry.spec())
    list(run.run())
    assert run.finish == "complete", run.trace.text
    return run.trace.text.decode()


@pytest.mark.parametrize("name", ["Person record", "One of two shapes", "Family tree"])
def test_a_finished_object_is_valid(model: Model, name: str) -> None:
    entry = example(name)
    assert entry.constraint is not None
    value = json.loads(finished(model, entry))
    jsonschema.validate(value, json.loads(entry.constraint.text), jsonschema.Draft202012Validator)


def test_a_finished_text_matches_its_regex(model: Model) -> None:
    entry = example("ISO date (regex)")
    assert entry.constraint is not None
    assert re.fullmatch(entry.constraint.text, finished(model, entry))


def test_sampled_runs_repeat_and_stay_valid(model: Model) -> None:
    entry = replace(example("Against the model's wish"), sampler=Sampler(temperature=1.2, top_p=0.9, seed=11))
    assert finished(model, entry) == finished(model, entry)


def test_going_back_and_branching_costs_no_prompt(model: Model) -> None:
    run = Decoder(model, example("Against the model's wish").spec())
    steps = list(run.run())
    run.goto(2)
    assert list(run.run()) == steps[2:]
    index = next(step.index for step in steps if step.allowed_count > 1)
    mask = run.mask_at(index)
    assert mask is not None
    other = next(token_id for token_id in mask.ids().tolist() if token_id != steps[index].token_id)
    branch = run.branch(index, other)
    branch.step()
    assert branch.trace.steps[:index] == run.trace.steps[:index]
    assert branch.trace.steps[index].token_id == other
    assert branch.trace.steps[index].raw_entropy == pytest.approx(steps[index].raw_entropy, abs=1e-3)


def test_a_trace_of_the_model_comes_back(model: Model) -> None:
    run = Decoder(model, replace(example("Emoji (regex)"), max_tokens=3).spec())
    list(run.run())
    assert load_trace(save_trace(run.trace)) == run.trace


def test_a_shipped_trace_is_what_the_model_does(model: Model) -> None:
    name = shipped_names()[0]
    assert differences(shipped_trace(name), record(example(name), model)) == []
