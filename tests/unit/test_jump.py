"""Jump-forward: the tokens of a slow reference, in fewer passes; and what the naive way does to a text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import compile_regex
from engine.decoding.decoder import Decoder
from engine.decoding.jump import forced_bytes
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.decoding.trace import load_trace, save_trace
from tests.unit.fake_model import Logits
from tests.unit.slow_jump import slow_jump
from tests.unit.tiny_bpe import TinyModel, tiny_tokenizer

MERGES = [("a", "b"), ("b", "c"), ("ab", "c"), ("c", "a"), ("é", "a"), ("b", "b")]
TOKENIZER = tiny_tokenizer("abcé", [(one, two) for one, two in MERGES if "é" not in one + two])
MODEL = TinyModel(TOKENIZER)
IDS = {MODEL.vocabulary.name(token_id): token_id for token_id in range(MODEL.vocabulary.size)}
PATTERNS = ["abcabc(a|b)", "(a|b)abcab[ab]*", "abca{2}bcé(ab|é)c", "[ab]{2}cab", "abab", "(abc|abb)c", "éa?bcabcé"]


@settings(deadline=None, max_examples=60)
@given(
    pattern=st.sampled_from(PATTERNS),
    temperature=st.sampled_from([0.0, 2.0]),
    seed=st.integers(0, 50),
    limit=st.integers(1, 14),
)
def test_the_tokens_are_those_of_a_slow_reference(pattern: str, temperature: float, seed: int, limit: int) -> None:
    sampler = Sampler(temperature=temperature, seed=seed)
    spec = RunSpec("ab", ConstraintSource("regex", pattern), False, sampler, limit, jump_forward="safe")
    run = Decoder(MODEL, spec)
    steps = list(run.run())
    assert [step.token_id for step in steps] == slow_jump(MODEL, spec, compile_regex(pattern))
    stepped = Decoder(MODEL, spec)
    while stepped.step():
        stepped.goto(0)
        stepped.goto(len(stepped.trace.steps))
    assert stepped.trace == run.trace
    assert load_trace(save_trace(run.trace)) == run.trace


def test_forced_bytes() -> None:
    constraint = compile_regex("abc(d|e)f?")
    assert forced_bytes(constraint, constraint.start, 99) == (b"abc", constraint.advance(constraint.start, b"abc"))
    assert forced_bytes(constraint, constraint.start, 2)[0] == b"ab"
    assert forced_bytes(constraint, constraint.advance(constraint.start, b"abcd") or 0, 99)[0] == b""  # it may end here


def test_jumped_tokens_take_no_pass_of_their_own() -> None:
    model = TinyModel(TOKENIZER)
    spec = RunSpec("ab", ConstraintSource("regex", "[ab]abcabcabc[ab]"), False, max_tokens=20, jump_forward="safe")
    run = Decoder(model, spec)
    steps = list(run.run())
    kinds = [step.kind for step in steps]
    assert kinds == ["sampled", "jumped", "jumped", "jumped", "sampled", "forced"]
    assert run.trace.passes == 3
    assert model.computed == len(run.trace.prompt_tokens) + len(steps) - 1
    assert all(0 < step.z <= 1 and step.candidates for step in steps), "the prefill gives their logits"
    plain = Decoder(model, replace(spec, jump_forward="off"))
    assert plain.trace.passes == 0
    list(plain.run())
    assert plain.trace.passes == len(plain.trace.steps)


def favourite(*names: str) -> Logits:
    """A model that wants these tokens, the first most."""

    def logits(ids: tuple[int, ...]) -> np.ndarray:
        wanted = np.zeros(MODEL.vocabulary.size)
        for place, name in enumerate(names):
            wanted[IDS[name]] = 9.0 - place
        return wanted

    return logits


def test_the_naive_way_changes_the_text() -> None:
    """After "ab", forced, the model wants "abc" where "c" or "b" may follow; cut behind "ab" it can't have it."""
    source = ConstraintSource("regex", "ab(c|b)")
    texts = {}
    for how in ("off", "safe", "naive"):
        model = TinyModel(TOKENIZER, favourite("abc", "b"))
        run = Decoder(model, RunSpec("c", source, False, max_tokens=9, jump_forward=how))  # type: ignore[arg-type]
        list(run.run())
        texts[how] = run.trace.text
    assert texts == {"off": b"abc", "safe": b"abc", "naive": b"abb"}


def test_no_jump_over_a_choice_or_a_limit() -> None:
    spec = RunSpec("ab", ConstraintSource("regex", "[ab]abcabcabc"), False, max_tokens=3, jump_forward="safe")
    run = Decoder(MODEL, spec)
    steps = list(run.run())
    assert (len(steps), run.finish) == (3, "limit")
    whole = Decoder(MODEL, replace(spec, max_tokens=20))
    list(whole.run())
    other = whole.branch(2, IDS["a"])
    list(other.run())
    assert [step.token for step in other.trace.steps[1:3]] == [b"abc", b"a"]
    assert other.trace.text == whole.trace.text
    again = Decoder(MODEL, other.spec)
    list(again.run())
    assert again.trace == other.trace


def test_time_saved_is_a_pass_for_each_jumped_token() -> None:
    run = Decoder(MODEL, RunSpec("ab", ConstraintSource("regex", "[ab]{2}abcabc[ab]"), False, jump_forward="safe"))
    list(run.run())
    spent = {"sampled": 1.0, "forced": 1.0, "jumped": 0.0}
    first = next(step.index for step in run.trace.steps if step.kind == "jumped")
    steps = tuple(
        replace(step, seconds={"forward": 1.25 if step.index == first else spent[step.kind]})
        if step.kind == "jumped" or run.trace.steps[step.index - 1].kind != "jumped" or not step.index
        else replace(step, seconds={"forward": 0.0})
        for step in run.trace.steps
    )
    jumped = sum(step.kind == "jumped" for step in steps)
    assert replace(run.trace, steps=steps).seconds_saved == pytest.approx(jumped * 1.0 - 0.25)
