"""Terminals of a grammar: the parts of a term that read text by themselves.

A *leaf* is a fixed text, or a class of characters with its repetition, and what follows it. The leaves of a term are
found before anything of it is read, and each is then read on its own, as if the grammar ended with it: what remains of
a leaf stays apart from what follows, though the derivative of the whole could no longer tell them apart. So a set of
leaves is a state of an automaton with one position for each terminal (Antimirov's partial derivatives 1996, by terminal
instead of by character).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.automaton.automaton import DEAD, Automaton
from engine.automaton.explain import origins
from engine.automaton.terms import (
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Empty,
    Epsilon,
    Literal,
    Repeat,
    Seq,
    Tag,
    Term,
    byte_range,
)
from engine.errors import Origin

CONTINUATION = byte_range(0x80, 0xBF)
ASCII = byte_range(0x00, 0x7F)
REGEX_PARTS = ("literal", "class")
"""Keywords of the owners in a regex: there each literal run and each class has an owner of its own."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """What remains of a terminal, and what follows it.

    `rest`: a live state of the automaton, not the one at the end. `then`: the term that follows. `captured`: what to
    remember, where the terminal is a text that decides what follows, with the `text` of it that is read.
    """

    rest: int
    then: Term
    owner: Origin | None
    captured: Capture | None = None
    text: bytes = b""


Leaves = frozenset[Leaf]


@dataclass(frozen=True, slots=True)
class _Part:
    """A leaf by its term."""

    rest: Term
    then: Term
    owner: Origin | None = None


class Terminals:
    """The leaves of one automaton's terms. Hold the automaton's lock around every use.

    Conditions (`(?=...)`) have no leaves of their own and are left to the mask. A complement is one leaf, and so is an
    intersection without owners. Methods raise `BudgetError` as the automaton's do.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._arena = automaton.arena
        self._parts: dict[Term, tuple[_Part, ...]] = {}
        self._starts: dict[Term, Leaves] = {}

    def starts(self, term: Term) -> Leaves:
        """The leaves that a text of the term may begin with."""
        if term not in self._starts:
            leaves = (self._leaf(part) for part in self._parts_of(term))
            self._starts[term] = frozenset(leaf for leaf in leaves if leaf.rest != DEAD)
        return self._starts[term]

    def after(self, leaves: Leaves, byte: int) -> Leaves:
        """The leaves after one more byte: what remains of those that read it, and what follows those that end."""
        found: set[Leaf] = set()
        for leaf in leaves:
            rest = self._automaton.step(leaf.rest, byte)
            if rest == DEAD:
                continue
            read = replace(leaf, rest=rest, text=leaf.text + bytes([byte]) if leaf.captured else b"")
            if self._automaton.term(rest) is not self._arena.epsilon:
                found.add(read)
            if self._automaton.is_accepting(rest):
                found |= self.starts(self._following(read))
        return frozenset(found)

    def union(self, leaves: Leaves, alphabet: frozenset[int]) -> int:
        """The state of a text that any of the leaves can read whole; DEAD where none is left.

        Left out are leaves that nothing can follow, or nothing that is spelled with the bytes of `alphabet`.
        """
        whole = [self._whole(leaf) for leaf in leaves if self._completable(leaf, alphabet)]
        return self._automaton.state_of(self._arena.alt(whole))

    def _completable(self, leaf: Leaf, alphabet: frozenset[int]) -> bool:
        if leaf.captured:  # what follows depends on a text that is not read to its end
            return True
        follow = self._automaton.state_of(leaf.then)
        return follow != DEAD and self._automaton.spellable(follow, alphabet)

    def _whole(self, leaf: Leaf) -> Term:
        """What remains of a leaf, and of its class where a condition made a rule of the repetition, bounds aside."""
        rest = self._automaton.term(leaf.rest)
        if leaf.owner is None or leaf.owner.keyword not in REGEX_PARTS:
            return rest
        if not any(isinstance(part, Call) for part in _first(leaf.then)):
            return rest
        again = [self._automaton.term(more.rest) for more in self.starts(leaf.then) if more.owner == leaf.owner]
        return self._arena.seq(rest, self._arena.star(self._arena.alt(again)))

    def _following(self, leaf: Leaf) -> Term:
        if (captured := leaf.captured) is None:
            return leaf.then
        after = self._arena.capture(captured.rule, captured.args, self._arena.epsilon, leaf.text, captured.form)
        return self._arena.seq(after, leaf.then)

    def _leaf(self, part: _Part) -> Leaf:
        if isinstance(part.rest, Capture):
            text = part.rest.text if isinstance(part.rest.text, bytes) else b""
            rest = self._automaton.state_of(part.rest.language)
            return Leaf(rest, part.then, part.owner, part.rest, text)
        return Leaf(self._automaton.state_of(part.rest), part.then, part.owner)

    def _parts_of(self, term: Term) -> tuple[_Part, ...]:
        if term not in self._parts:
            for part in (*reversed(_in_long_text(term)), term):  # the last piece first: there may be thousands
                self._parts[part] = tuple(dict.fromkeys(self._find(part)))
        return self._parts[term]

    def _find(self, term: Term) -> Iterator[_Part]:
        arena = self._arena
        while isinstance(term, Seq):
            for part in self._parts_of(term.head):
                yield from self._followed(part, term.tail)
            if not term.head.nullable:
                return
            term = term.tail
        if isinstance(term, Alt):
            for member in term.members:
                yield from self._parts_of(member)
        elif isinstance(term, Tag):
            for part in self._parts_of(term.body):
                yield _Part(part.rest, arena.tag(term.origin, part.then, term.label), term.origin)
        elif isinstance(term, Call):
            yield from self._parts_of(arena.body(term))
        elif isinstance(term, Repeat) and not _is_class(term.body):
            again = arena.repeat(term.body, max(term.low - 1, 0), None if term.high is None else term.high - 1)
            for part in self._parts_of(term.body):
                yield replace(part, then=arena.seq(part.then, again))
        elif isinstance(term, And) and (owned := [member for member in term.members if origins(arena, member)]):
            for member in owned:
                yield from self._parts_of(member)
        elif not isinstance(term, (Empty, Epsilon)):
            yield _Part(term, arena.epsilon)

    def _followed(self, part: _Part, tail: Term) -> Iterator[_Part]:
        """The part, then `tail`; in one piece where both belong to one character, or to one literal or class."""
        arena = self._arena
        inside = part.then is arena.epsilon and (_goes_on(tail) or _has_more(part.rest))
        if not inside:
            yield replace(part, then=arena.seq(part.then, tail))
        if inside or (part.then is arena.epsilon and part.owner in _regex_parts(tail)):
            for more in self._parts_of(tail):
                if inside or more.owner == part.owner:
                    yield _Part(arena.seq(part.rest, more.rest), more.then, part.owner)


