"""With what a term may begin, and what follows: its openings.

A text of a grammar is a row of lexemes (a word, a number, a run of white space), and where one ends is where the
grammar decides. So a term is taken apart into pairs of a lexeme, which is regular, and the tail that remains once the
lexeme is read; alternatives are several pairs. These are partial derivatives (Antimirov 1996) by lexemes instead of
letters. A mask is then the union over the pairs, nothing needs to be made deterministic across rules, and the lexemes,
which recur all over a grammar, are worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from engine.automaton.arena import Arena
from engine.automaton.terms import (
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Empty,
    Epsilon,
    Literal,
    Not,
    Repeat,
    Seq,
    Term,
    Words,
)

MOST_BARRED = 4096
"""Texts that one opening may bar."""

WIDE = 32
"""Bytes that may come first in a lexeme beyond which it is not left before what follows: most tokens begin with it, so
there would be thousands of places to go on from. A string's characters, say, are taken with the closing quote."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A lexeme (a regular term) and the tail behind it; what follows at once if the lexeme is nullable has openings of
    its own. `barred`: texts of the lexeme that are left out; each begins texts that are not, up to its last byte."""

    lexeme: Term
    tail: Term
    barred: tuple[bytes, ...] = ()


class Openings:
    """The openings of terms in mask form (no owners, captured texts unknown), each found once."""

    def __init__(self, arena: Arena, is_endless: Callable[[Term], bool]) -> None:
        """`is_endless` says of a lexeme that each of its bytes but the last may be followed by endlessly many texts."""
        self._arena = arena
        self._is_endless = is_endless
        self._found: dict[int, tuple[Opening, ...] | None] = {}
        self._closed: dict[int, bool] = {}
        self._wide: dict[int, bool] = {}

    def of(self, term: Term) -> tuple[Opening, ...] | None:
        """The openings of a term; None where what remains depends on a captured text that is not known."""
        if term.id not in self._found:
            self._found[term.id] = self._open(term)
        return self._found[term.id]

    def _open(self, term: Term) -> tuple[Opening, ...] | None:
        arena = self._arena
        if term is arena.uncertain:
            return None
        if isinstance(term, Seq):
            return self._sequence(term)
        if isinstance(term, Alt) and not (self._is_closed(term) and self._is_wide(term)):
            return _joined(self.of(member) for member in term.members)
        if isinstance(term, Call):
            return self.of(arena.body(term))
        if isinstance(term, Capture):
            after = arena.capture(term.rule, term.args, arena.epsilon, term.text, term.form)
            own = tuple(Opening(name.lexeme, after, name.barred) for name in self._regular(term.language))
            return _joined([own, self.of(after)]) if term.language.nullable else own
        if isinstance(term, Repeat) and not self._is_closed(term):
            again = arena.repeat(term.body, max(term.low - 1, 0), None if term.high is None else term.high - 1)
            return self._then(self.of(term.body), again)
        return () if isinstance(term, Epsilon) else self._regular(term)

    def _regular(self, term: Term) -> tuple[Opening, ...]:
        """A regular term as one lexeme. Names of JSON but for some are all names, with some barred."""
        head, quote = (term.head, term.tail) if isinstance(term, Seq) else (term, self._arena.epsilon)
        if isinstance(head, And) and isinstance(quote, Literal):
            kept = [member for member in head.members if not isinstance(member, Not)]
            left_out = [words_of(member.body) for member in head.members if isinstance(member, Not)]
            lexeme = self._arena.seq(self._arena.both(kept), quote)
            if kept and None not in left_out and self._is_endless(lexeme):
                words = {word + quote.data for words in left_out if words is not None for word in words}
                if len(words) <= MOST_BARRED:
                    return (Opening(lexeme, self._arena.epsilon, tuple(sorted(words))),)
        return (Opening(term, self._arena.epsilon),)

    def _sequence(self, term: Seq) -> tuple[Opening, ...] | None:
        if not self._is_closed(term.head) or (isinstance(term.head, Alt) and not self._is_wide(term.head)):
            onward = self._then(self.of(term.head), term.tail)
            return _joined([onward, self.of(term.tail)]) if term.head.nullable else onward
        lexeme, tail = self._first_lexeme(term)
        own = self._then(self._regular(lexeme), tail)
        return _joined([own, self.of(tail)]) if lexeme.nullable else own

    def _first_lexeme(self, term: Seq) -> tuple[Term, Term]:
        """Fixed texts in one piece; what is wide up to the first part that is not."""
        parts, rest = [term.head], term.tail
        if isinstance(term.head, Literal):
            while isinstance(following := _head(rest), Literal):
                parts.append(following)
                rest = rest.tail if isinstance(rest, Seq) else self._arena.epsilon
            data = b"".join(part.data for part in parts if isinstance(part, Literal))
            return self._arena.literal(data), rest
        while self._is_wide(parts[-1]) or (parts[-1].nullable and len(parts) > 1):
            following = _head(rest)
            if rest is self._arena.epsilon or not self._is_closed(following):
                break
            parts.append(following)
            rest = rest.tail if isinstance(rest, Seq) else self._arena.epsilon
        return self._arena.concat(parts), rest

    def _then(self, openings: tuple[Opening, ...] | None, tail: Term) -> tuple[Opening, ...] | None:
        if openings is None:
            return None
        return tuple(
            Opening(opening.lexeme, self._arena.seq(opening.tail, tail), opening.barred) for opening in openings
        )

    def _is_closed(self, term: Term) -> bool:
        """Whether a term is regular: made of bytes alone, without rules."""
        known = self._closed.get(term.id)
        if known is None:
            known = self._closed[term.id] = self._all_closed(term)
        return known

    def _all_closed(self, term: Term) -> bool:
        if isinstance(term, Seq):
            while isinstance(term, Seq):
                if not self._is_closed(term.head):
                    return False
                term = term.tail
            return self._is_closed(term)
        if isinstance(term, (Alt, And)):
            return all(self._is_closed(member) for member in term.members)
        if isinstance(term, (Repeat, Not)):
            return self._is_closed(term.body)
        return isinstance(term, (Bytes, Literal, Words, Epsilon, Empty))

    def _is_wide(self, term: Term) -> bool:
        """Whether a regular term may begin with many bytes."""
        known = self._wide.get(term.id)
        if known is None:
            first = 0
            if not isinstance(term, Literal):
                for members, _ in self._arena.moves(term):
                    first |= members
            known = self._wide[term.id] = first.bit_count() > WIDE
        return known


def _head(term: Term) -> Term:
    return term.head if isinstance(term, Seq) else term


def words_of(term: Term) -> tuple[bytes, ...] | None:
    """The texts of a term where they are written down in it, else None."""
    if isinstance(term, Literal):
        return (term.data,)
    if isinstance(term, Words):
        return tuple(word[term.depth :] for word in term.words[term.low : term.high])
    if isinstance(term, Epsilon):
        return (b"",)
    if isinstance(term, Repeat) and (term.low, term.high) == (0, 1):
        words = words_of(term.body)
        return None if words is None else (b"", *words)
    if isinstance(term, Alt):
        listed = [words_of(member) for member in term.members]
        return None if None in listed else tuple(word for words in listed if words is not None for word in words)
    return None


def _joined(parts: Iterable[tuple[Opening, ...] | None]) -> tuple[Opening, ...] | None:
    """The openings of alternatives; what is unknown of one is unknown of all."""
    found: dict[Opening, None] = {}
    for part in parts:
        if part is None:
            return None
        found.update(dict.fromkeys(part))
    return tuple(found)
