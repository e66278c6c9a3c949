"""Questions that take a while: each is worked on in a thread, so that a page is drawn meanwhile and no other waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import streamlit as st

from pages._told import UNTOLD, tell
from pages._worker import Worker

PATIENCE = 0.4  # seconds a page waits for an answer before it is drawn without
WAIT = 0.1  # seconds between two looks for a turn

QUICK = threading.BoundedSemaphore(8)
LONG = threading.BoundedSemaphore(2)
"""How many questions of all visitors are worked on at once: those that take a moment, and those that take minutes.

More would take more memory. Those at work take turns, short ones first; who is not let in waits for long ones, too.
"""

T = TypeVar("T")


@dataclass
class Progress:
    """What the thread says while it works: how far it is, in words and as a part; `stopped` asks it to end."""

    stopped: Callable[[], bool]
    words: str = ""
    share: float = 0.0

    def say(self, words: str, share: float) -> None:
        self.words, self.share = words, min(1.0, max(0.0, share))


@dataclass
class Question(Generic[T]):
    """One question at a time; asked another, the one before is given up.

    `answer` None while there is none yet, `problem` why there will be none. `at_once`: whom it shares the cores with.
    """

    at_once: threading.Semaphore = field(default=QUICK, repr=False)
    key: Hashable = None
    answer: T | None = None
    progress: Progress | None = None
    worker: Worker | None = field(default=None, repr=False)
    _found: list[T] = field(default_factory=list, repr=False)
    """The answer, until it is taken over."""

    def ask(self, key: Hashable, work: Callable[[Progress], T], patience: float = PATIENCE) -> T | None:
        """The answer to `key`, which `work` finds; None if it is not there yet."""
        if self.worker is None or key != self.key:
            self.give_up()
            self.key, self.answer = key, None
            self._start(work, patience)
        self._settle()
        return self.answer

    def _start(self, work: Callable[[Progress], T], patience: float) -> None:
        said, found = Progress(lambda: False), list[T]()

        def run(stopped: Callable[[], bool]) -> None:
            said.stopped = stopped
            while not self.at_once.acquire(timeout=WAIT):
                said.say("Working, in turns with other visitors", 0.0)
                if stopped():
                    return
            try:
                found.append(work(said))
            finally:
                self.at_once.release()

        self.progress, self._found = said, found
        self.worker = Worker(run)
        self.worker.wait(patience)

    def _settle(self) -> None:
        if self._found and not self.busy:
            self.answer = self._found.pop()

    @property
    def busy(self) -> bool:
        return self.worker is not None and self.worker.busy

    @property
    def problem(self) -> str:
        return self.worker.problem if self.worker is not None and not self.worker.busy else ""

    def give_up(self) -> None:
        """Ask the thread to stop; what it finds is thrown away."""
        if self.worker is not None:
            self.worker.cancel()
            self.worker = None

    def cancel(self) -> None:
        """Stop at once, keeping what the work itself returns when stopped."""
        if self.worker is not None:
            self.worker.cancel()
            self.worker.wait(PATIENCE)


def follow(questions: list[Question[object]], key: str) -> None:
    """While a question is under way: how far it is, and the page again once it is answered."""
    waiting = [question for question in questions if question.busy]
    if not waiting:
        return

    def look() -> None:
        under_way = next((q for q in waiting if q.busy), None)
        if under_way is None or any(not q.busy for q in waiting):
            st.rerun()
        for question in waiting:
            tell(question.worker, on_the_way=True)
        progress = under_way.progress
        if progress is not None and progress.words:
            st.progress(progress.share, text=progress.words)
        else:
            st.caption("Working …")

    st.fragment(look, run_every=UNTOLD, key=key)()
