"""What can go wrong with a constraint, and where it came from.

An `Origin` names a place in the user's source; every error and every automaton state can point back to one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Origin:
    """A place in the source of a constraint.

    `pointer` is a JSON Pointer ("" is the root) for a JSON Schema, `start-end` code point offsets for a regex, a rule
    name for a grammar. `keyword` is the JSON Schema keyword that speaks there, "" where none does.
    """

    pointer: str
    keyword: str = ""

    def __str__(self) -> str:
        place = self.pointer or "the root"
        return f"{place} ({self.keyword})" if self.keyword else place


class ConstraintError(ValueError):
    """A constraint that cannot be compiled, with the place to blame and what to change.

    `pointer`: JSON Pointer, or a position in the source ("line 3, column 7" or a code point offset).
    `keyword`: the JSON Schema keyword (or regex construct) to blame, "" if there is none.
    `unsatisfiable`: the constraint is well formed but no text satisfies it.
    """

    def __init__(self, message: str, *, pointer: str = "", keyword: str = "", unsatisfiable: bool = False) -> None:
        super().__init__(message)
        self.pointer = pointer
        self.keyword = keyword
        self.unsatisfiable = unsatisfiable


class BudgetError(ConstraintError):
    """A constraint that is well formed but larger than the `Budget` it was given."""

    def at(self, origin: Origin) -> BudgetError:
        """The error with the place that was being worked on, unless it names one."""
        if self.pointer or self.keyword or origin == Origin(""):
            return self
        return BudgetError(f"At {origin}: {self}", pointer=origin.pointer, keyword=origin.keyword)
