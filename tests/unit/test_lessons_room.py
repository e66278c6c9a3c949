"""Work that a room shares: done once, cancelled by the last who waits, forgotten oldest first."""

from __future__ import annotations

import threading

from engine.decoding.errors import DecodingError
from pages._debug_work import Progress
from pages._lessons import room as module
from pages._lessons.room import Job, Room


def done(job: Job[int]) -> Job[int]:
    assert job.worker is not None
    job.worker.wait(5)
    assert not job.busy
    return job


def test_equal_questions_share_one_answer() -> None:
    room, asked = Room(), []

    def work(progress: Progress) -> int:
        asked.append(1)
        return 42

    assert done(room.ask("q", work, "ann")).answer == 42
    assert room.ask("q", work, "ben").answer == 42
    assert asked == [1]
    assert room.job("other") is None


def test_the_last_one_who_waits_cancels() -> None:
    room, begun, stopped = Room(), threading.Event(), threading.Event()

    def work(progress: Progress) -> int:
        begun.set()
        while not progress.stopped():
            stopped.wait(0.01)
        stopped.set()
        return 1

    job = room.ask("q", work, "ann")
    assert room.ask("q", work, "ben") is job
    begun.wait(5)
    room.leave("q", "ann")
    assert job.busy
    assert not stopped.is_set()
    room.leave("q", "ben")
    assert done(job).answer is None  # what was found after the stop is thrown away
    assert stopped.is_set()
    assert room.job("q") is None


def test_a_question_that_failed_is_told_and_may_be_asked_again() -> None:
    room = Room()

    def fails(progress: Progress) -> int:
        raise DecodingError("too many texts")

    assert done(room.ask("q", fails, "ann")).problem == "too many texts"
    again = done(room.ask("q", lambda progress: 7, "ann"))
    assert (again.answer, again.problem) == (7, "")


def test_the_oldest_answers_are_forgotten(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(module, "KEPT", 3)
    room = Room()
    for number in range(5):
        done(room.ask(number, lambda progress: 1, "ann"))
    assert [number for number in range(5) if room.job(number) is not None] == [2, 3, 4]
    room.ask(2, lambda progress: 1, "ben")  # used again: the youngest
    done(room.ask(5, lambda progress: 1, "ann"))
    assert room.job(2) is not None
    assert room.job(3) is None
