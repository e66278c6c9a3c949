"""The policy `canonical` against the encodings of all completions, over merges that straddle every boundary."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from engine import compile_regex
from engine.masking import Masker, Place
from engine.masking.canonical_policy import CanonicalOnly
from engine.vocabulary import Canonical, Vocabulary
from tests.unit.tiny_bpe import tiny_sentencepiece, tiny_tokenizer

APART = chr(0xF0000)
CHARACTERS = "ab '\n1é" + APART
MERGES = [("a", "b"), (" ", "a"), ("b", "a"), (" ", " "), ("ab", "a"), (" ", "b"), ("\n", "\n"), ("'", "a"), ("1", "1")]
MERGES += [(" ", "\n"), (" a", "b"), ("b", " "), ("a", "'"), ("11", "1"), ("\n", " "), ("'", "\n"), (" ", "'")]
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
WORDS = {
    "one word": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    "GPT-2": pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    "Llama 3": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA_3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    ),
}
"""How text is cut into words before merging."""


def tokenizer_with(words: str) -> tuple[Canonical, Vocabulary]:
    if words == "SentencePiece":
        tokenizer = tiny_sentencepiece(CHARACTERS, MERGES)
    else:
        tokenizer = tiny_tokenizer(CHARACTERS, MERGES)
        tokenizer.backend_tokenizer.pre_tokenizer = WORDS[words]
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    return Canonical(tokenizer, vocabulary), vocabulary


class Policy:
    """`CanonicalOnly` over a vocabulary, under a constraint: any text, if none is given."""

    def __init__(self, words: str, pattern: str = "(?s:.*)") -> None:
        self.words = words
        self.canonical, self.vocabulary = tokenizer_with(words)
        self.masker = Masker(compile_regex(pattern), self.vocabulary)
        self.policy = CanonicalOnly(self.masker, self.canonical)

    def id_of(self, token: str) -> int:
        return self.vocabulary.tokens.index(token.encode())

    def kept(self, ids: tuple[int, ...]) -> set[int]:
        constraint = self.masker.constraint
        state = constraint.advance(constraint.start, self.spell(ids))
        assert state is not None
        allowed = self.masker.mask(state).to_bool()
        kept = self.policy.narrow(allowed, Place(constraint.start, 0, ids, state, remaining=1000))
        assert not (kept & ~allowed).any()
        return set(kept.nonzero()[0].tolist())

    def spell(self, ids: tuple[int, ...]) -> bytes:
        return b"".join(self.vocabulary.tokens[token_id] for token_id in ids)


COMPLETIONS = ["".join(chars) for length in range(3) for chars in product(CHARACTERS, repeat=length)]


def reachable(canonical: Canonical, data: bytes, ids: tuple[int, ...]) -> bool:
    """Whether some longer text is encoded with these tokens first, by trying."""
    return any((canonical.encode(data + more.encode()) or ())[: len(ids)] == ids for more in COMPLETIONS)


@pytest.fixture(scope="module", params=list(WORDS))
def policy(request: pytest.FixtureRequest) -> Policy:
    return Policy(request.param)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 1000), max_size=9))
def test_canonical_against_all_completions(policy: Policy, choices: list[int]) -> None:
    ids: tuple[int, ...] = ()
    vocabulary = policy.vocabulary
    for choice in choices:
        kept = policy.kept(ids)
        data = policy.spell(ids)
        whole = {
            i
            for i in range(vocabulary.size)
            if vocabulary.tokens[i].decode(errors="ignore").encode() == vocabulary.tokens[i]
        }
        texts = {i for i in whole if vocabulary.tokens[i]}
        assert kept & texts == {i for i in texts if reachable(policy.canonical, data + vocabulary.tokens[i], (*ids, i))}
        assert bool(kept & vocabulary.end_ids) == (policy.canonical.encode(data) == ids)
        following = sorted(kept & texts)
        ids = (*ids, following[choice % len(following)])


@given(st.text("ab '\n1é", max_size=14))
def test_the_canonical_tokenisation_is_always_kept(policy: Policy, text: str) -> None:
    ids = policy.canonical.encode(text.encode())
    assert ids is not None
    for position, token_id in enumerate(ids):
        assert token_id in policy.kept(ids[:position])
    assert policy.kept(ids) >= policy.vocabulary.end_ids


TEXTS = st.sets(st.text("ab '\n1é", min_size=1, max_size=6), min_size=1, max_size=5)


@settings(deadline=None, max_examples=60)
@given(texts=TEXTS, choices=st.lists(st.integers(0, 1000), min_size=7, max_size=7))
@pytest.mark.parametrize("words", [*WORDS, "SentencePiece"])
def test_canonical_against_all_texts_of_a_constraint(words: str, texts: set[str], choices: list[int]) -> None:
    policy = Policy(words, "|".join(re.escape(text) for text in sorted(texts)))
    canonical = {policy.canonical.encode(text.encode()) for text in texts}
    ids: tuple[int, ...] = ()
    for choice in choices:
        kept = policy.kept(ids)
        following = {own[len(ids)] for own in canonical if own and own[: len(ids)] == ids and len(own) > len(ids)}
        assert kept - policy.vocabulary.end_ids == following
        assert bool(kept & policy.vocabulary.end_ids) == (ids in canonical)
        if not following:
            break
        ids = (*ids, sorted(following)[choice % len(following)])


def test_a_token_is_masked_where_the_constraint_demands_what_merges_with_it() -> None:
    policy = Policy("GPT-2", "(ab|b)1")
    a, b, ab = (policy.id_of(token) for token in ("a", "b", "ab"))
    assert policy.kept(()) == {b, ab}
    assert a in Policy("GPT-2", "(ab|a)1").kept(())


def test_nothing_is_left_where_no_text_has_a_way_on() -> None:
    policy = Policy("GPT-2", "ab1")
    a, b = (policy.id_of(token) for token in "ab")
    assert policy.kept(()) == {policy.id_of("ab")}
    assert policy.kept((a,)) == set()
    assert policy.kept((a, b)) == {policy.id_of("1")}


@given(ids=st.lists(st.sampled_from("ab1'"), min_size=1, max_size=9))
def test_after_a_token_off_the_path_the_longest_canonical_end_counts(policy: Policy, ids: list[str]) -> None:
    tokens = tuple(policy.id_of(token) for token in ids)
    ends = (tokens[start:] for start in range(len(tokens)))
    end = next(end for end in ends if policy.canonical.encode(policy.spell(end)) == end)
    kept = policy.kept(tokens)
    assert kept == policy.kept(end)
    assert policy.id_of("\n\n") in kept
    assert kept >= policy.vocabulary.end_ids
