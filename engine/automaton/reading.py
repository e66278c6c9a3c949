"""Reading several bytes at once: what remains of a term after a text.

The same term as derivatives byte by byte give (derivative.py), the very object, without the terms in between: fixed
texts are compared whole, and runs of bytes out of a repeated class are counted off its counter. Everything else, and
wherever two readings of a byte meet, goes by one derivative.

A term is held here as a head (never a Seq) and a tail, so that what is read of the head makes no sequences. No step
passes over a place where the head and tail may end, unless they may end where it begins: a capture cannot miss its end.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from engine.automaton.derivative import first_bytes, label_after, openings
from engine.automaton.terms import (
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Literal,
    Not,
    Repeat,
    Seq,
    Tag,
    Term,
    Words,
    members_of,
)

if TYPE_CHECKING:
    from engine.automaton.arena import Arena

Read = tuple[Term, Term, int]
"""Head and tail of what remains, and how many bytes were read: at least one. A head that is empty: they cannot be."""


def after(arena: Arena, term: Term, data: bytes) -> Term:
    """What remains once `data` is read, `arena.empty` if it cannot be. It may still be a term of an empty language.

    Raises `BudgetError` as derivatives do.
    """
    head, tail = _split(arena, term)
    while data and head is not arena.empty:
        head, tail, read = _read_some(arena, head, tail, data)
        data = data[read:]
    return arena.seq(head, tail)


def _split(arena: Arena, term: Term) -> tuple[Term, Term]:
    return (term.head, term.tail) if isinstance(term, Seq) else (term, arena.epsilon)


def _push(arena: Arena, term: Term, tail: Term) -> tuple[Term, Term]:
    """A term, then `tail`, as head and tail."""
    return (term.head, arena.seq(term.tail, tail)) if isinstance(term, Seq) else (term, tail)


def _read_some(arena: Arena, head: Term, tail: Term, data: bytes) -> Read:
    """Read as much as can be at once. Until that can be, the head is replaced by the only part that reads the byte."""
    byte = 1 << data[0]
    whole: tuple[Term, Term] | None = None
    while True:
        if head is arena.epsilon:
            if tail is arena.epsilon:
                return arena.empty, tail, 1
            head, tail = _split(arena, tail)
        read = _read_piece(arena, head, tail, data)
        if read is not None:
            return read
        if head.nullable:
            if not first_bytes(arena, head) & byte:
                head = arena.epsilon
                continue
            if first_bytes(arena, tail) & byte:
                break
        onward = _only_part(arena, head, tail, byte)
        if onward is None:
            read = _read_several(arena, head, tail, data)
            if read is not None:
                return read
            break
        # Where two readings meet they are joined within the part that both are of, not with all that follows it.
        whole = whole or (head, tail)
        head, tail = onward
    moves = arena.moves(arena.seq(*(whole or (head, tail))), byte)
    return (*_split(arena, moves[0][1] if moves else arena.empty), 1)


def _read_piece(arena: Arena, head: Term, tail: Term, data: bytes) -> Read | None:
    """Read of a fixed text, a repeated class or a capture, as far as one piece reaches; None if it is none of these."""
    tag, body = (head, head.body) if isinstance(head, Tag) else (None, head)
    if isinstance(body, Literal):
        read = min(len(body.data), len(data))
        if not data.startswith(body.data[:read]):
            return arena.empty, tail, read
        rest = arena.literal(body.data[read:], body.goes_on)
    elif isinstance(body, Repeat):
        if not (read := _run(arena, body, tail, data)):
            return None
        rest = _counted_off(arena, body, read)
    elif isinstance(body, Bytes):
        return (arena.epsilon if body.members >> data[0] & 1 else arena.empty), tail, 1
    elif isinstance(body, And):
        if not (read := _run_of_words(arena, body, tail, data)):
            return None
        rest = arena.both(_member_after(arena, member, data[:read]) for member in body.members)
    else:
        return _read_capture(arena, body, tail, data) if isinstance(body, Capture) else None
    return (*_push(arena, _tagged(arena, tag, rest), tail), read)


def _tagged(arena: Arena, tag: Tag | None, rest: Term) -> Term:
    return rest if tag is None or rest is arena.epsilon else arena.tag(tag.origin, rest, label_after(tag.label))


def _counted_off(arena: Arena, term: Repeat, read: int) -> Term:
    return arena.repeat(term.body, max(term.low - read, 0), None if term.high is None else term.high - read)


def _run(arena: Arena, term: Repeat, tail: Term, data: bytes) -> int:
    """How many bytes are each one repetition and nothing else, up to the first place where the repetition may end."""
    own = _one_byte_bodies(arena, term.body)
    if not own >> data[0] & 1:
        return 0
    most = term.low or term.high or len(data)
    return _length(own if term.low else own & ~first_bytes(arena, tail), data[:most])


def _length(members: int, data: bytes) -> int:
    """How many bytes at the beginning are of the set."""
    return len(data) - len(data.lstrip(_listed(members)))


@lru_cache(maxsize=1024)
def _listed(members: int) -> bytes:
    return bytes(members_of(members))


def _one_byte_bodies(arena: Arena, term: Term) -> int:
    """The bytes that are each a text of the term, where nothing longer begins with them."""
    if isinstance(term, Bytes):
        return term.members
    if isinstance(term, Literal):
        return 1 << term.data[0] if len(term.data) == 1 else 0
    if isinstance(term, Tag):
        return _one_byte_bodies(arena, term.body)
    if not isinstance(term, Alt) or term.nullable:
        return 0
    known = arena.one_byte_bodies.get(term.id)
    if known is None:
        known = others = 0
        for member in term.members:
            own = _one_byte_bodies(arena, member)
            known |= own
            others |= first_bytes(arena, member) & ~own
        known = arena.one_byte_bodies[term.id] = known & ~others
    return known


def _run_of_words(arena: Arena, term: And, tail: Term, data: bytes) -> int:
    """The same for a repeated class that certain words are left out of, as names of undeclared members are."""
    counted = [member for member in term.members if isinstance(member, Repeat)]
    if len(counted) != 1 or tail.nullable or len(data) == 1:
        return 0
    others = [member for member in term.members if member is not counted[0]]
    if not all(isinstance(member, Not) and isinstance(member.body, (Words, Literal)) for member in others):
        return 0
    repeat = counted[0]
    own = _one_byte_bodies(arena, repeat.body) & ~first_bytes(arena, tail)
    # The last repetition but one leaves the body alone, which a tag may be shared out to.
    most = len(data) if repeat.high is None else max(repeat.high - 2, 0)
    return _length(own, data[:most]) if own else 0


def _member_after(arena: Arena, term: Term, data: bytes) -> Term:
    if isinstance(term, Repeat):
        return _counted_off(arena, term, len(data))
    assert isinstance(term, Not)
    return arena.complement(_word_after(arena, term.body, data))


def _word_after(arena: Arena, term: Term, data: bytes) -> Term:
    """What remains of words: unlike a head's, theirs may end on the way."""
    for place, byte in enumerate(data):
        if isinstance(term, Literal):
            left = data[place:]
            return arena.literal(term.data[len(left) :]) if term.data.startswith(left) else arena.empty
        moves = arena.moves(term, 1 << byte)
        if not moves:
            return arena.empty
        term = moves[0][1]
    return term


