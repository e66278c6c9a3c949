"""What one visitor looks at: the runs made so far, the one shown and its step, and the thread that extends it.

Everything that decodes is in the engine; this only decides what is asked of it and when.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.decoding.decoder import Decoder
from engine.decoding.records import RunSpec, Step, Trace
from engine.decoding.shared import Follower, SharedRun
from engine.decoding.spec import branched
from engine.masking import Masker
from engine.once import Once
from pages._constraints import HEAVIEST
from pages._worker import EXPECTED, Worker

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

KEPT_RUNS = 20
"""Runs in a visitor's list, fewer where those that are not seen and of other constraints take more than `HEAVIEST`."""

_RUNS: Once[tuple[int, RunSpec], SharedRun] = Once(64, lambda _, run: run.masker.held_bytes, HEAVIEST)
"""The runs that visitors share, by model and spec: a run takes about 10 KB a step, its masks and keys and values apart.
A run that a visitor has open lives on when it goes from here."""

Masks = Callable[[RunSpec], Masker | None]


@dataclass
class Run:
    """A run in the visitor's list. `recorded`: the name of the shipped trace it is; `follower` None: records only;
    `parent`: the number of the run that it left as a branch, 0 if it is none."""

    number: int
    title: str
    trace: Trace
    recorded: str = ""
    follower: Follower | None = None
    parent: int = 0

    @property
    def going(self) -> bool:
        """More steps can be computed."""
        return self.follower is not None and self.follower.finish in (None, "cancelled")

    def refresh(self) -> None:
        """Take over the steps taken."""
        if self.follower is not None:
            self.trace = self.follower.trace


