"""Grammars that ship as examples, in the EBNF of Lark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GrammarExample:
    """A grammar with why it is worth looking at, and a text that it accepts."""

    name: str
    about: str
    accepted: str

    @property
    def text(self) -> str:
        """The grammar."""
        return (Path(__file__).parent / f"{self.name}.lark").read_text("utf-8")


LARK_EXAMPLES = (
    GrammarExample(
        "arithmetic",
        "Left-recursive rules for precedence, and white space that may stand between any two terminals.",
        "2 * (x + 3)^2 - max(a, b)",
    ),
    GrammarExample(
        "sql_select",
        "A small SQL dialect: keywords in any case, names that are no keywords, white space only where it must be.",
        "SELECT city, COUNT(*) AS n FROM visits WHERE year >= 2020 GROUP BY city ORDER BY n DESC LIMIT 5",
    ),
    GrammarExample(
        "key_value",
        "A wire format, exact to the byte: nothing is ignored, and every part has a bound.",
        'at=2026-11-03T10:15:00Z level=warn free=0.07 disk="/dev/sda 1" tags=[disk,night]',
    ),
)
