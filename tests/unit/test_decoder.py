"""Runs of a fake model: a pure function of the spec, however one walks through it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.decoding.decoder import Decoder
from engine.decoding.errors import ChoiceError, DecodingError, SpecError
from engine.decoding.records import ConstraintSource, RunSpec, Sampler, Trace
from engine.errors import Origin
from engine.masking import Masker
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel
from tests.unit.tiny_dfa import TinyDfa, constraint_of, word_dfa

END, SPECIAL, A, B, AB, C = range(6)
VOCABULARY = Vocabulary.from_tokens(
    [b"<end>", b"<special>", b"a", b"b", b"ab", b"c"], end_ids=[END], special_ids=[SPECIAL]
)
SOURCE = ConstraintSource("regex", "[abc]*")
LOOP = TinyDfa({0: {97: 0, 98: 1, 99: 0}, 1: {97: 0, 98: 1}}, frozenset([1]))
WARM = Sampler(temperature=1.5, seed=3)
SPEC = RunSpec("one two three", SOURCE, sampler=WARM, max_tokens=12)


def decoder(spec: RunSpec = SPEC, automaton: TinyDfa = LOOP, model: FakeModel | None = None) -> Decoder:
    return Decoder(model or FakeModel(VOCABULARY), spec, constraint_of(automaton))


def finished(spec: RunSpec = SPEC, automaton: TinyDfa = LOOP) -> Trace:
    run = decoder(spec, automaton)
    list(run.run())
    return run.trace


@settings(deadline=None)
@given(
    st.integers(0, 50),
    st.sampled_from([0.0, 0.7, 2.0]),
    st.lists(st.one_of(st.none(), st.integers(0, 12)), max_size=25),
)
def test_step_by_step_is_all_at_once_is_back_and_forth(seed: int, temperature: float, jumps: list[int | None]) -> None:
    spec = replace(SPEC, sampler=Sampler(temperature=temperature, seed=seed))
    expected = finished(spec)
    walked = decoder(spec)
    for jump in jumps:
        if jump is None:
            walked.step()
        else:
            walked.goto(min(jump, len(walked.trace.steps)))
    assert walked.trace.steps == expected.steps[: len(walked.trace.steps)]
    while walked.step():
        pass
    assert walked.trace == expected


def test_replayed_steps_are_the_same_records_and_cost_nothing() -> None:
    model = FakeModel(VOCABULARY)
    run = decoder(model=model)
    steps = list(run.run())
    computed = model.computed
    run.goto(0)
    assert all(again is first for again, first in zip(run.run(), steps, strict=True))
    assert model.computed == computed
    assert run.step() is None


def test_every_token_is_computed_once() -> None:
    model = FakeModel(VOCABULARY)
    run = decoder(model=model)
    steps = list(run.run())
    assert model.computed == len(run.trace.prompt_tokens) + len(steps) - 1


@settings(deadline=None)
@given(st.integers(0, 30), st.data())
def test_a_branch_is_the_run_of_its_spec(seed: int, data: st.DataObject) -> None:
    run = decoder(replace(SPEC, sampler=replace(WARM, seed=seed)))
    original = list(run.run())
    index = data.draw(st.integers(0, len(original) - 1))
    mask = run.mask_at(index)
    token_id = data.draw(st.sampled_from(mask.ids().tolist()))
    other = run.branch(index, token_id)
    assert other.position == index
    list(other.run())
    assert other.spec.choices == ((index, token_id),)
    assert other.trace.steps[index].kind == "chosen"
    assert other.trace == finished(other.spec)
    assert run.trace.steps == tuple(original)
    again = run.branch(index, original[index].token_id)
    list(again.run())
    assert again.trace.text == run.trace.text


def test_branches_share_the_prompt() -> None:
    model = FakeModel(VOCABULARY)
    run = decoder(model=model)
    list(run.run())
    before = model.computed
    other = run.branch(0, A)
    other.step()
    assert model.computed == before, "the logits after the prompt are remembered"
    later = run.branch(1, run.trace.steps[1].token_id)
    later.step()
    assert model.computed == before + 1


def test_a_branch_of_a_branch_keeps_earlier_choices() -> None:
    first = decoder().branch(0, A)
    list(first.run())
    second = first.branch(2, B)
    assert second.spec.choices == ((0, A), (2, B))
    assert second.branch(1, B).spec.choices == ((0, A), (1, B))
    assert second.trace.run_id != first.trace.run_id


def test_a_masked_choice_is_refused() -> None:
    run = decoder(automaton=word_dfa(b"ab"))
    with pytest.raises(ChoiceError, match=r"token 3 \('b'\) is not allowed here. What remains is state 0"):
        run.branch(0, B)
    with pytest.raises(ChoiceError, match="<end>"):
        run.branch(0, END)
    with pytest.raises(ChoiceError, match="no token 99"):
        run.branch(0, 99)
    with pytest.raises(ChoiceError, match="Step 0"):
        decoder(replace(SPEC, choices=((0, B),)), word_dfa(b"ab")).step()


def test_no_branch_behind_the_end() -> None:
    run = decoder(automaton=word_dfa(b"ab"))
    steps = list(run.run())
    with pytest.raises(ValueError, match="to branch at"):
        run.branch(len(steps), A)
    with pytest.raises(ValueError, match="no step"):
        run.goto(len(steps) + 1)


def test_a_complete_run() -> None:
    trace = finished(automaton=word_dfa(b"ac"))
    assert (trace.text, trace.finish, trace.missing) == (b"ac", "complete", "")
    assert [step.kind for step in trace.steps] == ["forced"] * 3
    assert [step.offset for step in trace.steps] == [0, 1, 2]
    assert trace.steps[-1].end
    assert trace.steps[-1].token == b""
    assert trace.steps[-1].candidates[[c.token_id for c in trace.steps[-1].candidates].index(END)].name == "<end>"
    assert all(math.isinf(step.top2_gap) for step in trace.steps)


def test_the_limit_says_what_is_missing() -> None:
    trace = finished(replace(SPEC, max_tokens=1), word_dfa(b"ac"))
    assert (trace.text, trace.finish) == (b"a", "limit")
    assert trace.missing == "state 1 (for example c)"


def test_a_cancelled_run_says_so_and_can_go_on() -> None:
    run = decoder()
    answers = iter([False, False, True])
    assert len(list(run.run(lambda: next(answers)))) == 2
    assert run.finish == "cancelled"
    assert run.trace.finish == "cancelled"
    list(run.run())
    assert run.trace == finished()


def test_the_context_ends_a_run() -> None:
    model = FakeModel(VOCABULARY, context=6)
    run = decoder(replace(SPEC, constraint=None), model=model)
    run = Decoder(model, replace(SPEC, constraint=None, sampler=Sampler(), choices=tuple((i, A) for i in range(9))))
    steps = list(run.run())
    assert run.finish == "context"
    assert len(run.trace.prompt_tokens) + len(steps) == 7


def test_prompts_that_do_not_fit() -> None:
    with pytest.raises(DecodingError, match="empty"):
        decoder(replace(SPEC, prompt=" \n"))
    with pytest.raises(DecodingError, match="4 tokens and the model reads at most 3"):
        decoder(model=FakeModel(VOCABULARY, context=3))


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"max_tokens": 0}, "max_tokens"), ({"sampler": Sampler(temperature=math.nan)}, "temperature")],
)
def test_a_spec_out_of_range_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        decoder(replace(SPEC, **changes))


def test_a_free_run_masks_special_tokens_only() -> None:
    run = Decoder(FakeModel(VOCABULARY), replace(SPEC, constraint=None, sampler=Sampler()))
    step = run.step()
    assert step is not None
    special = next(candidate for candidate in step.candidates if candidate.token_id == SPECIAL)
    assert not special.allowed
    assert step.z == pytest.approx(1 - special.raw)
    assert (step.allowed_count, step.before, step.origins) == (5, "", ())
    assert run.mask_at(0).count == 5
    assert run.constraint is None


def test_what_a_step_says() -> None:
    shares = np.array([0.4, 0.0, 0.3, 0.2, 0.05, 0.05])
    logits = np.log(shares, where=shares > 0, out=np.full(6, -np.inf))
    model = FakeModel(VOCABULARY, lambda ids: logits)
    step = decoder(replace(SPEC, sampler=Sampler()), model=model, automaton=word_dfa(b"ab", b"c")).step()
    assert step is not None
    assert (step.token_id, step.token, step.kind, step.rank) == (A, b"a", "sampled", 1)
    assert step.allowed_count == 3
    assert step.z == pytest.approx(0.4)
    assert step.cost == pytest.approx(-math.log(0.4))
    assert (step.raw, step.renormalised) == (pytest.approx(0.3), pytest.approx(0.75))
    assert step.raw_entropy == pytest.approx(-sum(share * math.log(share) for share in shares if share))
    assert step.renormalised_entropy == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.125)))
    assert (step.argmax_id, step.argmax_masked, step.argmax_origins) == (END, True, (Origin("0"),))
    assert step.top2_gap == pytest.approx(math.log(6))
    assert [candidate.token_id for candidate in step.candidates] == [END, A, B, AB, C, SPECIAL]
    assert [candidate.rank for candidate in step.candidates] == [0, 1, 2, 3, 4, 5]
    assert [candidate.sampling for candidate in step.candidates] == [0, 1, 0, 0, 0, 0]
    assert step.candidates[0].end
    assert step.seconds.keys() == {"forward", "mask", "sample"}


def test_candidates_are_the_favourites_before_and_after_the_mask() -> None:
    tokens = [b"<end>", b"<special>", *(f"a{number:03}".encode() for number in range(200)), b"b"]
    tokens += [bytes([byte]) for byte in b"0123456789a"]
    vocabulary = Vocabulary.from_tokens(tokens, end_ids=[0], special_ids=[1])
    model = FakeModel(vocabulary, lambda ids: -np.arange(vocabulary.size, dtype=np.float64))
    masker = Masker(constraint_of(word_dfa(*(f"a{number:03}".encode() for number in range(0, 200, 3)))), vocabulary)
    run = Decoder(model, replace(SPEC, sampler=Sampler(temperature=50.0)), masker=masker)
    step = run.step()
    assert step is not None
    ids = [candidate.token_id for candidate in step.candidates]
    allowed = masker.mask(0).ids()
    assert set(ids) == {*range(24), *allowed[:24].tolist(), step.token_id}
    assert [candidate.rank for candidate in step.candidates] == ids == sorted(ids)


@pytest.mark.parametrize("broken", [math.nan, -math.inf])
def test_broken_logits_name_the_step(broken: float) -> None:
    model = FakeModel(VOCABULARY, lambda ids: np.full(6, broken if len(ids) > 4 else 0.0))
    run = decoder(model=model)
    run.step()
    with pytest.raises(DecodingError, match=r"Step 1: .*not finite"):
        run.step()
    assert len(run.trace.steps) == 1


def test_logits_longer_than_the_vocabulary() -> None:
    model = FakeModel(VOCABULARY, lambda ids: np.arange(8.0))
    step = decoder(model=model).step()
    assert step is not None
    assert step.argmax_id == 7
    assert step.argmax_masked
    assert step.token_id < 6


def test_logits_shorter_than_the_vocabulary() -> None:
    run = decoder(replace(SPEC, sampler=Sampler()), model=FakeModel(VOCABULARY, lambda ids: np.arange(4.0)))
    steps = list(run.run())
    assert {step.token_id for step in steps} == {B}
    assert steps[0].allowed_count == 2  # "a" and "b"; "ab" and "c" have no logit


def test_an_empty_mask_is_an_error() -> None:
    class Nothing(Masker):
        def mask(self, state: int):  # type: ignore[no-untyped-def]
            return replace(super().mask(state), bits=np.zeros(1, dtype=np.uint32), count=0)

    run = Decoder(FakeModel(VOCABULARY), SPEC, masker=Nothing(constraint_of(LOOP), VOCABULARY))
    with pytest.raises(DecodingError, match=r"Step 0: no token is allowed. What remains is state 0, by 0") as caught:
        run.step()
    assert (caught.value.remains, caught.value.origins) == ("state 0", (Origin("0"),))
    assert caught.value.trace == run.trace