def _in_long_text(term: Term) -> list[Term]:
    """What follows each piece but the last of the long fixed text that a term begins with."""
    found = []
    while isinstance(term, Seq) and _has_more(term.head.body if isinstance(term.head, Tag) else term.head):
        term = term.tail
        found.append(term)
    return found


def _has_more(term: Term) -> bool:
    """Whether a term is a piece of a fixed text that goes on behind it."""
    return isinstance(term, Literal) and term.goes_on


def _first(term: Term) -> Iterator[Term]:
    """What a term may begin with, calls and repetitions unopened."""
    pending = [term]
    while pending:
        part = pending.pop()
        if isinstance(part, Seq):
            pending += [part.head, part.tail] if part.head.nullable else [part.head]
        elif isinstance(part, Alt):
            pending += part.members
        else:
            yield part


def _regex_parts(term: Term) -> set[Origin]:
    return {part.origin for part in _first(term) if isinstance(part, Tag) and part.origin.keyword in REGEX_PARTS}


def _bytes(term: Term) -> int:
    """The first bytes of what is not made of parts: of a fixed text or a byte set, 0 of anything else."""
    term = term.body if isinstance(term, Tag) else term
    if isinstance(term, Literal):
        return 1 << term.data[0]
    return term.members if isinstance(term, Bytes) else 0


def _goes_on(term: Term) -> bool:
    """Whether a term begins inside a character."""
    first = [_bytes(part) for part in _first(term)]
    return bool(first) and all(members and not members & ~CONTINUATION for members in first)


def _is_class(term: Term) -> bool:
    """Whether a term is one character out of a set and not, say, a rule that is repeated: nobody else owns it."""
    owners = _owners(term)
    return _is_character(term) and len(owners) <= 1 and all(owner.keyword in REGEX_PARTS for owner in owners)


def _owners(term: Term) -> set[Origin]:
    if isinstance(term, Seq):
        return _owners(term.head) | _owners(term.tail)
    if isinstance(term, Alt):
        return set().union(*map(_owners, term.members))
    return {term.origin} if isinstance(term, Tag) else set()


def _is_character(term: Term) -> bool:
    """Whether a term is one character, as `charset.utf8` spells those of a set."""
    if isinstance(term, Tag):
        return _is_character(term.body)
    if isinstance(term, Literal):
        character = term.data.decode(errors="ignore")
        return len(character) == 1 and character.encode() == term.data
    if isinstance(term, Bytes):
        return True
    if isinstance(term, Seq):
        return bool(_bytes(term.head)) and _is_rest(term.tail)
    if isinstance(term, Alt):
        # Of one class there is one set of one-byte characters; two alternatives would have two.
        single = [member for member in term.members if _bytes(member) & ASCII]
        return len(single) <= 1 and all(map(_is_character, term.members))
    return False


def _is_rest(term: Term) -> bool:
    """Whether a term is the rest of a character."""
    if isinstance(term, Seq):
        return _goes_on(term.head) and _is_rest(term.tail)
    if isinstance(term, Alt):
        return all(map(_is_rest, term.members))
    return _goes_on(term) and not isinstance(term, Repeat)
