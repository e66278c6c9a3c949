"""One thread that owns the network: forward passes that wait at the same moment are done together.

Every session asks for its next pass and waits. A pass takes a share of what each of them has to read: one token of a
run that decodes, a piece of a prompt, so that a long prompt holds up nobody. Who asked first is served first, and a
session has one question at a time, so none can starve another. A beginning that several texts have in common (a chat
template's system prompt, a schema that a whole room tries) is read once, and they share its pages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.model.errors import Busy, Cancelled
from engine.model.kv_pool import common

if TYPE_CHECKING:
    from engine.model.kv_pool import Cache, Pool

Floats = NDArray[np.float32]

MOST_WAITING = 256
"""Questions that wait at the same time; further ones are refused."""

_IDLE = 10.0  # seconds without a question after which the thread ends; the next question starts another


@dataclass(frozen=True, slots=True)
class Part:
    """What one text has to do with a pass: its next tokens, the first at position `start`, the logits after the last
    `wanted` of them, and the pages that hold its keys and values, with room for the new ones."""

    tokens: Sequence[int]
    start: int
    wanted: int
    pages: Sequence[int]


class Network(Protocol):
    """What a runner drives. `pass_tokens`: how many tokens are worth reading in one pass."""

    pool: Pool
    pass_tokens: int

    def read(self, parts: Sequence[Part]) -> list[Floats]:
        """The logits (wanted, vocabulary size) of each part; their keys and values are in the pool afterwards."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a caller does while a pass is done for it: `meanwhile` is called once, in the caller's own thread.

    `cancelled` is asked before each pass, in the runner's thread: who waits sleeps, for in a room many wait, and each
    who looked up now and then would take Python's lock from those at work.
    """

    cancelled: Callable[[], bool] | None = None
    meanwhile: Callable[[], None] | None = None


@dataclass(slots=True, eq=False)
class Reading:
    """A text to be read to its end, and the logits after each token from position `first` on."""

    cache: Cache
    text: list[int]
    first: int
    logits: list[Floats] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Tokens still to be read; more again if the pool took the pages away before the end."""
        complete = self.cache.length >= len(self.text) and self._found == len(self.text)
        return 0 if complete else len(self.text) - self.cache.held

    @property
    def _found(self) -> int:
        """Positions before this one have their logits, or need none."""
        return self.first + sum(map(len, self.logits))

    def part(self, count: int) -> Part:
        """The next `count` tokens, for a pass."""
        start = self.cache.held
        wanted = max(0, start + count - max(start, self._found))
        return Part(self.text[start : start + count], start, wanted, self.cache.pages)

    def done(self, part: Part, logits: Floats) -> None:
        """Take over what a pass gave."""
        self.cache.held = part.start + len(part.tokens)
        if self.cache.held > self.cache.length:
            self.cache.tokens = self.text[: self.cache.held]
        if part.wanted:
            self.logits.append(logits)


@dataclass(slots=True, eq=False)
class _Job:
    readings: list[Reading]
    cancelled: Callable[[], bool] | None
    thread: int = field(default_factory=threading.get_ident)
    over: threading.Event = field(default_factory=threading.Event)
    withdrawn: bool = False
    problem: BaseException | None = None

    @property
    def left(self) -> int:
        return sum(reading.left for reading in self.readings)

    def is_wanted(self) -> bool:
        """Whether somebody still waits for it."""
        try:
            self.withdrawn = self.withdrawn or (self.cancelled is not None and self.cancelled())
        except Exception as error:  # whoever asked gets it
            self.problem = error
        return not self.withdrawn and self.problem is None


