"""What a term may begin with, and what follows: the openings of terms made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from engine.automaton.arena import Arena
from engine.automaton.terms import UNKNOWN, Captured, Term, byte_range, byte_set
from engine.budget import Budget
from engine.masking.openings import Opening, Openings, words_of

ARENA = Arena(Budget())
A, B, AB = ARENA.literal(b"a"), ARENA.literal(b"b"), ARENA.literal(b"ab")
DIGITS = ARENA.star(ARENA.bytes(byte_set(b"0123456789")))
SPACE = ARENA.repeat(ARENA.bytes(byte_set(b" \n")), 0, 2)
QUOTE = ARENA.literal(b'"')
CHARACTERS = ARENA.star(ARENA.bytes(byte_range(0x20, 0x7E) & ~byte_set(b'"')))


@dataclass(frozen=True, eq=False)
class Named:
    """A rule that stands for one term."""

    term: Term
    name: str = "rule"

    def nullable(self, args: None) -> bool:
        return self.term.nullable

    def body(self, arena: Arena, args: None) -> Term:
        return self.term

    core = body

    def after(self, arena: Arena, args: None, text: Captured) -> Term:
        return arena.uncertain if text is UNKNOWN else self.term

    def parts(self, arena: Arena, args: None) -> Iterable[Term]:
        return [self.term]

    def forget(self, args: None) -> None:
        return None

    def words(self, args: None) -> str:
        return "<rule>"


def rule(term: Term) -> Term:
    return ARENA.call(Named(term), None)


def opened(term: Term) -> set[Opening] | None:
    """The openings in any order, each once."""
    endless = ARENA.seq(CHARACTERS, QUOTE)
    found = Openings(ARENA, lambda lexeme: lexeme is endless).of(term)
    if found is None:
        return None
    assert len(set(found)) == len(found)
    return set(found)


CALL = rule(ARENA.seq(B, DIGITS))
AFTER_B = Opening(B, DIGITS)

CASES: dict[str, tuple[Term, set[Opening]]] = {
    "nothing": (ARENA.empty, {Opening(ARENA.empty, ARENA.epsilon)}),
    "the end": (ARENA.epsilon, set()),
    "a text": (AB, {Opening(AB, ARENA.epsilon)}),
    "texts in a row are one": (ARENA.concat([A, B, CALL]), {Opening(AB, CALL)}),
    "a lexeme before a rule": (ARENA.seq(SPACE, CALL), {Opening(SPACE, CALL), AFTER_B}),
    "lexemes are apart": (ARENA.concat([SPACE, A]), {Opening(SPACE, A), Opening(A, ARENA.epsilon)}),
    "what is wide goes on to the next text": (
        ARENA.concat([CHARACTERS, QUOTE, CALL]),
        {Opening(ARENA.seq(CHARACTERS, QUOTE), CALL)},
    ),
    "alternatives": (
        ARENA.alt([ARENA.seq(A, CALL), CALL, ARENA.epsilon]),
        {Opening(A, CALL), AFTER_B},
    ),
    "alternatives before a tail": (
        ARENA.seq(ARENA.alt([A, CALL]), QUOTE),
        {Opening(A, QUOTE), Opening(B, ARENA.seq(DIGITS, QUOTE))},
    ),
    "equal openings are one": (ARENA.alt([rule(AB), rule(ARENA.concat([A, B]))]), {Opening(AB, ARENA.epsilon)}),
    "a rule": (CALL, {AFTER_B}),
    "a rule that may be empty": (
        ARENA.seq(rule(ARENA.repeat(A, 0, 1)), CALL),
        {Opening(ARENA.repeat(A, 0, 1), CALL), AFTER_B},
    ),
    "a rule again": (
        ARENA.repeat(CALL, 2, 4),
        {Opening(B, ARENA.seq(DIGITS, ARENA.repeat(CALL, 1, 3)))},
    ),
    "a rule any number of times before a tail": (
        ARENA.seq(ARENA.star(CALL), QUOTE),
        {Opening(B, ARENA.concat([DIGITS, ARENA.star(CALL), QUOTE])), Opening(QUOTE, ARENA.epsilon)},
    ),
    "a repeated class is one lexeme": (ARENA.seq(DIGITS, CALL), {Opening(DIGITS, CALL), AFTER_B}),
}


@pytest.mark.parametrize("case", CASES)
def test_openings(case: str) -> None:
    term, expected = CASES[case]
    assert opened(term) == expected


def captured(language: Term, text: Captured) -> Term:
    return ARENA.capture(Named(CALL), None, language, text)


def test_what_follows_a_text_that_is_not_known_is_not_known() -> None:
    assert opened(ARENA.uncertain) is None
    assert opened(captured(AB, UNKNOWN)) == {Opening(AB, ARENA.uncertain)}
    assert opened(ARENA.seq(captured(AB, UNKNOWN), QUOTE)) == {Opening(AB, ARENA.uncertain)}
    assert opened(captured(DIGITS, UNKNOWN)) is None, "the text may end at once"
    assert opened(ARENA.alt([A, captured(DIGITS, UNKNOWN)])) is None


def test_what_follows_a_known_text() -> None:
    assert opened(captured(AB, b"")) == {Opening(AB, CALL)}
    assert opened(captured(DIGITS, b"")) == {Opening(DIGITS, CALL), AFTER_B}


def names_but(*texts: bytes) -> Term:
    return ARENA.seq(ARENA.both([CHARACTERS, ARENA.complement(ARENA.words(texts))]), QUOTE)


def test_names_but_for_some_are_all_names_with_some_barred() -> None:
    string = ARENA.seq(CHARACTERS, QUOTE)
    assert opened(names_but(b"b", b"ab")) == {Opening(string, ARENA.epsilon, (b'ab"', b'b"'))}
    language = ARENA.seq(names_but(b"b"), CALL)
    assert opened(language) == {Opening(string, CALL, (b'b"',))}
    capture = captured(names_but(b"b"), UNKNOWN)
    assert opened(capture) == {Opening(string, ARENA.uncertain, (b'b"',))}


def test_names_are_not_barred_where_they_could_run_out() -> None:
    """Of a few characters, say: what begins a barred one need not begin another."""
    few = ARENA.both([ARENA.repeat(ARENA.bytes(byte_range(0x23, 0x7E)), 0, 2), ARENA.complement(AB)])
    assert opened(ARENA.seq(few, QUOTE)) == {Opening(ARENA.seq(few, QUOTE), ARENA.epsilon)}
    by_pattern = ARENA.seq(ARENA.both([CHARACTERS, ARENA.complement(DIGITS)]), QUOTE)
    assert opened(by_pattern) == {Opening(by_pattern, ARENA.epsilon)}


def test_words_of_a_term() -> None:
    assert words_of(ARENA.words([b"a", b"ab"])) == (b"a", b"ab")
    assert set(words_of(ARENA.alt([AB, ARENA.words([b"x", b"y"]), ARENA.epsilon])) or ()) == {b"ab", b"x", b"y", b""}
    assert words_of(ARENA.repeat(A, 0, 1)) == (b"", b"a")
    assert words_of(ARENA.alt([AB, DIGITS])) is None
    after_a = next(rest for members, rest in ARENA.moves(ARENA.words([b"ab", b"ac", b"b"])) if members >> 97 & 1)
    assert words_of(after_a) == (b"b", b"c")
