"""Every beginning of a text: may it end there, can it still be completed, and where is it lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.constraint import Constraint

Standing = Literal["accepted", "open", "dead", "unread"]
"""accepted: a text may end here; open: not yet, but it can be completed; dead: the byte that cannot be read; unread:
what stands behind that one."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A text up to and with one byte. `remains`: in words, what is still to come; of a dead byte what was expected."""

    byte: int
    standing: Standing
    remains: str


def prefixes(constraint: Constraint, text: bytes) -> tuple[Prefix, ...]:
    """One for each byte of the text. Raises BudgetError as the constraint does."""
    state: int | None = constraint.start
    found: list[Prefix] = []
    for byte in text:
        if state is None:
            found.append(Prefix(byte, "unread", ""))
            continue
        after = constraint.advance(state, bytes([byte]))
        if after is None:
            found.append(Prefix(byte, "dead", " or ".join(constraint.expected(state)) or "nothing"))
        else:
            standing: Standing = "accepted" if constraint.is_accepting(after) else "open"
            found.append(Prefix(byte, standing, constraint.describe(after)))
        state = after
    return tuple(found)
