"""Where a schema fights the model: -ln Z of sampled runs, by the part of the constraint that took it.

One run says where the mask cost probability once. Several, drawn with different seeds, say which part of the schema
costs most on the whole and what the model would have written there instead: the field to rename, to reorder or to
loosen. Each step's -ln Z is split over the parts as `attribution` has it, so the parts add up to the whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.analysis.attribution import Paid, who_pays
from engine.decoding.decoder import Decoder, never
from engine.decoding.forward import Forward
from engine.decoding.observe import token_bytes, token_name
from engine.decoding.records import FinishReason, RunSpec, Step, Trace
from engine.errors import Origin
from engine.masking import Masker
from engine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from engine.model.model import Model

VISITED = 0.01
"""A step visits a part that stops this much of what was masked, also where it doesn't speak."""

WANTED = 3
"""How many tokens and how many steps a part names."""

CONTEXT = 48
"""Bytes before a step that are kept to show where it was."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A token that a part of the constraint masked. `mass`: its mean raw probability at the steps where it was among
    the likeliest; `cost`: the nats that it cost, its part of each step's -ln Z. `name`: how a token without bytes is
    shown, "" for every other.
    """

    token_id: int
    token: bytes
    name: str
    mass: float
    cost: float


@dataclass(frozen=True, slots=True)
class Moment:
    """A step at which a part was dear: the run's place in `Fights.runs`, the step's index, the nats that the part paid
    there, the end of what was written before it, and the token that was likeliest of those masked."""

    run: int
    step: int
    cost: float
    before: bytes
    wanted: Wanted | None


@dataclass(frozen=True, slots=True)
class Fight:
    """What one part of the source cost.

    `pointer`: the part as an `Origin` names it, None for the policy or the token limit; `keyword`: the one of its
    keywords that cost most. `visits`: steps at which it spoke or stopped something; `mean_z`: the mean Z of those.
    `cost`: nats over all runs; `share`: of the cost of all parts. `wanted` and `moments`: the dearest, best first; of
    moments after the same text one.
    """

    pointer: str | None
    keyword: str
    visits: int
    mean_z: float
    cost: float
    share: float
    wanted: tuple[Wanted, ...]
    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class SampledRun:
    """One run: its seed, what it wrote, -ln Z of all its steps in nats."""

    seed: int
    text: bytes
    steps: int
    cost: float
    finish: FinishReason | None


@dataclass(frozen=True, slots=True)
class Fights:
    """The parts of a constraint by what they cost, the dearest first, and the runs that this was seen in."""

    parts: tuple[Fight, ...]
    runs: tuple[SampledRun, ...]
    asked: int

    @property
    def cost(self) -> float:
        """-ln Z of all runs together, in nats."""
        return sum(run.cost for run in self.runs)


def fights(
    model: Model, spec: RunSpec, masker: Masker, samples: int, cancelled: Callable[[], bool] = never
) -> Iterator[Fights]:
    """What is known after each of the sampled runs; the last one is the result.

    Run i draws with the spec's seed plus i, at the spec's temperature; without one (greedy) all runs would be alike and
    there is one. Jumped tokens are read like any other. A run that is cancelled counts as far as it got. Raises
    DecodingError and BudgetError as `Decoder` does.
    """
    spec = replace(spec, jump_forward="off")
    asked = samples if spec.sampler.temperature else 1
    tally, forward = _Tally(model.vocabulary), None
    for number in range(asked):
        seeded = replace(spec, sampler=replace(spec.sampler, seed=spec.sampler.seed + number))
        run = Decoder(model, seeded, masker.constraint, masker, forward)
        while not cancelled() and (moved := _step(run)) is not None:
            tally.add(number, *moved)
        if not run.trace.steps:
            return
        tally.end(run.trace)
        yield tally.so_far(asked)
        forward = forward or _forward_of(model, run.trace)


def _step(run: Decoder) -> tuple[Step, tuple[Paid, ...]] | None:
    """The next step and who paid for it. The distributions are those the step draws from: no second pass."""
    if run.finish is not None:
        return None
    state, found = run.state, run.distributions_at(run.position)
    step = run.step()
    return None if step is None else (step, who_pays(run.masker, state, found.raw, found.allowed))


