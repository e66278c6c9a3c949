"""Runs that several visitors follow: each step is computed once, and each visitor sees the steps taken so far."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from engine import Masker, compile_regex
from engine.decoding.errors import ChoiceError
from engine.decoding.records import RunSpec
from engine.decoding.shared import Follower, SharedRun
from engine.model.runner import Waiting
from pages._session import Visit, never
from tests.unit.fake_model import FakeCache, FakeModel
from tests.unit.test_decoder import SPEC, VOCABULARY, A, B, decoder, finished

LAST = len(finished().steps)
FREE = replace(SPEC, constraint=None)


def shared(model: FakeModel | None = None) -> SharedRun:
    return SharedRun(decoder(model=model))


def taken(place: Follower, steps: int) -> Follower:
    for _ in range(steps):
        place.step()
    return place


def test_each_sees_the_steps_taken_and_all_of_them_are_computed_once() -> None:
    model = FakeModel(VOCABULARY)
    run = shared(model)
    ahead, behind = run.follow(), run.follow()
    list(ahead.run())
    computed = model.computed
    assert ahead.trace == finished()
    assert behind.trace.steps == ()
    assert taken(behind, 2).trace.steps == finished().steps[:2]
    assert behind.finish is None
    list(behind.run())
    assert behind.trace == ahead.trace
    assert model.computed == computed


def test_a_place_goes_back_and_replays() -> None:
    place = taken(shared().follow(), 3)
    place.goto(1)
    assert place.step() == finished().steps[1]
    assert len(place.trace.steps) == 3
    with pytest.raises(ValueError, match="no step 4; 3 are taken"):
        place.goto(4)


def test_one_is_cancelled_while_another_goes_on() -> None:
    run = shared()
    stops, goes = taken(run.follow(), 2), run.follow()
    list(stops.run(lambda: True))
    assert (stops.finish, stops.trace.finish) == ("cancelled", "cancelled")
    list(goes.run())
    assert goes.finish == finished().finish
    assert stops.step() == finished().steps[2]
    assert stops.finish is None


def test_a_step_computed_by_all_at_once_is_computed_once() -> None:
    model = FakeModel(VOCABULARY)
    run = shared(model)
    places = [run.follow() for _ in range(8)]
    threads = [threading.Thread(target=lambda place=place: list(place.run())) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert {place.trace for place in places} == {finished()}
    assert model.computed == len(finished().prompt_tokens) + LAST - 1


class SlowModel(FakeModel):
    """A pass begins when it is let."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY)
        self.go = threading.Event()

    def extend(self, cache: FakeCache, ids: Sequence[int], keep: int, waiting: Waiting | None = None) -> np.ndarray:
        assert self.go.wait(20)
        return super().extend(cache, ids, keep, waiting)


def test_who_waits_for_another_is_cancelled_at_once() -> None:
    model = SlowModel()
    run = shared(model)
    computing = threading.Thread(target=run.follow().step)
    computing.start()
    place, asked = run.follow(), time.monotonic()
    assert list(place.run(lambda: time.monotonic() > asked + 0.2)) == []
    assert place.finish == "cancelled"
    assert not model.go.is_set()
    model.go.set()
    computing.join(20)
    assert place.step() == finished().steps[0]


def test_a_branch_is_the_run_of_its_spec_and_leaves_the_other_alone() -> None:
    model = FakeModel(VOCABULARY)
    run = shared(model)
    place = taken(run.follow(), 4)
    other = next(t for t in (A, B) if t != place.trace.steps[2].token_id)
    branch = run.branch(2, other).follow()
    assert branch.trace.steps == place.trace.steps[:2]
    before = model.computed
    taken(branch, 2)
    taken(place, 2)
    taken(branch, 2)
    assert branch.trace.steps == finished(branch.trace.spec).steps[:6]
    assert model.computed == before + 6, "the branch has read what its run had; from there each goes its own way"


def test_a_masked_choice_is_refused() -> None:
    run = shared()
    taken(run.follow(), 1)
    with pytest.raises(ChoiceError):
        run.branch(0, 1)


def test_distributions_are_at_hand_for_the_step_computed_last() -> None:
    model = FakeModel(VOCABULARY)
    run = shared(model)
    place = taken(run.follow(), 2)
    computed = model.computed
    found = place.at_hand(1)
    assert found is not None
    assert float(found.raw[place.trace.steps[1].token_id]) == pytest.approx(place.trace.steps[1].raw, rel=1e-6)
    assert place.at_hand(0) is None
    assert model.computed == computed


