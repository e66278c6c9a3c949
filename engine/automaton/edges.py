"""The edges of a picture: byte classes merged, the bytes of one character beyond ASCII folded into one edge.

A `Machine` is what a picture is made from: the automaton of a whole constraint, or that of one rule (rules.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Protocol

from engine.automaton import explain
from engine.automaton.automaton import Automaton
from engine.automaton.terms import Term, byte_range, members_of

CONTINUATION = byte_range(0x80, 0xBF)
ASCII = byte_range(0, 0x7F)
EVERY_LEAD = byte_range(0xC2, 0xF4)
"""Bytes that a character beyond ASCII may begin with."""
LONGEST_CHARACTER = 4

MOST_LISTED = 2_000
MOST_RUNS = 4
"""Characters beyond ASCII that are looked at one by one, and ranges of them that a label shows."""

OTHER_CASES = {"S": "\u017f", "K": "\u212a", "I": "\u0130\u0131"}
"""What a regex that does not tell cases apart takes for an ASCII letter besides the letter itself."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`first`: bytes that a text along the edge may begin with. `rule`: number of the rule that it reads, None if none.

    `letter`: the one character that it reads, in capitals if its cases are not told apart; "" if there are others.
    """

    target: int
    label: str
    first: int
    rule: int | None = None
    letter: str = ""


class Moving(Protocol):
    """States with bytes between them."""

    def moves(self, state: int) -> Sequence[tuple[int, int]]:
        """Disjoint byte sets with the state that each leads to."""

    def is_accepting(self, state: int) -> bool:
        """Whether a text may end here."""


class Machine(Moving, Protocol):
    """States with edges between them."""

    def edges(self, state: int) -> tuple[Edge, ...]:
        """Edges out of a state, one per target and rule."""

    def term(self, state: int) -> Term:
        """What remains to be read."""

    def dead(self, state: int) -> int:
        """Ways out that lead to no accepted text."""


class ByteMachine:
    """The automaton of a whole constraint: in its drawn form, characters folded, or `exact`, byte for byte."""

    def __init__(self, automaton: Automaton, exact: bool = False) -> None:
        self.automaton = automaton
        self.start = automaton.start if exact else automaton.drawn_state(automaton.start)
        self._exact = exact
        self._edges: dict[int, tuple[Edge, ...]] = {}

    def moves(self, state: int) -> Sequence[tuple[int, int]]:
        """Disjoint byte sets with the state that each leads to."""
        return self.automaton.moves(state)

    def is_accepting(self, state: int) -> bool:
        """Whether a text may end here."""
        return self.automaton.is_accepting(state)

    def term(self, state: int) -> Term:
        """What remains to be read."""
        return self.automaton.term(state)

    def dead(self, state: int) -> int:
        """Ways out that lead to no accepted text."""
        return len(self.automaton.arena.moves(self.term(state))) - len(self.moves(state))

    def edges(self, state: int) -> tuple[Edge, ...]:
        """Edges out of a state, one per target."""
        if state not in self._edges:
            self._edges[state] = plain(self.moves(state)) if self._exact else folded(self, state)
        return self._edges[state]


def plain(moves: Sequence[tuple[int, int]]) -> tuple[Edge, ...]:
    """One edge per target."""
    merged: dict[int, int] = {}
    for members, target in moves:
        merged[target] = merged.get(target, 0) | members
    return tuple(Edge(target, explain.label(members), members) for target, members in merged.items())


def folded(machine: Moving, state: int) -> tuple[Edge, ...]:
    """One edge per target, the bytes of a character beyond ASCII taken together."""
    short: dict[int, int] = {}
    beyond: dict[int, list[list[int]]] = {}
    for members, target in machine.moves(state):
        if members & ~ASCII:
            for end, spelling in _spellings(machine, members & ~ASCII, target):
                beyond.setdefault(end, []).append(spelling)
        if members & ASCII:
            short[target] = short.get(target, 0) | members & ASCII
    found = []
    for target in dict.fromkeys([*short, *beyond]):
        below, above = short.get(target, 0), beyond.get(target, [])
        first = below
        for spelling in above:
            first |= spelling[0]
        found.append(Edge(target, _label(below, above), first, letter=_letter(below, above)))
    return tuple(found)


def is_junction(machine: Machine, state: int) -> bool:
    """Whether a picture must show the state: a text may end, fork or enter a rule there, or has a choice of bytes."""
    edges = machine.edges(state)
    return machine.is_accepting(state) or len(edges) != 1 or not edges[0].letter


def joined(edges: Sequence[Edge]) -> str:
    """The label of edges one after the other; letters whose cases are not told apart as in Lark: `"SELECT"i`."""
    words = ""
    for is_folded, run in groupby(edges, key=lambda edge: bool(edge.letter) and edge.letter != edge.label):
        letters = list(run)
        if is_folded and len(edges) > 1:
            words += f'"{"".join(edge.letter for edge in letters)}"i'
        else:
            words += "".join(edge.label for edge in letters)
    return words


def is_inside(machine: Moving, state: int) -> bool:
    """Whether the state is inside a character."""
    return not machine.is_accepting(state) and _continues(machine.moves(state))


def _continues(moves: Sequence[tuple[int, int]]) -> bool:
    """Whether nothing but a byte that continues a character can be read, and one can."""
    return bool(moves) and not any(members & ~CONTINUATION for members, _ in moves)


def _spellings(machine: Moving, lead: int, target: int) -> list[tuple[int, list[int]]]:
    """Where characters that begin with a byte of `lead` may end, with the byte sets that spell them."""
    pending: list[tuple[int, list[int]]] = [(target, [lead])]
    found: list[tuple[int, list[int]]] = []
    while pending:
        state, spelled = pending.pop()
        may_go_on = len(spelled) < LONGEST_CHARACTER and not machine.is_accepting(state)
        moves = machine.moves(state) if may_go_on else ()
        if _continues(moves):
            pending += [(following, [*spelled, members]) for members, following in moves]
        else:
            found.append((state, spelled))
    return found


def _letter(below: int, above: list[list[int]]) -> str:
    """See `Edge.letter`."""
    beyond = _listed(above)
    if below & ~ASCII or below.bit_count() > 2 or (above and not beyond):
        return ""
    ascii_part = bytes(members_of(below)).decode()
    if len(ascii_part + beyond) == 1:
        return explain.shown(ascii_part.encode()) or beyond
    capital = ascii_part[:1].upper()
    same = {capital, capital.lower()} == set(ascii_part) and set(beyond) <= set(OTHER_CASES.get(capital, ""))
    return capital if same else ""


def _label(below: int, above: list[list[int]]) -> str:
    if not above:
        return explain.label(below)
    leads = 0
    for spelling in above:
        leads |= spelling[0]
    if leads & CONTINUATION:  # the rest of a character
        return explain.label(below | leads) + ("…" if any(len(spelling) > 1 for spelling in above) else "")
    if leads == EVERY_LEAD:
        return explain.label(below | leads)
    return f"{explain.label(below)} or {_characters(above)}" if below else _characters(above)


def _characters(spellings: list[list[int]]) -> str:
    """Characters beyond ASCII: one as it is, few ranges as ranges, others by their number."""
    listed = _listed(spellings)
    if len(listed) == 1:
        return listed
    runs = _runs(listed)
    if runs and len(runs) <= MOST_RUNS:
        return f"[{''.join(runs)}]"
    return f"[{_count(spellings):,} beyond ASCII]"


def _count(spellings: list[list[int]]) -> int:
    return sum(math.prod(members.bit_count() for members in spelling) for spelling in spellings)


def _listed(spellings: list[list[int]]) -> str:
    """The characters, in order; "" if they are more than `MOST_LISTED`."""
    if _count(spellings) > MOST_LISTED:
        return ""
    return "".join(sorted(_decoded(bytes(c)) for s in spellings for c in product(*map(members_of, s))))


def _runs(characters: str) -> list[str]:
    """Characters in order as ranges: `a-z`, `ab`, `x`."""
    runs: list[list[str]] = []
    for character in characters:
        if runs and ord(runs[-1][-1]) + 1 == ord(character):
            runs[-1].append(character)
        else:
            runs.append([character])
    return [f"{run[0]}-{run[-1]}" if len(run) > 2 else "".join(run) for run in runs]


def _decoded(spelling: bytes) -> str:
    """The character, "" where the bytes spell none (a rest after a byte that was read before)."""
    return spelling.decode("utf-8", "ignore")[:1]
