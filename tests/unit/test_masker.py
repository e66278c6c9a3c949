"""Masks by their definition: a token is allowed iff its bytes keep the automaton alive and an end can be spelled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ConstraintError
from engine.masking import Masker
from engine.vocabulary import Vocabulary
from tests.unit.tiny_dfa import TinyDfa, constraint_of, word_dfa

ALPHABET = b"abc"
END, SPECIAL = 0, 1

words = st.binary(min_size=1, max_size=4).map(lambda data: bytes(ALPHABET[byte % 3] for byte in data))


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Tokens over the alphabet: duplicates, tokens without bytes and bytes without a token of their own included."""
    tokens = draw(st.lists(words | st.just(b""), min_size=1, max_size=40))
    return Vocabulary.from_tokens([b"<end>", b"<special>", *tokens], end_ids=[END], special_ids=[SPECIAL])


@st.composite
def automata(draw: st.DrawFn) -> TinyDfa:
    size = draw(st.integers(1, 6))
    states = st.integers(0, size - 1)
    rows = st.dictionaries(st.sampled_from(list(ALPHABET)), states, max_size=3)
    edges = draw(st.lists(rows, min_size=size, max_size=size))
    doubted = draw(st.frozensets(st.tuples(states, st.sampled_from(list(ALPHABET))), max_size=3))
    finals = draw(st.frozensets(states, min_size=1))
    # What a text is remembered for can be spelled whatever it was: rules see to that.
    doubted = frozenset((state, byte) for state, byte in doubted if edges[state].get(byte) in finals)
    return TinyDfa(dict(enumerate(edges)), finals, doubted)


def make_masker(dfa: TinyDfa, vocabulary: Vocabulary, **options: int) -> Masker | None:
    try:
        return Masker(constraint_of(dfa), vocabulary, **options)
    except ConstraintError:
        assert not dfa.spellable(0, vocabulary.one_byte)
        return None


def is_allowed(dfa: TinyDfa, vocabulary: Vocabulary, state: int, token_id: int) -> bool:
    """The definition, one token at a time."""
    if token_id in vocabulary.end_ids:
        return dfa.is_accepting(state)
    token = vocabulary.tokens[token_id]
    after = dfa.advance(state, token) if token else None
    return after is not None and dfa.spellable(after, vocabulary.one_byte)


def reached(masker: Masker, dfa: TinyDfa) -> dict[int, int]:
    """The masker's states that tokens reach from the start, each with the DFA's own."""
    found = {masker.constraint.start: 0}
    pending = list(found)
    for state in pending:
        for token_id, token in enumerate(masker.vocabulary.tokens):
            after = masker.advance(state, token_id)
            if after is not None and after not in found:
                there = dfa.advance(found[state], token)
                assert there is not None
                found[after] = there
                pending.append(after)
    return found


@settings(deadline=None)  # the first walk is compiled
@given(automata(), vocabularies())
def test_a_bit_is_set_exactly_where_the_token_can_be_consumed(dfa: TinyDfa, vocabulary: Vocabulary) -> None:
    if (masker := make_masker(dfa, vocabulary)) is None:
        return
    for state, there in reached(masker, dfa).items():
        mask = masker.mask(state)
        expected = [is_allowed(dfa, vocabulary, there, token_id) for token_id in range(vocabulary.size)]
        assert mask.to_bool().tolist() == expected
        assert [token_id in mask for token_id in range(vocabulary.size)] == expected
        assert [masker.advance(state, token_id) is not None for token_id in range(vocabulary.size)] == expected
        assert [masker.explain(state, token_id).allowed for token_id in range(vocabulary.size)] == expected
        assert mask.count == sum(expected) == len(mask.ids())
        assert mask.count, "every state that is reached has a way on"


@settings(deadline=None)  # the first walk is compiled
@given(automata(), vocabularies())
def test_an_end_token_is_allowed_exactly_in_accepting_states(dfa: TinyDfa, vocabulary: Vocabulary) -> None:
    if (masker := make_masker(dfa, vocabulary)) is None:
        return
    for state, there in reached(masker, dfa).items():
        assert (END in masker.mask(state)) == dfa.is_accepting(there)
        assert masker.advance(state, END) == (state if dfa.is_accepting(there) else None)
        assert SPECIAL not in masker.mask(state)


@settings(deadline=None)  # the first walk is compiled
@given(automata(), vocabularies())
def test_what_is_evicted_is_computed_again(dfa: TinyDfa, vocabulary: Vocabulary) -> None:
    roomy, tight = make_masker(dfa, vocabulary), make_masker(dfa, vocabulary, memory=1)
    if roomy is None or tight is None:
        return
    states = [(roomy.constraint.start, tight.constraint.start)]
    for one, other in states:
        for token_id in roomy.mask(one).ids().tolist():
            after, after_too = roomy.advance(one, token_id), tight.advance(other, token_id)
            assert after is not None
            assert after_too is not None
            if after not in dict(states):
                states.append((after, after_too))
    for one, other in states * 2:
        assert np.array_equal(roomy.mask(one).bits, tight.mask(other).bits)


