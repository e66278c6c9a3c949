"""Lexemes as tables against derivatives, and what is made ready of JSON against reading it byte by byte."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

from engine import compile_json_schema
from engine.automaton.arena import Arena
from engine.automaton.automaton import DEAD, UNKNOWN
from engine.automaton.liveness import Liveness
from engine.automaton.terms import Term, byte_range, byte_set, members_of
from engine.budget import Budget
from engine.errors import BudgetError
from engine.grammar.json_schema.strings import JsonText
from engine.masking import Masker
from engine.masking.json_lexemes import prepared
from engine.masking.lexemes import Lexemes, indices
from engine.masking.token_mask import TokenMask
from engine.masking.walk import ACCEPTING, ASKED, SPELLED
from engine.vocabulary import Vocabulary

BYTES = [bytes([byte]) for byte in range(256) if byte not in b"b\xc3"]
TOKENS = [
    b'"',
    b'a"',
    b'","',
    b'\\"',
    b'a\\"b"',
    b'aaa"',
    b"aaaa",
    b"\\u00",
    b"\\u0061",
    "é".encode(),
    b"\xc3",
    b"b",
    b'\n"',
]
VOCABULARY = Vocabulary.from_tokens([b"<end>", *BYTES, *(token for token in TOKENS if len(token) > 1)], end_ids=[0])


PREPARED = prepared(VOCABULARY)

A_LOT = b"a" * 2999
LONG_TOKENS = Vocabulary.from_tokens([b"<end>", b"a", b'"', b"\\", A_LOT + b"a", A_LOT + b'"', A_LOT], end_ids=[0])


def lexemes_of(arena: Arena, shared: Lexemes | None = None) -> Lexemes:
    return Lexemes(arena, Liveness(arena), Liveness(arena, sorted(VOCABULARY.one_byte)), shared)


def white_space(arena: Arena) -> Term:
    return arena.repeat(arena.bytes(byte_set(b" \t\n\r")), 0, 64)


def string(arena: Arena, spelling: Literal["plain", "any"], most: int | None, least: int = 0) -> Term:
    """What remains of a string of so many characters behind its first quotation mark."""
    return arena.seq(arena.repeat(JsonText(arena, spelling).character, least, most), arena.literal(b'"'))


def number(arena: Arena) -> Term:
    digits = arena.repeat(arena.bytes(byte_range(0x30, 0x39)), 1, None)
    fraction = arena.seq(arena.literal(b"."), digits)
    return arena.concat([arena.repeat(arena.literal(b"-"), 0, 1), digits, arena.repeat(fraction, 0, 1)])


def names_but(arena: Arena) -> Term:
    other = arena.complement(arena.words([b"a", b"ab", b"b"]))
    return arena.seq(arena.both([arena.star(JsonText(arena, "plain").character), other]), arena.literal(b'"'))


def of_b_alone(arena: Arena) -> Term:
    """Not to be spelled: the byte has no token."""
    return arena.alt([arena.literal(b"ab"), arena.literal(b"bc")])


MAKERS: dict[str, Callable[[Arena], Term]] = {
    "white space": white_space,
    "number": number,
    "string": lambda arena: string(arena, "any", None),
    "short string": lambda arena: string(arena, "plain", 3),
    "words": lambda arena: arena.words([b"a", b"ab", b"abc", b"b"]),
    "names but some": names_but,
    "what cannot be spelled": of_b_alone,
}


@pytest.mark.parametrize("case", MAKERS)
def test_rows_are_derivatives(case: str) -> None:
    arena = Arena(Budget())
    alive, spellable = Liveness(arena), Liveness(arena, sorted(VOCABULARY.one_byte))
    lexemes = Lexemes(arena, alive, spellable)
    terms = [MAKERS[case](arena)]
    for term in terms:
        state = lexemes.number(term)
        kind = lexemes.kinds[state]
        assert (bool(kind & ACCEPTING), bool(kind & SPELLED)) == (term.nullable, spellable.alive(term))
        assert lexemes.rows[state, 0] == UNKNOWN
        lexemes.fill(state)
        expected = {}
        for members, rest in arena.moves(term):
            if alive.alive(rest):
                expected |= dict.fromkeys(members_of(members), lexemes.number(rest))
                terms += [rest] if rest not in terms else []
        assert lexemes.rows[state].tolist() == [expected.get(byte, DEAD) for byte in range(256)]
    assert len(lexemes) == len(terms)


@pytest.mark.parametrize("case", MAKERS)
def test_of_a_row_only_what_was_asked_is_computed(case: str) -> None:
    arena = Arena(Budget())
    lexemes, term = lexemes_of(arena), MAKERS[case](arena)
    state = lexemes.number(term)
    asked = list(b'"b1')
    lexemes.rows[state, asked] = ASKED
    lexemes.answer(state)
    row = lexemes.rows[state].copy()
    assert (np.delete(row, asked) == UNKNOWN).all()
    lexemes.fill(state)
    assert row[asked].tolist() == lexemes.rows[state, asked].tolist()
    assert (lexemes.rows[state] >= DEAD).all()


def test_a_lexeme_that_is_empty_is_dead() -> None:
    arena = Arena(Budget())
    nothing = arena.both([arena.literal(b"a"), arena.literal(b"b")])
    assert lexemes_of(arena).number(nothing) == DEAD


def test_states_of_lexemes_are_within_the_budget() -> None:
    arena = Arena(Budget(states=3))
    with pytest.raises(BudgetError, match="3 states"):
        lexemes_of(arena).close(arena.literal(b"abcd"))


def assert_same(shared_state: int, own: Lexemes, own_state: int) -> None:
    """Two tables read the same texts, byte by byte."""
    shared = PREPARED.lexemes
    met = {shared_state: own_state}
    for state in (pending := [shared_state]):
        mine = met[state]
        if own.rows[mine, 0] == UNKNOWN:
            own.fill(mine)
        assert shared.kinds[state] == own.kinds[mine]
        for target, other in dict.fromkeys(zip(shared.rows[state].tolist(), own.rows[mine].tolist(), strict=True)):
            assert (target == DEAD) == (other == DEAD)
            if target != DEAD and target not in met:
                met[target] = other
                pending.append(target)


@pytest.mark.parametrize("spelling", ["plain", "any"])
@pytest.mark.parametrize(
    ("least", "most"),
    [
        *((0, most) for most in (None, 1, 2, VOCABULARY.longest, VOCABULARY.longest + 1)),
        *((least, None) for least in (1, 2, VOCABULARY.longest, VOCABULARY.longest + 1)),
        (1, VOCABULARY.longest + 1),
    ],
)
def test_strings_are_those_made_ready(spelling: Literal["plain", "any"], least: int, most: int | None) -> None:
    arena = Arena(Budget())
    term = string(arena, spelling, most, least)
    state = lexemes_of(arena, PREPARED.lexemes).number(term)
    assert state < len(PREPARED.lexemes)
    assert (state in PREPARED.endless) == ((least, most) == (0, None))
    assert_same(state, own := lexemes_of(arena), own.number(term))


def test_white_space_is_that_made_ready() -> None:
    arena = Arena(Budget())
    near = arena.to_form(white_space(arena), arena.mask_form(VOCABULARY.longest))
    state = lexemes_of(arena, PREPARED.lexemes).number(near)
    assert state < len(PREPARED.lexemes)
    assert_same(state, own := lexemes_of(arena), own.number(near))


def test_other_lexemes_are_not() -> None:
    arena = Arena(Budget())
    lexemes = lexemes_of(arena, PREPARED.lexemes)
    for case in ("number", "words", "names but some"):
        assert lexemes.number(MAKERS[case](arena)) >= len(PREPARED.lexemes), case


def test_splits_are_what_reading_every_token_gives() -> None:
    lexemes, splits, trie = PREPARED.lexemes, PREPARED.splits, VOCABULARY.trie
    prefixes = {token[:end] for token in VOCABULARY.tokens for end in range(1, len(token))}

    def read(state: int, data: bytes) -> int:
        for byte in data:
            state = int(lexemes.rows[state, byte]) if state != DEAD else DEAD
        return state

    split = [state for state in range(len(lexemes)) if lexemes.splits[state] >= 0]
    assert PREPARED.endless <= set(split)
    met: set[int | None] = set()
    for state in split:
        row = lexemes.splits[state]
        ends = [read(state, token) if token else DEAD for token in VOCABULARY.tokens]
        allowed = TokenMask(splits.bits.array[row], 0, VOCABULARY.size).to_bool().tolist()
        assert allowed == [end != DEAD and bool(lexemes.kinds[end] & SPELLED) for end in ends]
        closed = {
            trie.find(prefix)
            for prefix in prefixes
            if (end := read(state, prefix)) != DEAD and lexemes.kinds[end] & ACCEPTING
        }
        nodes = splits.nodes.array[splits.start.array[row] : splits.start.array[row + 1]].tolist()
        assert len(nodes) == len(set(nodes))
        assert set(nodes) == closed
        met |= closed
    assert met, "some tokens go on behind a string"


@pytest.mark.parametrize(
    ("bounds", "allowed"),
    [
        ({"maxLength": 2999}, [False, True, True]),
        ({"maxLength": 3000}, [True, True, True]),
        ({"minLength": 2999}, [True, True, True]),
        ({"minLength": 3000}, [True, False, True]),
        ({"minLength": 3000, "maxLength": 3000}, [True, False, True]),
    ],
)
def test_tokens_of_thousands_of_bytes(bounds: dict[str, int], allowed: list[bool]) -> None:
    """No more is made ready for them than for others: the strings that they tell apart are too many."""
    constraint = compile_json_schema({"type": "string", **bounds})
    masker = Masker(constraint, LONG_TOKENS)
    state = constraint.advance(constraint.start, b'"')
    assert state is not None
    assert masker.mask(state).to_bool()[-3:].tolist() == allowed


def test_what_is_made_ready_goes_with_its_vocabulary() -> None:
    vocabulary = Vocabulary.from_tokens([b"<end>", b"a", b'"'], end_ids=[0])
    prepared(vocabulary)
    held = weakref.ref(vocabulary)
    del vocabulary
    gc.collect()
    assert held() is None


def test_sets_of_bytes_index_a_row() -> None:
    for members in (b"a", b"\x00", b"\xff", bytes(range(256)), b"a\x80\xff"):
        row = np.zeros(256, dtype=np.int32)
        row[indices(byte_set(members))] = 1
        assert np.flatnonzero(row).tolist() == sorted(members)
