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


OPENINGS = Openings(ARENA, lambda lexeme: lexeme is ARENA.seq(CHARACTERS, QUOTE))


def opened(part: Term) -> set[Opening]:
    """The openings in any order, each once."""
    found = OPENINGS.of(part)
    assert len(set(found)) == len(found)
    return set(found)


CALL, OTHER = rule(ARENA.seq(B, DIGITS)), rule(AB)
OR_CALL = ARENA.alt([ARENA.seq(A, CALL), CALL, ARENA.epsilon])
STRING = ARENA.seq(CHARACTERS, QUOTE)

PARTS: dict[str, tuple[Term, list[Term]]] = {
    "the end": (ARENA.epsilon, []),
    "a text": (AB, [AB]),
    "texts in a row are one": (ARENA.concat([A, B, CALL]), [AB, CALL]),
    "lexemes are apart": (ARENA.concat([SPACE, A]), [SPACE, A]),
    "what is wide goes on to the next text": (ARENA.concat([CHARACTERS, QUOTE, CALL]), [STRING, CALL]),
    "a rule and what follows": (ARENA.concat([CALL, CALL, QUOTE]), [CALL, CALL, QUOTE]),
    "alternatives before a tail": (ARENA.seq(OR_CALL, QUOTE), [OR_CALL, QUOTE]),
    "a repeated class is one lexeme": (ARENA.seq(DIGITS, CALL), [DIGITS, CALL]),
}

CASES: dict[str, tuple[Term, set[Opening]]] = {
    "nothing": (ARENA.empty, {Opening(ARENA.empty)}),
    "the end": (ARENA.epsilon, set()),
    "a text": (AB, {Opening(AB)}),
    "a lexeme that may be empty": (DIGITS, {Opening(DIGITS)}),
    "alternatives": (OR_CALL, {Opening(A, (CALL,)), Opening(None, (CALL,))}),
    "alternatives that begin with a rule": (
        ARENA.alt([ARENA.seq(CALL, QUOTE), AB]),
        {Opening(None, (CALL, QUOTE)), Opening(AB)},
    ),
    "alternatives that may be empty at first": (
        ARENA.alt([ARENA.seq(DIGITS, CALL), ARENA.seq(DIGITS, AB)]),
        {Opening(None, (DIGITS, CALL)), Opening(None, (DIGITS, AB))},
    ),
    "texts that begin alike are one": (
        ARENA.alt([ARENA.seq(A, CALL), ARENA.seq(A, OTHER)]),
        {Opening(A, (ARENA.alt([CALL, OTHER]),))},
    ),
    "a rule": (CALL, {Opening(B, (DIGITS,))}),
    "a rule that is alternatives": (rule(ARENA.alt([AB, CALL])), {Opening(AB), Opening(None, (CALL,))}),
    "a rule that may be empty": (rule(ARENA.repeat(A, 0, 1)), {Opening(ARENA.repeat(A, 0, 1))}),
    "a rule again": (ARENA.repeat(CALL, 2, 4), {Opening(None, (CALL, ARENA.repeat(CALL, 1, 3)))}),
    "a rule any number of times": (ARENA.star(CALL), {Opening(None, (CALL, ARENA.star(CALL)))}),
}


@pytest.mark.parametrize("case", PARTS)
def test_parts(case: str) -> None:
    term, expected = PARTS[case]
    assert list(OPENINGS.parts(term)) == expected


@pytest.mark.parametrize("case", CASES)
def test_openings(case: str) -> None:
    term, expected = CASES[case]
    assert opened(term) == expected


def captured(language: Term, text: Captured) -> Term:
    return ARENA.capture(Named(CALL), None, language, text)


def test_what_follows_a_text_that_is_not_known_is_not_known() -> None:
    assert opened(captured(AB, UNKNOWN)) == {Opening(AB, (ARENA.uncertain,))}
    not_known = Opening(None, (ARENA.uncertain,))
    assert opened(captured(DIGITS, UNKNOWN)) == {Opening(DIGITS, not_known.rest), not_known}, "it may end at once"


def test_what_follows_a_known_text() -> None:
    assert opened(captured(AB, b"")) == {Opening(AB, (CALL,))}
    assert opened(captured(DIGITS, b"")) == {Opening(DIGITS, (CALL,)), Opening(None, (CALL,))}


def names_but(*texts: bytes) -> Term:
    return ARENA.seq(ARENA.both([CHARACTERS, ARENA.complement(ARENA.words(texts))]), QUOTE)


def test_names_but_for_some_are_all_names_with_some_barred() -> None:
    assert opened(names_but(b"b", b"ab")) == {Opening(STRING, (), (b'ab"', b'b"'))}
    assert opened(rule(ARENA.seq(names_but(b"b"), CALL))) == {Opening(STRING, (CALL,), (b'b"',))}
    capture = captured(names_but(b"b"), UNKNOWN)
    assert opened(capture) == {Opening(STRING, (ARENA.uncertain,), (b'b"',))}


def test_names_are_not_barred_where_they_could_run_out() -> None:
    """Of a few characters, say: what begins a barred one need not begin another."""
    few = ARENA.both([ARENA.repeat(ARENA.bytes(byte_range(0x23, 0x7E)), 0, 2), ARENA.complement(AB)])
    assert opened(ARENA.seq(few, QUOTE)) == {Opening(ARENA.seq(few, QUOTE))}
    by_pattern = ARENA.seq(ARENA.both([CHARACTERS, ARENA.complement(DIGITS)]), QUOTE)
    assert opened(by_pattern) == {Opening(by_pattern)}


def test_words_of_a_term() -> None:
    assert words_of(ARENA.words([b"a", b"ab"])) == (b"a", b"ab")
    assert set(words_of(ARENA.alt([AB, ARENA.words([b"x", b"y"]), ARENA.epsilon])) or ()) == {b"ab", b"x", b"y", b""}
    assert words_of(ARENA.repeat(A, 0, 1)) == (b"", b"a")
    assert words_of(ARENA.alt([AB, DIGITS])) is None
    after_a = next(rest for members, rest in ARENA.moves(ARENA.words([b"ab", b"ac", b"b"])) if members >> 97 & 1)
    assert words_of(after_a) == (b"b", b"c")
