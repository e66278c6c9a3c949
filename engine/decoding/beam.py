"""Beam search over the tokens that a run may take: several texts side by side, the most probable ones kept.

At every step each live beam is extended by its most probable allowed tokens, and the best of all extensions go on. A
beam is scored by the model's own log-probabilities, not by the renormalised ones: a text that the constraint pushes the
model into stays as improbable as the model finds it. The rules are those of `generate(num_beams=n)` in transformers
with `early_stopping=False`; what could not be completed stays apart here, where transformers ranks it among the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from engine.constraint import Constraint
from engine.decoding.decoder import Decoder, never
from engine.decoding.errors import DecodingError
from engine.decoding.observe import token_bytes
from engine.decoding.records import FinishReason, RunSpec, Sampler
from engine.decoding.sampler import Distributions, distributions
from engine.decoding.support import Supports
from engine.masking import Masker, Place

if TYPE_CHECKING:
    from engine.model.kv_pool import Cache
    from engine.model.model import Model

MAX_BEAMS = 32
"""Each live beam holds a KV cache of the prompt and its tokens."""

GREEDY = Sampler()

Fate = Literal["live", "finished", "dropped"]
"""live: goes on in the next step; finished: took an end token; dropped: others were more probable."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A token by which a live beam could go on.

    `parent`: the beam's place among the live ones of the step before. `logprob`: the model's, ln p(token); with `cost`,
    the -ln Z of the parent's mask, it becomes the renormalised one. `total`: the sum of logprobs from the first token
    to this one; `score`: total / length ** length_penalty.
    """

    parent: int
    token_id: int
    token: bytes
    end: bool
    logprob: float
    cost: float
    total: float
    score: float
    fate: Fate

    @property
    def renormalised(self) -> float:
        """ln of the token's share among the allowed ones."""
        return self.logprob + self.cost


@dataclass(frozen=True, slots=True)
class BeamStep:
    """One step of the search: the best extensions in order of `total`, enough of them to fill all beams."""

    index: int
    extensions: tuple[Extension, ...]

    @property
    def live(self) -> tuple[Extension, ...]:
        """The beams after this step: what `parent` in the next step counts."""
        return tuple(extension for extension in self.extensions if extension.fate == "live")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A text that the search kept.

    `ids`: its tokens, a healed prefix and the end token included; `text`: its bytes without those two. For each token:
    `logprobs`, the model's; `costs`, -ln Z of the mask before it. `missing`: what an unfinished one lacks, in words.
    """

    ids: tuple[int, ...]
    text: bytes
    logprobs: tuple[float, ...]
    costs: tuple[float, ...]
    score: float
    finished: bool
    missing: str = ""

    @property
    def logprob(self) -> float:
        """ln of the probability of these tokens under the model."""
        return sum(self.logprobs)

    @property
    def renormalised(self) -> tuple[float, ...]:
        """For each token, ln of its share among the allowed ones."""
        return tuple(logprob + cost for logprob, cost in zip(self.logprobs, self.costs, strict=True))


@dataclass(frozen=True, slots=True)
class BeamResult:
    """What a search found: at most `beams` finished texts, then those that `finish` cut short, each best score first.

    `finish`: "complete" if no live beam could have beaten the finished ones, else why the search ended before.
    """

    spec: RunSpec
    beams: int
    length_penalty: float
    hypotheses: tuple[Hypothesis, ...]
    steps: tuple[BeamStep, ...]
    finish: FinishReason

    @property
    def best(self) -> Hypothesis | None:
        """The best finished text, the best unfinished one if there is none; None if nothing was computed."""
        return self.hypotheses[0] if self.hypotheses else None


def beam_search(
    model: Model,
    spec: RunSpec,
    beams: int = 4,
    length_penalty: float = 1.0,
    cancelled: Callable[[], bool] = never,
    constraint: Constraint | None = None,
    masker: Masker | None = None,
) -> BeamResult:
    """The most probable texts that a search with this many beams finds.

    Scores are sums of log-probabilities divided by length ** length_penalty (the end token counts): 0 ranks texts by
    their probability, larger values favour long ones. The search ends when `beams` texts are finished and the best live
    beam scores no better than the worst of them; with a positive penalty it might have done so by growing longer. Equal
    scores are ordered by ids. Of the spec, sampler and jump-forward have no part in it. `cancelled` is asked
    before each step. `constraint` and `masker`: the spec's, where they exist already.

    Raises ValueError unless 1 <= beams <= MAX_BEAMS, DecodingError if the spec takes tokens by hand, and what a Decoder
    raises.
    """
    if not 1 <= beams <= MAX_BEAMS:
        raise ValueError(f"beams must be a number from 1 to {MAX_BEAMS}, not {beams}.")
    if spec.choices:
        raise DecodingError("Beam search chooses by itself: a run with tokens taken by hand has no beams.")
    search = _Search(Decoder(model, spec, constraint, masker), beams, length_penalty)
    finish = search.reason_to_stop()
    while finish is None:
        if cancelled():
            finish = "cancelled"
        else:
            search.step()
            finish = search.reason_to_stop()
    return search.result(finish)


@dataclass(frozen=True, slots=True, eq=False)
class _Beam:
    """A beginning of a text. `cache` holds what was read before the `unread` tokens."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    costs: tuple[float, ...]
    state: int
    cache: Cache
    unread: tuple[int, ...]
    total: float = 0.0
    score: float = 0.0


