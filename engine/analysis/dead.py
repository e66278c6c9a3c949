"""Dead states: where two demands on one text can each still be met, and both together cannot.

A text may follow a pattern and be short enough so far, and yet every way to complete the pattern may be too long. No
look at the text finds that. It is found backwards: a state in which a text may end is alive, and so is a state from
which one byte leads to a live one, until nothing is added; what is left over is dead. A mask that lets a model enter a
dead state has lost: no continuation is accepted, and the run cannot end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from engine.constraint import Constraint
from engine.errors import ConstraintError

MOST_STATES = 40
"""Pairs of states that are built: what a page can still show."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A state of both automata at once. `text`: a shortest text that leads here.

    `accepting`: both may end here. `to_end`: the fewest bytes to such a state, None where there is no way to one: dead.
    """

    text: bytes
    accepting: bool
    to_end: int | None


@dataclass(frozen=True, slots=True)
class Both:
    """Two automata side by side, the start first. `moves`: source, target and the bytes (256 bits) between them."""

    states: tuple[Pair, ...]
    moves: tuple[tuple[int, int, int], ...]

    @property
    def dead(self) -> tuple[int, ...]:
        """Places of the dead states."""
        return tuple(place for place, state in enumerate(self.states) if state.to_end is None)

    @property
    def rounds(self) -> int:
        """Steps backwards until no live state is added any more."""
        return max((state.to_end for state in self.states if state.to_end is not None), default=0)


def both(one: Constraint, other: Constraint, most_states: int = MOST_STATES) -> Both:
    """All pairs of states that a text can lead to. Raises ConstraintError where they are more than `most_states`."""
    start = (one.start, other.start)
    places = {start: 0}
    texts = [b""]
    moves: list[tuple[int, int, int]] = []
    pending = deque([start])
    while pending:
        left, right = pair = pending.popleft()
        here = places[pair]
        others = other.moves(right)
        for members, left_after in one.moves(left):
            for other_members, right_after in others:
                if not (shared := members & other_members):
                    continue
                after = (left_after, right_after)
                if after not in places:
                    places[after] = len(texts)
                    texts.append(texts[here] + _first(shared))
                    pending.append(after)
                moves.append((here, places[after], shared))
        if len(texts) > most_states:
            raise ConstraintError(f"Together they have more than {most_states} states. Make them smaller.")
    ends = [one.is_accepting(left) and other.is_accepting(right) for left, right in places]
    to_end = _backwards(moves, ends)
    return Both(tuple(map(Pair, texts, ends, to_end)), _merged(moves))


def _backwards(moves: list[tuple[int, int, int]], ends: list[bool]) -> list[int | None]:
    """The fewest steps from each state to one in which a text may end, found from those back."""
    into: dict[int, set[int]] = {}
    for source, target, _ in moves:
        into.setdefault(target, set()).add(source)
    to_end: list[int | None] = [0 if end else None for end in ends]
    border = [place for place, end in enumerate(ends) if end]
    steps = 0
    while border:
        steps += 1
        border = [source for source in {s for place in border for s in into.get(place, ())} if to_end[source] is None]
        for source in border:
            to_end[source] = steps
    return to_end


def _merged(moves: list[tuple[int, int, int]]) -> tuple[tuple[int, int, int], ...]:
    """One move for each pair of states, with all bytes that lead from one to the other."""
    found: dict[tuple[int, int], int] = {}
    for source, target, members in moves:
        found[source, target] = found.get((source, target), 0) | members
    return tuple((source, target, members) for (source, target), members in found.items())


def _first(members: int) -> bytes:
    """The lowest byte of a set that can be shown, else the lowest."""
    printable = members >> 0x20 << 0x20 & (1 << 0x7F) - 1
    chosen = printable or members
    return bytes([(chosen & -chosen).bit_length() - 1])
