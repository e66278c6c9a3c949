"""What is known of one constraint's states. It grows as it is looked at, a slice of time each."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from itertools import islice

from engine.automaton import explain
from engine.automaton.edges import CONTINUATION, ByteMachine, Machine, is_inside
from engine.automaton.picture import Canvas, DrawnGraph, Marks, label_of
from engine.automaton.rules import Frame, NamedRule, Reading, Rules
from engine.automaton.view import FoundState, Passed, RuleName, StackFrame, StateTable, View
from engine.constraint import Constraint
from engine.errors import Origin
from engine.scheduling import Bustle, others_since

MOST_DRAWN = 60
MOST_EDGES = 100
"""Nodes and edges of a picture: what is laid out in a fraction of a second."""

FEWEST_COUNTED = 200
MOST_COUNTED = 5_000
"""States of one start that are looked for: in any case, and at all."""

TIME_AT_FIRST = 0.02
TIME_TO_LOOK = 0.005
TIME_TO_COUNT = 0.15
"""Seconds that the first look, another, or a question may spend on it; the next one goes on where it stopped. A page
looks again with each redraw, which a whole room waits for."""

SPARED = 0.002
"""Seconds that others may work meanwhile; then it waits for the next look."""

QUIET = 0.25
SELDOM = 0.5
"""Of the time since anybody's last look, others may have worked so much: in a room that works nothing is counted but by
one look in so many seconds. For who is alone, others are the run whose end is drawn, and that is not drawn again."""

_bustle = Bustle()

IGNORED = "%ignore"
"""Who speaks for what a grammar ignores; it may stand nearly everywhere, and whoever speaks besides says more."""

FIRST_RULES = {"lark": "start", "gbnf": "root"}
"""How the rule that a grammar begins with is called. In other constraints only what is recursive is a rule."""


class Known:
    """States met from one start, breadth first, with those from which an edge leads to them."""

    def __init__(self, start: int) -> None:
        self.states: dict[int, None] = {start: None}
        self.into: dict[int, list[int]] = {}
        self.frontier = deque([start])
        self.counted = 0  # those whose owners `Explorer.owned` counts

    def grow(self, machine: Machine, until: float, most: int = MOST_COUNTED) -> None:
        """Look at more states until there are no others, more than `most` are known, or it is too late: while others
        have work to do, soon.

        `FEWEST_COUNTED` are looked at in any case, so that what is small does not look large where time is short.
        """
        others = others_since()
        while self.frontier and len(self.states) <= most:
            if len(self.states) > FEWEST_COUNTED and (time.monotonic() > until or others() > SPARED):
                break
            state = self.frontier.popleft()
            for edge in machine.edges(state):
                self.into.setdefault(edge.target, []).append(state)
                if edge.target not in self.states:
                    self.states[edge.target] = None
                    self.frontier.append(edge.target)


class Explorer:
    """What is known of one constraint's states; grows as it is looked at. `rules` None: it is not recursive."""

    def __init__(self, constraint: Constraint) -> None:
        self.automaton = constraint.automaton
        self.bytes = ByteMachine(self.automaton)
        first = FIRST_RULES.get(constraint.kind)
        rules = Rules(self.automaton, calls_all=first is not None, first=first or "the root")
        self.rules = rules if rules.is_pushdown else None
        self.machine: Machine = self.rules or self.bytes
        self.known: dict[int, Known] = {}
        self.owners: dict[int, Origin | None] = {}
        self.owned: dict[str, int] = {}
        self.labels: dict[int, str] = {}

    def look(self, path: bytes, around: int | None, open_bytes: int, max_nodes: int) -> View:
        """The whole constraint's automaton."""
        passed = self._passed(path)
        known = self._grown(self.bytes.start, self._time_to_look())
        current = passed[-1].state
        marks = Marks(self.bytes.start, self._between_characters(passed, path), current, open_bytes)
        graph = self._graph(known, marks, around, max_nodes)
        return View(graph, current, self._owner(current), passed, self._owned(), self._count(), not known.frontier)

    def look_at_rule(
        self, rules: Rules, path: bytes, around: int | None, rule: int | None, open_bytes: int, max_nodes: int
    ) -> View:
        """The automaton of one rule, and the stack."""
        readings = self._readings(rules, path)
        stack = stack_of(readings[0].top)
        until = self._time_to_look()
        met = 0
        while met < len(rules.known):  # looking at the states of one meets the rules that it calls
            self._grown(rules.first(rules.known[met]), until)
            met += 1
        if around is not None and rules.has(around):
            rule = rules.rule_of(around).number
        shown = rules.known[rule] if rule is not None and 0 <= rule < len(rules.known) else stack[-1].rule
        known = self._grown(rules.first(shown), until)
        marks = _marks_in(rules, shown, stack, open_bytes)
        return View(
            self._graph(known, marks, around, max_nodes),
            stack[-1].state,
            self._owner(stack[-1].state),
            self._passed(path),
            self._owned(),
            self._count(),
            not any(found.frontier for found in self.known.values()),
            tuple(RuleName(r.number, r.name, r.terminal) for r in rules.known),
            tuple(StackFrame(f.rule.number, f.rule.name, f.state, f is not stack[-1] and f.passing) for f in stack),
            shown.number,
            len(readings),
        )

    def find(self, path: bytes, words: list[str], most: int) -> StateTable:
        """See `find_states`."""
        visits = Counter(passed.state for passed in self._passed(path))
        listed = dict.fromkeys([state for known in self.known.values() for state in known.states]) | dict.fromkeys(
            visits
        )
        if words:
            self._describe(listed)
        found = [state for state in listed if all(word in self._searched(state) for word in words)]
        found.sort(key=lambda state: self._distance(state, words))
        return StateTable(tuple(self._found(state, visits[state]) for state in found[:most]), len(found), len(listed))

    def _distance(self, state: int, words: list[str]) -> int:
        """0 if the words are the state's number, 1 if its part holds them all, else 2."""
        if words == [str(state)]:
            return 0
        part = str(self._owner(state) or "").casefold()
        return 1 if all(word in part for word in words) else 2

    def first_of(self, part: str) -> int | None:
        """The first known state that a part of the source or something inside it owns."""
        for state in [state for known in self.known.values() for state in known.states]:
            owner = self._owner(state)
            if owner is not None and (owner.pointer == part or owner.pointer.startswith(f"{part}/")):
                return state
        return None

    def _describe(self, listed: Iterable[int]) -> None:
        until = time.monotonic() + TIME_TO_COUNT
        for state in listed:
            if time.monotonic() > until:
                break
            self._label(state)

    def _searched(self, state: int) -> str:
        accepting = "accepting" if self.machine.is_accepting(state) else ""
        rule = self.rules.rule_of(state).name if self.rules else ""
        return f"{state} {self.labels.get(state, '')} {self._owner(state) or ''} {rule} {accepting}".casefold()

    def _label(self, state: int) -> str:
        if state not in self.labels:
            self.labels[state] = label_of(self.machine, state)
        return self.labels[state]

    def _found(self, state: int, visits: int) -> FoundState:
        machine = self.machine
        rule = self.rules.rule_of(state).name if self.rules else ""
        label, ways = self._label(state), len(machine.edges(state))
        return FoundState(state, label, self._owner(state), rule, machine.is_accepting(state), ways, visits)

    def _graph(self, known: Known, marks: Marks, around: int | None, max_nodes: int) -> DrawnGraph:
        is_known = around is not None and (around in known.states or around in marks.walked)
        stops = self._landings(known) | ({around} if around is not None and is_known else set())
        canvas = Canvas(self.machine, self._owner, self._label, marks, frozenset(stops), known.into)
        total = None if known.frontier else len(known.states)
        hides = self.automaton.arena.hides_counts
        here = marks.waiting if marks.current is None else marks.current
        if total is not None:
            shown = dict.fromkeys(islice(filter(canvas.is_shown, known.states), max_nodes + 1))
            shown |= dict.fromkeys([state for state in (here, *sorted(stops)) if state is not None])
            edges = sum(len(self.machine.edges(state)) for state in shown)
            if len(shown) <= max_nodes and edges <= MOST_EDGES:
                return canvas.graph(list(shown), total, whole=True, hides=hides)
        middle = around if around is not None and is_known else here
        middle = next(iter(known.states)) if middle is None else middle
        near = canvas.neighbourhood(middle, max_nodes // 2)
        return canvas.graph(near, total, whole=False, hides=hides, middle=middle)

    def _passed(self, path: bytes) -> tuple[Passed, ...]:
        if self.rules is not None:
            passed = []
            reading: Reading | None = self._readings(self.rules, path)[0]
            while reading is not None:
                passed.append(Passed(reading.top.state, reading.top.depth))
                reading = reading.before
            return tuple(reversed(passed))
        walked = [self.bytes.start]
        for byte in path:
            walked.append(self.automaton.step(walked[-1], byte))
            if walked[-1] < 0:
                raise ValueError("The path leaves the language of the constraint.")
        return tuple(Passed(state, 0) for state in walked)

    def _between_characters(self, passed: Sequence[Passed], path: bytes) -> list[int]:
        """The states passed, those inside a character left out; the last in any case.

        A state is inside one only if a byte was read there that continues one, so few are looked at.
        """
        states, current = [p.state for p in passed], passed[-1].state
        read = (*path, None)
        return [
            state
            for state, byte in zip(states, read, strict=True)
            if byte is None or not CONTINUATION >> byte & 1 or state == current or not is_inside(self.bytes, state)
        ]

    def _readings(self, rules: Rules, path: bytes) -> tuple[Reading, ...]:
        readings = rules.read(path)
        if not readings:
            raise ValueError("The path leaves the language of the constraint.")
        return readings

    def _grown(self, start: int, until: float) -> Known:
        known = self.known.setdefault(start, Known(start))
        known.grow(self.machine, until)
        return known

    def _landings(self, known: Known) -> set[int]:
        """States in which a text goes on after a rule."""
        if self.rules is None:
            return set()
        return {edge.target for state in known.states for edge in self.rules.edges(state) if edge.rule is not None}

    def _time_to_look(self) -> float:
        """When a look that begins now has looked for long enough: at once in a room that works, but for the first."""
        is_first = not self.known
        seconds = TIME_AT_FIRST if is_first else TIME_TO_LOOK if _bustle.permits(QUIET, SELDOM) else 0.0
        return time.monotonic() + seconds

    def _owned(self) -> dict[str, int]:
        for known in self.known.values():
            for state in islice(known.states, known.counted, None):
                owner = self._owner(state)
                if owner is not None:
                    self.owned[owner.pointer] = self.owned.get(owner.pointer, 0) + 1
            known.counted = len(known.states)
        return dict(self.owned)

    def _count(self) -> int:
        return sum(len(known.states) for known in self.known.values())

    def _owner(self, state: int) -> Origin | None:
        if state not in self.owners:
            found = explain.origins(self.automaton.arena, self.machine.term(state))
            speaking = [owner for owner in found if owner.pointer != IGNORED] or found
            self.owners[state] = speaking[0] if speaking else None
        return self.owners[state]


def stack_of(top: Frame) -> list[Frame]:
    """The frames of a stack, outermost first."""
    stack: list[Frame] = []
    frame: Frame | None = top
    while frame is not None:
        stack.append(frame)
        frame = frame.caller
    return stack[::-1]


def _marks_in(rules: Rules, rule: NamedRule, stack: list[Frame], open_bytes: int) -> Marks:
    """Where the innermost frame of a rule stands."""
    start, frame = rules.first(rule), next((frame for frame in reversed(stack) if frame.rule is rule), None)
    if frame is None:
        return Marks(start, [], None, 0)
    is_top = frame is stack[-1]
    trail = frame.trail if is_top else frame.trail[:-1]
    walked = [state for state in trail if (is_top and state == frame.state) or not is_inside(rules, state)]
    if is_top:
        return Marks(start, walked, frame.state, open_bytes)
    return Marks(start, walked, None, 0, waiting=frame.state)
