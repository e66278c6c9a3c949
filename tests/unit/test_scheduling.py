"""Work that takes long gives way to all other work; work that does not is never held up. All by clocks of the tests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import groupby, pairwise

import pytest

from engine import clock as clock_module
from engine import scheduling
from engine.clock import Clock
from engine.errors import BudgetError
from engine.scheduling import AGE, LEASE, LIGHT, MOST, POLL, QUANTUM, REST, SLICE, Turns

TOGETHER = round(SLICE / QUANTUM)  # quanta of a slice


class WaitsError(Exception):
    """Raised instead of waiting for a turn."""


class World:
    """A process whose time passes only where something works or rests."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used = 0.0
        self.rests: list[float] = []
        self._thread = threading.local()

    def own(self) -> float:
        used: float = self._thread.__dict__.get("used", 0.0)
        return used

    def work(self, seconds: float, others: float = 0.0) -> None:
        """The calling thread works, and others of its process do meanwhile."""
        self._thread.used = self.own() + seconds
        self.used += seconds + others
        self.now += seconds + others

    def sleep(self, seconds: float) -> None:
        if seconds == POLL:
            raise WaitsError
        self.rests.append(seconds)
        self.now += seconds


class Heavy:
    """A thread's heavy work, quantum by quantum; `worked`: seconds of it."""

    def __init__(self, world: World, turns: Turns, thread: ThreadPoolExecutor) -> None:
        self._world, self._turns, self._thread = world, turns, thread
        self.worked = LIGHT

    def goes_on(self) -> bool:
        """Does its next piece of work, unless it has to wait."""
        return self._thread.submit(self._next).result()

    def _next(self) -> bool:
        try:
            self._turns.give_way(self.worked)
        except WaitsError:
            return False
        self._world.work(QUANTUM)
        self.worked += QUANTUM
        return True


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(scheduling, "monotonic", lambda: world.now)
    monkeypatch.setattr(scheduling, "thread_time", world.own)
    monkeypatch.setattr(scheduling, "process_time", lambda: world.used)
    monkeypatch.setattr(scheduling, "sleep", world.sleep)
    return world


@pytest.fixture
def heavy(world: World) -> Iterator[list[Heavy]]:
    """Three of them, that have not begun."""
    turns = Turns()
    with ExitStack() as threads:
        yield [Heavy(world, turns, threads.enter_context(ThreadPoolExecutor(1))) for _ in range(3)]


def test_alone_it_never_rests(world: World, heavy: list[Heavy]) -> None:
    assert all(heavy[0].goes_on() for _ in range(3 * TOGETHER))
    assert not world.rests


@pytest.mark.parametrize(
    ("others", "rest"),
    [(QUANTUM, REST * QUANTUM), (10 * QUANTUM, REST * QUANTUM), (QUANTUM / 4, REST * QUANTUM / 4)],
    ids=["as much", "more", "less"],
)
def test_it_rests_for_what_it_worked_while_others_did(world: World, others: float, rest: float) -> None:
    turns = Turns()
    turns.give_way(LIGHT)
    world.work(QUANTUM, others)
    turns.give_way(LIGHT)
    world.work(QUANTUM)
    turns.give_way(LIGHT)  # nobody is there any more
    assert world.rests == [pytest.approx(rest)]


def test_what_was_done_long_ago_is_not_rested_for(world: World) -> None:
    turns = Turns()
    turns.give_way(LIGHT)
    world.work(QUANTUM, LEASE)
    turns.give_way(LIGHT)
    assert not world.rests


def test_one_goes_on_at_a_time_in_slices(heavy: list[Heavy]) -> None:
    done = [one for _ in range(10 * TOGETHER) for one in heavy if one.goes_on()]
    runs = [(one, len(list(run))) for one, run in groupby(done)]
    assert {one for one, _ in runs[:3]} == set(heavy)
    assert [one for one, _ in runs[3:6]] == [one for one, _ in runs[:3]]
    assert all(length == TOGETHER for _, length in runs[:-1])


def test_who_has_worked_least_goes_first(heavy: list[Heavy]) -> None:
    old, newcomer, _ = heavy
    for _ in range(4 * TOGETHER):
        assert old.goes_on()
    went_on = groupby((newcomer.goes_on(), old.goes_on()) for _ in range(6 * TOGETHER))
    (first, quanta), (then, _) = [(who, len(list(run))) for who, run in went_on][:2]
    assert (first, then) == ((True, False), (False, True))  # the other has waited, too
    assert quanta >= 2 * TOGETHER


def test_of_what_is_long_the_first_goes_on_to_its_end(world: World, heavy: list[Heavy]) -> None:
    first, second, newcomer = heavy
    first.worked, second.worked = MOST, 2 * MOST
    went_on = [(first.goes_on(), second.goes_on()) for _ in range(4 * TOGETHER)]
    assert went_on == [(True, False)] * (4 * TOGETHER)
    assert newcomer.goes_on()
    assert not first.goes_on()
    world.now += 1.5 * LEASE  # both others are over, or at something that never gives way
    assert second.goes_on()


