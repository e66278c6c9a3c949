"""Sets of characters against Python's own sets, and their UTF-8 spelling against `str.encode`."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.automaton.arena import Arena
from engine.automaton.terms import Term
from engine.budget import Budget
from engine.grammar.charset import ALL, ASCII, NONE, CharSet, fold_case, utf8
from engine.grammar.regex.properties import ECMA_SPACE, category

# Where the number of bytes changes, and around the surrogates.
EDGES = [0, 1, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF]

small_sets = st.sets(st.integers(0, 40))
ranges = st.lists(st.tuples(st.sampled_from(EDGES), st.sampled_from(EDGES)).map(lambda pair: (min(pair), max(pair))))


def charset(codes: set[int]) -> CharSet:
    return CharSet.from_ranges((code, code) for code in codes)


def codes_of(members: CharSet) -> set[int]:
    return {ord(character) for character in members}


def spells(arena: Arena, term: Term, data: bytes) -> bool:
    for byte in data:
        moves = arena.moves(term, 1 << byte)
        if not moves:
            return False
        ((_, term),) = moves
    return term.nullable


@given(small_sets, small_sets)
def test_set_algebra_is_that_of_sets(one: set[int], other: set[int]) -> None:
    a, b = charset(one), charset(other)
    assert codes_of(a | b) == one | other
    assert codes_of(a & b) == one & other
    assert codes_of(a - b) == one - other
    assert (a == b) == (one == other)
    assert len(a) == len(one)
    assert bool(a) == bool(one)
    assert all((code in a) == (code in one) for code in range(42))


@given(ranges)
def test_complement(listed: list[tuple[int, int]]) -> None:
    members = CharSet.from_ranges(listed)
    assert members | ~members == ALL
    assert members & ~members == NONE
    assert ~~members == members


def test_surrogates_belong_to_no_set() -> None:
    assert 0xD800 not in ALL
    assert 0xDFFF not in ALL
    assert 0xD800 not in ~NONE
    assert not CharSet.from_ranges([(0xD800, 0xDFFF)])
    assert len(ALL) == 0x110000 - 2048


@given(ranges, st.sets(st.sampled_from(EDGES)))
def test_utf8_spells_the_members_and_nothing_else(listed: list[tuple[int, int]], singles: set[int]) -> None:
    members = CharSet.from_ranges(listed) | charset(singles)
    arena = Arena(Budget())
    term = utf8(arena, members)
    assert not term.nullable
    for edge in EDGES:
        for code in {max(edge - 1, 0), edge, min(edge + 1, 0x10FFFF)} - set(range(0xD800, 0xE000)):
            assert spells(arena, term, chr(code).encode()) == (code in members)
    assert spells(arena, term, b"\xed\xa0\x80") is False  # a surrogate
    assert spells(arena, term, b"\xc0\x80") is False  # an overlong NUL
    assert spells(arena, term, b"\xf4\x90\x80\x80") is False  # beyond the last code point


def test_utf8_of_every_letter() -> None:
    letters = CharSet.from_ranges((c, c) for c in range(0x110000) if unicodedata.category(chr(c)).startswith("L"))
    arena = Arena(Budget())
    term = utf8(arena, letters)
    for code in range(0, 0x110000, 7):
        if code in ALL:
            assert spells(arena, term, chr(code).encode()) == unicodedata.category(chr(code)).startswith("L")


def test_utf8_is_small() -> None:
    arena = Arena(Budget())
    assert utf8(arena, CharSet.of("é")) is arena.literal("é".encode())
    assert utf8(arena, ASCII) is arena.bytes((1 << 128) - 1)
    utf8(arena, ALL)
    assert len(arena) < 40
    assert utf8(arena, NONE) is arena.empty


@pytest.mark.parametrize(
    ("given_set", "folded"),
    [
        ("a", "aA"),
        ("k", "kK\u212a"),  # Kelvin sign
        ("s", "sS\u017f"),  # long s
        ("ß", "ß\u1e9e"),
        ("\u1f88", "\u1f80\u1f88"),
        ("σ", "σςΣ"),
        ("\u0390", "\u0390\u1fd3"),
        ("i", "iI"),
        ("\u0130", "\u0130"),
        ("1é", "1éÉ"),
    ],
)
def test_fold_case_is_simple_folding(given_set: str, folded: str) -> None:
    assert fold_case(CharSet.of(given_set)) == CharSet.of(folded)


def test_ecma_space_is_white_space_and_line_ends() -> None:
    spaces = category("Zs")
    assert spaces is not None
    assert spaces | CharSet.of("\t\n\v\f\r\u2028\u2029\ufeff") == ECMA_SPACE
