"""Least fixpoints over the calls of a grammar: of a recursion without a base case nothing but the worst is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from engine.automaton.terms import Call, Seq, Term

V = TypeVar("V")


class LeastFixpoint(Generic[V]):
    """Values of terms: assumes the worst of every call and evaluates the calls' cores until nothing changes.

    `known`: values by term id, read and added to. `evaluate` gives the value of a term that is no call; it asks for
    those of its parts: in a sequence of its head and its tail, when all parts have been asked for. `settle`: the value
    of a call that is known beforehand, else None. `check_time` is called often.
    It refers to nothing that refers to it: what it was asked about is freed with the last who needs it.
    """

    def __init__(
        self,
        known: dict[int, V],
        evaluate: Callable[[Term, Callable[[Term], V]], V],
        bottom: V,
        settle: Callable[[Call], V | None],
        core: Callable[[Call], Term],
        check_time: Callable[[], None],
    ) -> None:
        self._known = known
        self._evaluate = evaluate
        self._bottom = bottom
        self._settle = settle
        self._core = core
        self._check_time = check_time
        self._assumed: dict[Call, V] = {}
        self._passing: dict[int, V] = {}

    def of(self, term: Term) -> V:
        """The value of a term; it and those of all calls below are known from then on."""
        result = self._ask(term)
        changed = bool(self._assumed)
        while changed:
            self._discover()
            changed = False
            for call in reversed(list(self._assumed)):
                self._check_time()
                self._passing.clear()
                value = self._ask(self._core(call))
                if value != self._assumed[call]:
                    self._assumed[call] = value
                    changed = True
            self._passing.clear()
            result = self._ask(term)
        self._known.update((call.id, value) for call, value in self._assumed.items())
        self._known.update(self._passing)
        self._known[term.id] = result
        return result

    def _ask(self, part: Term) -> V:
        if part.id in self._known:
            return self._known[part.id]
        if isinstance(part, Call):
            settled = self._settle(part)
            return self._assumed.setdefault(part, self._bottom) if settled is None else settled
        if part.id not in self._passing:
            if isinstance(part, Seq) and not part.nullable:
                self._ask_sequence(part)
            else:
                self._passing[part.id] = self._evaluate(part, self._ask)
        return self._passing[part.id]

    def _ask_sequence(self, term: Seq) -> None:
        """Ask for the parts, the first first; then evaluate from the end what follows each of them, which may be
        thousands: each adds its own value to the next one's."""
        rests = []
        rest: Term = term
        while isinstance(rest, Seq) and not (rest.nullable or rest.id in self._known or rest.id in self._passing):
            self._ask(rest.head)
            rests.append(rest)
            rest = rest.tail
        self._ask(rest)
        for rest in reversed(rests):
            self._passing[rest.id] = self._evaluate(rest, self._ask)

    def _discover(self) -> None:
        """Ask for every call's core, so that all calls below are assumed before the first is settled."""
        found = 0
        while found < len(self._assumed):
            calls = list(self._assumed)
            for call in calls[found:]:
                self._check_time()
                self._ask(self._core(call))
            found = len(calls)