def _read_capture(arena: Arena, term: Capture, tail: Term, data: bytes) -> Read | None:
    if term.language.nullable:
        return None
    head, rest, read = _read_some(arena, *_split(arena, term.language), data)
    text = term.text + data[:read] if isinstance(term.text, bytes) else term.text
    onward = arena.capture(term.rule, term.args, arena.seq(head, rest), text, term.form)
    return (*_push(arena, onward, tail), read)


def _only_part(arena: Arena, head: Term, tail: Term, byte: int) -> tuple[Term, Term] | None:
    """The part of the head that alone reads the byte, as a head of its own; None if there are several or none is known.

    The head may end only where the tail does not read the byte.
    """
    if isinstance(head, Call):
        return _push(arena, arena.body(head), tail)
    if isinstance(head, Alt):
        opening = openings(arena, head, byte)
        if len(opening) > 1:
            return None
        return _push(arena, opening[0], tail) if opening else (arena.epsilon, arena.epsilon)
    if isinstance(head, Repeat) and not head.body.nullable:
        return _push(arena, head.body, arena.seq(_counted_off(arena, head, 1), tail))
    return None


def _read_several(arena: Arena, head: Term, tail: Term, data: bytes) -> Read | None:
    """Read the members of a choice side by side, as far as each is read at once and no two can be joined on the way.

    What is joined are counters that several members begin with (counters.py): one other beside fixed texts has none to
    be joined with. None if there are more.
    """
    if not isinstance(head, Alt):
        return None
    fixed: list[Term] = []
    others: list[Term] = []
    most = len(data)
    for part in openings(arena, head, 1 << data[0]):
        if length := _fixed_bytes(part, most):
            fixed.append(part)
            most = length
        else:
            others.append(part)
    if len(others) > 1:  # an ambiguous grammar meets the same terms in them again, which derivatives remember
        return None
    data = data[: 1 if head.nullable else most]
    rests: list[Term] = []
    for part in others:
        first, rest, read = _read_some(arena, *_split(arena, part), data)
        rests.append(arena.seq(first, rest))
        data = data[:read]
    rests += [after(arena, part, data) for part in fixed]
    return (*_push(arena, arena.alt(rests), tail), len(data))


def _fixed_bytes(term: Term, most: int) -> int:
    """How many bytes a term begins with that are the same in all its texts, as far as `most` bytes."""
    found = 0
    while True:
        first = term.head if isinstance(term, Seq) else term
        body = first.body if isinstance(first, Tag) else first
        if isinstance(body, Literal):
            found += len(body.data)
        if found >= most or not isinstance(body, Literal) or not isinstance(term, Seq):
            return min(found, most)
        term = term.tail
