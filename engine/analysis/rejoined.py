"""Two runs that wrote the same text by different tokens: the place from which on only the cut can make a difference."""

from __future__ import annotations

from engine.decoding.records import Trace


def rejoined(one: Trace, other: Trace) -> tuple[int, int] | None:
    """The first step of each before which both wrote the same bytes, as different tokens; None if there is none.

    What the model expects at these two steps differs by the cut of the text alone, if the prompts are the same.
    """
    ways = {one.text_before(step.index): step.index for step in one.steps}
    for step in other.steps:
        text = other.text_before(step.index)
        index = ways.get(text)
        if index is not None and _ids(one, index) != _ids(other, step.index):
            return index, step.index
    return None


def last_together(one: Trace, other: Trace) -> tuple[int, int]:
    """The last step of each before which both wrote the same bytes: the very first where they parted at once."""
    ways = {one.text_before(step.index): step.index for step in one.steps}
    found = (0, 0)
    for step in other.steps:
        index = ways.get(other.text_before(step.index))
        if index is not None:
            found = (index, step.index)
    return found


def parted(one: bytes, other: bytes) -> int | None:
    """The first byte at which two texts differ, None if they are the same."""
    if one == other:
        return None
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


def _ids(trace: Trace, before: int) -> tuple[int, ...]:
    return tuple(step.token_id for step in trace.steps[:before])