class _Search:
    """A search in progress. `run` is never stepped: it says where a run of the spec begins."""

    def __init__(self, run: Decoder, beams: int, length_penalty: float) -> None:
        self._model, self._spec, self._masker = run.model, run.spec, run.masker
        self._beams = beams
        self._penalty = length_penalty
        self._considered = beams * (1 + len(run.model.vocabulary.end_ids))  # so that `beams` of them are not ended
        prompt = tuple(token_id for token_id, _ in run.trace.prompt_tokens)
        removed = run.model.encode(run.spec.prompt, run.spec.chat_template)[len(prompt) :]
        self._prefix = sum(len(run.model.vocabulary.tokens[token_id]) for token_id in removed)
        self._start = run.state
        self._last_step = run.model.context - len(prompt)
        self._supports = Supports(run.model, run.spec, run.masker)
        self._live = [_Beam((), (), (), run.state, run.model.new_cache(), prompt)]
        self._finished: list[Hypothesis] = []
        self._steps: list[BeamStep] = []

    def reason_to_stop(self) -> FinishReason | None:
        if not self._live:
            return "complete"
        if len(self._finished) == self._beams and self._live[0].score <= self._finished[-1].score:
            return "complete"
        if len(self._steps) >= self._spec.max_tokens:
            return "limit"
        return "context" if len(self._steps) > self._last_step else None

    def step(self) -> None:
        """Extend every live beam and keep the best."""
        caches = [beam.cache.fork(beam.cache.length) for beam in self._live]
        read = self._model.extend_each(caches, [beam.unread for beam in self._live])
        found: list[Extension] = []
        for parent, logits in enumerate(read):
            found += self._extensions(parent, self._distributions(self._live[parent], logits))
        found.sort(key=lambda extension: (-extension.total, *self._live[extension.parent].ids, extension.token_id))
        step = BeamStep(len(self._steps), tuple(self._judged(found[: self._considered])))
        self._steps.append(step)
        ended = (self._extended(one, caches) for one in step.extensions if one.fate == "finished")
        finished = [*self._finished, *(self._hypothesis(beam, finished=True) for beam in ended)]
        self._finished = _ranked(finished)[: self._beams]
        self._live = [self._extended(one, caches) for one in step.live]

    def result(self, finish: FinishReason) -> BeamResult:
        live = [] if finish == "complete" or not self._steps else self._live
        hypotheses = (*self._finished, *_ranked([self._hypothesis(beam, finished=False) for beam in live]))
        return BeamResult(self._spec, self._beams, self._penalty, hypotheses, tuple(self._steps), finish)

    def _distributions(self, beam: _Beam, logits: NDArray[np.float32]) -> Distributions:
        """The distributions after a beam."""
        remaining = min(self._spec.max_tokens, self._last_step + 1) - len(beam.ids)
        support = self._supports.at(Place(self._start, self._prefix, beam.ids, beam.state, remaining))
        try:
            return distributions(logits, support.allowed, GREEDY)
        except DecodingError as error:
            raise DecodingError(f"Step {len(beam.ids)}, after {self._text(beam)!r}: {error}.") from error

    def _extensions(self, parent: int, found: Distributions) -> list[Extension]:
        """The most probable tokens after a beam."""
        beam, vocabulary = self._live[parent], self._model.vocabulary
        logprobs = found.logits - (found.top + math.log(found.total))
        ids = np.flatnonzero(found.allowed & (found.logits > -np.inf))
        if len(ids) > self._considered:
            edge = np.partition(logprobs[ids], -self._considered)[-self._considered]
            ids = ids[logprobs[ids] >= edge]
        best = ids[np.argsort(-logprobs[ids], kind="stable")[: self._considered]]
        return [
            Extension(
                parent=parent,
                token_id=token_id,
                token=token_bytes(vocabulary, token_id),
                end=token_id in vocabulary.end_ids,
                logprob=float(logprobs[token_id]),
                cost=found.cost,
                total=beam.total + float(logprobs[token_id]),
                score=(beam.total + float(logprobs[token_id])) / (len(beam.ids) + 1) ** self._penalty,
                fate="dropped",
            )
            for token_id in best.tolist()
        ]

    def _judged(self, best: list[Extension]) -> Iterator[Extension]:
        """With the fate of each: as many live on as there are beams; an end counts only among the first that many."""
        room = self._beams
        for place, extension in enumerate(best):
            if extension.end:
                yield replace(extension, fate="finished" if place < self._beams else "dropped")
            else:
                yield replace(extension, fate="live" if room else "dropped")
                room -= room > 0

    def _extended(self, extension: Extension, caches: list[Cache]) -> _Beam:
        parent = self._live[extension.parent]
        state = self._masker.advance(parent.state, extension.token_id)
        assert state is not None, "only allowed tokens are considered"
        return _Beam(
            ids=(*parent.ids, extension.token_id),
            logprobs=(*parent.logprobs, extension.logprob),
            costs=(*parent.costs, extension.cost),
            state=state,
            cache=caches[extension.parent],
            unread=(extension.token_id,),
            total=extension.total,
            score=extension.score,
        )

    def _hypothesis(self, beam: _Beam, *, finished: bool) -> Hypothesis:
        constraint = self._masker.constraint
        missing = "" if finished or constraint.is_accepting(beam.state) else constraint.describe(beam.state)
        return Hypothesis(beam.ids, self._text(beam), beam.logprobs, beam.costs, beam.score, finished, missing)

    def _text(self, beam: _Beam) -> bytes:
        return b"".join(token_bytes(self._model.vocabulary, token_id) for token_id in beam.ids)[self._prefix :]


def _ranked(found: list[Hypothesis]) -> list[Hypothesis]:
    return sorted(found, key=lambda hypothesis: (-hypothesis.score, hypothesis.ids))
