"""Two cuts of one text, one above the other: each token with its log-probability, the stretches that differ framed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.analysis.two_cuts import Piece, Stretch
from visualizations.component import Callback, register
from visualizations.tokens import token_text

_paths = register("lesson_paths")

SHOWN = 300
"""Stretches that are drawn."""


def paths(
    stretches: Sequence[Stretch],
    *,
    names: tuple[str, str],
    current: int | None,
    key: str,
    on_step: Callback,
    crosses: str = "crosses a boundary of the grammar",
) -> None:
    """Draws both cuts; `names` of the upper and of the lower row.

    A click on a token of the upper row that a step took calls `on_step`, its step in the component's `.step`.
    """
    data = {
        "stretches": [
            {"differs": one.differs, "upper": list(map(_piece, one.written)), "lower": list(map(_piece, one.own))}
            for one in stretches[:SHOWN]
        ],
        "more": max(0, len(stretches) - SHOWN),
        "names": list(names),
        "current": current,
        "crosses": crosses,
    }
    _paths(key=key, data=data, on_step_change=on_step)


def _piece(piece: Piece) -> dict[str, Any]:
    said = "" if piece.logprob is None else f"{piece.logprob:.2f}".replace("-", "−").replace("−0.00", "0.00")
    return {
        "text": token_text(piece.token, 0),
        "log": said,
        "dear": piece.logprob is not None and piece.logprob < -3,
        "step": piece.step,
        "crosses": piece.crosses,
    }
