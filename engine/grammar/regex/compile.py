"""`compile_regex`: from a regular expression to a constraint."""

from __future__ import annotations

import time
from typing import Literal

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.budget import Budget
from engine.constraint import Constraint, Report
from engine.errors import BudgetError, ConstraintError
from engine.grammar.charset import utf8
from engine.grammar.regex.ecma import parse_ecma
from engine.grammar.regex.lower import lower
from engine.grammar.regex.python import parse_python

DEFAULT_BUDGET = Budget()
PARSERS = {"python": parse_python, "ecma262": parse_ecma}


def compile_regex(
    pattern: str, *, dialect: Literal["python", "ecma262"] = "python", budget: Budget = DEFAULT_BUDGET
) -> Constraint:
    """The constraint whose texts match the whole pattern, as UTF-8.

    Raises `ConstraintError` with the position (a code point offset) of what is malformed or not regular, or if nothing
    matches; `BudgetError` for a pattern beyond the budget.
    """
    started = time.monotonic()
    if dialect not in PARSERS:
        raise ConstraintError(f"The dialect must be 'python' or 'ecma262', not {dialect!r}.")
    size = len(pattern.encode("utf-8", "surrogatepass"))
    if size > budget.source_bytes:
        raise BudgetError(f"The regex has {size:,} bytes; {budget.source_bytes:,} are allowed.", pointer="0")
    arena = Arena(budget)
    arena.clock.start()
    with arena.lifetime:
        node = PARSERS[dialect](pattern, arena.check_time)
        root = lower(node, arena, lambda members: utf8(arena, members), search=False, tagged=True)
        automaton = Automaton(arena, root)
        if automaton.start < 0:
            raise ConstraintError("Unsatisfiable: no text matches this regex.", pointer="0", unsatisfiable=True)
    arena.clock.stop()
    return Constraint("regex", automaton, Report("regex", time.monotonic() - started, len(arena)))
