"""The automaton as a picture: few states, readable edges, the run's place in it.

States are those of the drawn form. Bytes of one character beyond ASCII are folded into one edge, edges between the same
two states are merged, and states with a single way on are passed over: a chain becomes one edge with its literal. What
is still too large is shown as the neighbourhood of the current state.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from engine.automaton import explain
from engine.automaton.terms import byte_range, members_of
from engine.constraint import Constraint
from engine.errors import Origin

CONTINUATION = byte_range(0x80, 0xBF)
ASCII = byte_range(0, 0x7F)

MOST_COUNTED = 1_000
"""States up to which a picture's states are counted; looking at more would cost every visitor of a large schema."""

LABEL_LENGTH = 28
PATH_SHOWN = 8
"""States of the path that a window keeps behind the current one."""


@dataclass(frozen=True, slots=True)
class DrawnState:
    """A state of the picture. `more`: edges that lead out of the window."""

    id: int
    label: str
    accepting: bool
    origin: Origin | None
    current: bool
    on_path: bool
    more: int = 0


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge of the picture, labelled with byte classes or the literal of a chain."""

    source: int
    target: int
    label: str
    allowed_now: bool
    on_path: bool
    chain: bool


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """A picture. `total_states`: states of the automaton, None if not counted in time. `whole`: nothing is left out.

    `hidden_dead`: ways that lead to no accepted text, among the states shown. `hides_counts`: some counter is so large
    that it is drawn as a loop.
    """

    states: tuple[DrawnState, ...]
    edges: tuple[DrawnEdge, ...]
    total_states: int | None
    hidden_dead: int
    whole: bool
    hides_counts: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """One edge before drawing: `via` are the states passed over on the way to `target`."""

    target: int
    label: str
    via: tuple[int, ...] = ()


def draw(constraint: Constraint, path: bytes, *, max_nodes: int = 60) -> DrawnGraph:
    """The picture of a constraint after reading `path` (bytes of an accepted text's beginning).

    Raises ValueError if `path` leaves the language, `BudgetError` as the automaton does.
    """
    with constraint.automaton.lock:
        return _explorers.setdefault(constraint, _Explorer(constraint)).draw(path, max_nodes)


class _Explorer:
    """What is known of one constraint's picture; grows as it is looked at."""

    def __init__(self, constraint: Constraint) -> None:
        self.automaton = constraint.automaton
        self.constraint = constraint
        self.start = self.automaton.drawn_state(self.automaton.start)
        self._edges: dict[int, tuple[tuple[int, str], ...]] = {}
        self._is_large = False

    def draw(self, path: bytes, max_nodes: int) -> DrawnGraph:
        walked = self._walk(path)
        current = walked[-1]
        junctions, total = self._all_junctions(current, max_nodes)
        whole = junctions is not None
        shown = junctions if junctions is not None else self._window(walked, max_nodes)
        on_path = set(walked)
        states, edges = [], []
        for state in shown:
            ways = self._ways(state, current)
            inside = [way for way in ways if way.target in shown]
            edges += [self._edge(state, way, current, walked) for way in inside]
            states.append(self._state(state, current, state in on_path, len(ways) - len(inside)))
        dead = sum(self._dead(state) for state in shown)
        return DrawnGraph(tuple(states), tuple(edges), total, dead, whole, self.automaton.arena.hides_counts)

    def _walk(self, path: bytes) -> list[int]:
        states = [self.start]
        for byte in path:
            following = self.automaton.step(states[-1], byte)
            if following < 0:
                raise ValueError("The path leaves the language of the constraint.")
            states.append(following)
        return states

    def _all_junctions(self, current: int, max_nodes: int) -> tuple[dict[int, None] | None, int | None]:
        """Every state to draw and the number of all states; None where there are too many to draw or to count."""
        if self._is_large:
            return None, None
        junctions: dict[int, None] = {self.start: None}
        passed: set[int] = set()
        queue = deque([self.start])
        while queue:
            for way in self._ways(queue.popleft(), current):
                passed.update(way.via)
                if way.target not in junctions:
                    junctions[way.target] = None
                    queue.append(way.target)
            if len(passed) + len(junctions) > MOST_COUNTED:
                self._is_large = True
                return None, None
        junctions[current] = None  # it may be inside a character
        total = len(passed | junctions.keys())
        return (junctions if len(junctions) <= max_nodes else None), total

    def _window(self, walked: list[int], max_nodes: int) -> dict[int, None]:
        """The current state, the states just passed, and what can be reached in few steps."""
        current = walked[-1]
        behind = [state for state in dict.fromkeys(reversed(walked)) if self._is_junction(state)][:PATH_SHOWN]
        shown: dict[int, None] = dict.fromkeys([current, *behind])
        queue = deque([current])
        while queue and len(shown) < max_nodes // 2:
            for way in self._ways(queue.popleft(), current):
                if way.target not in shown and len(shown) < max_nodes // 2:
                    shown[way.target] = None
                    queue.append(way.target)
        return shown

    def _is_junction(self, state: int) -> bool:
        edges = self._raw(state)
        return self.automaton.is_accepting(state) or len(edges) != 1 or len(edges[0][1]) != 1

    def _ways(self, state: int, current: int) -> list[Way]:
        """Edges to the next junctions; a chain ends at the current state, at an accepting one, or where it forks."""
        ways = []
        for target, label in self._raw(state):
            via: list[int] = []
            while target != current and target not in via and target != state and not self._is_junction(target):
                via.append(target)
                target, more = self._raw(target)[0]
                label += more
            ways.append(Way(target, label, tuple(via)))
        return ways

    def _raw(self, state: int) -> tuple[tuple[int, str], ...]:
        """Merged edges of one state, characters beyond ASCII folded: (target, label)."""
        if state not in self._edges:
            plain: dict[int, int] = {}
            beyond: dict[int, int] = {}
            for members, target in self.automaton.moves(state):
                if members & ~ASCII and not self._is_continuation(state):
                    for end in self._ends(target):
                        beyond[end] = beyond.get(end, 0) | members & ~ASCII
                    members &= ASCII
                if members:
                    plain[target] = plain.get(target, 0) | members
            targets = dict.fromkeys([*plain, *beyond])
            self._edges[state] = tuple((t, _label(plain.get(t, 0), beyond.get(t, 0))) for t in targets)
        return self._edges[state]

    def _is_continuation(self, state: int) -> bool:
        moves = self.automaton.moves(state)
        return bool(moves) and not self.automaton.is_accepting(state) and not any(m & ~CONTINUATION for m, _ in moves)

    def _ends(self, target: int) -> list[int]:
        """The states in which a character that has begun may end."""
        pending, seen = [target], {target}
        ends: dict[int, None] = {}
        while pending:
            state = pending.pop()
            if not self._is_continuation(state):
                ends[state] = None
                continue
            for _, following in self.automaton.moves(state):
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        return list(ends)

    def _dead(self, state: int) -> int:
        every = self.automaton.arena.moves(self.automaton.term(state))
        return len(every) - len(self.automaton.moves(state))

    def _state(self, state: int, current: int, on_path: bool, more: int) -> DrawnState:
        owners = explain.origins(self.automaton.arena, self.automaton.term(state))
        label = explain.describe(self.automaton.term(state))
        label = label if len(label) <= LABEL_LENGTH else label[: LABEL_LENGTH - 1] + "…"
        accepting = self.automaton.is_accepting(state)
        return DrawnState(state, label, accepting, owners[0] if owners else None, state == current, on_path, more)

    def _edge(self, state: int, way: Way, current: int, walked: list[int]) -> DrawnEdge:
        steps = [state, *way.via, way.target]
        on_path = _contains(walked, steps) if way.via else _follows(walked, state, way.target)
        return DrawnEdge(state, way.target, way.label, state == current, on_path, bool(way.via))


def _contains(walked: list[int], steps: list[int]) -> bool:
    first = steps[0]
    return any(walked[i : i + len(steps)] == steps for i, state in enumerate(walked) if state == first)


def _follows(walked: list[int], state: int, target: int) -> bool:
    """Whether the path goes from one state to the other, at most the bytes of one character later."""
    return any(target in walked[index + 1 : index + 5] for index, passed in enumerate(walked) if passed == state)


def _label(plain: int, beyond: int) -> str:
    if not beyond:
        return explain.label(plain)
    if plain:
        return explain.label(plain | beyond)
    leads = members_of(beyond)
    return "[beyond ASCII]" if len(leads) > 1 else f"{explain.shown(bytes(leads))}…"


_explorers: WeakKeyDictionary[Constraint, _Explorer] = WeakKeyDictionary()
