"""Token healing: the prompt's bytes stay, special tokens are never crossed, the cut is where the rule says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.decoder import Decoder
from engine.decoding.healing import taken_back
from engine.decoding.records import ConstraintSource, RunSpec, Sampler, Trace
from engine.decoding.trace import load_trace, save_trace
from engine.vocabulary import Vocabulary
from tests.unit.tiny_bpe import SPECIAL, TinyModel, tiny_sentencepiece, tiny_tokenizer

MERGES = [("a", "b"), ("b", "c"), ("ab", "c"), (":", "/"), (":/", "/"), ("c", ":")]
TOKENIZER = tiny_tokenizer("abc:/ é", MERGES)
MODEL = TinyModel(TOKENIZER)
IDS = {MODEL.vocabulary.name(token_id): token_id for token_id in range(MODEL.vocabulary.size)}
WARM = Sampler(temperature=2.0, seed=1)


SENTENCEPIECE = TinyModel(tiny_sentencepiece("abc:/ ", [*MERGES, (" ", "a"), (" a", "b"), (" ", ":")]))


def healed_run(model: TinyModel, spec: RunSpec) -> Trace:
    run = Decoder(model, spec)
    list(run.run())
    return run.trace


def spelled(trace: Trace) -> bytes:
    return b"".join(token for _, token in trace.prompt_tokens) + b"".join(s.token for s in trace.steps if not s.end)


def test_the_cut_is_the_longest_end_that_a_longer_token_begins_with() -> None:
    vocabulary = MODEL.vocabulary
    assert taken_back(MODEL.encode("ab:", False), vocabulary, "auto") == 1  # ":" begins "://"
    assert taken_back(MODEL.encode("b/", False), vocabulary, "auto") == 0  # nothing begins with "/"
    assert [vocabulary.name(token_id) for token_id in MODEL.encode(" ab", False)] == [" ", "ab"]
    assert taken_back(MODEL.encode(" ab", False), vocabulary, "auto") == 1  # "ab" begins "abc"


def test_the_cut_moves_back_to_a_boundary() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", b"b", b"xa", b"ab", b"abc"], end_ids=[0])
    assert taken_back([1, 3, 2], vocabulary, "auto") == 2  # "ab" begins "abc", and its "a" is inside of "xa"


@pytest.mark.parametrize(("healing", "removed"), [(0, 0), (1, 1), (2, 2), (3, 2), (99, 2), ("auto", 1)])
def test_special_tokens_are_never_crossed(healing: int, removed: int) -> None:
    ids = [IDS["a"], IDS[SPECIAL], IDS["b"], IDS[":"]]
    assert taken_back(ids, MODEL.vocabulary, healing) == removed


def test_one_token_is_left_to_read() -> None:
    assert taken_back([IDS["a"], IDS[":"]], MODEL.vocabulary, 99) == 1
    assert taken_back([IDS[":"]], MODEL.vocabulary, "auto") == 0


@settings(deadline=None, max_examples=60)
@given(
    model=st.sampled_from([MODEL, SENTENCEPIECE]),
    prompt=st.text("abc:/ é", min_size=1, max_size=12).filter(str.strip),
    healing=st.integers(0, 14) | st.just("auto"),
    pattern=st.sampled_from([None, "[abc:/]*", "(//|bc|:)?a{2}é", "/{2}b"]),
    seed=st.integers(0, 99),
)
def test_the_prompts_bytes_stay(model: TinyModel, prompt: str, healing: int, pattern: str | None, seed: int) -> None:
    source = pattern and ConstraintSource("regex", pattern)
    spec = RunSpec(prompt, source, False, replace(WARM, seed=seed), 40, healing=healing)
    trace = healed_run(model, spec)
    read = b"".join(model.vocabulary.tokens[token_id] for token_id in model.encode(prompt, False))
    assert read.removeprefix(b" ") == prompt.encode().removeprefix(b" "), "the prompt, the dummy prefix aside"
    assert spelled(trace).startswith(read)
    assert spelled(trace) == read + trace.text
    if trace.healed is not None:
        assert b"".join(token for _, token in trace.healed.removed) == trace.healed.prefix
        written = b""
        for step in trace.steps:
            assert step.owed == trace.healed.prefix[len(written) :]
            assert (step.kind == "healed") == bool(step.owed)
            assert step.offset == len(written)
            written += step.token
    if source is not None and trace.finish == "complete":
        assert Decoder(model, replace(spec, healing=0)).masker.constraint.check(trace.text).kind == "accepted"


def test_a_token_may_reach_beyond_the_prompt() -> None:
    def wants_slashes(ids: tuple[int, ...]) -> np.ndarray:
        return np.eye(MODEL.vocabulary.size)[IDS["://"]] * 9

    model = TinyModel(TOKENIZER, wants_slashes)
    spec = RunSpec("ab:", ConstraintSource("regex", "//[ab]"), False, max_tokens=9, healing="auto")
    run = Decoder(model, spec)
    steps = list(run.run())
    trace = run.trace
    assert trace.healed is not None
    assert (trace.healed.removed, trace.healed.prefix) == (((IDS[":"], b":"),), b":")
    assert (steps[0].token, steps[0].kind, steps[0].owed, steps[1].owed) == (b"://", "healed", b":", b"")
    assert trace.text == b"//a"
    before = {candidate.token: candidate.allowed for candidate in trace.healed.candidates}
    assert before[b"://"] is False
    assert before[b"/"] is True
    assert {c.token for c in steps[0].candidates if c.allowed} == {b":", b"://", b":/"}
    assert model.computed == 2 + len(steps) - 1, "the prompt's tokens are read once, those taken back among them"
    assert load_trace(save_trace(trace)) == trace


def test_going_back_and_branching_in_a_healed_run() -> None:
    spec = RunSpec("ab:", ConstraintSource("regex", "//[ab]"), False, WARM, 9, healing=2)
    run = Decoder(MODEL, spec)
    whole = list(run.run())
    stepped = Decoder(MODEL, spec)
    for index in range(len(whole)):
        stepped.goto(0)
        while stepped.position <= index:
            stepped.step()
    assert stepped.trace == run.trace
    other = run.branch(0, IDS[":/"])
    list(other.run())
    assert other.trace.text[:2] == b"//"
    assert other.trace.steps[0].kind == "chosen"
