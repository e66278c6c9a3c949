"""One picture of an automaton: which states and edges it has, and which of them the text has passed.

States with a single way on are passed over: a chain becomes one edge with its literal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from engine.automaton import explain
from engine.automaton.edges import Machine, is_junction, joined
from engine.errors import Origin

LABEL_LENGTH = 60
HOPS = 2
"""Edges from the middle of a neighbourhood to its border."""
BEHIND = 3
"""States that a neighbourhood keeps of the path to its middle, and of other ways to it."""


@dataclass(frozen=True, slots=True)
class DrawnState:
    """A state of the picture. `more`: edges that lead out of it; `start`: every text begins here.

    `waiting`: the text goes on here once the rules that it has entered are done.
    """

    id: int
    label: str
    accepting: bool
    origin: Origin | None
    current: bool
    on_path: bool
    more: int = 0
    waiting: bool = False
    start: bool = False


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge of the picture, labelled with byte classes, the literal of a chain or the rule that it reads.

    `allowed_now`: an allowed token begins along it. `rule`: number of the rule, None for bytes.
    """

    source: int
    target: int
    label: str
    allowed_now: bool
    on_path: bool
    chain: bool
    rule: int | None = None


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """A picture. `total_states`: states of the automaton, None if not counted in time. `whole`: nothing is left out.

    `hidden_dead`: ways that lead to no accepted text, among the states shown. `hides_counts`: some counter is so large
    that it is drawn as a loop. `middle`: the state that a neighbourhood surrounds.
    """

    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]
    total_states: int | None
    hidden_dead: int
    whole: bool
    hides_counts: bool = False
    middle: int | None = None


@dataclass(frozen=True, slots=True)
class Way:
    """One edge before it is drawn: `via` are the states passed over, `first` the bytes that it may begin with."""

    target: int
    label: str
    first: int
    via: tuple[int, ...] = ()
    rule: int | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """What a step adds to a picture. `walked`: states that the text has passed between characters, and the current one;
    `open_bytes`: what tokens allowed now begin with. `current` None: the text stands elsewhere; `waiting`: where it
    will come back to."""

    start: int
    walked: Sequence[int]
    current: int | None
    open_bytes: int
    waiting: int | None = None


class Canvas:
    """Draws pictures of one machine.

    `owner`, `label`: who speaks in a state and what remains there. `stops`: states that no chain passes over. `into`:
    known states before a state.
    """

    def __init__(
        self,
        machine: Machine,
        owner: Callable[[int], Origin | None],
        label: Callable[[int], str],
        marks: Marks,
        stops: frozenset[int],
        into: Mapping[int, Sequence[int]],
    ) -> None:
        self.machine = machine
        self.owner = owner
        self.label = label
        self.marks = marks
        self.stops = stops | {state for state in (marks.start, marks.current, marks.waiting) if state is not None}
        self.into = into

    def is_shown(self, state: int) -> bool:
        """Whether no chain passes over the state."""
        return state in self.stops or is_junction(self.machine, state)

    def graph(
        self, shown: Sequence[int], total: int | None, *, whole: bool, hides: bool = False, middle: int | None = None
    ) -> DrawnGraph:
        """The picture of the states `shown` and of the edges between them."""
        inside = dict.fromkeys(shown)
        states, edges = [], []
        for state in inside:
            ways = self.ways(state)
            kept = [way for way in ways if way.target in inside]
            edges += [self._edge(state, way) for way in kept]
            states.append(self._state(state, len(ways) - len(kept)))
        edges += self._into_character(inside, edges)
        dead = sum(self.machine.dead(state) for state in inside)
        return DrawnGraph(tuple(states), tuple(edges), total, dead, whole, hides, middle)

    def neighbourhood(self, middle: int, most: int) -> list[int]:
        """The middle, the states just before it, and what `HOPS` edges reach from it."""
        before = self.marks.walked[: self.marks.walked.index(middle)] if middle in self.marks.walked else []
        passed = islice(filter(self.is_shown, dict.fromkeys(reversed(before))), BEHIND)
        shown = dict.fromkeys([middle, *passed, *self._sources(middle)[:BEHIND]])
        border = [middle]
        for _ in range(HOPS):
            border = [way.target for state in border for way in self.ways(state) if way.target not in shown]
            shown.update(dict.fromkeys(border[: max(0, most - len(shown))]))
        return list(shown)

    def ways(self, state: int) -> list[Way]:
        """Edges to the next states shown; a chain ends where it comes back to itself."""
        ways = []
        for edge in self.machine.edges(state):
            target, labels = edge.target, [edge]
            via: list[int] = []
            while edge.rule is None and target not in via and target != state and not self.is_shown(target):
                via.append(target)
                following = self.machine.edges(target)[0]
                labels.append(following)
                target = following.target
            ways.append(Way(target, joined(labels), edge.first, tuple(via), edge.rule))
        return ways

    def _sources(self, state: int) -> list[int]:
        """Known states shown from which an edge leads here."""
        pending, found, seen = list(self.into.get(state, ())), [], {state}
        while pending:
            source = pending.pop(0)
            if source in seen:
                continue
            seen.add(source)
            if self.is_shown(source):
                found.append(source)
            else:
                pending += self.into.get(source, ())
        return found

    def _state(self, state: int, more: int) -> DrawnState:
        marks = self.marks
        return DrawnState(
            state,
            self.label(state),
            self.machine.is_accepting(state),
            self.owner(state),
            state == marks.current,
            state in self.marks.walked,
            more,
            state == marks.waiting,
            state == marks.start,
        )

    def _edge(self, state: int, way: Way) -> DrawnEdge:
        steps, walked = [state, *way.via, way.target], self.marks.walked
        allowed = state == self.marks.current and bool(way.first & self.marks.open_bytes)
        on_path = any(walked[i : i + len(steps)] == steps for i, s in enumerate(walked) if s == state)
        return DrawnEdge(state, way.target, way.label, allowed, on_path, bool(way.via), way.rule)

    def _into_character(self, shown: Mapping[int, None], edges: Sequence[DrawnEdge]) -> list[DrawnEdge]:
        """The way to the current state where it is inside a character, to which no folded edge leads."""
        current = self.marks.current
        if current is None or current not in shown or any(edge.target == current for edge in edges):
            return []
        before = next((state for state in reversed(self.marks.walked[:-1]) if state in shown), None)
        if before is None or before == current:
            return []
        return [DrawnEdge(before, current, "begun character", False, True, True)]


def label_of(machine: Machine, state: int) -> str:
    """What remains to be read, in words of at most `LABEL_LENGTH` characters."""
    label = explain.describe(machine.term(state))
    return label if len(label) <= LABEL_LENGTH else label[: LABEL_LENGTH - 1] + "…"
