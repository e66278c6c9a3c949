"""Free text around a constraint: anything until a delimiter, then the constraint, then perhaps anything again.

The mask that is switched on by a delimiter (CRANE, Banerjee et al. 2025, arXiv 2502.09061) is a constraint like any
other: a sequence of terms. So a token may end the free text and begin the constrained one, and every state knows what
remains.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import replace

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.terms import ALL_BYTES, Term
from engine.budget import Budget
from engine.constraint import Constraint, Report
from engine.errors import ConstraintError, Origin
from engine.grammar.charset import ALL, utf8

FREE = Origin("free text")
"""Who speaks where the delimiter has not been written yet, or the constraint is over."""

LONGEST_DELIMITER = 200
"""Bytes. The text before a delimiter has a state for each of its bytes."""


def free_text(arena: Arena, stops: Collection[bytes] = (), last: Collection[bytes] = ()) -> Term:
    """UTF-8 text and one of `last`, in which no stop occurs before its end; without `last`, none occurs at all."""
    text = arena.seq(arena.star(utf8(arena, ALL)), arena.words(last) if last else arena.epsilon)
    if stops:
        more = [arena.bytes(ALL_BYTES)] if last else []
        too_early = arena.concat([arena.anything, arena.words(stops), *more, arena.anything])
        text = arena.both([text, arena.complement(too_early)])
    return text


def any_bytes() -> Constraint:
    """No constraint at all: any bytes, UTF-8 or not, as a model may write them."""
    started = time.monotonic()
    arena = Arena(Budget())
    everything = Automaton(arena, arena.star(arena.bytes(ALL_BYTES)))
    return Constraint("bytes", everything, Report("bytes", time.monotonic() - started, len(arena)))


def after_delimiter(constraint: Constraint, delimiter: str, *, free_after: bool = False) -> Constraint:
    """Free text up to the first `delimiter`, then `constraint`; with `free_after`, free text again after it.

    Raises ConstraintError if the delimiter is empty, no UTF-8, or longer than `LONGEST_DELIMITER` bytes.
    """
    try:
        end = delimiter.encode()
    except UnicodeEncodeError:
        raise ConstraintError("The delimiter holds half a character (a lone surrogate), which no text does.") from None
    if not end:
        raise ConstraintError("The delimiter is empty. Write the text after which the constraint holds.")
    if len(end) > LONGEST_DELIMITER:
        raise ConstraintError(f"The delimiter has {len(end)} bytes; {LONGEST_DELIMITER} are the limit.")
    arena = constraint.automaton.arena
    with constraint.automaton.lock, arena.clock.running():
        before = arena.tag(FREE, free_text(arena, [end], [end]), f"<text> {delimiter!r}")
        after = arena.tag(FREE, free_text(arena), "<text>") if free_after else arena.epsilon
        automaton = Automaton(arena, arena.concat([before, constraint.automaton.root, after]))
    return replace(constraint, kind="delimited", automaton=automaton)
