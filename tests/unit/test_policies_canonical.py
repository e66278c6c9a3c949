"""The policy `canonical` against the encodings of all completions, over merges that straddle every boundary."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from engine import compile_regex
from engine.masking import Masker, Place
from engine.masking.canonical_policy import CanonicalOnly
from engine.vocabulary import Canonical, Vocabulary
from tests.unit.tiny_bpe import tiny_tokenizer

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
    tokenizer = tiny_tokenizer(CHARACTERS, MERGES)
    tokenizer.backend_tokenizer.pre_tokenizer = WORDS[words]
    vocabulary = Vocabulary.from_tokenizer(tokenizer)
    return Canonical(tokenizer, vocabulary), vocabulary


class Policy:
    """`CanonicalOnly` over a vocabulary, asked about tokens by their text; nothing else constrains them."""

    def __init__(self, words: str) -> None:
        self.canonical, self.vocabulary = tokenizer_with(words)
        self.masker = Masker(compile_regex("(?s:.*)"), self.vocabulary)
        self.policy = CanonicalOnly(self.masker, self.canonical)

    def kept(self, ids: tuple[int, ...]) -> set[int]:
        constraint = self.masker.constraint
        state = constraint.advance(constraint.start, self.spell(ids))
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
