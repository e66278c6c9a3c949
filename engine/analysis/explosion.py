"""How many states a constraint has: all of them, those that a text visits, and those of the textbook's automaton.

An automaton that is built before it is used pays for every state it might come to. Three families of small regexes show
what that means: one counter has a state for each value it may have, a counter within a counter one for each pair, and
`[ab]*a[ab]{n}` ("the letter n before the last is an a") must remember which of the last letters were an a, all subsets
of them. That the last needs 2^(n+1) states however cleverly it is built is a classic of the field (Meyer and Fischer,
"Economy of description by automata, grammars, and formal systems", 1971). A text visits one state a byte, no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from engine.automaton.classic import built
from engine.constraint import Constraint
from engine.errors import BudgetError, ConstraintError
from engine.grammar.regex.compile import compile_regex
from engine.masking.ladder.work import WorkCancelled, never

MOST_STATES = 10_000
"""States up to which everything is explored."""

MOST_CLASSIC = 600
"""States up to which the textbook's automaton is asked for: beyond, it takes seconds to minutes."""

Shape = Literal["linear", "quadratic", "exponential"]


@dataclass(frozen=True, slots=True)
class Family:
    """Regexes of one shape, one for each n.

    `pattern`: with n in place. `text`: one of the texts it accepts, cut where the regex would end it. `states`: how
    many states there are, by arithmetic. `largest`: the n up to which a page offers it.
    """

    name: str
    shape: Shape
    shown: str
    pattern: Callable[[int], str]
    text: Callable[[int], bytes]
    states: Callable[[int], int]
    largest: int


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            Family(
                "the last letters",
                "exponential",
                "[ab]*a[ab]{n}",
                lambda n: f"[ab]*a[ab]{{{n}}}",
                lambda n: b"ab" * n + b"a" + b"b" * n,
                lambda n: 2 ** (n + 1),
                24,
            ),
            Family(
                "a counter",
                "linear",
                "[ab]{0,n}",
                lambda n: f"[ab]{{0,{n}}}",
                lambda n: (b"ab" * n)[:n],
                lambda n: n + 1,
                200,
            ),
            Family(
                "a counter in a counter",
                "quadratic",
                "([ab]{0,n}-){0,n}",
                lambda n: f"([ab]{{0,{n}}}-){{0,{n}}}",
                lambda n: b"".join((b"ab" * n)[:part] + b"-" for part in range(n)),
                lambda n: n * (n + 1) + 1,
                60,
            ),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Growth:
    """What one member of a family costs. `read`: bytes of the text; `visited`: states passed while it was read.

    `explored`: all states there are, None where they are more than were asked for. `classic`: states of the textbook's
    automaton over characters, None where it was not asked for or not built in time.
    """

    n: int
    pattern: str
    read: int
    visited: int
    explored: int | None
    classic: int | None


def growth(
    family: Family,
    n: int,
    *,
    most_states: int = MOST_STATES,
    most_classic: int = MOST_CLASSIC,
    cancelled: Callable[[], bool] = never,
) -> Growth:
    """Count the states of the member `n`. Raises WorkCancelled if stopped."""
    constraint = compile_regex(family.pattern(n))
    text = family.text(n)
    passed = visited(constraint, text)
    fewer = family.states(n) <= most_states  # else the answer is known before the work is done
    explored = count_states(constraint, most_states, cancelled) if fewer else None
    return Growth(
        n=n,
        pattern=family.pattern(n),
        read=len(text),
        visited=passed,
        explored=explored,
        classic=_classic(family.pattern(n)) if family.states(n) <= most_classic else None,
    )


def visited(constraint: Constraint, text: bytes) -> int:
    """Different states that a text passes, the start included. Raises ValueError if it leaves the language."""
    state: int | None = constraint.start
    passed = {constraint.start}
    for place in range(len(text)):
        assert state is not None
        state = constraint.advance(state, text[place : place + 1])
        if state is None:
            raise ValueError(f"Byte {place} of the text leaves the language.")
        passed.add(state)
    return len(passed)


def count_states(constraint: Constraint, most: int, cancelled: Callable[[], bool] = never) -> int | None:
    """All states that can be reached, None if there are more than `most`. Raises WorkCancelled if stopped."""
    known = {constraint.start}
    pending = [constraint.start]
    while pending:
        if cancelled():
            raise WorkCancelled
        try:
            targets = {target for _, target in constraint.moves(pending.pop())}
        except BudgetError:
            return None
        pending += targets - known
        known |= targets
        if len(known) > most:
            return None
    return len(known)


def index_bytes(states: int, vocabulary_size: int) -> int:
    """Memory of an index with one bit for each state and token."""
    return states * math.ceil(vocabulary_size / 8)


def _classic(pattern: str) -> int | None:
    try:
        return len(built(pattern).moves)
    except ConstraintError:
        return None
