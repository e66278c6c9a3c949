"""Work that is done only when somebody asks, in a thread, once for all visitors who ask the same."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages._told import UNTOLD, tell
from pages._worker import Worker
from visualizations.notice import notice

PATIENCE = 0.25  # seconds in which most work is done: it is waited for, so that nothing flickers
AT_ONCE = 2
"""How many visitors' questions are worked on at the same time; more wait for their turn."""

_TURNS = threading.BoundedSemaphore(AT_ONCE)

Answer = Callable[[Callable[[], bool]], Any]
"""Gives what was asked for, or None if it was cancelled; is given a way to ask whether to stop."""


@dataclass
class Question:
    """Something that was or may be asked; `found` is the answer, None until there is one.

    It is kept in a bounded cache by what it is about, so that all visitors who ask the same share one.
    """

    found: Any = None
    worker: Worker | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def busy(self) -> bool:
        return self.worker is not None and self.worker.busy

    @property
    def problem(self) -> str:
        return self.worker.problem if self.worker is not None and not self.worker.busy else ""

    def ask(self, answer: Answer) -> None:
        """Begin to work on it, unless somebody has."""

        def work(stop: Callable[[], bool]) -> None:
            while not _TURNS.acquire(timeout=0.1):
                if stop():
                    return
            try:
                self.found = answer(stop)
            finally:
                _TURNS.release()

        with self._lock:
            if self.found is None and not self.busy:
                self.worker = Worker(work)
                self.worker.wait(PATIENCE)


def asked(
    about: Question, answer: Answer, draw: Callable[[Any], None], *, label: str, hint: str, possible: bool, key: str
) -> None:
    """Draw the answer if there is one, else a button that asks, and how the work goes."""
    if about.found is not None:
        draw(about.found)
        return
    if about.busy:
        st.fragment(lambda: _under_way(about, key), run_every=UNTOLD)()
        return
    notice(about.problem, key=f"{key}_problem")
    st.button(label, key=f"{key}_ask", help=hint, disabled=not possible, on_click=lambda: about.ask(answer))


def _under_way(about: Question, key: str) -> None:
    if not about.busy:
        st.rerun()
    tell(about.worker)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Asking the model …")
        if about.worker is not None:
            st.button("Stop", key=f"{key}_stop", icon=":material/stop:", on_click=about.worker.cancel)