def test_equal_masks_are_one_object() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", b"b"], end_ids=[0])
    masker = Masker(constraint_of(word_dfa(b"aab", b"bab")), vocabulary)
    after_a, after_b = masker.advance(0, 1), masker.advance(0, 2)
    assert after_a is not None
    assert after_b is not None
    assert after_a != after_b
    assert masker.mask(after_a) is masker.mask(after_b)
    assert masker.mask(0) is masker.mask(0)


def test_a_mask_cannot_be_written_to() -> None:
    masker = Masker(constraint_of(word_dfa(b"a")), Vocabulary.from_tokens([b"a"]))
    with pytest.raises(ValueError, match="read-only"):
        masker.mask(0).bits[0] = 1


def test_bits_are_little_endian() -> None:
    tokens = [b""] * 32 + [b"", b"a"]
    mask = Masker(constraint_of(word_dfa(b"a")), Vocabulary.from_tokens(tokens)).mask(0)
    assert mask.bits.tolist() == [0, 2]
    assert mask.size == 34
    assert -1 not in mask
    assert 34 not in mask


def test_a_language_that_the_vocabulary_cannot_spell_is_refused() -> None:
    with pytest.raises(ConstraintError, match="0x62") as caught:
        Masker(constraint_of(word_dfa(b"ab")), Vocabulary.from_tokens([b"a", b"ab"]))
    assert caught.value.unsatisfiable


def test_bytes_without_a_token_are_reported_and_no_way_on() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", b"c", b"ca"], end_ids=[0])
    masker = Masker(constraint_of(word_dfa(b"a", b"cab")), vocabulary)
    assert masker.unspellable == {ord("b")}
    assert masker.mask(0).ids().tolist() == [1]
    explanation = masker.explain(0, 3)
    assert not explanation.allowed
    assert explanation.offset == 0
    assert "without a token" in explanation.reason


def test_explain_names_the_byte_and_the_rule() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", b"b", b"c", b"abc", b"ab", b"abca"], end_ids=[0])
    masker = Masker(constraint_of(word_dfa(b"abb")), vocabulary)
    explanation = masker.explain(0, 4)
    assert (explanation.allowed, explanation.offset) == (False, 2)
    assert explanation.state == masker.automaton.advance(0, b"ab")
    assert explanation.origins == masker.constraint.origins(explanation.state) == masker.blame(0, 4)
    assert explanation.expected == ("'b'",)
    assert explanation.nearest == (5, 1)
    assert explanation.reason == "byte 3 of 3 cannot be read here"
    assert "not complete" in masker.explain(0, 0).reason
    with pytest.raises(ValueError, match="no token 7"):
        masker.explain(0, 7)


def test_nearest_tokens_go_by_prefix_then_probability_then_id() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", b"b", b"ab", b"ac", b"ad", b"c", b"d"], end_ids=[0])
    masker = Masker(constraint_of(word_dfa(b"ab", b"ac", b"b", b"")), vocabulary)
    assert masker.explain(0, 5).nearest == (1, 3, 4, 2, 0)
    probabilities = np.array([0.1, 0.1, 0.0, 0.1, 0.4, 0.3, 0.0, 0.0])
    assert masker.explain(0, 5, probabilities).nearest == (4, 1, 3, 2, 0)


def test_the_order_of_masks_does_not_matter() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", b"b", b"c", b"ab", b"bc", b"abc"], end_ids=[0])
    dfa = TinyDfa({0: {97: 1, 98: 2}, 1: {98: 2, 99: 0}, 2: {99: 0}}, frozenset([0, 2]), frozenset([(0, 97), (1, 98)]))
    there, back = Masker(constraint_of(dfa), vocabulary), Masker(constraint_of(dfa), vocabulary)
    texts = [b"", b"a", b"b", b"ab", b"abc"]

    def masks(masker: Masker, order: list[bytes]) -> dict[bytes, list[int]]:
        states = {text: masker.constraint.advance(masker.constraint.start, text) for text in order}
        return {text: masker.mask(state).ids().tolist() for text, state in states.items() if state is not None}

    assert (
        masks(there, texts)
        == masks(back, texts[::-1])
        == {
            b"": [0, 1, 2, 4, 5, 6],
            b"a": [2, 3, 5],
            b"b": [0, 3],
            b"ab": [0, 3],
            b"abc": [0, 1, 2, 4, 5, 6],
        }
    )
