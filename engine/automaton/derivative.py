"""Derivatives: what remains of a term after one byte.

`moves` takes the derivative by every byte at once: disjoint byte sets (256-bit integers), each with the term that
remains after any byte of the set (Brzozowski 1964; byte classes as in Owens, Reppy and Turon 2009).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from engine.automaton.terms import (
    ALL_BYTES,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Empty,
    Epsilon,
    Hole,
    Literal,
    Moves,
    Not,
    Repeat,
    Seq,
    Tag,
    Term,
    Uncertain,
    Words,
    byte_set,
    members_of,
)

if TYPE_CHECKING:
    from engine.automaton.arena import Arena


def moves(arena: Arena, term: Term, among: int) -> Moves:
    """What remains after each byte of `among`; bytes that lead nowhere are left out."""
    if isinstance(term, Seq):
        onward = [(members, arena.seq(rest, term.tail)) for members, rest in arena.moves(term.head, among)]
        if term.head.nullable:
            return _join(arena, [*onward, *arena.moves(term.tail, among)])
        return tuple(onward)
    if isinstance(term, Tag):
        label = label_after(term.label)
        return tuple((members, arena.tag(term.origin, rest, label)) for members, rest in arena.moves(term.body, among))
    if isinstance(term, Literal):
        byte = 1 << term.data[0]
        return ((byte, arena.literal(term.data[1:], term.goes_on)),) if byte & among else ()
    if isinstance(term, Bytes):
        members = term.members & among
        return ((members, arena.epsilon),) if members else ()
    if isinstance(term, Repeat):
        high = None if term.high is None else term.high - 1
        again = arena.repeat(term.body, max(term.low - 1, 0), high)
        return tuple((members, arena.seq(rest, again)) for members, rest in arena.moves(term.body, among))
    if isinstance(term, Alt):
        opening = term.members if among == ALL_BYTES else openings(arena, term, among)
        return _join(arena, [move for member in opening for move in arena.moves(member, among)])
    if isinstance(term, Call):
        return arena.moves(arena.body(term), among)
    if isinstance(term, Capture):
        return _capture_moves(arena, term, among)
    if isinstance(term, Words):
        return _word_moves(arena, term, among)
    if isinstance(term, And):
        return _both_moves(arena, term, among)
    if isinstance(term, Not):
        return _complement_moves(arena, term, among)
    # Behind white space, say: no byte can be judged there.
    return ((among, term),) if isinstance(term, Uncertain) else ()


def label_after(label: str) -> str:
    """The label of a part of which something is read."""
    return label if not label or label.startswith("rest of") else f"rest of {label}"


def openings(arena: Arena, term: Alt, among: int) -> list[Term]:
    """The members that may begin with a byte of the set."""
    known = arena.first_bytes
    return [part for part in term.members if (known.get(part.id) or first_bytes(arena, part)) & among]


def first_bytes(arena: Arena, term: Term) -> int:
    """The bytes that a text of the term may begin with, perhaps more. Makes no term that a derivative would not."""
    known = arena.first_bytes.get(term.id)
    if known is not None:
        return known
    passed = []  # of a sequence, which may have thousands of optional parts
    while isinstance(term, Seq) and term.head.nullable and term.id not in arena.first_bytes:
        passed.append((term.id, first_bytes(arena, term.head)))
        term = term.tail
    known = arena.first_bytes.get(term.id)
    if known is None:
        known = arena.first_bytes[term.id] = _first_bytes(arena, term)
    for whole, first in reversed(passed):
        known = arena.first_bytes[whole] = known | first
    return known


def _first_bytes(arena: Arena, term: Term) -> int:
    while True:
        if isinstance(term, (Tag, Repeat)):
            term = term.body
        elif isinstance(term, Seq) and not term.head.nullable:
            term = term.head
        else:
            break
    if isinstance(term, Literal):
        return 1 << term.data[0]
    if isinstance(term, Bytes):
        return term.members
    if isinstance(term, Seq):
        return first_bytes(arena, term)
    if isinstance(term, Alt):
        return reduce(or_, [first_bytes(arena, member) for member in term.members])
    if isinstance(term, And):
        return reduce(and_, [first_bytes(arena, member) for member in term.members])
    if isinstance(term, Call):
        return first_bytes(arena, arena.body(term))
    if isinstance(term, Capture) and not term.language.nullable:
        return first_bytes(arena, term.language)
    if isinstance(term, Words):
        return byte_set(word[term.depth] for word in term.words[term.low : term.high] if len(word) > term.depth)
    return 0 if isinstance(term, (Empty, Epsilon)) else ALL_BYTES


def _join(arena: Arena, moves: Sequence[tuple[int, Term]]) -> Moves:
    """The union of overlapping moves as disjoint ones."""
    grouped: dict[int, list[Term]] = {}
    for members, rest in moves:
        grouped.setdefault(members, []).append(rest)
    blocks: list[tuple[int, list[Term]]] = []
    for members, rests in grouped.items():
        left = members
        split: list[tuple[int, list[Term]]] = []
        for block, inside in blocks:
            common = block & left
            if not common:
                split.append((block, inside))
                continue
            split.append((common, inside + rests))
            if block != common:
                split.append((block & ~common, inside))
            left &= ~common
        if left:
            split.append((left, rests))
        blocks = split
    return _by_target(arena, [(members, arena.alt(rests)) for members, rests in blocks])


def _by_target(arena: Arena, moves: Iterable[tuple[int, Term]]) -> Moves:
    targets: dict[Term, int] = {}
    for members, rest in moves:
        targets[rest] = targets.get(rest, 0) | members
    return tuple((members, rest) for rest, members in targets.items() if rest is not arena.empty)


def _word_moves(arena: Arena, term: Words, among: int) -> Moves:
    moves = []
    low = term.low + (1 if term.nullable else 0)
    while low < term.high:
        byte = term.words[low][term.depth]
        # The end of the run of words that share this byte; words are sorted.
        after = term.words[low][: term.depth] + bytes([byte + 1]) if byte < 255 else None
        high = term.high if after is None else bisect_left(term.words, after, low, term.high)
        if among >> byte & 1:
            moves.append((1 << byte, arena.slice_of_words(term.words, low, high, term.depth + 1)))
        low = high
    return tuple(moves)


def _both_moves(arena: Arena, term: And, among: int) -> Moves:
    blocks: list[tuple[int, list[Term]]] = [(among, [])]
    for member in term.members:
        blocks = [
            (block & members, [*rests, rest])
            for block, rests in blocks
            for members, rest in arena.moves(member, among)
            if block & members
        ]
    return _by_target(arena, [(members, arena.both(rests)) for members, rests in blocks])


def _complement_moves(arena: Arena, term: Not, among: int) -> Moves:
    inner = arena.moves(term.body, among)
    left = among
    for members, _ in inner:
        left &= ~members
    moves = [(members, arena.complement(rest)) for members, rest in inner]
    return _by_target(arena, [*moves, (left, arena.anything)] if left else moves)


def _capture_moves(arena: Arena, term: Capture, among: int) -> Moves:
    moves: list[tuple[int, Term]] = []
    for members, rest in arena.moves(term.language, among):
        if isinstance(term.text, Hole):
            moves.append((members, arena.capture(term.rule, term.args, rest, term.text, term.form)))
            continue
        for byte in members_of(members):
            text = term.text + bytes([byte])
            moves.append((1 << byte, arena.capture(term.rule, term.args, rest, text, term.form)))
    if not term.language.nullable:
        return tuple(moves)
    after = arena.capture(term.rule, term.args, arena.epsilon, term.text, term.form)
    return _join(arena, [*moves, *arena.moves(after, among)])