def _forward_of(model: Model, trace: Trace) -> Forward:
    """One prompt for all runs that follow, read once."""
    prompt = [token_id for token_id, _ in trace.prompt_tokens]
    return Forward(model, prompt, [token_id for token_id, _ in trace.healed.removed] if trace.healed else ())


@dataclass(slots=True)
class _Seen:
    """What is known of one part while runs go on."""

    visits: int = 0
    z: float = 0.0
    costs: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    moments: list[Moment] = field(default_factory=list)
    wanted: dict[int, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))


class _Tally:
    """The sums behind `Fights`."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._seen: dict[str | None, _Seen] = defaultdict(_Seen)
        self._runs: list[SampledRun] = []
        self._written = b""

    def add(self, number: int, step: Step, paid: tuple[Paid, ...]) -> None:
        visited: set[str | None] = {origin.pointer for origin in step.origins}
        by_part: dict[str | None, list[Paid]] = defaultdict(list)
        for payer in paid:
            by_part[_pointer(payer.origin)].append(payer)
        for pointer, payers in by_part.items():
            share = sum(payer.share for payer in payers)
            if share >= VISITED:
                visited.add(pointer)
            self._pay(pointer, payers, step, number)
        for pointer in visited:
            self._seen[pointer].visits += 1
            self._seen[pointer].z += step.z
        self._written = (self._written + step.token)[-CONTEXT:]

    def _pay(self, pointer: str | None, payers: list[Paid], step: Step, number: int) -> None:
        seen, masked = self._seen[pointer], sum(payer.mass for payer in payers)
        cost = step.cost * sum(payer.share for payer in payers)
        for payer in payers:
            seen.costs[payer.origin.keyword if payer.origin else ""] += step.cost * payer.share
        wanted = {token_id: mass for payer in payers for token_id, mass in payer.wanted}
        costs = {token_id: cost * min(1.0, mass / masked) for token_id, mass in wanted.items()}
        for token_id, mass in wanted.items():
            seen.wanted[token_id].append((mass, costs[token_id]))
        best = max(wanted, key=lambda token_id: wanted[token_id], default=None)
        likeliest = None if best is None else self._wanted(best, [(wanted[best], costs[best])])
        moment = Moment(number, step.index, cost, self._written, likeliest)
        seen.moments = _dearest([*seen.moments, moment])

    def end(self, trace: Trace) -> None:
        self._written = b""
        seed = trace.spec.sampler.seed
        self._runs.append(SampledRun(seed, trace.text, len(trace.steps), trace.cost, trace.finish))

    def so_far(self, asked: int) -> Fights:
        whole = sum(sum(seen.costs.values()) for seen in self._seen.values())
        parts = [self._fight(pointer, seen, whole) for pointer, seen in self._seen.items()]
        return Fights(tuple(sorted(parts, key=lambda part: (-part.cost, part.pointer or ""))), tuple(self._runs), asked)

    def _fight(self, pointer: str | None, seen: _Seen, whole: float) -> Fight:
        cost = sum(seen.costs.values())
        wanted = [self._wanted(token_id, masses) for token_id, masses in seen.wanted.items()]
        return Fight(
            pointer=pointer,
            keyword=max(seen.costs, key=lambda keyword: seen.costs[keyword], default=""),
            visits=seen.visits,
            mean_z=seen.z / seen.visits if seen.visits else 1.0,
            cost=cost,
            share=cost / whole if whole else 0.0,
            wanted=tuple(sorted(wanted, key=lambda token: (-token.cost, token.token_id))[:WANTED]),
            moments=tuple(seen.moments),
        )

    def _wanted(self, token_id: int, masses: list[tuple[float, float]]) -> Wanted:
        mean, cost = sum(mass for mass, _ in masses) / len(masses), sum(cost for _, cost in masses)
        name = token_name(self._vocabulary, token_id)
        return Wanted(token_id, token_bytes(self._vocabulary, token_id), name, mean, cost)


def _dearest(moments: list[Moment]) -> list[Moment]:
    """The dearest moments, one for each place that was reached by the same text."""
    found: dict[bytes, Moment] = {}
    for moment in sorted(moments, key=lambda m: -m.cost):
        found.setdefault(moment.before, moment)
    return list(found.values())[:WANTED]


def _pointer(origin: Origin | None) -> str | None:
    return None if origin is None else origin.pointer
