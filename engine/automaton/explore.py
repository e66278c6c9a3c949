"""What there is to see of a constraint after a text: a picture of few states, the stack, the way here.

What has more than `MOST_DRAWN` states, chains passed over, is shown as the neighbourhood of one of them. A recursive
constraint is shown a rule at a time, with the stack of the rules that were entered (rules.py).
"""

from __future__ import annotations

import time
from functools import partial
from weakref import WeakKeyDictionary

from engine.automaton.edges import ByteMachine
from engine.automaton.explorer import MOST_DRAWN, MOST_EDGES, TIME_TO_COUNT, Explorer, Known
from engine.automaton.picture import Canvas, DrawnEdge, DrawnGraph, DrawnState, Marks, label_of
from engine.automaton.terms import ALL_BYTES
from engine.automaton.view import StateTable, View
from engine.constraint import Constraint

__all__ = ["DrawnEdge", "DrawnGraph", "DrawnState", "StateTable", "View", "draw", "draw_bytes", "find_states", "look"]


def draw(constraint: Constraint, path: bytes, *, max_nodes: int = MOST_DRAWN) -> DrawnGraph:
    """The picture of a constraint after reading `path` (bytes of an accepted text's beginning).

    Raises ValueError if `path` leaves the language, `BudgetError` as the automaton does.
    """
    return look(constraint, path, max_nodes=max_nodes).graph


def look(
    constraint: Constraint,
    path: bytes,
    *,
    around: int | None = None,
    rule: int | None = None,
    part: str = "",
    open_bytes: int = ALL_BYTES,
    max_nodes: int = MOST_DRAWN,
) -> View:
    """What there is to see after reading `path`; of the rule given, else of the innermost one entered.

    `around`: the state to show where a picture would be too large to be whole (default: the current one); a number that
    is not known is ignored. `part`: the pointer of a part of the source whose first state is meant. `open_bytes`: what
    allowed tokens begin with. Raises as `draw` does.
    """
    with constraint.automaton.lock, constraint.automaton.arena.clock.running():
        explorer = _explorer(constraint)
        if part and around is None:
            around = explorer.first_of(part)
        if explorer.rules is None:
            return explorer.look(path, around, open_bytes, max_nodes)
        return explorer.look_at_rule(explorer.rules, path, around, rule, open_bytes, max_nodes)


def find_states(constraint: Constraint, path: bytes, query: str = "", *, most: int = 60) -> StateTable:
    """The known states that hold every word of `query` in number, part, rule or what remains; `path` gives the visits.

    In the order in which they were met. What remains is worked out a slice of time per call, so that among thousands of
    states a word in it may be found only when asked again.
    """
    with constraint.automaton.lock, constraint.automaton.arena.clock.running():
        return _explorer(constraint).find(path, query.casefold().split(), most)


def draw_bytes(constraint: Constraint, *, max_nodes: int = MOST_DRAWN) -> DrawnGraph | None:
    """Every state, and the bytes themselves: nothing folded or passed over. None if that is too much to draw."""
    with constraint.automaton.lock, constraint.automaton.arena.clock.running():
        machine = ByteMachine(constraint.automaton, exact=True)
        known = Known(machine.start)
        known.grow(machine, time.monotonic() + TIME_TO_COUNT, max_nodes)
        if known.frontier or sum(len(machine.edges(state)) for state in known.states) > MOST_EDGES:
            return None
        marks = Marks(machine.start, [], None, 0)
        label = partial(label_of, machine)
        canvas = Canvas(machine, lambda state: None, label, marks, frozenset(known.states), known.into)
        return canvas.graph(list(known.states), len(known.states), whole=True)


def _explorer(constraint: Constraint) -> Explorer:
    explorer = _explorers.get(constraint)
    if explorer is None:
        explorer = _explorers[constraint] = Explorer(constraint)
    return explorer


_explorers: WeakKeyDictionary[Constraint, Explorer] = WeakKeyDictionary()
