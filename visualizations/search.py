"""Tokens found by their text, each with whether the mask lets it through and why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from visualizations.theme import Callback, register
from visualizations.tokens import prose, token_text

_found = register("found")


@dataclass(frozen=True, slots=True)
class Found:
    """A token of the vocabulary; `why` says what masks it, "" if it is allowed."""

    token_id: int
    token: bytes
    allowed: bool
    why: str = ""
    end: bool = False


def found_tokens(found: Sequence[Found], *, step: int, takes: bool, key: str, on_take: Callback) -> None:
    """A list of tokens.

    With `takes`, a click on an allowed one calls `on_take`, step and id in the component's `.take`.
    """
    rows = [
        {"id": f.token_id, "text": token_text(f.token, f.token_id, f.end), "allowed": f.allowed, "why": prose(f.why)}
        for f in found
    ]
    _found(key=key, data={"rows": rows, "step": step, "takes": takes}, on_take_change=on_take)
