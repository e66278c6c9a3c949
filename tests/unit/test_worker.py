"""What questions of pages needed is freed when they are answered, and kept errors hold on to nobody."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.examples import OPTIONS
from pages._constraints import compiled, demanded
from pages._debug_work import Progress, Question


class Needed:
    """Something large."""


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def ended(question: Question[int]) -> None:
    assert question.worker is not None
    question.worker.wait(5)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("fails", [False, True])
def test_what_a_question_needed_is_freed_once_it_is_answered(fails: bool) -> None:
    needed = Needed()
    freed = weakref.ref(needed)
    question: Question[int] = Question()

    def work(progress: Progress, needed: Needed = needed) -> int:
        progress.say("Working", 0.5)
        if fails:
            raise ConstraintError("No.")
        return 42

    question.ask("key", work)
    del work, needed
    ended(question)
    assert question.ask("key", lambda _: 0) == (None if fails else 42)
    assert question.problem == ("No." if fails else "")
    assert freed() is None


@pytest.mark.usefixtures("uncollected")
def test_an_answer_that_nobody_takes_is_freed_with_its_question() -> None:
    may_end, made = threading.Event(), list[weakref.ref[Needed]]()

    def work(_: Progress) -> Needed:
        may_end.wait(5)
        answer = Needed()
        made.append(weakref.ref(answer))
        return answer

    question: Question[Needed] = Question()
    assert question.ask("key", work, patience=0) is None
    may_end.set()
    assert question.worker is not None
    question.worker.wait(5)
    assert made[0]() is not None
    del question
    assert made[0]() is None


@pytest.mark.usefixtures("uncollected")
def test_an_error_that_is_kept_holds_on_to_none_of_those_who_raise_it() -> None:
    source = ConstraintSource("json_schema", '{"type": "strin"}', OPTIONS)
    visitor = Needed()
    freed = weakref.ref(visitor)

    def ask(visitor: Needed) -> str:
        try:
            demanded(compiled(source))
        except ConstraintError as error:
            return f"{error.pointer}: {error}"
        return ""

    kept = compiled(source)
    assert isinstance(kept, ConstraintError)
    assert ask(visitor) == f"{kept.pointer}: {kept}"
    del visitor
    assert freed() is None
    assert compiled(source) is kept
    assert kept.__traceback__ is None
