"""Which of the many ways to write a JSON value the constraint accepts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args, get_type_hints

from engine.errors import ConstraintError


@dataclass(frozen=True, slots=True)
class Options:
    """Language options of a JSON Schema constraint.

    key_order: "schema" (declared order, undeclared names last) or "any".
    whitespace: "compact" (none), "spaced" (an optional space after `,` and `:`), "any" (JSON white space, at most
    `max_whitespace` bytes in a row).
    spelling: "plain" (minimal escapes, integers without fraction, plain decimals) or "any" (every escape, 1.0 for 1,
    exponents).
    objects: "open" or "closed" (objects that declare properties admit no others, unless additionalProperties says so).
    formats: "enforce" or "annotate". on_unsupported: "error" or "report".
    """

    key_order: Literal["schema", "any"] = "schema"
    whitespace: Literal["compact", "spaced", "any"] = "spaced"
    spelling: Literal["plain", "any"] = "plain"
    objects: Literal["open", "closed"] = "open"
    formats: Literal["enforce", "annotate"] = "enforce"
    on_unsupported: Literal["error", "report"] = "error"
    max_whitespace: int = 64

    def __post_init__(self) -> None:
        for name, allowed in _choices().items():
            value = getattr(self, name)
            if value not in allowed:
                choices = " or ".join(repr(choice) for choice in allowed)
                raise ConstraintError(f"The option {name} must be {choices}, not {value!r}.")
        if not isinstance(self.max_whitespace, int) or self.max_whitespace < 1:
            raise ConstraintError("The option max_whitespace must be a whole number, at least 1.")


@cache
def _choices() -> dict[str, tuple[str, ...]]:
    """By option that has a choice of words: those words."""
    hints = get_type_hints(Options).items()
    return {name: allowed for name, hint in hints if (allowed := get_args(hint))}