class Runner:
    """Serves the questions of all threads with one network."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._jobs: list[_Job] = []  # by when they came
        self._changed = threading.Condition()
        self._running = False

    def read(self, readings: list[Reading], waiting: Waiting | None = None) -> None:
        """Read texts to their ends; returns when their logits are there.

        Raises Busy if too many wait already, Cancelled, and what the network raises.
        """
        job = _Job(readings, waiting.cancelled if waiting else None)
        if job.left:
            self._submit(job)
        else:
            job.over.set()
        try:
            if waiting and waiting.meanwhile:
                waiting.meanwhile()
            job.over.wait()
        finally:
            job.withdrawn = True
            job.over.wait()  # until then the network may be writing into the caches
        if job.problem is not None:
            raise job.problem

    def before(self, thread: int) -> int:
        """How many questions are served before that of a thread (its ident) has its turn; 0 if it waits for none."""
        with self._changed:
            place = next((place for place, job in enumerate(self._jobs) if job.thread == thread), 0)
        return max(0, place + 1 - self._network.pass_tokens)

    def _submit(self, job: _Job) -> None:
        with self._changed:
            if len(self._jobs) >= MOST_WAITING:
                raise Busy(f"{MOST_WAITING} others are waiting for the model already. Try again in a moment.")
            self._jobs.append(job)
            self._changed.notify()
            if not self._running:
                self._running = True
                threading.Thread(target=self._serve, name="forward passes", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._changed:
                if not self._jobs and not self._changed.wait(_IDLE) and not self._jobs:
                    self._running = False
                    return
            self._turn()

    def _turn(self) -> None:
        """One pass for the first of the jobs; those that are over leave."""
        with self._changed:
            jobs = list(self._jobs)
        served = [job for job in jobs if job.is_wanted()][: self._network.pass_tokens]
        try:
            self._pass(served)
        except Exception as error:  # the network's; whoever asked gets it
            for job in served:
                job.problem = error
                for reading in job.readings:  # pages for what was not read hold nothing, and nobody counts them
                    self._network.pool.crop(reading.cache, reading.cache.held)
        over = [job for job in jobs if job.withdrawn or job.problem or not job.left]
        with self._changed:
            self._jobs = [job for job in self._jobs if job not in over]
        for job in over:
            if job.problem is None and job.left:
                job.problem = Cancelled()
            job.over.set()

    def _pass(self, waiting: list[_Job]) -> None:
        jobs = self._ready(waiting)
        chosen: list[tuple[Reading, Part]] = []
        kept: set[Cache] = set()
        for job, share in zip(jobs, shares([job.left for job in jobs], self._network.pass_tokens), strict=True):
            for reading in (reading for reading in job.readings if reading.left):
                kept.add(reading.cache)  # later jobs never take pages from earlier ones: the first always gets on
                count = min(share, reading.left)
                if count and self._network.pool.reserve(reading.cache, count, kept):
                    chosen.append((reading, reading.part(count)))
                    share -= count
        found = self._network.read([part for _, part in chosen]) if chosen else []
        for (reading, part), logits in zip(chosen, found, strict=True):
            reading.done(part, logits)

    def _ready(self, jobs: list[_Job]) -> list[_Job]:
        """Those that do not begin with what an earlier one is about to read: for them its pages are worth waiting."""
        pool, ready, ahead = self._network.pool, list[_Job](), list[Reading]()
        for job in jobs:
            reading = job.readings[0]
            if not reading.cache.held:
                beginning = reading.text[: reading.first]
                held, lender = pool.lender(beginning)
                if max((common(other.text, beginning) for other in ahead), default=0) > held:
                    continue
                if lender is not None:
                    pool.share(lender, reading.cache, held)
            if reading.left > 1:
                ahead.append(reading)
            ready.append(job)
        return ready


def shares(wishes: Sequence[int], room: int) -> list[int]:
    """How much of `room` each gets: all the same, but none more than it wishes; the earlier ones get what is odd."""
    given = [0] * len(wishes)
    hungry = [place for place, wish in enumerate(wishes) if wish]
    while hungry and room:
        equal = max(1, room // len(hungry))
        for place in hungry:
            more = min(equal, wishes[place] - given[place], room)
            given[place] += more
            room -= more
        hungry = [place for place in hungry if given[place] < wishes[place]]
    return given
