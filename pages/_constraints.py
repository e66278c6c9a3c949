"""Constraints compiled once for all visitors, under bounds; what cannot be compiled is remembered as its error."""

from __future__ import annotations

from copy import copy
from sys import getsizeof
from typing import TypeVar

from engine.budget import Budget
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.grammar.locate import Located, locate
from engine.grammar.sources import compile_source, spans
from engine.masking import Masker
from engine.once import Once
from engine.vocabulary import Vocabulary

Found = TypeVar("Found")

BUDGET = Budget(seconds=3.0, terms=150_000)
"""What one visitor's source may cost: less than the engine's own limit, as others wait meanwhile. Of 1,000
real schemas the slowest that compiles takes half a second and 7,000 terms."""

HEAVIEST = 64 * 2**20
"""Bytes of all constraints that are kept, and of all masks."""

PLACES = 16 * 2**20
"""Bytes of the places of parts that are kept."""

PLACE_BYTES = 300
"""What the place of a part takes, roughly."""


def weight(text: str, found: Constraint | Masker | ConstraintError | None) -> int:
    """The memory of what was compiled, and of its text, in bytes."""
    if found is None or isinstance(found, ConstraintError):
        return getsizeof(text)
    return getsizeof(text) + (found.held_bytes if isinstance(found, Masker) else found.automaton.held_bytes)


_compiled: Once[ConstraintSource, Constraint | ConstraintError] = Once(
    1000, lambda source, found: weight(source.text, found), HEAVIEST
)
_masked: Once[tuple[ConstraintSource, str], Masker | ConstraintError] = Once(
    1000, lambda asked, found: weight(asked[0].text, found), HEAVIEST
)
_places: Once[ConstraintSource, dict[str, tuple[int, int]]] = Once(
    64, lambda source, found: getsizeof(source.text) + PLACE_BYTES * len(found), PLACES
)
_located: Once[ConstraintSource, Located] = Once(
    64, lambda source, found: getsizeof(source.text) + PLACE_BYTES * len(found.parts), PLACES
)


def compiled(source: ConstraintSource) -> Constraint | ConstraintError:
    """The constraint, or why there is none."""

    def make() -> Constraint | ConstraintError:
        try:
            return compile_source(source, BUDGET)
        except ConstraintError as error:
            return alone(error)

    return _compiled.get(source, make)


def masked(source: ConstraintSource, vocabulary: Vocabulary) -> Masker | ConstraintError:
    """The masks of a constraint over the model's vocabulary, or why there are none."""

    def make() -> Masker | ConstraintError:
        constraint = compiled(source)
        if isinstance(constraint, ConstraintError):
            return constraint
        try:
            return Masker(constraint, vocabulary)
        except ConstraintError as error:
            return alone(error)

    return _masked.get((source, vocabulary.digest), make)


def places(source: ConstraintSource) -> dict[str, tuple[int, int]]:
    """Where each part of the source stands in its text: pointer -> (start, end) in code points."""
    return _places.get(source, lambda: spans(source))


def located(source: ConstraintSource) -> Located:
    """The parts of a source that can be seen in its text, whether it compiles or not."""
    return _located.get(source, lambda: locate(source))


def alone(error: ConstraintError) -> ConstraintError:
    """The error without the stack that it came by, which would keep all that was compiled."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def demanded(found: Found | ConstraintError) -> Found:
    """What was found. Raises the error that there is instead, as a copy: the one that is kept would hold on to the
    stacks of all who ever raised it."""
    if isinstance(found, ConstraintError):
        raise copy(found)
    return found


def said(error: ConstraintError) -> str:
    """The error as one message that names the place."""
    message, place = str(error), error.pointer
    if not place or (place.lower() in message.lower() and not place.isdigit()) or f"offset {place}" in message:
        return message
    return f"Offset {place}: {message}" if place.isdigit() else f"{place}: {message}"