def visit(model: FakeModel, spec: RunSpec = FREE) -> Visit:
    made = Visit()
    made.start("a run", model, spec, None)  # type: ignore[arg-type]
    assert not made.problem
    return made


def test_visitors_who_start_the_same_run_share_it_and_its_branches() -> None:
    model = FakeModel(VOCABULARY)
    one, other = visit(model), visit(model)
    for _ in range(3):
        one.forward()
    computed = model.computed
    for _ in range(3):
        other.forward()
    assert model.computed == computed
    assert one.run is not None
    token_id = next(t for t in (A, B) if t != one.run.trace.steps[1].token_id)
    one.take(1, token_id, model, lambda spec: None)  # type: ignore[arg-type]
    computed = model.computed
    other.take(1, token_id, model, lambda spec: None)  # type: ignore[arg-type]
    assert model.computed == computed
    assert other.run is not None
    assert other.run.trace == one.run.trace


def test_another_model_of_the_same_name_is_another_run() -> None:
    one, other = FakeModel(VOCABULARY), FakeModel(VOCABULARY)
    visit(one)
    visit(other)
    assert other.computed == one.computed > 0


def test_a_branch_of_a_recorded_trace_is_not_taken_for_the_run_of_its_spec() -> None:
    """A trace from a file may hold other tokens than its spec leads to."""
    model = FakeModel(VOCABULARY)
    recorded = visit(model, replace(FREE, prompt="four five")).run
    assert recorded is not None
    spec = replace(FREE, prompt="four six", model="fake")
    lying = replace(recorded.trace, spec=spec, run_id="", prompt_tokens=recorded.trace.prompt_tokens)
    reads = Visit()
    reads.show_saved("lying", lying)
    reads.take(0, A, model, lambda spec: None)  # type: ignore[arg-type]
    assert reads.worker is not None
    reads.worker.wait(20)
    reads.settle()
    assert reads.run is not None
    reads.forward_until(never)
    reads.stop()
    reads.take(1, B, model, lambda spec: None)  # type: ignore[arg-type]
    honest = visit(model, replace(spec, choices=((0, A), (1, B))))
    assert honest.run is not None
    assert reads.run is not None
    assert reads.run.follower is not None
    assert honest.run.follower is not None
    assert reads.run.follower.shared is not honest.run.follower.shared


def test_a_visitors_list_is_shorter_where_other_constraints_are_heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    model, made = FakeModel(VOCABULARY), Visit()
    x, y, z = (Masker(compile_regex("[abc]*"), VOCABULARY) for _ in range(3))
    for number, masker in enumerate((x, y, y, z)):
        made.start(f"{number}", model, replace(SPEC, prompt=f"run {number}"), masker)  # type: ignore[arg-type]
    assert [run.title for run in made.runs] == ["0", "1", "2", "3"]
    monkeypatch.setattr("pages._session.HEAVIEST", x.held_bytes + y.held_bytes - 1)
    made.take(0, A, model, lambda spec: None)  # type: ignore[arg-type]
    assert [run.title for run in made.runs] == ["1", "2", "3", "branch at step 0"]
    monkeypatch.setattr("pages._session.HEAVIEST", 0)
    made.take(0, B, model, lambda spec: None)  # type: ignore[arg-type]
    assert [run.title for run in made.runs] == ["3", "branch at step 0", "branch at step 0"]


def test_a_branch_does_not_push_out_the_run_it_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heavy runs between the two go: to keep the run that the branch left costs nothing."""
    model, made = FakeModel(VOCABULARY), Visit()
    x, y = (Masker(compile_regex("[abc]*"), VOCABULARY) for _ in range(2))
    for number, masker in enumerate((x, y)):
        made.start(f"{number}", model, replace(SPEC, prompt=f"heavy {number}"), masker)  # type: ignore[arg-type]
    monkeypatch.setattr("pages._session.HEAVIEST", 0)
    made.show(1)
    made.take(0, A, model, lambda spec: None)  # type: ignore[arg-type]
    assert [(depth, run.title) for depth, run in made.tree] == [(0, "0"), (1, "branch at step 0")]


def test_a_free_run_does_not_push_out_the_heavy_one_that_it_is_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    model, made = FakeModel(VOCABULARY), Visit()
    x, y = (Masker(compile_regex("[abc]*"), VOCABULARY) for _ in range(2))
    for number, masker in enumerate((x, y)):
        made.start(f"{number}", model, replace(SPEC, prompt=f"compared {number}"), masker)  # type: ignore[arg-type]
    monkeypatch.setattr("pages._session.HEAVIEST", 0)
    made.start("free", model, FREE, None)  # type: ignore[arg-type]
    assert [run.title for run in made.runs] == ["1", "free"]
