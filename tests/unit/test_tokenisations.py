"""Ways to spell a text and tokens related by their bytes, on vocabularies small enough to count by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import compile_regex
from engine.analysis.tokenisations import (
    Difference,
    Lattice,
    PrefixRelated,
    bridging,
    differences,
    extensible,
    prefix_related,
    spell,
    tokenisations,
)
from engine.masking import Masker
from engine.vocabulary import Vocabulary

A, B, AB, BA, ABA, B_AGAIN, END = range(7)
SMALL = Vocabulary.from_tokens([b"a", b"b", b"ab", b"ba", b"aba", b"b", b"</s>"], end_ids=[END])


def test_tokenisations_by_hand() -> None:
    found = tokenisations(SMALL, b"aba", limit=100)
    assert found.paths == ((ABA,), (AB, A), (A, BA), (A, B, A), (A, B_AGAIN, A))
    assert found.count == 5
    assert found.complete


def test_a_limit_lists_the_first_and_counts_all() -> None:
    found = tokenisations(SMALL, b"aba", limit=2)
    assert found.paths == ((ABA,), (AB, A))
    assert found.count == 5
    assert not found.complete


def test_the_empty_text_is_spelled_by_no_token() -> None:
    assert tokenisations(SMALL, b"", limit=9).paths == ((),)


def test_what_cannot_be_spelled_has_none() -> None:
    found = tokenisations(SMALL, b"abc", limit=9)
    assert (found.count, found.paths, found.complete) == (0, (), True)


def test_the_count_is_exact_however_large() -> None:
    """Of n bytes that may be cut anywhere there are 2^(n-1) tokenisations; of tokens up to 2 bytes, Fibonacci's."""
    everything = Vocabulary.from_tokens([b"a" * length for length in range(1, 201)])
    assert tokenisations(everything, b"a" * 200, limit=0).count == 2**199
    pairs = Vocabulary.from_tokens([b"a", b"aa"])
    assert tokenisations(pairs, b"a" * 10, limit=0).count == 89


vocabularies = st.lists(st.text("ab", min_size=1, max_size=4).map(str.encode), min_size=1, max_size=9)
texts = st.text("ab", max_size=8).map(str.encode)


def all_spellings(vocabulary: Vocabulary, text: bytes) -> set[tuple[int, ...]]:
    """By trying every token at every place."""
    if not text:
        return {()}
    return {
        (token_id, *rest)
        for token_id, token in enumerate(vocabulary.tokens)
        if token and text.startswith(token)
        for rest in all_spellings(vocabulary, text[len(token) :])
    }


@given(vocabularies, texts)
def test_all_tokenisations_are_found_once(tokens: list[bytes], text: bytes) -> None:
    vocabulary = Vocabulary.from_tokens(tokens)
    expected = all_spellings(vocabulary, text)
    found = tokenisations(vocabulary, text, limit=10_000)
    assert found.count == len(found.paths) == len(expected)
    assert set(found.paths) == expected


@given(vocabularies, texts)
def test_fewest_tokens(tokens: list[bytes], text: bytes) -> None:
    vocabulary = Vocabulary.from_tokens(tokens)
    expected = all_spellings(vocabulary, text)
    lattice = Lattice(vocabulary, text)
    if not expected:
        with pytest.raises(ValueError, match="no tokens"):
            lattice.fewest(0, {len(text)})
    else:
        ids, end = lattice.fewest(0, {len(text)})
        assert end == len(text)
        assert ids in expected
        assert len(ids) == min(map(len, expected))


# --- how two tokenisations differ


def test_differences_by_hand() -> None:
    # a|b|a|ba   and   ab|a|b|a   of "ababa": bytes 0-2 and 3-5 are cut differently, the a between them is not
    assert differences(SMALL, [A, B, A, BA], [AB, A, B, A]) == (
        Difference(0, 2, (A, B), (AB,), 0, 0),
        Difference(3, 5, (BA,), (B, A), 3, 2),
    )


def test_different_ids_of_the_same_bytes_differ() -> None:
    assert differences(SMALL, [A, B], [A, B_AGAIN]) == (Difference(1, 2, (B,), (B_AGAIN,), 1, 1),)


def test_equal_tokenisations_do_not_differ() -> None:
    assert differences(SMALL, [AB, A], [AB, A]) == ()
    assert differences(SMALL, [], []) == ()


def test_tokenisations_of_different_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="different texts"):
        differences(SMALL, [A], [B])


def test_a_token_without_text_is_refused() -> None:
    with pytest.raises(ValueError, match=f"Token {END} spells no text"):
        spell(SMALL, [A, END])


# --- tokens related by their bytes


def test_prefix_related_by_hand() -> None:
    assert prefix_related(SMALL, AB) == PrefixRelated(shorter=(A,), longer=(ABA,))
    assert prefix_related(SMALL, A) == PrefixRelated(shorter=(), longer=(AB, ABA))
    assert prefix_related(SMALL, ABA) == PrefixRelated(shorter=(A, AB), longer=())
    assert prefix_related(SMALL, BA) == PrefixRelated(shorter=(B, B_AGAIN), longer=())
    assert prefix_related(SMALL, END) == PrefixRelated((), ())


def test_extensible_by_hand() -> None:
    # a, b (both ids) and ab go on; ba, aba and the end token do not
    assert extensible(SMALL).tolist() == [True, True, True, False, False, True, False]


@given(vocabularies)
def test_prefix_relations_are_those_of_the_bytes(tokens: list[bytes]) -> None:
    vocabulary = Vocabulary.from_tokens(tokens)
    goes_on = extensible(vocabulary)
    for token_id, token in enumerate(tokens):
        related = prefix_related(vocabulary, token_id)
        others = list(enumerate(tokens))
        assert sorted(related.shorter) == [i for i, other in others if token.startswith(other) and other != token]
        assert sorted(related.longer) == [i for i, other in others if other.startswith(token) and other != token]
        assert goes_on[token_id] == bool(related.longer)


def test_bridging_tokens_are_those_that_are_not_aligned() -> None:
    constraint = compile_regex("a(b|ba)")
    masker = Masker(constraint, SMALL)
    aligned = masker.mask(constraint.start).to_bool()
    aligned[[AB, ABA]] = False  # they cross from the a into the group
    assert bridging(masker, constraint.start, aligned).tolist() == [AB, ABA]
