"""Tokens found by their text, and a few that one asks about often; each with whether the mask lets it through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualizations.component import Callback, register
from visualizations.tokens import prose

_lookup = register("lookup")


@dataclass(frozen=True, slots=True)
class Found:
    """A token of the vocabulary as it is shown; `why` says what masks it, "" if it is allowed or nobody asked."""

    token_id: int
    text: str
    allowed: bool
    why: str = ""


def found_tokens(
    found: Sequence[Found] | None,
    often: Sequence[Found],
    *,
    total: int,
    step: int,
    selected: int,
    key: str,
    on_select: Callback,
) -> None:
    """Draws the tokens `found` of `total` (None: nothing was searched for) and those asked for `often`.

    A click calls `on_select`, step and token id in the component's `.select`.
    """
    data = {
        "rows": None if found is None else [_row(token) for token in found],
        "often": [_row(token) for token in often],
        "total": total,
        "step": step,
        "selected": selected,
    }
    _lookup(key=key, data=data, on_select_change=on_select)


def _row(found: Found) -> dict[str, object]:
    return {"id": found.token_id, "text": found.text, "allowed": found.allowed, "why": prose(found.why)}