@dataclass
class Visit:
    """One visitor's runs. `position` is the step shown; `selected` a state or edge of its automaton, `token` a token
    that is looked into, `compared` the number of a run beside the one shown, `shows` how often another run was shown,
    `onward` that the run goes on to its end once the worker is done.

    A follower is for one thread at a time, and keys may be pressed faster than a page is drawn: while a worker is under
    way, what would touch a follower or the step shown does nothing, and what shows another run stops the worker first.
    Only a run to the end is kept for later, since keys that come together are not served in the order they came in.
    """

    runs: list[Run] = field(default_factory=list)
    shown: int = 0
    position: int = 0
    selected: str = ""
    token: int | None = None
    compared: int = 0
    problem: str = ""
    worker: Worker | None = None
    made: int = 0
    shows: int = 0
    onward: bool = False

    @property
    def run(self) -> Run | None:
        return next((run for run in self.runs if run.number == self.shown), None)

    @property
    def step(self) -> Step | None:
        run = self.run
        return run.trace.steps[self.position] if run and self.position < len(run.trace.steps) else None

    @property
    def busy(self) -> bool:
        """A worker is under way, or has ended and not been `settle`d."""
        return self.worker is not None

    def goto(self, index: int) -> None:
        """Show step `index`, or the nearest there is."""
        if not self.busy:
            self._goto(index)

    def _goto(self, index: int) -> None:
        run = self.run
        last = len(run.trace.steps) - 1 if run else 0
        self.position = max(0, min(index, last))
        self.selected = ""
        self.token = None
        self.problem = ""

    def show(self, number: int) -> None:
        """Show another run of the list, at the same step where it has one."""
        self.stop()
        self._show(number, self.position)

    def compare(self, number: int) -> None:
        """Put a run beside the one shown, or away if it is there."""
        self.compared = 0 if number == self.compared else number

    @property
    def tree(self) -> list[tuple[int, Run]]:
        """The runs with their depth, each branch behind the run that it left."""
        here = {run.number for run in self.runs}
        below: dict[int, list[Run]] = {}
        for run in self.runs:
            below.setdefault(run.parent if run.parent in here else 0, []).append(run)
        rows: list[tuple[int, Run]] = []
        pending = [(0, run) for run in reversed(below.get(0, []))]
        while pending:
            depth, run = pending.pop()
            rows.append((depth, run))
            pending += [(depth + 1, branch) for branch in reversed(below.get(run.number, []))]
        return rows

    def _show(self, number: int, index: int) -> None:
        self.compared = 0 if number == self.compared else self.compared
        self.shown = number
        self.shows += 1
        self._goto(index)

    def show_recorded(self, name: str, trace: Trace) -> None:
        """Show a shipped trace where it is most worth looking at."""
        self.stop()
        same = next((run for run in self.runs if run.recorded == name), None)
        self._show((same or self._add(f"{name}, recorded", trace, recorded=name)).number, worth_seeing(trace))

    def show_saved(self, name: str, trace: Trace) -> None:
        """Show a trace from a file, where it is most worth looking at."""
        self.stop()
        self._show(self._add(f"{name[:60]}, from a file", trace, recorded=name).number, worth_seeing(trace))

    def start(self, title: str, model: Model, spec: RunSpec, masker: Masker | None) -> None:
        """Begin a run and compute its first step."""
        self.stop()
        try:
            follower = followed(model, spec, masker)
            follower.step()
        except EXPECTED as error:
            self.problem = str(error)
            return
        self._show(self._add(title, follower.trace, follower=follower).number, 0)

    def forward(self) -> None:
        """To the next step; computes it if the run has none yet."""
        run = self.run
        if run is None or self.busy:
            return
        if self.position + 1 >= len(run.trace.steps) and run.going and run.follower is not None:
            try:
                run.follower.goto(len(run.trace.steps))
                run.follower.step()
            except EXPECTED as error:
                self.problem = str(error)
                return
            run.refresh()
        self._goto(self.position + 1)

    def forward_until(self, enough: Callable[[Step], bool]) -> None:
        """To the next step that is `enough`, or to the end; what isn't computed yet is computed by a worker."""
        run = self.run
        if self.busy:
            self.onward |= enough is never
        if run is None or self.busy:
            return
        ahead = run.trace.steps[self.position + 1 :]
        found = next((step.index for step in ahead if enough(step)), None)
        if found is not None or not run.going or run.follower is None:
            self._goto(len(run.trace.steps) - 1 if found is None else found)
            return
        follower = run.follower

        def work(stop: Callable[[], bool]) -> None:
            follower.goto(len(follower.trace.steps))
            for step in follower.run(stop):
                if enough(step):
                    return

        self.worker = Worker(work)

    def take(self, index: int, token_id: int, model: Model, masks: Masks) -> None:
        """A new run that equals the shown one before step `index` and takes `token_id` there."""
        run = self.run
        if run is None or self.busy or not 0 <= index < len(run.trace.steps):
            return
        if not speaks(run.trace, model):
            self.problem = "This trace was recorded with another model: it can be replayed, but not branched."
            return
        if run.follower is not None:
            try:
                self._adopt(run, branch_of(run.follower, model, run.trace.spec, index, token_id), index)
            except EXPECTED as error:
                self.problem = str(error)
            return

        def work(stop: Callable[[], bool]) -> Callable[[], None] | None:
            branch = SharedRun(resumed(run.trace, index, model, masks).branch(index, token_id)).follow()
            branch.step()
            return lambda: self._adopt(run, branch, index)

        self.worker = Worker(work)

    def settle(self) -> bool:
        """Take over what the worker has done so far; True when it has ended."""
        if self.worker is None:
            return False
        ended = not self.worker.busy
        if run := self.run:
            grown = len(run.trace.steps)
            run.refresh()
            if len(run.trace.steps) > grown:
                self.position = len(run.trace.steps) - 1
                self.selected, self.token = "", None
        if ended:
            onward = self.onward and not self.worker.cancelled and not self.worker.problem
            self.problem, then, self.worker, self.onward = self.worker.problem, self.worker.then, None, False
            if then is not None:
                then()
            if onward:
                self.forward_until(never)
        return ended

    def stop(self) -> None:
        """Cancel the worker, if there is one, and take over what it has done; waits for the token it is at."""
        if self.worker is not None:
            self.worker.cancel()
            self.worker.wait()
            self.settle()

    def _adopt(self, run: Run, branch: Follower, index: int) -> None:
        """Show `branch`, which leaves `run` at step `index`."""
        title = f"branch at step {index}"
        made = self._add(title, branch.trace, follower=branch, parent=run.number)
        self._show(made.number, index)

    def _add(
        self,
        title: str,
        trace: Trace,
        *,
        recorded: str = "",
        follower: Follower | None = None,
        parent: int = 0,
    ) -> Run:
        self.made += 1
        run = Run(self.made, title, trace, recorded, follower, parent)
        seen = [other for other in self.runs if other.number in (self.shown, self.compared)]
        self.runs = _latest([*self.runs, run], seen)
        return run


