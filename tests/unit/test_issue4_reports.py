"""Defects found by trying to break runs, each as it was met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.decoding.decoder import Decoder
from engine.decoding.errors import DecodingError, SpecError
from engine.decoding.records import ConstraintSource, RunSpec
from engine.decoding.trace import load_trace, save_trace
from engine.errors import ConstraintError
from engine.grammar.sources import compile_source
from tests.unit.tiny_bpe import TinyModel, tiny_tokenizer

# The later the letters, the earlier the merge: how "abcd" is cut depends on whether an "e" follows.
TOKENIZER = tiny_tokenizer("abcde ", [("d", "e"), ("c", "d"), ("b", "c"), ("a", "b")])
MODEL = TinyModel(TOKENIZER)
SPEC = RunSpec("a b", chat_template=False)
FORCED = replace(SPEC, constraint=ConstraintSource("regex", "cabcde[ab]"), jump_forward="safe")


def ids(run: Decoder) -> list[int]:
    return [step.token_id for step in run.run()]


@pytest.mark.parametrize("max_tokens", range(1, 6))
def test_a_token_limit_does_not_change_the_cut_of_forced_bytes(max_tokens: int) -> None:
    assert ids(Decoder(MODEL, replace(FORCED, max_tokens=max_tokens))) == ids(Decoder(MODEL, FORCED))[:max_tokens]


def test_a_branch_inside_forced_bytes_is_the_run_of_its_spec() -> None:
    whole = Decoder(MODEL, FORCED)
    list(whole.run())
    for index in range(len(whole.trace.steps)):
        for token_id in whole.mask_at(index).ids().tolist():
            branch, afresh = whole.branch(index, token_id), Decoder(MODEL, whole.branch(index, token_id).spec)
            list(branch.run())
            list(afresh.run())
            assert branch.trace == afresh.trace


def test_closing_in_time_counts_the_context() -> None:
    model = TinyModel(TOKENIZER)
    model.context = len(model.encode("a b", False)) + 4
    spec = replace(SPEC, constraint=ConstraintSource("regex", "[ab]{8,}"), close_in_time=True)
    run = Decoder(model, spec)
    list(run.run())
    assert run.finish == "complete"
    assert len(run.trace.steps) == 5  # "ab" four times, and the end token, which is not read
    model.context -= 1
    with pytest.raises(DecodingError, match=r"within 4 tokens, .* is 5"):
        Decoder(model, spec)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_logits_that_only_healing_looks_at_do_not_break_a_run(value: float) -> None:
    """They are those after the whole prompt; the run goes on from before its end."""
    whole = tuple(MODEL.encode("a ab", False))

    def logits(read: tuple[int, ...]) -> np.ndarray:
        found = np.full(MODEL.vocabulary.size, value if read == whole else 0.0)
        found[-1] = 0.0 if read != whole or np.isinf(value) else value  # a special token: never allowed
        return found

    spec = RunSpec("a ab", ConstraintSource("regex", "cd"), chat_template=False, healing=1)
    run = Decoder(TinyModel(TOKENIZER, logits), spec)
    list(run.run())
    assert run.finish == "complete"
    assert run.trace.healed is not None
    assert run.trace.healed.candidates == ()
    assert load_trace(save_trace(run.trace)) == run.trace


@pytest.mark.parametrize("asked", [{"jump_forward": "safe"}, {"choices": ((0, 9),)}])
def test_a_token_without_a_logit_names_the_step(asked: dict[str, object]) -> None:
    model = TinyModel(TOKENIZER, lambda read: np.zeros(8))
    spec = replace(SPEC, constraint=ConstraintSource("regex", "abc"), **asked)  # type: ignore[arg-type]
    assert model.vocabulary.tokens[9] == b"ab"
    with pytest.raises(DecodingError, match=r"Step [01]: the model has 8 logits, none for token"):
        list(Decoder(model, spec).run())


def test_half_a_character_in_a_prompt_is_refused_in_words() -> None:
    with pytest.raises(SpecError, match="half a character"):
        Decoder(MODEL, replace(SPEC, prompt="a b\udcff"))


@pytest.mark.parametrize(
    "source",
    [ConstraintSource("regex", "a", after="\ud800"), ConstraintSource("regex", "a", (("budget", "5"),))],
)
def test_what_a_link_may_hold_is_refused_in_words(source: ConstraintSource) -> None:
    with pytest.raises(ConstraintError, match=r"half a character|Unknown option"):
        compile_source(source)
