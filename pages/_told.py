"""Pages are told how work goes on and when it ends, so that no browser has to ask.

A page that asks is drawn anew each time, which costs as much as ten tokens: where many work at the same time they would
ask rarely, and see the end seconds late. Streamlit draws a page, or a fragment of it, when a browser says so. Here the
work says so, in the browser's words and with everything as the last run of the visitor's script left it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import ref

from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from pages._worker import Worker

AGAIN = 0.02  # seconds between two looks whether the script under way is done
AT_ONCE = 2  # pages that are drawn at the same time because they were told: who still works comes first
PATIENCE = 0.25  # seconds after which one that is still being drawn is not waited for
UNTOLD = 60.0
"""Seconds after which a browser looks at work under way by itself. What it is told on a dead connection, as that of a
sleeping laptop, is lost; one that has something to look at draws the page anew as soon as it is connected again."""

_drawn: list[tuple[ref[AppSession], float]] = []
"""Pages that are being drawn because they were told, and since when; for the event loop's thread."""


@dataclass(unsafe_hash=True)
class _Fragment:
    """A part of a visitor's page. A call, from any thread, draws it anew if it is still there.

    Work whose answer is kept for others outlives its visitors: it must not keep their sessions.
    """

    session: ref[AppSession]
    id: str
    waits: bool = field(default=False, compare=False)

    def __call__(self) -> None:
        if (session := self.session()) is not None:
            session._call_soon_on_event_loop(lambda: None if self.waits else self._draw())

    def _draw(self) -> None:
        """In the event loop's thread. A script under way may lead to another page: which it is, is known after it."""
        session = self.session()
        self.waits = False
        if session is None or session._state is AppSessionState.SHUTDOWN_REQUESTED or not session.has_fragment(self.id):
            return
        now = session._event_loop.time()
        if session._scriptrunner is not None or _being_drawn(now) >= AT_ONCE:
            self.waits = True
            session._event_loop.call_later(AGAIN, self._draw)
            return
        asked = ClientState(fragment_id=self.id)
        asked.MergeFrom(session._client_state)
        session.request_rerun(asked)
        _drawn.append((self.session, now))


def _being_drawn(now: float) -> int:
    """How many pages are, apart from those that take long."""
    _drawn[:] = [(page, at) for page, at in _drawn if now - at < PATIENCE and (s := page()) and s._scriptrunner]
    return len(_drawn)


def tell(worker: Worker | None, *, on_the_way: bool = False) -> None:
    """Draw the fragment that calls this anew once `worker` is done; `on_the_way`: now and then before, too.

    Does nothing where there is no server.
    """
    context = get_script_run_ctx(suppress_warning=True)
    server = runtime.get_instance() if runtime.exists() else None
    sessions = getattr(server, "_session_mgr", None)  # an AppTest's server has none
    if worker is None or context is None or sessions is None:
        return
    found, part = sessions.get_active_session_info(context.session_id), ThreadState.get().fragment_id
    if found is not None and part is not None:
        worker.tell(_Fragment(ref(found.session), part), on_the_way=on_the_way)
