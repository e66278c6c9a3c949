"""Generate, then convert: two plain runs, the second of which reads what the first one wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.analysis.two_calls import TEMPLATE, conversion_prompt, generate_then_convert
from engine.decoding.decoder import Decoder
from engine.decoding.errors import DecodingError
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.errors import ConstraintError
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel

END, SPECIAL = 0, 1
VOCABULARY = Vocabulary.from_tokens(
    [b"<end>", b"<special>", *(bytes([byte]) for byte in range(256))], end_ids=[END], special_ids=[SPECIAL]
)
SOURCE = ConstraintSource("json_schema", json.dumps({"type": "integer", "minimum": 0, "maximum": 99}))


class Echo(FakeModel):
    """Reads prompts byte by byte."""

    def encode(self, prompt: str, chat_template: bool) -> list[int]:
        return [SPECIAL] * chat_template + [2 + byte for byte in prompt.encode()]


def writing(text: bytes, end_after: int) -> Echo:
    """Writes `text` again and again after the character "?" or ":", and ends after so many tokens."""

    def logits(ids: tuple[int, ...]) -> np.ndarray:
        asked = max((i for i, token_id in enumerate(ids) if token_id in (2 + ord("?"), 2 + ord(":"))), default=-1)
        written = len(ids) - asked - 1
        row = np.zeros(VOCABULARY.size)
        row[END if written == end_after else 2 + text[written % len(text)]] = 9.0
        return row

    return Echo(VOCABULARY, logits, context=120)


def test_the_second_prompt_holds_the_first_answer() -> None:
    both = generate_then_convert(writing(b"42", 2), "How many?", SOURCE, template="{prompt} {answer} As JSON:")
    assert both.free.text == b"42"
    assert both.free.spec == RunSpec("How many?", max_tokens=256, model="fake")
    assert both.converted.text == b"42"
    assert both.converted.spec.prompt == "How many? 42 As JSON:"
    assert both.converted.spec.constraint == SOURCE
    assert (both.free.finish, both.converted.finish) == ("complete", "complete")
    assert both.tokens == 3 + 3
    assert both.passes == both.free.passes + both.converted.passes == 6
    assert both.prompt_tokens == 1 + len("How many?") + 1 + len("How many? 42 As JSON:")


def test_both_are_plain_runs() -> None:
    sampler = Sampler(temperature=1.5, seed=4)
    model = writing(b"a lot", 5)
    both = generate_then_convert(model, "How many?", SOURCE, sampler=sampler, free_tokens=9, max_tokens=3)
    for trace in (both.free, both.converted):
        run = Decoder(model, trace.spec)
        list(run.run())
        assert run.trace == trace
    assert both.free.spec.sampler == both.converted.spec.sampler == sampler
    assert (both.free.spec.max_tokens, both.converted.spec.max_tokens) == (9, 3)


def test_an_answer_that_was_cut_off_shows() -> None:
    both = generate_then_convert(writing("żó".encode(), 9), "?", SOURCE, free_tokens=3, template="{answer}:")
    assert both.free.finish == "limit"
    assert both.free.text == "żó".encode()[:3]
    assert both.converted.spec.prompt == "ż:"


def test_the_template_fills_in_once() -> None:
    assert conversion_prompt("{prompt}|{answer}|{x}{}", "is {answer} it", b' {"a": "{prompt}"} ') == (
        'is {answer} it|{"a": "{prompt}"}|{x}{}'
    )
    assert {"{prompt}", "{answer}"} <= set(TEMPLATE.split())


def test_cancelled_in_the_first_call() -> None:
    model = writing(b"42", 2)
    both = generate_then_convert(model, "?", SOURCE, cancelled=lambda: model.computed > 2)
    assert (both.free.finish, len(both.free.steps)) == ("cancelled", 2)
    assert (both.converted.finish, both.converted.steps) == ("cancelled", ())


def test_what_is_wrong_is_said_before_the_first_call() -> None:
    model = writing(b"42", 2)
    with pytest.raises(ValueError, match=r"Write \{answer\} into it"):
        generate_then_convert(model, "?", SOURCE, template="Convert {prompt}.")
    with pytest.raises(ConstraintError):
        generate_then_convert(model, "?", ConstraintSource("regex", "("))
    assert model.computed == 0
    with pytest.raises(DecodingError, match="too long"):
        generate_then_convert(model, "?", SOURCE, template="{answer}" + 130 * ":")
