"""Exact distances where few states can be reached: breadth first over the graph of states and tokens."""

from __future__ import annotations

from collections import deque

from engine.masking.targets import TargetWalk

SMALL = 128
"""States (after single bytes) that may be reachable where distances are measured."""


class ExactDistances:
    """The fewest tokens to acceptance, the end token included. Hold the automaton's lock.

    `distances`: by state in the form in which they are measured; closed under tokens that can be completed.
    """

    def __init__(self, walk: TargetWalk) -> None:
        self.distances: dict[int, int] = {}
        self._walk = walk
        self._automaton = walk.automaton
        self._large: set[int] = set()
        self._ways: dict[int, tuple[int, ...]] = {}

    def measure(self, state: int) -> int | None:
        """The form of a run's state whose distance is known now; None if too many states can be reached from it."""
        counted = self._automaton.counted_state(state)
        if counted not in self.distances:
            if self._is_large(counted):
                return None
            self._measure_from(counted)
        return counted

    def _is_large(self, start: int) -> bool:
        """Whether more than SMALL states can be reached, or some that depend on captured texts."""
        if start in self._large:
            return True
        found = {start}
        queue = deque([start])
        while queue:
            ways = [target for target in self._ways_on(queue.popleft()) if target not in found]
            found.update(ways)
            queue.extend(ways)
            if len(found) > SMALL or any(target < 0 or target in self._large for target in ways):
                self._large.add(start)
                return True
        return False

    def _ways_on(self, state: int) -> tuple[int, ...]:
        if state not in self._ways:
            self._ways[state] = tuple(dict.fromkeys(target for _, target in self._automaton.moves(state)))
        return self._ways[state]

    def _measure_from(self, start: int) -> None:
        """Find all states that tokens lead to, then go backwards from acceptance."""
        alphabet = self._walk.vocabulary.one_byte
        before: dict[int, list[int]] = {start: []}
        queue = deque([start])
        while queue:
            state = queue.popleft()
            for target in self._walk.targets(state).states:
                if self._automaton.spellable(target, alphabet):
                    if target not in before:
                        before[target] = []
                        queue.append(target)
                    before[target].append(state)
        found = {state: 1 for state in before if self._automaton.is_accepting(state)}
        queue = deque(found)
        while queue:
            state = queue.popleft()
            for source in before[state]:
                if source not in found:
                    found[source] = found[state] + 1
                    queue.append(source)
        self.distances.update(found)
