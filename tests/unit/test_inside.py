"""Inside a step: hand-made walks and explanations, the masker's own as a reference, arithmetic done by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import compile_json_schema, compile_regex
from engine.analysis.inside import Wish, entropies, explain_bytes, free_continuation, state_before, tempered, walk
from engine.analysis.retokenised import (
    Retokenised,
    Span,
    bridging_steps,
    log_probabilities,
    recorded_log_probabilities,
    retokenised,
)
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.decoding.sampler import distributions
from engine.grammar.free_text import any_bytes
from engine.masking import Masker
from engine.masking.terminals import Aligned
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeCache, FakeModel
from tests.unit.tiny_bpe import TinyModel, tiny_tokenizer

AGE = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"], "additionalProperties": False}
MERGED = [b'{"', b'":', b' "', b"age", b'"age', b" 1", b"12", b"1}", b"true", "é".encode(), b"\xf1a"]
TOKENS = [*(bytes([byte]) for byte in range(256) if byte != 0xF1), *MERGED]
END, SPECIAL = len(TOKENS), len(TOKENS) + 1
VOCABULARY = Vocabulary.from_tokens([*TOKENS, b"<end>", b"<special>"], end_ids=[END], special_ids=[SPECIAL])


def token(data: bytes) -> int:
    return TOKENS.index(data)


def test_the_walk_says_why_a_quote_is_masked_where_an_integer_is_due() -> None:
    constraint = compile_json_schema(AGE, whitespace="spaced")
    state = constraint.advance(constraint.start, b'{"age":')
    assert state is not None
    space, quote = walk(constraint, state, b' "')
    assert (space.byte, quote.byte) == (0x20, 0x22)
    assert space.after == quote.before == constraint.describe(constraint.advance(state, b" "))
    assert set(space.expected) == {"'␣'", "'-'", "[0-9]"}
    assert quote.after is None
    assert set(quote.expected) == {"'-'", "[0-9]"}
    assert {origin.pointer for origin in quote.origins} == {"/properties/age"}


def test_the_walk_stops_at_the_first_byte_that_cannot_be_read() -> None:
    hops = walk(constraint := compile_regex("ab*"), constraint.start, b"abba")
    assert [hop.byte for hop in hops] == list(b"abba")
    assert [hop.after is None for hop in hops] == [False, False, False, True]
    assert walk(constraint, constraint.start, b"ba")[0].after is None
    assert walk(constraint, constraint.start, b"") == ()


PREFIXES = [b"", b"{", b'{"', b'{"age', b'{"age":', b'{"age": 1', b'{"age": 1}']


@pytest.mark.parametrize("prefix", PREFIXES)
def test_without_a_vocabulary_the_reason_is_the_maskers(prefix: bytes) -> None:
    masker = Masker(compile_json_schema(AGE), VOCABULARY)
    state = masker.constraint.advance(masker.constraint.start, prefix)
    assert state is not None
    for token_id in range(VOCABULARY.size):
        whole = masker.explain(state, token_id)
        ends, data = token_id in VOCABULARY.end_ids, VOCABULARY.tokens[token_id]
        found = explain_bytes(masker.constraint, state, token_id, data, end=ends, allowed=whole.allowed)
        assert found == replace(whole, nearest=()), data


def run(source: str, vocabulary: Vocabulary = VOCABULARY, **more: object) -> Decoder:
    spec = RunSpec("Say it now.", ConstraintSource("regex", source), **more)
    decoder = Decoder(FakeModel(vocabulary), spec)
    list(decoder.run())
    return decoder


def test_the_state_before_a_step_is_the_decoders() -> None:
    decoder = run('[a-c"]{3,6}(true|false)', max_tokens=20)
    trace = decoder.trace
    for step in trace.steps:
        state = state_before(decoder.constraint, trace, step.index)
        assert decoder.masker.mask(state) is decoder.mask_at(step.index)
        assert decoder.constraint.describe(state) == step.before


def test_the_state_before_a_step_of_a_healed_run_owes_the_prefix() -> None:
    tokenizer = tiny_tokenizer("Say ab", [("a", "b"), ("b", "b")])
    spec = RunSpec("Say a", ConstraintSource("regex", "b{2,4}"), healing=1, max_tokens=8, chat_template=False)
    decoder = Decoder(TinyModel(tokenizer), spec)
    list(decoder.run())
    trace = decoder.trace
    assert trace.healed is not None
    assert trace.healed.prefix == b"a"
    first = state_before(decoder.constraint, trace, 0)
    assert decoder.masker.mask(first) is decoder.mask_at(0)
    assert walk(decoder.constraint, first, b"b")[0].after is None
    assert walk(decoder.constraint, first, b"ab")[-1].after is not None


def test_a_trace_that_the_constraint_refuses_has_no_state() -> None:
    trace = run("[a-c]{3}", max_tokens=20).trace
    assert state_before(compile_regex("[x-z]+"), trace, 2) is None


def test_temperature_before_truncation_by_hand() -> None:
    """Weights 1, 2, 4, 8 with the last masked: at temperature 1/2 they are squared, 1 : 4 : 16."""
    found = distributions(
        np.log([1.0, 2.0, 4.0, 8.0]), np.array([True, True, True, False]), sampler := Sampler(0.5, top_k=1)
    )
    assert tempered(found, sampler) == pytest.approx([1 / 21, 4 / 21, 16 / 21, 0.0])
    assert found.sampling == pytest.approx([0.0, 0.0, 1.0, 0.0])


def test_entropies_by_hand() -> None:
    decoder = run("[a-d]", max_tokens=3, sampler=Sampler(1.0, top_k=1))
    step, even = decoder.trace.steps[0], distributions(np.zeros(8), np.arange(8) < 4, Sampler(1.0, top_k=2))
    found = entropies(step, Sampler(1.0, top_k=2), even)
    assert found.tempered == pytest.approx(math.log(4))
    assert found.sampling == pytest.approx(math.log(2))
    assert found.raw == step.raw_entropy
    assert entropies(step, Sampler(1.0)).sampling is None
    assert entropies(step, Sampler(0.0), even).tempered is None


def favourites(*ids: int) -> FakeModel:
    """A model that likes these tokens best, one after the other, each ten times as much as any other."""

    def logits(read: tuple[int, ...]) -> np.ndarray:
        values = np.zeros(VOCABULARY.size)
        values[ids[min(len(read) - 1, len(ids) - 1)]] = math.log(10)
        return values

    return FakeModel(VOCABULARY, logits)


def test_the_free_continuation_goes_where_the_model_would_and_says_where_it_leaves() -> None:
    model = favourites(token(b"1"), token(b"12"), token(b"true"), token(b"1"), END, token(b"a"))
    masker = Masker(compile_regex("[0-9]+"), VOCABULARY)
    wishes = free_continuation(model, [7], 9, masker, masker.constraint.start)
    assert [wish.token for wish in wishes] == [b"1", b"12", b"true", b"1", b""]
    assert [wish.allowed for wish in wishes] == [True, True, False, False, False]
    assert wishes[-1].end
    assert wishes[0] == Wish(token(b"1"), b"1", "", False, pytest.approx(10 / (VOCABULARY.size + 9)), True)


def test_the_free_continuation_keeps_to_its_length_the_context_and_a_stop() -> None:
    model = favourites(token(b"a"))
    masker = Masker(any_bytes(), VOCABULARY)
    start = masker.constraint.start
    assert len(free_continuation(model, [7], 4, masker, start)) == 4
    model.context = 3
    assert len(free_continuation(model, [7, 7], 4, masker, start)) == 2
    assert free_continuation(model, [7], 4, masker, start, lambda: True) == ()


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=30)
@given(st.lists(st.sampled_from(["a", "b", "ab", "aab", "é", "ba"]), max_size=8))
def test_both_cuts_spell_the_same_text(pieces: list[str]) -> None:
    model = TinyModel(tiny_tokenizer("abé", [("a", "b"), ("a", "ab")]))
    ids = {model.vocabulary.tokens[i]: i for i in range(model.vocabulary.size)}
    written = [ids[piece.encode()] for piece in pieces if piece.encode() in ids]
    steps = [replace(STEP, index=at, token_id=i, token=model.vocabulary.tokens[i]) for at, i in enumerate(written)]
    cut = retokenised(model.canonical, model.vocabulary, steps)
    assert cut is not None
    assert cut.written == tuple(written)
    assert [i for span in cut.spans for i in span.written] == written
    assert tuple(i for span in cut.spans for i in span.canonical) == cut.canonical
    assert [span.start for span in cut.spans[1:]] == [span.end for span in cut.spans[:-1]]
    for span in cut.spans:
        assert span.differs == (span.written != span.canonical)
        assert cut.written[span.first_step : span.first_step + len(span.written)] == span.written
        assert cut.canonical[span.first_canonical : span.first_canonical + len(span.canonical)] == span.canonical


STEP = run("a", max_tokens=2).trace.steps[0]


def test_a_cut_by_hand() -> None:
    """The tokenizer merges a and b; written as two tokens, the stretch differs and what follows is the same."""
    model = TinyModel(tiny_tokenizer("abc", [("a", "b")]))
    a, b, c, ab = (model.vocabulary.tokens.index(data) for data in (b"a", b"b", b"c", b"ab"))
    steps = [replace(STEP, index=at, token_id=i) for at, i in enumerate((c, a, b, c))]
    expected = (
        Span(0, 1, (c,), (c,), 0, 0, False),
        Span(1, 3, (a, b), (ab,), 1, 1, True),
        Span(3, 4, (c,), (c,), 3, 2, False),
    )
    assert retokenised(model.canonical, model.vocabulary, steps) == Retokenised((c, a, b, c), (c, ab, c), expected)


def test_a_text_that_ends_inside_a_character_is_cut_up_to_it() -> None:
    model = TinyModel(tiny_tokenizer("aé", []))
    a, lead = model.vocabulary.tokens.index(b"a"), model.vocabulary.tokens.index("é".encode()[:1])
    steps = [replace(STEP, index=at, token_id=i) for at, i in enumerate((a, lead))]
    cut = retokenised(model.canonical, model.vocabulary, steps)
    assert cut is not None
    assert cut.written == (a,)
    assert cut.steps == 1


def test_log_probabilities_are_those_of_each_token_after_those_before() -> None:
    model, path = FakeModel(VOCABULARY), [65, 66, 67, 65] * 40  # more than are read at once
    found = log_probabilities(model, [3, 4], path)
    assert found is not None
    for place in (0, 1, 63, 64, 65, 159):
        logits = model.extend(FakeCache(), [3, 4, *path[:place]], 1)[-1].astype(np.float64)
        assert found[place] == pytest.approx(logits[path[place]] - np.log(np.exp(logits).sum()))
    assert log_probabilities(model, [3, 4], path, lambda: True) is None


def test_recorded_log_probabilities_are_the_raw_ones() -> None:
    trace = run("[a-d]{3}", max_tokens=5).trace
    written = [step for step in trace.steps if not step.end]
    path = log_probabilities(FakeModel(VOCABULARY), [i for i, _ in trace.prompt_tokens], [s.token_id for s in written])
    assert recorded_log_probabilities(written) == pytest.approx(path, abs=1e-6)


def test_bridging_steps_by_hand() -> None:
    """`{"` crosses from a punctuation mark into a string, ` 1` from white space into a number; `age` does not."""
    source = ConstraintSource("json_schema", '{"type": "object", "properties": {"age": {"type": "integer"}}}')
    path = [b'{"', b"age", b'":', b" 1", b"1}"]
    choices = tuple((at, token(data)) for at, data in enumerate(path))
    decoder = Decoder(FakeModel(VOCABULARY), RunSpec("Say.", source, choices=choices, max_tokens=len(path)))
    list(decoder.run())
    assert [step.token for step in decoder.trace.steps] == path
    assert bridging_steps(decoder.masker, Aligned(decoder.masker), decoder.trace) == {0, 2, 3, 4}
