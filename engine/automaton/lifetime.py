"""How long terms are needed.

Terms refer to each other in circles (what follows a repetition is the repetition), and so do rules and what they are
made from. Left alone they would wait for Python's collector, which seldom looks at everything, as that holds everybody
up for seconds. So whoever needs the terms of an arena holds a lease; with the last lease, they are taken apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import finalize, ref

from engine.automaton.terms import Call, Capture

if TYPE_CHECKING:
    from engine.automaton.arena import Arena


class Lease:
    """Held by whoever needs the terms of an arena."""


class Lifetime:
    """Of one arena. `at_end`: called when its terms are taken apart, by those who refer to terms that refer to them.

    As a context, it ends with what is raised in it: what was refused is let go of at once, for it may be much.
    """

    def __init__(self, arena: Arena) -> None:
        self._arena: Arena | None = arena
        self._latest: ref[Lease] | None = None
        self.at_end: list[Callable[[], None]] = []

    def lease(self) -> Lease:
        """The lease, to hold as long as the terms are needed."""
        lease = self._latest() if self._latest else None
        if lease is None:
            lease = Lease()
            self._latest = ref(lease)
            finalize(lease, self.end).atexit = False
        return lease

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            self.end()

    def end(self) -> None:
        """Take the arena apart: nobody may use it any more."""
        if self._arena is None:
            return
        for call in self.at_end:
            call()
        for term in self._arena:
            term.cached_moves = None
            if isinstance(term, Call):
                term.cached_body = None
            if isinstance(term, (Call, Capture)):
                del term.rule
        vars(self._arena).clear()
        self._arena = None
