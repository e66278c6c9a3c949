"""The automaton that textbooks draw: over characters instead of bytes, of a small regex, as interegular builds it.

For comparison only. interegular knows fewer regexes than this engine, reads some wrongly and may take minutes, so it
works in a process of its own, against time, and what it gives is compared with the automaton here before it is shown.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from engine.automaton import explain
from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState
from engine.constraint import Constraint
from engine.errors import ConstraintError

SECONDS = 3.0
LONGEST_PATTERN = 200
MOST_STATES = 60
MOST_COMPARED = 4_000
"""Pairs of states."""

ASCII = [chr(code) for code in range(0x80)]
ELSEWHERE = ["é", "ß", "İ", "Ω", "ж", "中", "\u2028", "😀"]
"""Characters beyond ASCII that the comparison tries besides those that the regex lists."""

_WORKER = Path(__file__).with_name("classic_worker.py")
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Fsm:
    """A finite automaton over characters. `moves`: state to symbol to state; `symbols`: symbol to its characters.

    `other`: the symbol of every character that is not listed, None if there is none. States that no accepted text
    passes are left out.
    """

    initial: int
    finals: frozenset[int]
    moves: Mapping[int, Mapping[int, int]]
    symbols: Mapping[int, str]
    other: int | None


def classic(pattern: str, constraint: Constraint) -> DrawnGraph:
    """The character-level automaton of `pattern`, whose compiled form here is `constraint`.

    Raises `ConstraintError` that says why there is none to show: too large, too slow, or not what the regex means.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise ConstraintError(f"The classic view is for small regexes: at most {LONGEST_PATTERN} characters.")
    fsm = built(pattern)
    if len(fsm.moves) > MOST_STATES:
        raise ConstraintError(f"Its character-level automaton has {len(fsm.moves)} states; {MOST_STATES} are drawn.")
    witness = difference(fsm, constraint)
    if witness is not None:
        text = _visible(witness) or "(the empty one)"
        raise ConstraintError(f"What interegular draws would be wrong: it judges the text {text} differently.")
    return _drawn(fsm)


@lru_cache(maxsize=128)
def _asked(pattern: str) -> str:
    """What the worker answers; a refusal as JSON, too, so that it is remembered."""
    command = [sys.executable, "-P", str(_WORKER)]
    with _one_at_a_time:
        try:
            done = subprocess.run(command, input=pattern, capture_output=True, timeout=SECONDS, encoding="utf-8")
        except subprocess.TimeoutExpired:
            return json.dumps({"refused": f"interegular takes longer than {SECONDS:g} s for it"})
    return done.stdout if done.returncode == 0 else json.dumps({"refused": "interegular fails on it"})


def built(pattern: str) -> Fsm:
    """The automaton that interegular builds. Raises `ConstraintError` where it builds none in time."""
    try:
        found = json.loads(_asked(pattern))
    except UnicodeEncodeError:
        raise ConstraintError("A regex with lone surrogates has no character-level automaton.") from None
    if "refused" in found:
        raise ConstraintError(f"There is no classic view of this regex: {found['refused']}.")
    every = {int(s): {int(symbol): t for symbol, t in row.items()} for s, row in found["map"].items()}
    finals = frozenset(found["finals"])
    alive = _alive(every, finals)
    moves = {s: {symbol: t for symbol, t in row.items() if t in alive} for s, row in every.items() if s in alive}
    symbols = {int(symbol): "".join(characters) for symbol, characters in found["symbols"].items()}
    return Fsm(found["initial"], finals, moves, symbols, found["other"])


def difference(fsm: Fsm, constraint: Constraint) -> str | None:
    """A text on which the two disagree, None if none was found: every ASCII character is tried, of others a sample."""
    symbol_of = {c: symbol for symbol, characters in fsm.symbols.items() for c in characters}
    tried = [*ASCII, *ELSEWHERE, *(c for s in fsm.symbols.values() for c in (s[:1], s[-1:]) if c and c > "\x7f")]
    start: tuple[int | None, int | None] = (fsm.initial if fsm.initial in fsm.moves else None, constraint.start)
    texts = {start: ""}
    pending = deque([start])
    while pending and len(texts) < MOST_COMPARED:
        pair = pending.popleft()
        state, ours = pair
        if state is None or ours is None:
            return texts[pair]
        if (state in fsm.finals) != constraint.is_accepting(ours):
            return texts[pair]
        for character in tried:
            symbol = symbol_of.get(character, fsm.other)
            following = fsm.moves[state].get(symbol) if symbol is not None else None
            reached = (following, constraint.advance(ours, character.encode("utf-8", "surrogatepass")))
            if reached != (None, None) and reached not in texts:
                texts[reached] = texts[pair] + character
                pending.append(reached)
    return None


def _alive(moves: Mapping[int, Mapping[int, int]], finals: frozenset[int]) -> set[int]:
    into: dict[int, list[int]] = {}
    for state, row in moves.items():
        for target in row.values():
            into.setdefault(target, []).append(state)
    alive, pending = set(finals), list(finals)
    while pending:
        for state in into.get(pending.pop(), ()):
            if state not in alive:
                alive.add(state)
                pending.append(state)
    return alive


def _drawn(fsm: Fsm) -> DrawnGraph:
    states = tuple(DrawnState(s, "", s in fsm.finals, None, False, False, start=s == fsm.initial) for s in fsm.moves)
    edges = []
    for state, row in fsm.moves.items():
        merged: dict[int, list[int]] = {}
        for symbol, target in row.items():
            merged.setdefault(target, []).append(symbol)
        edges += [
            DrawnEdge(state, target, _label(fsm, symbols), False, False, False) for target, symbols in merged.items()
        ]
    return DrawnGraph(states, tuple(edges), len(states), 0, True)


def _label(fsm: Fsm, symbols: Sequence[int]) -> str:
    if fsm.other not in symbols:
        return _listed("".join(fsm.symbols[symbol] for symbol in symbols))
    missing = "".join(characters for symbol, characters in fsm.symbols.items() if symbol not in symbols)
    return f"any character but {_listed(missing)}" if missing else "any character"


def _listed(characters: str) -> str:
    """`a`, or `[a-z0]`, white space visible."""
    ordered = sorted(characters)
    runs: list[list[str]] = []
    for character in ordered:
        if runs and ord(runs[-1][-1]) + 1 == ord(character):
            runs[-1].append(character)
        else:
            runs.append([character])
    words = [f"{_visible(run[:1])}-{_visible(run[-1:])}" if len(run) > 2 else _visible(run) for run in runs]
    return words[0] if len(ordered) == 1 else f"[{''.join(words)}]"


def _visible(characters: Sequence[str]) -> str:
    return explain.shown("".join(characters).encode("utf-8", "surrogatepass"))