def test_what_was_new_once_counts_as_it_has_worked(world: World, heavy: list[Heavy]) -> None:
    long, short, _ = heavy
    long.worked, short.worked = 2.0, 0.2
    assert short.goes_on()
    assert not long.goes_on()
    world.now += 1.5 * LEASE  # a long while where nobody has looked at a clock
    assert long.goes_on()
    assert short.goes_on()
    assert not long.goes_on()


def test_the_next_work_of_a_thread_is_new(heavy: list[Heavy]) -> None:
    thread, other, _ = heavy
    thread.worked, other.worked = 2.0, 0.2
    assert thread.goes_on()
    assert other.goes_on()
    assert not thread.goes_on()
    thread.worked = LIGHT
    assert thread.goes_on()
    assert not other.goes_on()


@pytest.mark.parametrize(
    ("worked", "counted"), [(0.5, (0.5, 0.55, 0.6, 0.65)), (3.0, (MOST,) * 4)], ids=["little", "more than counts"]
)
def test_newcomers_without_end_starve_nobody(
    world: World, heavy: list[Heavy], worked: float, counted: tuple[float, ...]
) -> None:
    old, *newcomers = heavy
    old.worked = worked
    assert old.goes_on()
    went_on = [world.now]
    for turn in range(500):
        world.now += 0.6 * LEASE  # one that comes every other time is not heard of for longer than a lease: it is new
        newcomers[turn % 2].worked = LIGHT
        is_taken, is_old = newcomers[turn % 2].goes_on(), old.goes_on()
        if is_old and not is_taken:
            went_on.append(world.now)
    waits = [after - before for before, after in pairwise(went_on) if after - before > LEASE]
    assert waits[:4] == [pytest.approx((seconds - LIGHT) / AGE, abs=3 * LEASE) for seconds in counted]
    assert len(went_on) >= 4 * TOGETHER  # a whole slice each time


def test_who_is_not_heard_of_loses_the_turn(world: World, heavy: list[Heavy]) -> None:
    waiting, ended, _ = heavy
    waiting.worked = 2.0
    assert ended.goes_on()
    world.now += LEASE / 2
    assert not waiting.goes_on()
    world.now += LEASE
    assert waiting.goes_on()


def test_only_what_takes_long_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    gave_way: list[float] = []
    monkeypatch.setattr(clock_module, "thread_time", lambda: now[0])
    monkeypatch.setattr(clock_module, "give_way", lambda worked: gave_way.append(worked))
    clock = Clock(seconds=1.0)
    with clock.running():
        for now[0] in (5.0, 5.0 + LIGHT / 2, 5.0 + LIGHT, 5.06, 5.061, 5.07):
            clock.check()
        assert gave_way == pytest.approx([0.06, 0.07])
        now[0] = 6.01
        with pytest.raises(BudgetError):
            clock.check()


def test_work_with_limits_of_its_own_is_part_of_what_it_is_within(monkeypatch: pytest.MonkeyPatch) -> None:
    now, gave_way = [0.0], list[float]()
    monkeypatch.setattr(clock_module, "thread_time", lambda: now[0])
    monkeypatch.setattr(clock_module, "give_way", gave_way.append)
    clock = Clock(seconds=9.0)
    with clock.running():
        clock.check()
        with clock.running(1.0):
            now[0] = 5.0
            clock.check()
        now[0] = 6.0
        clock.check()
    assert gave_way == [6.0]


def test_what_others_worked_is_what_the_process_used_and_the_calling_thread_did_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    monkeypatch.setattr(scheduling, "process_time", lambda: world.used)
    monkeypatch.setattr(scheduling, "thread_time", world.own)
    world.work(3.0, others=5.0)
    others = scheduling.others_since()
    assert others() == 0.0
    world.work(1.0)
    assert others() == 0.0
    world.work(1.0, others=0.25)
    assert others() == 0.25


def test_bustle_is_what_other_threads_worked_between_two_looks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "process_time", lambda: world.used)
    bustle = scheduling.Bustle()
    world.work(2.0)
    assert bustle.since_last() == 0.0
    world.work(1.0, others=3.0)
    assert bustle.since_last() == 0.75
    world.work(0.0, others=1.0)
    world.now += 9.0
    assert bustle.since_last() == 0.1
    with ThreadPoolExecutor(1) as another:
        another.submit(world.work, 1.0).result()
        assert another.submit(bustle.since_last).result() == 0.0
        assert bustle.since_last() == 0.0  # nothing has passed
        another.submit(world.work, 1.0).result()
    assert bustle.since_last() == 1.0


def test_bustle_permits_what_is_looked_for_in_quiet_and_seldom_beside_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduling, "process_time", lambda: world.used)
    bustle = scheduling.Bustle()
    permitted = []
    for others in (0.0, 0.1, 0.1, 0.0, 0.1, 0.3, 0.1):
        world.work(0.1, others)
        permitted.append(bustle.permits(0.25, 0.5))
    assert permitted == [True, True, False, True, False, True, False]
