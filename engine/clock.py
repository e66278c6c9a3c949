"""The clock of work under a budget: whatever loops over a user's text, or over what was made of it, looks at it.

It runs on the time of its own thread: what others take meanwhile is not charged, nor is the time given way to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

from engine.errors import BudgetError
from engine.scheduling import LIGHT, QUANTUM, give_way


class Clock:
    """Limits what is done between two moments to `seconds`. `deadline` None: it does not run; below 0: it runs from the
    first look on, for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline: float | None = None
        self._started = self._gives_way = 0.0

    def start(self, seconds: float | None = None) -> None:
        """From now on there are so many seconds, those of the budget if None."""
        now = thread_time()
        self.deadline = now + (self.seconds if seconds is None else seconds)
        self._started, self._gives_way = now, now + LIGHT

    def start_later(self, seconds: float | None = None) -> None:
        """The same from the first look at the clock on: most of what is done between tokens is too short for one."""
        self.deadline = -(self.seconds if seconds is None else seconds)

    def stop(self) -> None:
        """What comes is not limited."""
        self.deadline = None

    @property
    def late(self) -> bool:
        """What is being done has taken longer than it may. Asked often, and where what takes long gives way."""
        if self.deadline is None:
            return False
        if self.deadline < 0:
            self.start(-self.deadline)
        if (now := thread_time()) > self._gives_way:
            give_way(now - self._started)
            self._gives_way = now + QUANTUM
        return now > self.deadline

    def check(self) -> None:
        """Raise `BudgetError` if what is being done takes longer than the budget allows."""
        if self.late:
            raise BudgetError(f"The constraint takes longer than {self.seconds:g} s. Make it smaller.")

    @contextmanager
    def running(self, seconds: float | None = None) -> Iterator[None]:
        """Keep what is done within to the seconds given, else to those of the budget unless a limit holds already."""
        before, started = self.deadline, self._started
        if before is not None and seconds is None:
            yield
            return
        self.start_later(seconds)
        try:
            yield
        finally:
            self.deadline, self._started = before, started
