"""Dead states of two demands at once, against every short text."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import ConstraintError, compile_json_schema, compile_regex
from engine.analysis.dead import both
from engine.automaton.arena import Arena
from engine.automaton.liveness import Liveness
from engine.budget import Budget


def test_a_pattern_that_no_longer_fits() -> None:
    found = both(compile_regex("(abc)+"), compile_regex(".{0,5}"))
    assert [(s.text, s.to_end) for s in found.states] == [
        (b"", 3),
        (b"a", 2),
        (b"ab", 1),
        (b"abc", 0),
        (b"abca", None),
        (b"abcab", None),
    ]
    assert found.dead == (4, 5)
    assert found.rounds == 3


def test_the_engine_never_enters_them() -> None:
    together = compile_json_schema({"type": "string", "pattern": "^(abc)+$", "maxLength": 5})
    found = both(compile_regex("(abc)+"), compile_regex(".{0,5}"))
    for state in found.states:
        verdict = together.check(b'"' + state.text).kind
        assert (verdict == "rejected") == (state.to_end is None)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["(ab|bba)+", "(aab)*b", "a(ba)*|b", "[ab]{2,3}"]), st.integers(0, 5))
def test_alive_is_what_some_text_completes(pattern: str, most: int) -> None:
    one, other = compile_regex(pattern), compile_regex(f"[ab]{{0,{most}}}")
    texts = ["".join(letters).encode() for length in range(most + 1) for letters in product("ab", repeat=length)]
    accepted = [t for t in texts if one.check(t).kind == "accepted" and other.check(t).kind == "accepted"]
    for state in both(one, other).states:
        ways = [len(text) - len(state.text) for text in accepted if text.startswith(state.text)]
        assert state.to_end == min(ways, default=None)


def test_too_many_states_are_refused() -> None:
    with pytest.raises(ConstraintError, match="more than 40"):
        both(compile_regex("[ab]{0,50}"), compile_regex("[ab]{0,99}"))


@pytest.mark.parametrize(
    ("most", "left_out", "is_alive"),
    [
        (None, (b"", b"a", b"aa"), True),
        (2, (b"", b"a", b"aa"), False),
        (3, (b"", b"a", b"aa"), True),
        (None, (), True),
    ],
)
def test_repetitions_without_some_words(most: int | None, left_out: tuple[bytes, ...], is_alive: bool) -> None:
    arena = Arena(Budget())
    kept = arena.complement(arena.words(left_out))
    assert Liveness(arena).alive(arena.both([arena.repeat(arena.literal(b"a"), 0, most), kept])) is is_alive


def test_repetitions_that_cannot_be_spelled() -> None:
    arena = Arena(Budget())
    term = arena.both([arena.star(arena.literal(b"a")), arena.complement(arena.words([b"", b"b"]))])
    assert not Liveness(arena, b"b").alive(term)
    assert Liveness(arena, b"ab").alive(term)


def test_few_terms_that_stand_in_each_other_in_many_ways() -> None:
    """Sixty levels, each of which holds the one below twice: as a tree more than could ever be looked at."""
    arena = Arena(Budget())
    term = arena.literal(b"a")
    for level in range(60):
        left, right = arena.literal(b"b%d" % level), arena.literal(b"c%d" % level)
        term = arena.alt([arena.seq(left, term), arena.seq(right, arena.seq(term, arena.literal(b"x")))])
    assert not Liveness(arena, b"bcx0123456789").alive(term)
    assert Liveness(arena, b"abcx0123456789").alive(term)


@pytest.mark.parametrize(
    ("low", "high", "is_alive"),
    [(0, 2, True), (2, 2, True), (3, 5, False), (6, None, True), (0, 1, False), (7, 9, True), (7, 8, False)],
)
def test_texts_of_several_demands(low: int, high: int | None, is_alive: bool) -> None:
    """Of `ab|(abc){2,}` the shortest text is tried first; that another fits is found where it does not."""
    arena = Arena(Budget())
    words = arena.alt([arena.literal(b"ab"), arena.repeat(arena.literal(b"abc"), 2, None)])
    counted = arena.repeat(arena.bytes(0b111 << ord("a")), low, high)
    assert Liveness(arena).alive(arena.both([words, counted])) == is_alive
