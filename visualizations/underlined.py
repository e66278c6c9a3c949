"""A text with some of its bytes underlined, as plain text of fixed width."""

from __future__ import annotations

from collections.abc import Sequence

from visualizations.tokens import visible

WIDE = 76
"""Characters of a line."""


def underlined(text: bytes, marked: Sequence[bool]) -> str:
    """The text in lines, each with marks under its `marked` bytes; the bytes of a character share one."""
    cells: list[tuple[str, str]] = []
    at = 0
    for character in text.decode(errors="replace"):
        size = len(character.encode()) if character != "\ufffd" else 1
        mark = "▔" if all(marked[at : at + size]) and at < len(marked) else " "
        cells += [(shown, mark) for shown in visible(character)]
        at += size
    lines = [cells[start : start + WIDE] for start in range(0, len(cells), WIDE)]
    return "\n".join("".join(cell[row] for cell in line).rstrip() for line in lines for row in (0, 1))
