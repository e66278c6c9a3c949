"""A message whose text is nobody's markup: errors quote schemas, patterns and tokens, which are hostile input."""

from __future__ import annotations

from typing import Literal

from visualizations.component import register
from visualizations.tokens import prose

_notice = register("notice")
_ICONS = {"error": "✕", "warning": "!", "info": "i"}


def notice(text: str, *, key: str, kind: Literal["error", "warning", "info"] = "error") -> None:
    """Draws `text` (its line breaks kept) with a mark of its kind; nothing if it is empty."""
    if text:
        lines = [prose(line) for line in text.splitlines()]
        _notice(key=key, data={"text": "\n".join(lines), "kind": kind, "icon": _ICONS[kind]})
