"""One of a list of texts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.budget import Budget
from engine.constraint import Constraint, Report
from engine.errors import ConstraintError

DEFAULT_BUDGET = Budget()


def compile_choices(choices: Sequence[str], *, budget: Budget = DEFAULT_BUDGET) -> Constraint:
    """The constraint whose texts are the choices. Raises `ConstraintError` if there are none."""
    started = time.monotonic()
    if not choices:
        raise ConstraintError("There must be at least one choice.", unsatisfiable=True)
    arena = Arena(budget)
    automaton = Automaton(arena, arena.words(choice.encode("utf-8") for choice in choices))
    return Constraint("choices", automaton, Report("choices", time.monotonic() - started, len(arena)))
