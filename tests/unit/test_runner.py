"""The runner with a network that only counts: who is served when, what is refused, what a full pool costs."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from engine.model.errors import Busy, Cancelled
from engine.model.kv_pool import PAGE, Cache, Pool, common
from engine.model.runner import MOST_WAITING, Part, Reading, Runner, Waiting, shares


class CountingNetwork:
    """The logits after a token are (its position, the token); `passes` keeps what each pass read."""

    pass_tokens = 8

    def __init__(self, pages: int) -> None:
        self.pool = Pool(np.empty((pages, 1), np.float32))
        self.passes: list[list[int]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def read(self, parts: Sequence[Part]) -> list[np.ndarray]:
        self.entered.set()
        assert self.gate.wait(10)
        self.passes.append([len(part.tokens) for part in parts])
        found = []
        for part in parts:
            assert len(part.pages) * PAGE >= part.start + len(part.tokens)
            rows = [[part.start + place, token] for place, token in enumerate(part.tokens)]
            found.append(np.array(rows, dtype=np.float32)[len(rows) - part.wanted :])
        return found


def read(runner: Runner, cache: Cache, ids: list[int], waiting: Waiting | None = None) -> list[list[float]]:
    reading = Reading(cache, [*cache.tokens, *ids], cache.length)
    runner.read([reading], waiting)
    return [row for rows in reading.logits for row in rows.tolist()]


@pytest.mark.parametrize(
    ("wishes", "room", "expected"),
    [
        ([1, 1, 1], 8, [1, 1, 1]),
        ([1, 100, 1], 8, [1, 6, 1]),
        ([9, 9], 8, [4, 4]),
        ([5, 5, 5], 2, [1, 1, 0]),
        ([], 8, []),
    ],
)
def test_shares(wishes: list[int], room: int, expected: list[int]) -> None:
    assert shares(wishes, room) == expected


def test_a_long_text_is_read_in_pieces_and_gives_every_row() -> None:
    network = CountingNetwork(pages=4)
    cache = Cache(network.pool)
    assert read(Runner(network), cache, list(range(20))) == [[n, n] for n in range(20)]
    assert network.passes == [[8], [8], [4]]
    assert cache.tokens == list(range(20))


def test_a_long_text_holds_up_nobody() -> None:
    network = CountingNetwork(pages=8)
    runner = Runner(network)
    network.gate.clear()
    long = threading.Thread(target=read, args=(runner, Cache(network.pool), [0] * 30))
    long.start()
    assert network.entered.wait(10)
    short = threading.Thread(target=read, args=(runner, Cache(network.pool), [1]))
    short.start()
    while len(runner._jobs) < 2:
        pass
    network.gate.set()
    long.join(10)
    short.join(10)
    assert network.passes == [[8], [7, 1], [8], [7]]


def test_a_cancelled_question_is_given_up_within_a_pass() -> None:
    network = CountingNetwork(pages=8)
    cache = Cache(network.pool)
    network.gate.clear()
    asked = []

    def cancelled() -> bool:
        asked.append(len(network.passes))
        network.gate.set()
        return True

    with pytest.raises(Cancelled):
        read(Runner(network), cache, [0] * 200, Waiting(cancelled=cancelled))
    assert len(network.passes) <= asked[0] + 2
    assert cache.length == sum(sum(each) for each in network.passes)


def test_meanwhile_runs_in_the_callers_thread_while_the_pass_is_done() -> None:
    network = CountingNetwork(pages=8)
    network.gate.clear()
    seen = []

    def meanwhile() -> None:
        assert network.entered.wait(10)
        seen.append(threading.get_ident())
        network.gate.set()

    assert read(Runner(network), Cache(network.pool), [7], Waiting(meanwhile=meanwhile)) == [[0, 7]]
    assert seen == [threading.get_ident()]


def test_a_full_queue_refuses_and_the_place_in_it_can_be_seen() -> None:
    network = CountingNetwork(pages=600)
    runner = Runner(network)
    network.gate.clear()
    threads = [
        threading.Thread(target=read, args=(runner, Cache(network.pool), [n]), daemon=True) for n in range(MOST_WAITING)
    ]
    for thread in threads:
        thread.start()
    while len(runner._jobs) < MOST_WAITING:
        pass
    with pytest.raises(Busy, match="Try again"):
        read(runner, Cache(network.pool), [1])
    places = sorted(runner.before(thread.ident) for thread in threads if thread.ident is not None)
    assert places == [0] * 7 + list(range(MOST_WAITING - 7))
    network.gate.set()
    for thread in threads:
        thread.join(10)
    assert runner.before(threads[-1].ident or 0) == 0


def test_what_the_network_raises_reaches_who_asked_and_the_runner_goes_on() -> None:
    network = CountingNetwork(pages=2)
    runner = Runner(network)
    broken = Cache(network.pool)
    good, network.read = network.read, lambda parts: 1 / 0  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        read(runner, broken, [1])
    network.read = good  # type: ignore[method-assign]
    assert read(runner, broken, [1]) == [[0, 1]]


def test_texts_that_do_not_fit_together_are_read_again() -> None:
    network = CountingNetwork(pages=2)
    runner = Runner(network)
    caches = [Cache(network.pool) for _ in range(3)]
    for text, cache in enumerate(caches):
        read(runner, cache, [text] * PAGE)
    assert [cache.held for cache in caches] == [0, PAGE, PAGE]
    assert read(runner, caches[0], [6]) == [[PAGE, 6]]
    assert caches[0].tokens == [0] * PAGE + [6]
    assert sum(map(sum, network.passes)) == 3 * PAGE + PAGE + 1


def test_one_question_about_more_texts_than_fit_is_answered_in_turn() -> None:
    network = CountingNetwork(pages=2)
    readings = [Reading(Cache(network.pool), [text] * PAGE, PAGE - 1) for text in range(5)]
    Runner(network).read(readings)
    assert [reading.logits[0].tolist() for reading in readings] == [[[PAGE - 1, text]] for text in range(5)]


def test_forks_share_pages_until_they_are_written() -> None:
    network = CountingNetwork(pages=8)
    runner, cache = Runner(network), Cache(network.pool)
    read(runner, cache, [1] * (PAGE + 1))
    free = network.pool.pages_free
    fork = cache.fork(PAGE + 1)
    assert network.pool.pages_free == free
    read(runner, fork, [2])
    assert network.pool.pages_free == free - 1
    assert fork.pages[0] == cache.pages[0]
    assert fork.pages[1] != cache.pages[1]
    cache.crop(0)
    assert network.pool.pages_free == free  # the fork's own page, and the shared one that is now its own
    fork.crop(0)
    assert network.pool.pages_free == 8


def test_what_texts_have_in_common_is_read_once() -> None:
    network = CountingNetwork(pages=40)
    runner = Runner(network)
    network.gate.clear()
    beginning = list(range(PAGE + 10))
    readings = [Reading(Cache(network.pool), [*beginning, 90 + n], len(beginning)) for n in range(5)]
    readings.append(Reading(Cache(network.pool), [*beginning[:7], 99], 7))
    threads = [threading.Thread(target=runner.read, args=([reading],)) for reading in readings]
    for thread in threads:
        thread.start()
    while len(runner._jobs) < len(threads):
        pass
    network.gate.set()
    for thread in threads:
        thread.join(10)
    assert sum(map(sum, network.passes)) <= len(beginning) + 8 + 6  # up to 8 by the one that was served by itself
    for reading in readings:
        assert [row.tolist() for row in reading.logits] == [[[reading.first, reading.text[-1]]]]
        assert reading.cache.tokens == reading.text


def test_tokens_whose_logits_are_wanted_are_read_though_another_text_holds_them() -> None:
    network = CountingNetwork(pages=8)
    runner, held = Runner(network), Cache(network.pool)
    read(runner, held, list(range(20)))
    network.passes.clear()
    reading = Reading(Cache(network.pool), list(range(20)), 15)
    runner.read([reading])
    assert [row for rows in reading.logits for row in rows.tolist()] == [[n, n] for n in range(15, 20)]
    assert network.passes == [[5]]
    free = network.pool.pages_free
    held.crop(0)
    assert network.pool.pages_free == free + 1  # the other wrote into a page of its own
    assert reading.cache.held == 20


def test_a_cache_that_is_gone_leaves_its_pages() -> None:
    pool = CountingNetwork(pages=8).pool
    cache = Cache(pool)
    assert pool.reserve(cache, 3 * PAGE)
    assert pool.pages_free == 5
    del cache
    assert pool.pages_free == 8


def test_a_pass_that_fails_leaves_no_pages_behind() -> None:
    network = CountingNetwork(pages=8)
    runner, reads = Runner(network), network.read
    lender, cache = Cache(network.pool), Cache(network.pool)
    read(runner, lender, [7] * PAGE)

    def failing(parts: Sequence[Part]) -> list[np.ndarray]:
        raise MemoryError

    network.read = failing  # type: ignore[method-assign]
    with pytest.raises(MemoryError):
        read(runner, cache, [1] * 8)
    assert (cache.length, cache.held, cache.pages) == (0, 0, [])
    network.read = reads  # type: ignore[method-assign]
    reading = Reading(cache, [7] * PAGE + [8], PAGE)
    runner.read([reading])
    assert reading.logits[0].tolist() == [[PAGE, 8]]
    assert cache.pages[0] == lender.pages[0]  # and no page before it
    assert network.pool.pages_free == 8 - 2


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [([], [1], 0), ([1, 2, 3], [1, 2, 4], 2), ([1, 2], [1, 2, 3], 2), ([2], [1], 0), ([5] * 9, [5] * 6 + [4, 5, 5], 6)],
)
def test_what_two_texts_have_in_common(one: list[int], other: list[int], expected: int) -> None:
    assert common(one, other) == common(other, one) == expected
