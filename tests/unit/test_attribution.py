"""Who pays -ln Z: every masked token's probability goes to the rules that stop it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from engine import compile_json_schema, compile_regex
from engine.analysis.attribution import LEFT_OVER, ROOT, Paid, who_pays
from engine.errors import Origin
from engine.masking import Masker
from engine.vocabulary import Vocabulary

TOKENS = [
    b"<end>",
    b"<special>",
    *(bytes([b]) for b in b'{}":,ab 019'),
    b'{"',
    b'":',
    b'a"',
    b"ab",
    b"10",
    b" 9",
    b'"b',
    b'":"',
]
SCHEMA = (
    '{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["a", "ab"]}}, "required": ["a", "b"]}'
)


@pytest.fixture(scope="module")
def masker() -> Masker:
    vocabulary = Vocabulary.from_tokens(TOKENS, end_ids=[0], special_ids=[1])
    return Masker(compile_json_schema(SCHEMA, whitespace="compact", objects="closed"), vocabulary)


def state_after(masker: Masker, text: bytes) -> int:
    state = masker.constraint.advance(masker.constraint.start, text)
    assert state is not None
    return state


def one_by_one(masker: Masker, state: int, raw: np.ndarray, allowed: np.ndarray) -> dict[Origin | None, float]:
    """The definition, one token at a time."""
    lawful, masses = masker.mask(state), defaultdict(float)
    for token_id in np.flatnonzero(~allowed).tolist():
        known = token_id < masker.vocabulary.size
        died_at = masker.blame(state, token_id) if known else masker.constraint.origins(state)
        origins = (None,) if token_id in lawful else died_at or (ROOT,)
        for origin in origins:
            masses[origin] += raw[token_id] / len(origins)
    return {origin: mass for origin, mass in masses.items() if mass}


@settings(deadline=None)
@given(
    text=some.sampled_from([b"", b'{"a":', b'{"a":1', b'{"a":10,"b":"', b'{"a":10,"b":"a', b'{"a":0,"b":"ab"}']),
    weights=some.lists(some.integers(0, 1000), min_size=len(TOKENS) + 2, max_size=len(TOKENS) + 2).filter(any),
    narrowed=some.sets(some.integers(0, len(TOKENS) - 1), max_size=5),
)
def test_it_is_the_definition(masker: Masker, text: bytes, weights: list[int], narrowed: set[int]) -> None:
    state = state_after(masker, text)
    raw = np.array(weights) / sum(weights)  # two ids lie beyond the vocabulary
    allowed = np.zeros(len(raw), dtype=np.bool_)
    allowed[masker.mask(state).ids()] = True
    allowed[list(narrowed)] = False
    expected = one_by_one(masker, state, raw, allowed)
    paid = who_pays(masker, state, raw, allowed)
    masked = raw[~allowed].sum()
    assert {part.origin for part in paid} <= expected.keys()
    for origin, mass in expected.items():
        found = sum(part.mass for part in paid if part.origin == origin)
        assert found == pytest.approx(mass, abs=2 * LEFT_OVER * masked)
    if masked:
        assert sum(part.share for part in paid) == pytest.approx(1)
        assert [part.mass for part in paid] == sorted((part.mass for part in paid), reverse=True)
    else:
        assert not paid


def test_the_rules_that_speak_pay(masker: Masker) -> None:
    """In the enum the enum pays for everything; behind an integer it and the object that wants a comma share."""
    raw = np.zeros(len(TOKENS))
    nine, letter = TOKENS.index(b"9"), TOKENS.index(b"a")
    raw[nine], raw[letter] = 0.75, 0.25
    state = state_after(masker, b'{"a":10,"b":"')
    enum = Origin("/properties/b", "enum")
    assert who_pays(masker, state, raw, masker.mask(state).to_bool()) == (Paid(enum, 0.75, 1.0, ((nine, 0.75),)),)
    state = state_after(masker, b'{"a":10')
    wanted = ((letter, 0.25),)
    assert who_pays(masker, state, raw, masker.mask(state).to_bool()) == (
        Paid(Origin("/properties/a", "type"), 0.125, 0.5, wanted),
        Paid(Origin("", "properties"), 0.125, 0.5, wanted),
    )


def test_what_a_policy_takes_away_is_no_rule_of_the_schema(masker: Masker) -> None:
    state = state_after(masker, b'{"a":')
    raw = np.zeros(len(TOKENS))
    raw[TOKENS.index(b"10")], raw[TOKENS.index(b"1")] = 0.5, 0.5
    allowed = masker.mask(state).to_bool().copy()
    allowed[TOKENS.index(b"10")] = False
    assert who_pays(masker, state, raw, allowed) == (Paid(None, 0.5, 1.0, ((TOKENS.index(b"10"), 0.5),)),)


def test_a_token_that_ends_in_a_dead_end_is_followed_back() -> None:
    """`é` has no token for its second byte alone: one that ends inside it dies before it, where `b` may stand too."""
    first, second = "é".encode()
    tokens = [b"<end>", b"a", b"b", bytes([first]), bytes([first, second])]
    masker = Masker(compile_regex("a(é|b)"), Vocabulary.from_tokens(tokens, end_ids=[0]))
    state = state_after(masker, b"a")
    raw = np.array([0.0, 0.0, 0.5, 0.5, 0.0])
    half = [(part.origin, part.share) for part in who_pays(masker, state, raw, masker.mask(state).to_bool())]
    assert half == [(Origin("2-3", "literal"), 0.5), (Origin("4-5", "literal"), 0.5)]


def test_nothing_masked_nobody_pays(masker: Masker) -> None:
    raw = np.full(len(TOKENS), 1 / len(TOKENS))
    assert who_pays(masker, masker.constraint.start, raw, np.ones(len(TOKENS), dtype=np.bool_)) == ()