def _latest(runs: list[Run], seen: list[Run]) -> list[Run]:
    """As many of the latest runs as are kept: those of the last one's constraint and of those `seen` whatever they
    take, as they are what it is compared with, and of the others those that fit beside later ones."""
    free = {_masker_of(run) for run in (*seen, runs[-1])} | {None}
    held, kept = dict[Masker | None, int](), list[Run]()
    for run in reversed(runs[-KEPT_RUNS:]):
        masker = _masker_of(run)
        if masker not in free and masker not in held:
            weight = masker.held_bytes if masker else 0
            if sum(held.values()) + weight > HEAVIEST:
                continue
            held[masker] = weight
        kept.append(run)
    return kept[::-1]


def _masker_of(run: Run) -> Masker | None:
    return run.follower.shared.masker if run.follower else None


def followed(model: Model, spec: RunSpec, masker: Masker | None) -> Follower:
    """A place at the beginning of a run that all visitors share. Raises as `Decoder` does."""
    spec = replace(spec, model=model.name)
    constraint = masker.constraint if masker else None
    return _RUNS.get((id(model), spec), lambda: SharedRun(Decoder(model, spec, constraint, masker))).follow()


def branch_of(follower: Follower, model: Model, spec: RunSpec, index: int, token_id: int) -> Follower:
    """A place in the branch, shared as well, that takes `token_id` at step `index`, with that step taken."""

    def make() -> SharedRun:
        return follower.shared.branch(index, token_id)

    ours = _RUNS.held((id(model), spec)) is not follower.shared  # it left a recorded trace, whose tokens may be others
    branch = make() if ours else _RUNS.get((id(model), branched(spec, index, token_id)), make)
    place = branch.follow()
    place.step()
    return place


def resumed(trace: Trace, steps: int, model: Model, masks: Masks) -> Decoder:
    """A decoder that stands where `trace` stands after `steps` steps."""
    spec = replace(trace.spec, choices=tuple(c for c in trace.spec.choices if c[0] < steps))
    masker = masks(spec)
    beginning = replace(trace, spec=spec, steps=trace.steps[:steps])
    return Decoder.resumed(model, beginning, masker.constraint if masker else None, masker)


def speaks(trace: Trace, model: Model) -> bool:
    """The trace's token ids mean the same to `model`: a recorded trace may come from another vocabulary."""
    tokens = model.vocabulary.tokens
    return trace.vocabulary_size == len(tokens) and all(
        step.end or step.token == tokens[step.token_id] for step in trace.steps
    )


def worth_seeing(trace: Trace) -> int:
    """The step to open a trace at: where the mask cost most and the model's own first choice was masked."""
    steps = [step for step in trace.steps if step.argmax_masked] or list(trace.steps)
    return max(steps, key=lambda step: step.cost).index if steps else 0


def sampled(step: Step) -> bool:
    """The step's token was drawn from several."""
    return step.kind == "sampled"


def never(step: Step) -> bool:
    """Run to the end."""
    return False
