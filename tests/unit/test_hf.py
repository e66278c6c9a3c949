"""The logits processor in `generate`, with networks of random weights: only what the constraint accepts comes out."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from engine import Decoder, Masker, RunSpec, Vocabulary, compile_choices, compile_regex
from engine.decoding.beam import beam_search
from engine.decoding.errors import DecodingError
from engine.decoding.records import ConstraintSource
from engine.hf import ConstrainedLogitsProcessor
from tests.unit.fake_model import FakeModel
from tests.unit.test_beam import BeamModel

PAD, END, STOP, START = 0, 1, 2, 3
TOKENS = [b"", b"", b"", b"", b"a", b"b", b"ab", b"ba", b"aab", b"c", b"bc", b"1", b"2", b"12"]
ENDS = [END, STOP]
VOCABULARY = Vocabulary.from_tokens(TOKENS, ENDS, [PAD, START])
PATTERN = "(ab|ba|c){2,3}[12]*"
LIMIT = 24


def network(seed: int, logits: int = len(TOKENS), ends: list[int] = ENDS) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=logits,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=128,
        initializer_range=1.0,
    )
    made = LlamaForCausalLM(config).eval()
    made.generation_config.eos_token_id = ends
    made.generation_config.pad_token_id = PAD
    return made


def generate(of: LlamaForCausalLM, processor: ConstrainedLogitsProcessor, prompts: list[list[int]], **how: Any) -> Any:
    """What is written behind each prompt; prompts are padded on the left."""
    width = max(map(len, prompts))
    ids = torch.tensor([[PAD] * (width - len(prompt)) + prompt for prompt in prompts])
    found = of.generate(
        ids, attention_mask=(ids != PAD).long(), logits_processor=[processor], max_new_tokens=LIMIT, **how
    )
    return found[:, width:].tolist()


def text(ids: list[int], limit: int = LIMIT) -> str | None:
    """The text of a row that ended, with only padding behind its end; None of one that was cut short."""
    end = next((place for place, token_id in enumerate(ids) if token_id in ENDS), None)
    if end is None:
        assert len(ids) == limit
        return None
    assert set(ids[end + 1 :]) <= {PAD, *ENDS}
    return b"".join(TOKENS[token_id] for token_id in ids[:end]).decode()


def accepted(rows: list[list[int]], pattern: str = PATTERN) -> None:
    """Every row is a text of the language, or a beginning of one that the limit cut short."""
    constraint = compile_regex(pattern)
    for ids in rows:
        written = text(ids)
        if written is None:
            assert constraint.check(b"".join(TOKENS[token_id] for token_id in ids)).kind != "rejected"
        else:
            assert re.fullmatch(pattern, written)


def decoded(
    of: LlamaForCausalLM, prompt: list[int], pattern: str = PATTERN, vocabulary: Vocabulary = VOCABULARY
) -> Any:
    """A model of the engine with the network's logits, and a run's spec."""

    def logits(ids: tuple[int, ...]) -> np.ndarray:
        with torch.inference_mode():
            return of(torch.tensor([list(ids)])).logits[0, -1].numpy()

    model = BeamModel(vocabulary, logits)
    model.encode = lambda text, chat: list(prompt)  # type: ignore[method-assign]
    return model, RunSpec("x", ConstraintSource("regex", pattern), max_tokens=LIMIT)


def greedy(model: FakeModel, spec: RunSpec) -> list[int]:
    return [step.token_id for step in Decoder(model, spec).run()]  # type: ignore[arg-type]


# --- what comes out


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), prompt=st.lists(st.integers(4, 13), min_size=1, max_size=5))
def test_greedy_generate_gives_the_decoders_tokens(seed: int, prompt: list[int]) -> None:
    of = network(seed)
    (row,) = generate(of, ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY), [prompt], do_sample=False)
    assert row == greedy(*decoded(of, prompt))


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 1000), penalty=st.sampled_from([0.0, 1.0, 2.0]), beams=st.integers(2, 5))
def test_beams_of_generate_are_ours(seed: int, penalty: float, beams: int) -> None:
    of, prompt = network(seed), [START, 4, 9]
    processor = ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY)
    rows = generate(of, processor, [prompt], num_beams=beams, length_penalty=penalty, do_sample=False)
    found = beam_search(*decoded(of, prompt), beams=beams, length_penalty=penalty)
    assert found.best is not None
    if found.finish == "complete":
        assert tuple(rows[0]) == found.best.ids
    accepted(rows)


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 1000))
def test_left_padding_changes_nothing(seed: int) -> None:
    of, prompts = network(seed), [[4], [5, 6, 7, 8], [9, 10]]
    rows = generate(of, ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY), prompts, do_sample=False)
    for prompt, row in zip(prompts, rows, strict=True):
        alone = greedy(*decoded(of, prompt))
        assert row[: len(alone)] == alone
        assert set(row[len(alone) :]) <= {PAD}


HOW: list[dict[str, Any]] = [
    {"do_sample": True, "temperature": 0.01},
    {"do_sample": True, "temperature": 5.0, "top_k": 0, "num_return_sequences": 4},
    {"do_sample": True, "top_k": 2, "top_p": 0.5, "min_p": 0.1},
    {"num_beams": 4, "num_return_sequences": 4},
    {"num_beams": 3, "num_return_sequences": 2, "renormalize_logits": True},
    {"num_beams": 3, "num_return_sequences": 2, "length_penalty": -1.0, "early_stopping": True},
    {"num_beams": 3, "early_stopping": "never", "repetition_penalty": 1.5},
    {"num_beams": 4, "num_return_sequences": 3, "do_sample": True, "top_k": 0},
    {"repetition_penalty": 2.0, "no_repeat_ngram_size": 0},
]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_every_way_of_generating_stays_inside(how: dict[str, Any]) -> None:
    for seed in range(5):
        processor = ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY)
        accepted(generate(network(seed), processor, [[4, 5], [6]], **how))


def test_assisted_decoding_gives_the_same_tokens() -> None:
    for seed in range(5):
        of, prompt = network(seed), [4, 5, 9, 4, 5, 9, 11, 11, 12]
        processor = ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY)
        (row,) = generate(of, processor, [prompt], prompt_lookup_num_tokens=3, do_sample=False)
        assert row == greedy(*decoded(of, prompt))


def test_an_assistant_model_gives_the_same_tokens() -> None:
    for seed in range(3):
        of, assistant, prompt = network(seed), network(seed + 50), [4, 5, 9]
        processor = ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY)
        (row,) = generate(of, processor, [prompt], assistant_model=assistant, do_sample=False)
        assert row == greedy(*decoded(of, prompt))


@pytest.mark.parametrize("texts", [["a"], ["a", "ab", "c"]])
def test_more_beams_than_texts(texts: list[str]) -> None:
    constraint = compile_choices(texts)
    for seed in range(5):
        rows = generate(network(seed), ConstrainedLogitsProcessor(constraint, VOCABULARY), [[4, 5]], num_beams=5)
        assert text(rows[0]) in texts


def test_a_constraint_for_each_prompt() -> None:
    patterns = ["[ab]{3}", "[12]{2}c"]
    processor = ConstrainedLogitsProcessor([compile_regex(pattern) for pattern in patterns], VOCABULARY)
    rows = generate(network(1), processor, [[4], [5, 5]], num_beams=3, num_return_sequences=2)
    for row, ids in enumerate(rows):
        written = text(ids)
        assert written is not None
        assert re.fullmatch(patterns[row // 2], written)


def test_every_end_token_ends_a_text_and_only_where_it_is_complete() -> None:
    processor = ConstrainedLogitsProcessor(compile_regex("ab?"), VOCABULARY)
    prompt = [[START, 4]]
    for written, allowed in {
        (): {4, 6},
        (4,): {5, *ENDS},
        (6,): {*ENDS},
        (6, END): {END},
        (6, END, PAD): {END},
    }.items():
        processor.reset()
        processor(torch.tensor(prompt), torch.zeros(1, len(TOKENS)))
        for step in range(1, len(written) + 1):
            processor(torch.tensor([[*prompt[0], *written[:step]]]), torch.zeros(1, len(TOKENS)))
        scores = processor(torch.tensor([[*prompt[0], *written]]), torch.zeros(1, len(TOKENS)))
        assert set(torch.isfinite(scores[0]).nonzero().flatten().tolist()) == allowed


def test_scores_are_masked_and_nothing_else() -> None:
    constraint = compile_regex(PATTERN)
    scores = torch.randn(3, len(TOKENS), generator=torch.Generator().manual_seed(1))
    before = scores.clone()
    found = ConstrainedLogitsProcessor(constraint, VOCABULARY)(torch.full((3, 2), 4), scores)
    allowed = torch.from_numpy(Masker(constraint, VOCABULARY).mask(constraint.start).to_bool())
    assert torch.equal(found[:, allowed], before[:, allowed])
    assert (found[:, ~allowed] == -math.inf).all()
    assert torch.equal(scores, before)


def test_rows_may_be_moved_and_copied() -> None:
    processor = ConstrainedLogitsProcessor(compile_regex("ab1|ba2"), VOCABULARY)
    zeros = torch.zeros(2, len(TOKENS))
    finite = [
        [set(torch.isfinite(row).nonzero().flatten().tolist()) for row in processor(torch.tensor(rows), zeros)]
        for rows in ([[3], [3]], [[3, 4], [3, 5]], [[3, 5, 4], [3, 4, 5]], [[3, 4, 5, 11], [3, 4, 5, 11]])
    ]
    assert finite == [[{4, 5, 6, 7}] * 2, [{5}, {4}], [{12}, {11}], [set(ENDS)] * 2]


# --- the number of logits


@pytest.mark.parametrize("logits", [len(TOKENS), len(TOKENS) + 7])
def test_logits_beyond_the_vocabulary_are_masked(logits: int) -> None:
    for seed in range(3):
        processor = ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY)
        accepted(generate(network(seed, logits), processor, [[4], [5, 6]], do_sample=True, top_k=0, temperature=9.0))


def test_tokens_without_a_logit_are_no_way_on() -> None:
    """`1` and `2` have no logit, so what needs one of them is not begun."""
    for seed in range(3):
        processor = ConstrainedLogitsProcessor(compile_regex("ab|c(1|2)|ba"), VOCABULARY)
        rows = generate(network(seed, len(TOKENS) - 3), processor, [[4]], do_sample=True, num_return_sequences=8)
        assert {text(row) for row in rows} <= {"ab", "ba"}


def test_no_end_token_has_a_logit() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b""], [2])
    processor = ConstrainedLogitsProcessor(compile_regex("a"), vocabulary)
    with pytest.raises(ValueError, match="No token ends a text"):
        processor(torch.tensor([[1]]), torch.zeros(1, 2))


# --- the tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    pieces = ["<end>", "<stop>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    backend = Tokenizer(models.BPE(vocab={piece: place for place, piece in enumerate(pieces)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        eos_token="<end>",
        additional_special_tokens=["<stop>"],
        clean_up_tokenization_spaces=False,
    )


@pytest.mark.parametrize(
    ("ends", "expected"),
    [(None, {0}), (0, {0}), (1, {1}), ([0, 1], {0, 1}), ([1], {1}), (torch.tensor([0, 1]), {0, 1})],
)
def test_a_text_ends_exactly_where_generate_stops(tokenizer: Any, ends: Any, expected: set[int]) -> None:
    processor = ConstrainedLogitsProcessor(compile_regex("a?"), tokenizer, ends)
    scores = processor(torch.tensor([[5]]), torch.zeros(1, len(tokenizer)))
    (a,) = tokenizer("a")["input_ids"]
    assert set(torch.isfinite(scores[0]).nonzero().flatten().tolist()) == {a, *expected}


def test_an_end_token_outside_the_tokenizer(tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="eos_token_id 999 is no token of the tokenizer"):
        ConstrainedLogitsProcessor(compile_regex("a"), tokenizer, [0, 999])


def test_a_vocabulary_without_an_end_token() -> None:
    with pytest.raises(ValueError, match="No token ends a text"):
        ConstrainedLogitsProcessor(compile_regex("a"), Vocabulary.from_tokens([b"a", b"b"]))


# --- trouble


def test_one_generate_call() -> None:
    of = network(1)
    processor = ConstrainedLogitsProcessor(compile_regex(PATTERN), VOCABULARY)
    first = generate(of, processor, [[4, 5]], do_sample=False)
    for other in ([[4, 6]], [[4]], [[4, 5], [4, 5]], [[4, 5, *first[0], 4, 4]]):
        with pytest.raises(ValueError, match="followed another generate call"):
            generate(of, processor, other, do_sample=False)
    processor.reset()
    accepted(generate(of, processor, [[4, 6], [4]], do_sample=False))


def test_a_second_call_may_go_on_where_the_first_was_cut_short() -> None:
    of, prompt = network(2), [4, 5]
    whole = greedy(*decoded(of, prompt, "(ab|ba){9}"))
    processor = ConstrainedLogitsProcessor(compile_regex("(ab|ba){9}"), VOCABULARY)
    ids = torch.tensor([prompt])
    for _ in range(4):
        ids = of.generate(ids, logits_processor=[processor], max_new_tokens=5, do_sample=False)
    assert ids[0, 2:].tolist() == whole[: ids.shape[1] - 2]


def test_constraints_must_fit_the_rows() -> None:
    processor = ConstrainedLogitsProcessor([compile_regex("a"), compile_regex("b")], VOCABULARY)
    with pytest.raises(ValueError, match="2 constraints for 3 rows"):
        processor(torch.full((3, 1), 4), torch.zeros(3, len(TOKENS)))
    with pytest.raises(ValueError, match="no constraint"):
        ConstrainedLogitsProcessor([], VOCABULARY)


def test_a_masked_token_that_was_taken_is_named() -> None:
    processor = ConstrainedLogitsProcessor(compile_regex("ab(1|2)"), VOCABULARY)
    scores = torch.randn(2, len(TOKENS))
    processor(torch.tensor([[4], [4]]), scores)
    processor(torch.tensor([[4, 4], [4, 6]]), scores)
    with pytest.raises(
        DecodingError, match=r"Row 1, step 1: generate took token 9 \('c'\).*1 of 1 cannot be read here"
    ):
        processor(torch.tensor([[4, 4, 5], [4, 6, 9]]), scores)


def test_a_padding_id_that_was_taken_is_named() -> None:
    processor = ConstrainedLogitsProcessor(compile_regex("ab"), VOCABULARY)
    scores = torch.randn(1, len(TOKENS) + 9)
    processor(torch.tensor([[4]]), scores)
    with pytest.raises(DecodingError, match="Row 0, step 0: generate took token 20, which the tokenizer does not have"):
        processor(torch.tensor([[4, 20]]), scores)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_broken_scores_name_the_step(value: float) -> None:
    processor = ConstrainedLogitsProcessor(compile_regex("ab"), VOCABULARY)
    scores = torch.zeros(2, len(TOKENS))
    processor(torch.tensor([[4], [4]]), scores)
    scores[1, 3] = value
    with pytest.raises(DecodingError, match="Row 1, step 1: the model's scores are not finite numbers"):
        processor(torch.tensor([[4, 6], [4, 4]]), scores)


def test_broken_scores_of_a_finished_row_do_not_matter() -> None:
    processor = ConstrainedLogitsProcessor(compile_regex("ab"), VOCABULARY)
    scores = torch.zeros(1, len(TOKENS))
    for ids in ([[4]], [[4, 6]]):
        processor(torch.tensor(ids), scores)
    found = processor(torch.tensor([[4, 6, END]]), torch.full((1, len(TOKENS)), math.nan))
    assert not torch.isnan(found).any()
    assert found.softmax(-1)[0].argmax() == END


def test_no_allowed_token_has_a_chance() -> None:
    scores = torch.zeros(1, len(TOKENS))
    scores[0, [4, 6]] = -math.inf
    with pytest.raises(
        DecodingError, match=r"Row 0, step 0: every allowed token has the probability zero. What remains"
    ):
        ConstrainedLogitsProcessor(compile_regex("ab"), VOCABULARY)(torch.tensor([[4]]), scores)
