"""Work that takes a while, done once for everybody in the room: equal questions share one answer.

Its cost is said before it starts; while it is under way its progress is shown and it can be cancelled. It stops when
the last one who waits for it has cancelled.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import uuid4

import streamlit as st

from pages._debug_work import Progress
from pages._told import UNTOLD, tell
from pages._worker import Worker
from visualizations.notice import notice

KEPT = 64  # answers
PATIENCE = 0.3  # seconds a page waits before it is drawn without the answer

T = TypeVar("T")


@dataclass
class Job(Generic[T]):
    """A question and, once it is there, its answer. `waiting`: the sessions that asked and have not cancelled."""

    progress: Progress = field(default_factory=lambda: Progress(lambda: False))
    answer: T | None = None
    worker: Worker | None = None
    waiting: set[str] = field(default_factory=set)

    @property
    def busy(self) -> bool:
        return self.worker is not None and self.worker.busy

    @property
    def problem(self) -> str:
        return "" if self.worker is None or self.worker.busy else self.worker.problem


class Room:
    """The questions asked in this process; the oldest answers are forgotten first."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Hashable, Job[Any]] = OrderedDict()
        self._lock = threading.Lock()

    def job(self, key: Hashable) -> Job[Any] | None:
        with self._lock:
            return self._jobs.get(key)

    def ask(self, key: Hashable, work: Callable[[Progress], T], who: str) -> Job[T]:
        """Join the question, or begin it. `work` returns its answer; what it returns when stopped is thrown away."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.problem or (not job.busy and job.answer is None):
                job = self._jobs[key] = Job()
                job.worker = Worker(_working(job, work))
            job.waiting.add(who)
            self._jobs.move_to_end(key)
            while len(self._jobs) > KEPT and not next(iter(self._jobs.values())).busy:
                self._jobs.popitem(last=False)
        return job

    def leave(self, key: Hashable, who: str) -> None:
        """`who` cancels: the work stops if nobody else waits for it."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                return
            job.waiting.discard(who)
            if not job.waiting and job.busy and job.worker is not None:
                job.worker.cancel()
                del self._jobs[key]


def _working(job: Job[T], work: Callable[[Progress], T]) -> Callable[[Callable[[], bool]], None]:
    def run(stopped: Callable[[], bool]) -> None:
        job.progress.stopped = stopped
        answer = work(job.progress)
        if not stopped():
            job.answer = answer

    return run


@st.cache_resource(show_spinner=False)
def room() -> Room:
    """The one room of this process."""
    return Room()


def shared(
    asked: Hashable, label: str, cost: str, work: Callable[[Progress], T], *, key: str, at_once: bool = False
) -> T | None:
    """The answer to the question `asked`, None while there is none. Draws what is needed to get it.

    A button `label` with its `cost` in words, unless somebody has the answer already or `at_once`: then the work begins
    by itself. While it is under way: how far it is, and Cancel. `work` says so by `progress.say(words, share)` and ends
    soon once `progress.stopped()`.
    """
    here, who = room(), _session()
    joined: set[Hashable] = st.session_state.setdefault("_lesson_joined", set())
    if at_once and asked not in joined:
        joined.add(asked)
        here.ask(asked, work, who).worker.wait(PATIENCE)  # type: ignore[union-attr]
    job: Job[T] | None = here.job(asked)
    with st.container():
        if job is not None and job.answer is not None:
            return job.answer
        if job is not None and asked in joined and job.busy:
            _follow(job, asked, key, joined)
            return None
        if job is not None and job.problem:
            notice(job.problem, key=f"{key}_problem")

        def begin() -> None:
            joined.add(asked)
            here.ask(asked, work, who).worker.wait(PATIENCE)  # type: ignore[union-attr]

        st.button(label, key=f"{key}_ask", icon=":material/play_arrow:", on_click=begin)
        st.caption(cost)
    return None


def _follow(job: Job[T], asked: Hashable, key: str, joined: set[Hashable]) -> None:
    def cancel() -> None:
        joined.discard(asked)
        room().leave(asked, _session())

    def look() -> None:
        if not job.busy:
            st.rerun()
        tell(job.worker, on_the_way=True)
        progress = job.progress
        st.progress(progress.share, text=progress.words or "Working …")
        if st.button("Cancel", key=f"{key}_cancel", icon=":material/stop:"):
            cancel()
            st.rerun()

    st.fragment(look, run_every=UNTOLD, key=f"{key}_follow")()


def _session() -> str:
    if "_lesson_session" not in st.session_state:
        st.session_state["_lesson_session"] = uuid4().hex
    name: str = st.session_state["_lesson_session"]
    return name
