"""The token budget along a run: tokens that the limit still allows, against those that an end takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.decoding.records import Trace
from engine.masking.distance import Distance
from visualizations.component import Callback, register
from visualizations.tokens import token_text

MOST = 2_000  # steps drawn

_budget = register("budget")


def budget_view(
    trace: Trace,
    distances: Sequence[Distance],
    *,
    key: str,
    position: int | None = None,
    on_step: Callback | None = None,
) -> None:
    """Draws the tokens that remain and those needed before each step, with a table of the same and what it means.

    `distances`: as `engine.analysis.room.distances_along` gives them. A click gives the step in the component's
    `.step`, where `on_step` is given.
    """
    rows = [_row(trace, index, distance) for index, distance in enumerate(distances[:MOST])]
    short = first_short(trace, distances)
    data = {
        "rows": rows,
        "limit": trace.spec.max_tokens,
        "current": position,
        "clicks": on_step is not None,
        "words": budget_words(trace, distances),
        "warns": short is not None,
    }
    _budget(key=key, data=data, on_step_change=on_step or _nothing)


def first_short(trace: Trace, distances: Sequence[Distance]) -> int | None:
    """The first step before which more tokens are needed than remain, None if there is none."""
    limit = trace.spec.max_tokens
    return next((index for index, distance in enumerate(distances) if distance.tokens > limit - index), None)


def budget_words(trace: Trace, distances: Sequence[Distance]) -> str:
    """What the budget means for the run, and what to do where it is too small."""
    limit, short = trace.spec.max_tokens, first_short(trace, distances)
    if not distances:
        return ""
    if short is None:
        spare = [limit - index - distance.tokens for index, distance in enumerate(distances)]
        tightest = min(range(len(spare)), key=lambda index: spare[index])
        return (
            f"The limit of {limit} tokens leaves room for an end at every step; least at step {tightest}, with "
            f"{_tokens(spare[tightest])} to spare."
        )
    needed, left = distances[short], limit - short
    if needed.exact:
        said = (
            f"From step {short} on the output cannot be completed: that takes {_tokens(needed.tokens)}, {left} remain."
        )
    else:
        said = (
            f"From step {short} on the limit may cut the output off: the shortest end that is known takes "
            f"{_tokens(needed.tokens)}, {left} remain."
        )
    if trace.finish == "complete":
        return f"{said} This run found a shorter one."
    closing = "" if trace.spec.close_in_time else ", or turn on “close in time”, which keeps a run from getting here"
    return f"{said} Raise the limit to {short + needed.tokens} or more{closing}."


def _row(trace: Trace, index: int, distance: Distance) -> dict[str, Any]:
    step = trace.steps[index] if index < len(trace.steps) else None
    return {
        "token": token_text(step.token, step.token_id, step.end) if step else "",
        "needed": distance.tokens,
        "exact": distance.exact,
        "left": trace.spec.max_tokens - index,
    }


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count:,} tokens"


def _nothing() -> None:
    """Nobody listens to clicks."""
