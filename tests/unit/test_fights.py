"""Sampled runs and what each part of the source cost them, over a model without weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine import compile_json_schema
from engine.analysis.advice import advice
from engine.analysis.fights import Fight, Fights, Wanted, fights
from engine.analysis.room import distances_along
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.masking import Masker
from engine.masking.distance import Distance
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel

TOKENS = [*(bytes([b]) for b in range(32, 127)), b'{"', b'":', b"true", b"<end>"]
END = len(TOKENS) - 1
SCHEMA = (
    '{"type": "object", "properties": {"a": {"enum": ["xx", "yy"]}, "b": {"type": "boolean"}}, "required": ["a", "b"]}'
)
SOURCE = ConstraintSource("json_schema", SCHEMA, (("whitespace", "compact"), ("objects", "closed")))


def of_text(ids: tuple[int, ...]) -> np.ndarray:
    """Everything is equally likely, but for a strong wish for `z`."""
    logits = np.zeros(len(TOKENS))
    logits[TOKENS.index(b"z")] = 3
    return logits


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(Vocabulary.from_tokens(TOKENS, end_ids=[END]), of_text)


@pytest.fixture
def masker(model: FakeModel) -> Masker:
    return Masker(compile_json_schema(SCHEMA, whitespace="compact", objects="closed"), model.vocabulary)


SPEC = RunSpec("Some words.", SOURCE, chat_template=False, sampler=Sampler(temperature=1.0, seed=5), max_tokens=40)


def last(*arguments: object) -> Fights:
    (*_, found) = fights(*arguments)
    return found


def test_the_parts_add_up_to_the_runs(model: FakeModel, masker: Masker) -> None:
    found = last(model, SPEC, masker, 3)
    assert [run.seed for run in found.runs] == [5, 6, 7]
    for run in found.runs:
        trace = Decoder(model, replace(SPEC, sampler=Sampler(1.0, seed=run.seed)), masker.constraint, masker)
        list(trace.run())
        assert (run.text, run.cost) == (trace.trace.text, pytest.approx(trace.trace.cost))
    assert sum(part.cost for part in found.parts) == pytest.approx(found.cost)
    assert sum(part.share for part in found.parts) == pytest.approx(1)
    assert [part.cost for part in found.parts] == sorted((part.cost for part in found.parts), reverse=True)
    assert {part.pointer for part in found.parts} >= {"", "/properties/a", "/properties/b"}
    for part in found.parts:
        assert 0 <= part.mean_z <= 1
        assert part.visits <= sum(run.steps for run in found.runs)
        assert part.wanted[0].token == b"z"
        assert len({moment.before for moment in part.moments}) == len(part.moments)


def test_no_pass_is_made_twice(model: FakeModel, masker: Masker) -> None:
    prompt = len(model.encode(SPEC.prompt, SPEC.chat_template))
    (first,) = fights(model, SPEC, masker, 1)
    assert model.computed <= prompt + first.runs[0].steps
    model.computed = 0
    found = last(model, SPEC, masker, 4)
    assert model.computed <= 2 * prompt + sum(run.steps for run in found.runs)


def test_a_greedy_run_is_enough(model: FakeModel, masker: Masker) -> None:
    found = last(model, replace(SPEC, sampler=Sampler()), masker, 9)
    assert (found.asked, len(found.runs)) == (1, 1)


def test_cancelled_in_the_middle_of_a_run(model: FakeModel, masker: Masker) -> None:
    asked = 0

    def enough() -> bool:
        nonlocal asked
        asked += 1
        return asked > 4

    found = list(fights(model, SPEC, masker, 3, enough))
    assert len(found) == 1
    assert found[0].runs[0].steps == 4
    assert found[0].runs[0].finish is None


def part(keyword: str, wanted: bytes, pointer: str | None = "/properties/a") -> Fight:
    wish = Wanted(0, wanted, "", 0.5, 3.0)
    return Fight(pointer, keyword, 3, 0.2, 3.0, 1.0, (wish,), ())


@pytest.mark.parametrize(
    ("fight", "said"),
    [
        (part("enum", b"positive"), "Add its value"),
        (part("", b"first_name"), "Rename it"),
        (part("properties", b'"}'), "optional"),
        (part("maxLength", b" and"), "maxLength"),
        (part("minItems", b"]"), "stop before minItems"),
        (part("pattern", b"May"), "form"),
        (part("type", b'"'), "another type"),
        (part("properties", b"\n  "), "white space"),
        (part("", b"x", None), "not the schema"),
        (part("", b"x", "2-5"), "Loosen this part"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.keyword,
)
def test_advice_fits_what_was_wanted(fight: Fight, said: str) -> None:
    assert said in advice(fight)


def test_room_along_a_run(model: FakeModel, masker: Masker) -> None:
    """`{"a":"xx","b":true}` takes 13 tokens here: {" a ": " x x " , " b ": true }, and the end token."""
    run = Decoder(model, replace(SPEC, sampler=Sampler(), max_tokens=40), masker.constraint, masker)
    list(run.run())
    distances = distances_along(run.trace, masker)
    assert len(distances) == len(run.trace.steps)
    assert distances[0] == Distance(14, exact=True)
    assert distances[-1] == Distance(1, exact=True)
