"""One run for all who look at it: each step is computed by whoever asks for it first, and the others take its record.

A run is a pure function of its spec, so thirty visitors who start the same one need its forward passes once. Each has a
place of their own: nobody sees steps that they have not come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock

from engine.decoding.decoder import Decoder, never
from engine.decoding.records import FinishReason, Step, Trace
from engine.decoding.sampler import Distributions
from engine.masking import Masker

LOOK = 0.2  # seconds after which one who waits for another's pass asks whether to stop


class SharedRun:
    """A decoder behind a lock. Nobody else may use it from now on."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._ends = [len(decoder.steps)]  # how many steps there are after each pass: a jump makes several
        self._lock = Lock()

    @property
    def masker(self) -> Masker:
        """The masks of the run, which runs of the same constraint have in common."""
        return self._decoder.masker

    def follow(self) -> Follower:
        """A place behind the steps that the run began with."""
        return Follower(self, self._ends[0])

    def branch(self, index: int, token_id: int) -> SharedRun:
        """A run that equals this one before step `index` and takes `token_id` there. Raises as `Decoder.branch`."""
        with self._lock:
            return SharedRun(self._decoder.branch(index, token_id))

    def after(self, taken: int, cancelled: Callable[[], bool]) -> int:
        """How many steps are known one pass behind the first `taken`, computed if need be; `taken` where the run has
        ended or was cancelled. Raises as `Decoder.step`."""
        if (known := self._known_after(taken)) is not None:
            return known
        while not self._lock.acquire(timeout=LOOK):
            if cancelled():
                return taken
        try:
            if (known := self._known_after(taken)) is not None:
                return known
            self._decoder.goto(taken)
            if self._decoder.step(cancelled) is None:
                return taken
            self._ends.append(len(self._decoder.steps))
            return self._ends[-1]
        finally:
            self._lock.release()

    def finish(self, taken: int) -> FinishReason | None:
        """Why the run ends behind its first `taken` steps, None where it goes on."""
        return self._decoder.finish if taken == self._ends[-1] else None

    def step(self, index: int) -> Step:
        """The record of a step that is known."""
        return self._decoder.steps[index]

    def trace(self, taken: int, finish: FinishReason | None) -> Trace:
        """The record of the first `taken` steps."""
        return self._decoder.trace_of(taken, finish)

    def at_hand(self, index: int) -> Distributions | None:
        """The full distributions of a step if they cost no forward pass: those of the step computed last."""
        with self._lock:
            latest = index == self._ends[-1] - 1 and len(self._ends) > 1
            return self._decoder.distributions_at(index) if latest else None

    def _known_after(self, taken: int) -> int | None:
        return next((end for end in self._ends if end > taken), None)


class Follower:
    """One visitor's place in a shared run: `step` and `run` take its steps in turn. For one thread at a time.

    `finish` is None while there are more to take; a cancelled run goes on with the next step.
    """

    def __init__(self, run: SharedRun, taken: int) -> None:
        self.shared = run
        self._taken = self._at = taken
        self._cancelled = False

    @property
    def finish(self) -> FinishReason | None:
        return self.shared.finish(self._taken) or ("cancelled" if self._cancelled else None)

    @property
    def trace(self) -> Trace:
        """The steps taken so far, whatever the position."""
        return self.shared.trace(self._taken, self.finish)

    def goto(self, index: int) -> None:
        """Move to before step `index`, one of those taken or the next."""
        if not 0 <= index <= self._taken:
            raise ValueError(f"There is no step {index}; {self._taken} are taken.")
        self._at = index

    def step(self, cancelled: Callable[[], bool] = never) -> Step | None:
        """The step at the position; None behind the end of the run, or if cancelled. Raises as `Decoder.step`."""
        if self._at == self._taken:
            self._taken = self.shared.after(self._taken, cancelled)
            if self._at == self._taken:
                return None
            self._cancelled = False
        self._at += 1
        return self.shared.step(self._at - 1)

    def run(self, cancelled: Callable[[], bool] = never) -> Iterator[Step]:
        """The steps from the position to the end. `cancelled` is asked before each, and while another computes it."""
        while not cancelled() and (step := self.step(cancelled)) is not None:
            yield step
        self._cancelled = cancelled()

    def at_hand(self, index: int) -> Distributions | None:
        """The full distributions of a step if they cost no forward pass."""
        return self.shared.at_hand(index)
