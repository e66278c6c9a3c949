"""With what a term may begin, and what follows: its openings.

A text of a grammar is a row of lexemes (a word, a number, a run of white space), and where one ends is where the
grammar decides. So a term is taken apart into parts, and each part, whatever it is followed by, into pairs of a lexeme,
which is regular, and the parts that remain once it is read; alternatives are several pairs. These are partial
derivatives (Antimirov 1996) by lexemes instead of letters. A mask is then the union over the pairs, nothing needs to be
made deterministic across rules, and the lexemes, which recur all over a grammar, are worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from engine.automaton.arena import Arena
from engine.automaton.derivative import first_bytes
from engine.automaton.terms import (
    LONGEST_LITERAL,
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


class Opening(NamedTuple):
    """A lexeme (a regular term), None if nothing is read yet, and the parts behind it. `barred`: texts of the lexeme
    that are left out; each begins texts that are not, up to its last byte."""

    lexeme: Term | None
    rest: tuple[Term, ...] = ()
    barred: tuple[bytes, ...] = ()


class Mixed(Exception):
    """A part is a condition on what rules read, as of a look-ahead inside a repetition, or a captured text within which
    others are: no row of lexemes."""


class Openings:
    """The openings of parts in mask form (no owners, captured texts unknown), each found once.

    A part is a lexeme, a rule, a repetition of rules or a choice between them: a term is read part by part.
    """

    def __init__(self, arena: Arena, is_endless: Callable[[Term], bool]) -> None:
        """`is_endless` says of a lexeme that each of its bytes but the last may be followed by endlessly many texts."""
        self._arena = arena
        self._is_endless = is_endless
        self._first: dict[int, tuple[Term, Term]] = {}
        self._parts: dict[int, tuple[Term, ...]] = {}
        self._members: dict[int, tuple[Opening, ...]] = {}
        self._captured: dict[int, Opening] = {}
        self._closed: dict[int, bool] = {}

    def of(self, part: Term) -> tuple[Opening, ...]:
        """With what a part may begin.

        What follows a part that may be empty is not among them. Raises `Mixed` for a conjunction or complement of
        rules.
        """
        term = self._arena.body(part) if isinstance(part, Call) else part
        if isinstance(term, (And, Not)) and not self.is_closed(term):
            raise Mixed
        if not isinstance(term, Alt) or self._is_one(term):
            return tuple(self._open(term))
        return self._merged([opening for member in term.members for opening in self._of_member(member)])

    def first(self, term: Term) -> tuple[Term, Term]:
        """The first part of a term that is not empty, and what follows it."""
        if not isinstance(term, Seq):
            return term, self._arena.epsilon
        found = self._first.get(term.id)
        if found is None:
            found = self._first[term.id] = self._split(term)
        return found

    def parts(self, term: Term) -> tuple[Term, ...]:
        """A term, part by part."""
        known = self._parts.get(term.id)
        if known is None:
            found, rest = [], term
            while rest is not self._arena.epsilon:
                part, rest = self.first(rest)
                found.append(part)
            known = self._parts[term.id] = tuple(found)
        return known

    def _of_member(self, member: Term) -> tuple[Opening, ...]:
        """The openings of an alternative: the members of an object that may come next are so after many others."""
        found = self._members.get(member.id)
        if found is None:
            found = self._members[member.id] = tuple(self._open(member))
        return found

    def _open(self, term: Term) -> Iterator[Opening]:
        if isinstance(term, Literal):
            yield Opening(term)
        elif isinstance(term, Seq) and isinstance(term.head, Literal) and not isinstance(_head(term.tail), Literal):
            yield Opening(term.head, self.parts(term.tail))  # what remains of a name, mostly
        elif isinstance(term, Capture):
            after = self._arena.capture(term.rule, term.args, self._arena.epsilon, term.text, term.form)
            rest = self.parts(after)
            opening = self._captured.get(term.language.id)
            if opening is None:
                opening = self._captured[term.language.id] = self._regular(term.language)
            yield Opening(opening.lexeme, rest, opening.barred)
            if term.language.nullable:
                yield Opening(None, rest)
        elif isinstance(term, Repeat) and not self.is_closed(term):
            again = self._arena.repeat(term.body, max(term.low - 1, 0), None if term.high is None else term.high - 1)
            yield Opening(None, (*self.parts(term.body), *self.parts(again)))
        elif isinstance(term, Seq) or not self.is_closed(term):
            part, tail = self.first(term)
            if self.is_closed(part) and self._is_one(part) and (not part.nullable or tail is self._arena.epsilon):
                opening = self._regular(part)
                yield Opening(opening.lexeme, self.parts(tail), opening.barred)
            else:
                yield Opening(None, self.parts(term))
        elif term is not self._arena.epsilon:
            yield self._regular(term)

    def _merged(self, openings: list[Opening]) -> tuple[Opening, ...]:
        """Those that begin with the same lexeme as one: it need not be walked for each."""
        alike: dict[Any, list[Opening]] = {}
        for opening in openings:
            alike.setdefault((opening.lexeme, opening.barred) if opening.lexeme else opening, []).append(opening)
        if len(alike) == len(openings):
            return tuple(openings)
        return tuple(self._one_of(group) for group in alike.values())

    def _one_of(self, group: list[Opening]) -> Opening:
        if len(group) == 1 or group[0].lexeme is None:
            return group[0]
        rest = self._arena.alt(self._arena.concat(opening.rest) for opening in group)
        return group[0]._replace(rest=self.parts(rest))

    def _regular(self, term: Term) -> Opening:
        """A regular term as one lexeme. Names of JSON but for some are all names, with some barred."""
        head, quote = (term.head, term.tail) if isinstance(term, Seq) else (term, self._arena.epsilon)
        if isinstance(head, And) and isinstance(quote, Literal):
            kept = [member for member in head.members if not isinstance(member, Not)]
            left_out = [words_of(member.body) for member in head.members if isinstance(member, Not)]
            lexeme = self._arena.seq(self._arena.both(kept), quote)
            if kept and None not in left_out and self._is_endless(lexeme):
                words = {word + quote.data for words in left_out if words is not None for word in words}
                if len(words) <= MOST_BARRED:
                    return Opening(lexeme, (), tuple(sorted(words)))
        return Opening(term)

    def _split(self, term: Seq) -> tuple[Term, Term]:
        if isinstance(term.head, Call) or not self.is_closed(term.head) or not self._is_one(term.head):
            return term.head, term.tail
        return self._first_lexeme(term)

    def _is_one(self, term: Term) -> bool:
        """Whether a regular term is not taken apart."""
        return not isinstance(term, Alt) or (self.is_closed(term) and self.is_wide(term))

    def _first_lexeme(self, term: Seq) -> tuple[Term, Term]:
        """Fixed texts in one piece, if that is not long; what is wide up to the first part that is not."""
        parts, rest = [term.head], term.tail
        if isinstance(term.head, Literal):
            if not isinstance(_head(rest), Literal):
                return term.head, rest
            size = len(term.head.data)
            while isinstance(following := _head(rest), Literal):
                size += len(following.data)
                if size > LONGEST_LITERAL:
                    break
                parts.append(following)
                rest = rest.tail if isinstance(rest, Seq) else self._arena.epsilon
            data = b"".join(part.data for part in parts if isinstance(part, Literal))
            return self._arena.literal(data), rest
        if not self.is_wide(term.head):
            return term.head, rest
        while self.is_wide(parts[-1]) or (parts[-1].nullable and len(parts) > 1):
            following = _head(rest)
            if rest is self._arena.epsilon or not self.is_closed(following):
                break
            parts.append(following)
            rest = rest.tail if isinstance(rest, Seq) else self._arena.epsilon
        return self._arena.concat(parts), rest

    def is_closed(self, term: Term) -> bool:
        """Whether a term is regular: made of bytes alone, without rules."""
        known = self._closed.get(term.id)
        if known is None:
            known = self._closed[term.id] = self._all_closed(term)
        return known

    def _all_closed(self, term: Term) -> bool:
        if isinstance(term, Seq):
            while isinstance(term, Seq):
                if not self.is_closed(term.head):
                    return False
                term = term.tail
            return self.is_closed(term)
        if isinstance(term, (Alt, And)):
            return all(self.is_closed(member) for member in term.members)
        if isinstance(term, (Repeat, Not)):
            return self.is_closed(term.body)
        return isinstance(term, (Bytes, Literal, Words, Epsilon, Empty))

    def is_wide(self, term: Term) -> bool:
        """Whether a regular term may begin with many bytes."""
        return first_bytes(self._arena, term).bit_count() > WIDE


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
