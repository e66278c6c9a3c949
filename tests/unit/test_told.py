"""Pages are told of ends: by a worker, once; to a session of Streamlit, between two runs of its script."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSessionState

from pages import _told, _worker
from pages._worker import Worker


def test_a_page_is_told_once_when_the_work_ends() -> None:
    may_end, told = threading.Event(), []
    worker = Worker(lambda stop: may_end.wait(10) and None)

    def page() -> None:
        told.append(worker.busy)

    worker.tell(page)
    worker.tell(page)
    assert told == []
    may_end.set()
    worker.wait(10)
    assert told == [False]


def test_a_page_that_comes_late_is_told_at_once() -> None:
    told: list[str] = []
    worker = Worker(lambda stop: None)
    worker.wait(10)
    worker.tell(lambda: told.append("told"))
    assert told == ["told"]


def test_a_page_is_told_of_work_that_fails() -> None:
    told: list[str] = []

    def work(stop: Callable[[], bool]) -> None:
        raise _worker.SpecError("no such thing")

    worker = Worker(work)
    worker.tell(lambda: told.append(worker.problem))
    worker.wait(10)
    assert told == ["no such thing"]


@pytest.mark.parametrize(("others", "tellings"), [(0, 4), (2, 1)])
def test_who_wants_to_is_told_on_the_way_and_rarely_in_a_crowd(
    monkeypatch: pytest.MonkeyPatch, others: int, tellings: int
) -> None:
    """Tokens come every 0.25 s and a page is told every 0.4 s: 8 tokens take 2 s, so at 0.5, 1, 1.5 and 2 s; with two
    others under way every 1.2 s, so at 1.25 s."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(_worker, "monotonic", lambda: clock.now)
    monkeypatch.setattr(_worker, "FOLLOW", 0.4)
    monkeypatch.setattr(Worker, "under_way", {object() for _ in range(others)})
    begun, following, only_the_end = threading.Event(), [], []

    def work(stop: Callable[[], bool]) -> None:
        begun.wait(10)
        for _ in range(8):
            clock.now += 0.25
            stop()

    worker = Worker(work)
    worker.tell(lambda: following.append(worker.busy), on_the_way=True)
    worker.tell(lambda: only_the_end.append(worker.busy))
    begun.set()
    worker.wait(10)
    assert following == [True] * tellings + [False]
    assert only_the_end == [False]


class Session:
    """Streamlit's, as far as it is told: `asked` is what it was asked to draw, which `begins` and does not end."""

    def __init__(self) -> None:
        self._event_loop = asyncio.get_running_loop()
        self._state = AppSessionState.APP_NOT_RUNNING
        self._scriptrunner: Any = None
        self._client_state = ClientState(query_string="run=1", page_script_hash="here")
        self.fragments = {"view"}
        self.asked: list[ClientState] = []
        self.begins = False

    def _call_soon_on_event_loop(self, callback: Callable[[], None]) -> None:
        self._event_loop.call_soon_threadsafe(callback)

    def has_fragment(self, name: str) -> bool:
        return name in self.fragments

    def request_rerun(self, state: ClientState) -> None:
        self.asked.append(state)
        self._scriptrunner = "under way" if self.begins else None


def asked_of(*, before: Callable[[Session], None], after: Callable[[Session], None], times: int = 1) -> list[Any]:
    """What a session is asked to draw when its fragment is told; `after` happens to it a while later."""

    async def happens() -> list[Any]:
        session = Session()
        before(session)
        page = _told._Fragment(weakref.ref(session), "view")  # type: ignore[arg-type]
        for _ in range(times):
            threading.Thread(target=page).start()
        await asyncio.sleep(3 * _told.AGAIN)
        after(session)
        await asyncio.sleep(3 * _told.AGAIN)
        return [(state.fragment_id, state.page_script_hash, state.query_string) for state in session.asked]

    return asyncio.run(happens())


def nothing(session: Session) -> None:
    """Nothing happens."""


def script_begins(session: Session) -> None:
    session._scriptrunner = "under way"


def script_ends(session: Session) -> None:
    session._scriptrunner = None
    session._client_state = ClientState(query_string="run=2", page_script_hash="here")


def leaves_for_another_page(session: Session) -> None:
    script_ends(session)
    session.fragments = set()


def closes(session: Session) -> None:
    session._state = AppSessionState.SHUTDOWN_REQUESTED


def test_the_fragment_is_drawn_on_the_page_and_at_the_address_of_the_last_run() -> None:
    assert asked_of(before=nothing, after=nothing)[0] == ("view", "here", "run=1")


def test_a_script_under_way_comes_first_and_only_one_run_follows_it() -> None:
    assert asked_of(before=script_begins, after=script_ends, times=3) == [("view", "here", "run=2")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (leaves_for_another_page, nothing),
        (script_begins, leaves_for_another_page),
        (closes, nothing),
        (script_begins, closes),
    ],
)
def test_who_is_gone_is_not_told(before: Callable[[Session], None], after: Callable[[Session], None]) -> None:
    assert asked_of(before=before, after=after) == []


def test_work_that_is_kept_keeps_no_session() -> None:
    async def happens() -> None:
        session = Session()
        kept = Worker(lambda stop: None)
        kept.tell(_told._Fragment(weakref.ref(session), "view"), on_the_way=True)  # type: ignore[arg-type]
        kept.wait(10)
        await asyncio.sleep(_told.AGAIN)
        gone = weakref.ref(session)
        del session
        assert gone() is None

    asyncio.run(happens())


def test_without_a_server_nothing_happens() -> None:
    worker = Worker(lambda stop: None)
    _told.tell(worker)
    _told.tell(None)
    worker.wait(10)


def test_pages_that_are_told_together_are_drawn_in_turn_and_a_slow_one_is_not_waited_for() -> None:
    async def happens() -> list[int]:
        sessions = [Session() for _ in range(_told.AT_ONCE + 1)]
        for session in sessions:
            session.begins = True
            _told._Fragment(weakref.ref(session), "view")()  # type: ignore[arg-type]
        counts = []
        for pause in (3 * _told.AGAIN, _told.PATIENCE):
            await asyncio.sleep(pause)
            counts.append(sum(len(session.asked) for session in sessions))
        return counts

    assert asyncio.run(happens()) == [_told.AT_ONCE, _told.AT_ONCE + 1]
