"""The distribution of one step three times over: as the model gave it, with the mask, renormalised.

The three columns share one token order (the model's), so an eye can follow a token across. It is a table with bars,
so it is its own text twin. A click on an allowed token asks for it instead of the one taken.
"""

from __future__ import annotations

from typing import Any

from engine.decoding.records import Candidate, Step
from visualizations.theme import Callback, register
from visualizations.tokens import candidate_text

_table = register("distribution")


def distribution(step: Step, *, vocabulary_size: int, drawn: bool, takes: bool, key: str, on_take: Callback) -> None:
    """Draws the candidates of `step`.

    `drawn`: show a fourth column, what the token was drawn with after temperature, top-k and top-p. `takes`: allowed
    tokens can be clicked, which calls `on_take` with step and id in the component's `.take`.
    """
    rows = [_row(c, step) for c in step.candidates]
    data = {"rows": rows, "rest": _rest(step, vocabulary_size), "drawn": drawn, "takes": takes, "step": step.index}
    _table(key=key, data=data, on_take_change=on_take)


def _row(candidate: Candidate, step: Step) -> dict[str, Any]:
    return {
        "id": candidate.token_id,
        "text": candidate_text(candidate),
        "rank": candidate.rank + 1,
        "raw": candidate.raw,
        "renormalised": candidate.renormalised,
        "sampling": candidate.sampling,
        "allowed": candidate.allowed,
        "taken": candidate.token_id == step.token_id,
    }


def _rest(step: Step, vocabulary_size: int) -> dict[str, Any]:
    shown = step.candidates
    kept = [c for c in shown if c.allowed]
    return {
        "count": vocabulary_size - len(shown),
        "allowed": step.allowed_count - len(kept),
        "raw": max(0.0, 1 - sum(c.raw for c in shown)),
        "masked": max(0.0, step.z - sum(c.raw for c in kept)),
        "renormalised": max(0.0, 1 - sum(c.renormalised for c in kept)),
        "sampling": max(0.0, 1 - sum(c.sampling for c in kept)),
    }
