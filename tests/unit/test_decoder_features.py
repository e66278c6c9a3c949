"""All features of a run together: still a pure function of the spec, still valid, still the prompt's bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.decoder import Decoder
from engine.decoding.errors import DecodingError
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.decoding.trace import load_trace, save_trace
from tests.unit.tiny_bpe import TinyModel, tiny_tokenizer

MERGES = [("a", "b"), ("b", "c"), ("ab", "c"), (":", "1"), ('"', ":"), ('"', "a"), ("1", "}"), ("a", '"')]
TOKENIZER = tiny_tokenizer('abc:1{}" ', MERGES)
MODEL = TinyModel(TOKENIZER)
IDS = {MODEL.vocabulary.name(token_id): token_id for token_id in range(MODEL.vocabulary.size)}
SCHEMA = (
    '{"type": "object", "properties": {"a": {"const": 11}, "ab": {"enum": ["a", "abc"]}},'
    ' "required": ["a"], "additionalProperties": false}'
)
SOURCES = [
    ConstraintSource("regex", "(a|b)abca(bc)*"),
    ConstraintSource("regex", "[ab]{2}c?", after=":"),
    ConstraintSource("regex", "1+", after="ab", free_after=True),
    ConstraintSource("json_schema", SCHEMA),
    ConstraintSource("json_schema", SCHEMA, (("key_order", "any"), ("whitespace", "any"))),
]
specs = st.builds(
    RunSpec,
    prompt=st.sampled_from(["ab", "a b", 'c{"', "11"]),
    constraint=st.sampled_from([None, *SOURCES]),
    chat_template=st.booleans(),
    sampler=st.builds(
        Sampler, temperature=st.sampled_from([0.0, 1.0, 3.0]), min_p=st.sampled_from([0.0, 0.1]), seed=st.integers(0, 9)
    ),
    max_tokens=st.integers(1, 30),
    policy=st.sampled_from(["bridging", "aligned", "canonical"]),
    healing=st.sampled_from([0, 1, "auto"]),
    jump_forward=st.sampled_from(["off", "safe", "naive"]),
    close_in_time=st.booleans(),
)


@settings(deadline=None, max_examples=150)
@given(specs, st.data())
def test_one_spec_one_trace(spec: RunSpec, data: st.DataObject) -> None:
    try:
        run = Decoder(MODEL, spec)
    except DecodingError:
        assert spec.close_in_time
        with pytest.raises(DecodingError, match="The smallest limit that can is"):
            Decoder(MODEL, spec)
        return
    list(run.run())
    trace = run.trace
    walked = Decoder(MODEL, spec)
    while walked.step():
        back = data.draw(st.integers(0, len(walked.trace.steps)))
        walked.goto(back)
        for _ in range(len(walked.trace.steps) - back):
            walked.step()
    assert walked.trace == trace
    assert load_trace(save_trace(trace)) == trace
    assert trace.finish == "complete" or not spec.close_in_time
    if trace.finish == "complete":
        assert run.masker.constraint.check(trace.text).kind == "accepted"
    for step in trace.steps:
        found = run.distributions_at(step.index)
        assert found.renormalised[step.token_id] == pytest.approx(step.renormalised, abs=1e-6)
        assert found.raw[step.argmax_id] == found.raw.max()
        taken = next(candidate for candidate in step.candidates if candidate.token_id == step.token_id)
        assert taken.allowed
    resumed = Decoder.resumed(MODEL, replace(trace, steps=trace.steps[: len(trace.steps) // 2]))
    list(resumed.run())
    assert resumed.trace == trace


def test_closing_in_time_needs_a_limit_that_can() -> None:
    spec = RunSpec("ab", ConstraintSource("regex", "abcabc"), False, max_tokens=2, close_in_time=True)
    with pytest.raises(DecodingError, match=r"within 2 tokens.*The smallest limit that can is 3\."):
        Decoder(MODEL, spec)
    run = Decoder(MODEL, replace(spec, max_tokens=3))
    assert [(step.to_end, step.to_end_exact) for step in run.run()] == [(3, True), (2, True), (1, True)]


def test_closing_in_time_takes_away_what_would_be_too_long() -> None:
    wants_more = TinyModel(TOKENIZER, lambda ids: np.eye(MODEL.vocabulary.size)[IDS["b"]] * 9)
    source = ConstraintSource("regex", "[ab]*c")
    free = Decoder(wants_more, RunSpec("ab", source, False, max_tokens=5))
    list(free.run())
    assert (free.trace.text, free.finish) == (b"bbbbb", "limit")
    closed = Decoder(wants_more, RunSpec("ab", source, False, max_tokens=5, close_in_time=True))
    steps = list(closed.run())
    assert (closed.trace.text[:3], closed.trace.text[-1:], closed.finish) == (b"bbb", b"c", "complete")
    assert steps[0].narrowed == 0
    assert steps[3].narrowed > 0


def test_a_policy_that_leaves_nothing_is_put_aside_and_says_so() -> None:
    """The tokenizer writes `":1}` in three tokens; in two it can be written, but not canonically."""
    spec = RunSpec("ab", ConstraintSource("regex", '":1\\}'), False, policy="canonical")
    own = Decoder(MODEL, spec)
    assert [(step.token, step.fallback) for step in own.run()][:-1] == [(b'"', False), (b":1", False), (b"}", False)]
    hurried = Decoder(MODEL, replace(spec, max_tokens=3, close_in_time=True))
    steps = list(hurried.run())
    assert [(step.token, step.fallback) for step in steps][:-1] == [(b'":', True), (b"1}", True)]
    assert not steps[-1].fallback
    assert (hurried.trace.text, hurried.finish) == (b'":1}', "complete")


def test_an_aligned_run_takes_one_terminal_at_a_time() -> None:
    runs = {}
    for policy in ("bridging", "aligned"):
        source, sampler = ConstraintSource("json_schema", SCHEMA), Sampler(2.0, seed=4)
        spec = RunSpec("ab", source, False, sampler, policy=policy)
        run = Decoder(MODEL, spec)
        runs[policy] = list(run.run())
        assert run.finish == "complete"
    crossing = {b'":', b":1", b"1}", b'"a', b'a"'}
    assert {step.token for step in runs["aligned"]} & {b'":', b":1", b"1}"} == set()
    assert {step.token for step in runs["bridging"]} & crossing
    assert any(step.narrowed > 0 for step in runs["aligned"])
    assert not any(step.narrowed > 0 for step in runs["bridging"])
