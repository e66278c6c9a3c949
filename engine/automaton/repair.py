"""The smallest change that lets a rejected text go on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from engine.automaton.automaton import Automaton
from engine.automaton.liveness import PLEASANT
from engine.automaton.terms import members_of

MOST_REMOVED = 4
"""Bytes of the text that a repair may take away."""

MOST_TRIED = 60
"""Insertions that are tried, the shortest first."""

ENOUGH = 12
"""Bytes read after a repair beyond which it is as good as any."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Take `removed` away at the offset of the rejection and put `inserted` there; then `read` more bytes fit."""

    removed: bytes
    inserted: bytes
    read: int


def repair(automaton: Automaton, state: int, rest: bytes) -> Repair | None:
    """A small change by which `rest`, rejected in `state`, goes on; None if none was found.

    Among all changes that are tried: the one after which most of the text can be read (`ENOUGH` bytes count as all),
    then the one that changes least.
    """
    best: tuple[tuple[int, int, int], Repair] | None = None
    for inserted, after in _insertions(automaton, state):
        for count in range(min(MOST_REMOVED, len(rest)) + 1):
            if not inserted and not count:
                continue
            read = _readable(automaton, after, rest[count : count + ENOUGH])
            ends = count == len(rest)
            if not read and not ends:
                continue
            score = (min(read, ENOUGH), -len(inserted) - count, -count)
            if best is None or score > best[0]:
                best = score, Repair(rest[:count], inserted, read)
    return best[1] if best else None


def _insertions(automaton: Automaton, state: int) -> list[tuple[bytes, int]]:
    """Short texts that can be read here, one for each state that they lead to."""
    found: dict[int, bytes] = {state: b""}
    queue = deque([state])
    while queue and len(found) < MOST_TRIED:
        current = queue.popleft()
        for members, target in automaton.moves(current):
            if target not in found and target >= 0:
                byte = min(members_of(members), key=PLEASANT.index)
                found[target] = found[current] + bytes([byte])
                queue.append(target)
    return [(text, target) for target, text in found.items()]


def _readable(automaton: Automaton, state: int, data: bytes) -> int:
    for count, byte in enumerate(data):
        state = automaton.step(state, byte)
        if state < 0:
            return count
    return len(data)
