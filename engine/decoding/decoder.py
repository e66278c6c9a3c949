"""The decoding loop: logits, mask, renormalise, draw, advance; one `Step` a token.

A run is a pure function of its `RunSpec`. What was computed stays: going back and forth replays the same records, and a
branch shares everything up to the step where it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from engine.constraint import Constraint
from engine.decoding.errors import ChoiceError, DecodingError
from engine.decoding.forward import Forward
from engine.decoding.observe import Ranking, candidates, entropy, token_bytes, token_name, top2_gap
from engine.decoding.records import FinishReason, RunSpec, Step, StepKind, Trace
from engine.decoding.sampler import Bools, Distributions, Draw, distributions, draw
from engine.decoding.spec import run_id
from engine.decoding.trace import tidy
from engine.errors import Origin
from engine.grammar.sources import compile_source
from engine.masking import Masker, TokenMask

if TYPE_CHECKING:
    from engine.model.model import Model

SHOWN_COMPLETION = 120
"""Bytes of a shortest completion that are still worth showing."""


def never() -> bool:
    """A run that nobody cancels."""
    return False


class Decoder:
    """One run of a model under a constraint (or none). For one thread at a time.

    `spec.constraint` is compiled unless its `constraint` (and `masker`) are given. `forward` is shared with the run
    that this one branches from.
    Raises ConstraintError as the compilation does, and DecodingError if the prompt is empty or too long.
    """

    def __init__(
        self,
        model: Model,
        spec: RunSpec,
        constraint: Constraint | None = None,
        masker: Masker | None = None,
        forward: Forward | None = None,
    ) -> None:
        self.model = model
        self.spec = replace(spec, model=model.name)
        self.masker = _masker(model, spec, constraint, masker)
        self.constraint = self.masker.constraint if self.masker else None
        self._prompt = _prompt(model, spec)
        self._forward = forward or Forward(model, self._prompt)
        self._free = None if self.masker else _free(model)
        self._choices = dict(spec.choices)
        self._steps: list[Step] = []
        self._states: list[int | None] = [self.constraint.start if self.constraint else None]
        self._at = 0
        self._finish: FinishReason | None = None

    @property
    def position(self) -> int:
        """The index of the step that `step` gives next."""
        return self._at

    @property
    def state(self) -> int | None:
        """The automaton's state at the position, None in a free run."""
        return self._states[self._at]

    @property
    def finish(self) -> FinishReason | None:
        """Why the run ended, None while it can go on. A cancelled run goes on with the next step."""
        return self._finish

    @property
    def trace(self) -> Trace:
        """All steps computed so far, whatever the position."""
        return Trace(
            spec=self.spec,
            run_id=run_id(self.spec),
            model=self.model.name,
            vocabulary_size=self.model.vocabulary.size,
            prompt_tokens=tuple((token_id, self._shown(token_id)) for token_id in self._prompt),
            steps=tuple(self._steps),
            finish=self._finish,
            missing=self._missing() if self._finish not in (None, "complete") else "",
        )

    def mask_at(self, index: int) -> TokenMask | None:
        """The mask before step `index` (or after the last one), None in a free run."""
        state = self._states[index]
        return self.masker.mask(state) if self.masker and state is not None else None

    def step(self) -> Step | None:
        """The step at the position: replayed if it is known, else computed; None behind the end of the run.

        Raises ChoiceError if a token taken by hand is masked, DecodingError if the logits are broken.
        """
        if self._at == len(self._steps):
            if self._finish not in (None, "cancelled"):
                return None
            self._compute()
            self._finish = self._reason_to_stop()
        self._at += 1
        return self._steps[self._at - 1]

    def run(self, cancelled: Callable[[], bool] = never) -> Iterator[Step]:
        """The steps from the position to the end. `cancelled` is asked before each."""
        while not cancelled():
            step = self.step()
            if step is None:
                return
            yield step
        if self._finish is None:
            self._finish = "cancelled"

    def goto(self, index: int) -> None:
        """Move to before step `index`, one of those computed or the next."""
        if not 0 <= index <= len(self._steps):
            raise ValueError(f"There is no step {index}; {len(self._steps)} are computed.")
        self._at = index

    def branch(self, index: int, token_id: int) -> Decoder:
        """A new run, at `index`, that equals this one before it and takes `token_id` there.

        Raises ChoiceError if the token is masked.
        """
        if not 0 <= index <= len(self._steps) or (index == len(self._steps) and self._steps and self._steps[-1].end):
            raise ValueError(f"There is no step {index} to branch at; {len(self._steps)} are computed.")
        self._check_choice(index, token_id)
        kept = tuple(choice for choice in self.spec.choices if choice[0] < index)
        spec = replace(self.spec, choices=(*kept, (index, token_id)))
        other = Decoder(self.model, spec, self.constraint, self.masker, self._forward)
        other._steps = self._steps[:index]
        other._states = self._states[: index + 1]
        other._at = index
        return other

    def _compute(self) -> None:
        """Compute the next step and append it with the state after it."""
        index, state = len(self._steps), self._states[-1]
        started = perf_counter()
        logits = self._forward.logits([step.token_id for step in self._steps])
        forwarded = perf_counter()
        allowed = self._allowed(index)
        masked = perf_counter()
        count = int(np.count_nonzero(allowed))
        if not count:
            raise DecodingError(f"Step {index}: no token is allowed. {self._where(state)}")
        try:
            found = distributions(logits, allowed, self.spec.sampler)
        except DecodingError as error:
            raise DecodingError(f"Step {index}: {error}.") from error
        kind, drawn = self._take(index, count, found)
        sampled = perf_counter()
        after = self._advance(state, drawn.token_id)
        advanced = perf_counter() - sampled
        seconds = {
            "forward": forwarded - started,
            "mask": masked - forwarded + advanced,
            "sample": sampled - masked,
        }
        self._steps.append(self._record(index, state, kind, drawn, found, count, seconds))
        self._states.append(after)

    def _take(self, index: int, count: int, found: Distributions) -> tuple[StepKind, Draw]:
        if index in self._choices:
            self._check_choice(index, self._choices[index])
            return "chosen", Draw(self._choices[index], 1.0)
        if count == 1:
            return "forced", Draw(int(found.allowed.argmax()), 1.0)
        return "sampled", draw(found.sampling, self.spec.sampler, index)

    def _check_choice(self, index: int, token_id: int) -> None:
        size = self.model.vocabulary.size
        if not 0 <= token_id < size:
            raise ChoiceError(f"Step {index}: there is no token {token_id}; the vocabulary has {size}.")
        if self._allowed(index)[token_id]:
            return
        shown = repr(token_name(self.model.vocabulary, token_id) or self.model.vocabulary.name(token_id))
        raise ChoiceError(
            f"Step {index}: token {token_id} ({shown}) is not allowed here. {self._where(self._states[index])}"
        )

    def _allowed(self, index: int) -> Bools:
        if self._free is not None:
            return self._free
        mask = self.mask_at(index)
        assert mask is not None
        return mask.to_bool()

    def _advance(self, state: int | None, token_id: int) -> int | None:
        if self.masker is None or state is None:
            return None
        after = self.masker.advance(state, token_id)
        if after is None:
            raise DecodingError(f"Token {token_id} is in the mask but the automaton refuses it. {self._where(state)}")
        return after

    def _record(
        self,
        index: int,
        state: int | None,
        kind: StepKind,
        drawn: Draw,
        found: Distributions,
        count: int,
        seconds: dict[str, float],
    ) -> Step:
        vocabulary, taken = self.model.vocabulary, drawn.token_id
        ranking, argmax = Ranking(found.logits), int(found.logits.argmax())
        return Step(
            index=index,
            offset=sum(len(step.token) for step in self._steps),
            token_id=taken,
            token=token_bytes(vocabulary, taken),
            kind=kind,
            end=taken in vocabulary.end_ids,
            before=self._describe(state),
            origins=self._origins(state),
            candidates=candidates(found, taken, vocabulary, ranking),
            allowed_count=count,
            z=tidy(found.z),
            cost=tidy(found.cost),
            raw_entropy=tidy(entropy(found.raw)),
            renormalised_entropy=tidy(entropy(found.renormalised)),
            rank=ranking.rank(taken),
            raw=tidy(found.raw[taken]),
            renormalised=tidy(found.renormalised[taken]),
            argmax_id=argmax,
            argmax=token_bytes(vocabulary, argmax),
            argmax_masked=not found.allowed[argmax],
            argmax_origins=() if found.allowed[argmax] else self._blame(state, argmax),
            top2_gap=tidy(top2_gap(found)),
            draw_distance=tidy(drawn.distance),
            seconds={phase: tidy(spent) for phase, spent in seconds.items()},
        )

    def _reason_to_stop(self) -> FinishReason | None:
        if self._steps[-1].end:
            return "complete"
        if len(self._steps) >= self.spec.max_tokens:
            return "limit"
        if len(self._prompt) + len(self._steps) > self.model.context:
            return "context"
        return None

    def _missing(self) -> str:
        state = self._states[-1]
        if self.constraint is None or state is None or self.constraint.is_accepting(state):
            return ""
        completion, words = self.constraint.shortest(state), self._describe(state)
        if len(completion) > SHOWN_COMPLETION:
            return f"{words} (at least {len(completion)} more bytes)"
        return f"{words} (for example {completion.decode(errors='backslashreplace')})"

    def _where(self, state: int | None) -> str:
        if state is None:
            return "A free run takes any token except special ones."
        origins = ", ".join(map(str, self._origins(state)))
        return f"What remains is {self._describe(state)}" + (f", by {origins}." if origins else ".")

    def _describe(self, state: int | None) -> str:
        return self.constraint.describe(state) if self.constraint and state is not None else ""

    def _origins(self, state: int | None) -> tuple[Origin, ...]:
        return self.constraint.origins(state) if self.constraint and state is not None else ()

    def _blame(self, state: int | None, token_id: int) -> tuple[Origin, ...]:
        if self.masker is None or state is None or token_id >= self.model.vocabulary.size:
            return ()
        return self.masker.blame(state, token_id)

    def _shown(self, token_id: int) -> bytes:
        vocabulary = self.model.vocabulary
        return token_bytes(vocabulary, token_id) or token_name(vocabulary, token_id).encode()


def _masker(model: Model, spec: RunSpec, constraint: Constraint | None, masker: Masker | None) -> Masker | None:
    if spec.constraint is None:
        return None
    return masker or Masker(constraint or compile_source(spec.constraint), model.vocabulary)


def _prompt(model: Model, spec: RunSpec) -> list[int]:
    if not spec.prompt.strip():
        raise DecodingError("The prompt is empty. Write what the model should answer.")
    ids = model.encode(spec.prompt, spec.chat_template)
    if len(ids) > model.context:
        raise DecodingError(
            f"The prompt is too long: it has {len(ids)} tokens and the model reads at most {model.context}. Shorten it."
        )
    return ids


def _free(model: Model) -> Bools:
    """What a free run may take: every token that spells something, and the end tokens."""
    vocabulary = model.vocabulary
    allowed = np.fromiter((bool(token) for token in vocabulary.tokens), dtype=np.bool_, count=vocabulary.size)
    allowed[sorted(vocabulary.end_ids)] = True
    return allowed
