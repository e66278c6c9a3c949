"""The decoding loop: logits, mask, renormalise, draw, advance; one `Step` a token.

A run is a pure function of its `RunSpec`. What was computed stays: going back and forth replays the same records, and a
branch shares everything up to the step where it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

from engine.constraint import Constraint
from engine.decoding.errors import ChoiceError, DecodingError
from engine.decoding.forward import Forward, Logits
from engine.decoding.healing import taken_back
from engine.decoding.jump import jumped
from engine.decoding.observe import candidates, observed, spelled, token_bytes, token_name
from engine.decoding.records import FinishReason, Healed, RunSpec, Step, StepKind, Trace
from engine.decoding.sampler import Distributions, Draw, distributions, draw
from engine.decoding.spec import branched, run_id, spec_from_dict, spec_to_dict
from engine.decoding.support import Support, Supports
from engine.errors import Origin
from engine.grammar.free_text import any_bytes
from engine.grammar.sources import compile_source
from engine.masking import Masker, Place, TokenMask
from engine.model.errors import Cancelled
from engine.model.runner import Waiting

if TYPE_CHECKING:
    from engine.model.model import Model

SHOWN_COMPLETION = 120
"""Bytes of a shortest completion that are still worth showing."""


def never() -> bool:
    """A run that nobody cancels."""
    return False


class Decoder:
    """One run of a model under a constraint (or none). For one thread at a time.

    `spec.constraint` is compiled unless its `constraint` (and `masker`) are given. `forward` has read what
    the run that this one branches from has.
    Raises SpecError if a field of the spec is out of its range, ConstraintError as the compilation does, and
    DecodingError if the prompt is empty or too long, or no text can be completed within a limit that must be kept.
    """

    def __init__(
        self,
        model: Model,
        spec: RunSpec,
        constraint: Constraint | None = None,
        masker: Masker | None = None,
        forward: Forward | None = None,
    ) -> None:
        spec_from_dict(spec_to_dict(spec))
        self.model = model
        self.spec = replace(spec, model=model.name)
        self.constraint, self.masker = _masks(model, spec, constraint, masker)
        prompt = _prompt(model, spec)
        cut = len(prompt) - taken_back(prompt, model.vocabulary, spec.healing)
        self._prompt, self._removed = prompt[:cut], prompt[cut:]
        self._prefix = b"".join(model.vocabulary.tokens[token_id] for token_id in self._removed)
        self._forward = forward or Forward(model, self._prompt, self._removed)
        self._choices = dict(spec.choices)
        self._steps: list[Step] = []
        start = self.masker.constraint.start
        self._states = [self.masker.constraint.after_prefix(self._prefix) if self._prefix else start]
        self._supports = Supports(model, spec, self.masker)
        self._limit = min(spec.max_tokens, model.context - len(self._prompt) + 1)  # the last one need not be read
        self._supports.check_limit(self._states[0], self._limit)
        self._at = 0
        self._finish: FinishReason | None = None
        self._fresh: tuple[int, Distributions] | None = None

    @classmethod
    def resumed(
        cls, model: Model, trace: Trace, constraint: Constraint | None = None, masker: Masker | None = None
    ) -> Decoder:
        """The run that `trace` recorded, with its steps, ready to go on or to branch; nothing is computed again.

        Raises DecodingError if the trace's tokens are not the model's, or the constraint refuses them.
        """
        run = cls(model, trace.spec, constraint, masker)
        for step in trace.steps:
            if token_bytes(model.vocabulary, step.token_id) != step.token:
                raise DecodingError(f"Step {step.index} took a token that {model.name} does not have: {step.token!r}.")
            run._steps.append(step)
            run._states.append(run._advance(run._states[-1], step.token_id))
        run._at = len(run._steps)
        run._finish = run._reason_to_stop() if run._steps else None
        return run

    @property
    def position(self) -> int:
        """The index of the step that `step` gives next."""
        return self._at

    @property
    def state(self) -> int:
        """The automaton's state at the position."""
        return self._states[self._at]

    @property
    def finish(self) -> FinishReason | None:
        """Why the run ended, None while it can go on. A cancelled run goes on with the next step."""
        return self._finish

    @property
    def steps(self) -> Sequence[Step]:
        """All steps computed so far, whatever the position; it grows with the run."""
        return self._steps

    @property
    def trace(self) -> Trace:
        """The record of all steps computed so far."""
        return self.trace_of(len(self._steps), self._finish)

    def trace_of(self, steps: int, finish: FinishReason | None) -> Trace:
        """The record of the first `steps` steps, for one who has not come further; `finish`: why they stopped there."""
        return Trace(
            spec=self.spec,
            run_id=self._run_id,
            model=self.model.name,
            vocabulary_size=self.model.vocabulary.size,
            prompt_tokens=self._prompt_tokens,
            steps=tuple(self._steps[:steps]),
            finish=finish,
            missing=self._missing(self._states[steps]) if finish not in (None, "complete") else "",
            healed=self._healed if steps else None,
        )

    def mask_at(self, index: int) -> TokenMask:
        """The mask before step `index` (or after the last one), before policy and limit take anything away."""
        return self.masker.mask(self._states[index])

    def distributions_at(self, index: int) -> Distributions:
        """The full distributions of a step computed before (or of the next), from the model again.

        Those of the step computed last are at hand, once: they are large, and whoever wants them keeps them.
        """
        fresh, self._fresh = self._fresh, None
        if fresh is not None and fresh[0] == index:
            return fresh[1]
        tokens = [step.token_id for step in self._steps[:index]]
        return self._distributions(index, self._forward.logits(tokens)[0], self._supports.at(self._place(index)))

    def step(self, cancelled: Callable[[], bool] = never) -> Step | None:
        """The step at the position: replayed if it is known, else computed; None behind the end of the run, or if
        `cancelled` says so while the model reads.

        Raises ChoiceError if a token taken by hand is masked, DecodingError if the logits are broken.
        """
        if self._at == len(self._steps):
            if self._finish not in (None, "cancelled"):
                return None
            try:
                self._compute(cancelled)
            except Cancelled:
                return None
            self._finish = self._reason_to_stop()
        self._at += 1
        return self._steps[self._at - 1]

    def run(self, cancelled: Callable[[], bool] = never) -> Iterator[Step]:
        """The steps from the position to the end. `cancelled` is asked before each and while the model reads."""
        while not cancelled():
            step = self.step(cancelled)
            if step is None:
                break
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
        spec = branched(self.spec, index, token_id)
        other = Decoder(self.model, spec, self.constraint, self.masker, self._forward.fork())
        other._steps = self._steps[:index]
        other._states = self._states[: index + 1]
        other._at = index
        return other

    def _compute(self, cancelled: Callable[[], bool]) -> None:
        """Compute the next step, or the next ones where the constraint forces several, and append them. Its mask is
        made while the model reads; the time that takes is counted as the mask's as well as the pass's."""
        started = perf_counter()
        index = len(self._steps)
        ahead = self._ahead(index)
        found = perf_counter()
        seconds = {"jump": found - started} if ahead else {}
        waiting = Waiting(cancelled, None if ahead else lambda: self._look_up(index, seconds))
        logits = self._forward.logits([step.token_id for step in self._steps], ahead, waiting)
        seconds["forward"] = perf_counter() - found
        if not ahead:
            self._take(index, logits[0], seconds)
        for place, token_id in enumerate(ahead):
            self._take(index + place, logits[place], {} if place else seconds, token_id)

    def _look_up(self, index: int, seconds: dict[str, float]) -> None:
        """Have the support of a step ready, and note this thread's own time for it: it shares the cores with a pass."""
        started = thread_time()
        self._supports.at(self._place(index))
        seconds["mask"] = thread_time() - started

    def _ahead(self, index: int) -> tuple[int, ...]:
        """Tokens that can be written from here without asking the model; none while a healed prefix is owed."""
        if self.spec.jump_forward == "off" or self._owed(index):
            return ()
        by_hand = min((step for step in self._choices if step >= index), default=self.spec.max_tokens)
        most = min(by_hand, self.spec.max_tokens, self.model.context - len(self._prompt)) - index
        state = self._states[index]
        ids = jumped(
            self.masker.constraint, self.model.vocabulary, self.model.canonical, state, most, self.spec.jump_forward
        )
        tokens = [step.token_id for step in self._steps]
        for place, token_id in enumerate(ids):
            here = self._place_of((*tokens, *ids[:place]), state)
            if not self._supports.at(here).allowed[token_id]:
                return ids[:place]
            state = self._advance(state, token_id)
        return ids

    def _take(self, index: int, logits: Logits, seconds: dict[str, float], jumped: int | None = None) -> None:
        """Append the step at `index` and the state after it."""
        started = perf_counter()
        support = self._supports.at(self._place(index))
        masked = perf_counter()
        found = self._distributions(index, logits, support)
        self._fresh = (index, found)
        kind, drawn = self._draw(index, found, jumped)
        if drawn.token_id >= len(logits):
            said = f"Step {index}: the model has {len(logits)} logits, none for token {drawn.token_id}."
            raise self._failed(index, said)
        sampled = perf_counter()
        after = self._advance(self._states[index], drawn.token_id)
        advanced = perf_counter() - sampled
        mask = seconds.get("mask", 0.0) + masked - started + advanced
        spent = {**seconds, "mask": mask, "sample": sampled - masked}
        self._steps.append(self._record(index, kind, drawn, found, support, spent))
        self._states.append(after)

    def _distributions(self, index: int, logits: Logits, support: Support) -> Distributions:
        try:
            return distributions(logits, support.allowed, self.spec.sampler)
        except DecodingError as error:
            if not support.allowed.any():
                raise self._failed(index, f"Step {index}: no token is allowed. {self._where(index)}") from None
            raise self._failed(index, f"Step {index}: {error}.") from error

    def _draw(self, index: int, found: Distributions, jumped: int | None) -> tuple[StepKind, Draw]:
        if jumped is not None:
            return "jumped", Draw(jumped, 1.0)
        if index in self._choices:
            self._check_choice(index, self._choices[index])
            return "chosen", Draw(self._choices[index], 1.0)
        forced = found.allowed_count == 1
        drawn = Draw(found.allowed_favourites[0], 1.0) if forced else draw(found.sampling, self.spec.sampler, index)
        if self._owed(index):
            return "healed", drawn
        return "forced" if forced else "sampled", drawn

    def _check_choice(self, index: int, token_id: int) -> None:
        size = self.model.vocabulary.size
        if not 0 <= token_id < size:
            raise ChoiceError(f"Step {index}: there is no token {token_id}; the vocabulary has {size}.")
        if self._supports.at(self._place(index)).allowed[token_id]:
            return
        shown = repr(token_name(self.model.vocabulary, token_id) or self.model.vocabulary.name(token_id))
        said = f"Step {index}: token {token_id} ({shown}) is not allowed here. {self._where(index)}"
        raise ChoiceError(said, remains=self._describe(index), origins=self._origins(index))

    def _place(self, index: int) -> Place:
        return self._place_of(tuple(step.token_id for step in self._steps[:index]), self._states[index])

    def _place_of(self, tokens: tuple[int, ...], state: int) -> Place:
        return Place(self._states[0], len(self._prefix), tokens, state, self._limit - len(tokens))

    def _owed(self, index: int) -> bytes:
        """What is still to be spelled of the healed prefix."""
        written = sum(len(step.token) for step in self._steps[:index]) if self._prefix else 0
        return self._prefix[written:]

    def _advance(self, state: int, token_id: int) -> int:
        after = self.masker.advance(state, token_id)
        if after is None:
            raise DecodingError(
                f"The automaton refuses token {token_id}. What remains is {self.masker.constraint.describe(state)}."
            )
        return after

    def _record(
        self, index: int, kind: StepKind, drawn: Draw, found: Distributions, support: Support, seconds: dict[str, float]
    ) -> Step:
        argmax = found.favourites[0]
        return observed(
            found,
            drawn,
            self.model.vocabulary,
            index=index,
            offset=sum(len(step.token) for step in self._steps),
            kind=kind,
            before=self._describe(index),
            origins=self._origins(index),
            argmax_origins=() if found.allowed[argmax] else self._blame(index, argmax),
            owed=self._owed(index),
            narrowed=support.narrowed,
            fallback=support.fallback,
            to_end=None if support.to_end is None else support.to_end.tokens,
            to_end_exact=support.to_end is not None and support.to_end.exact,
            seconds=seconds,
        )

    def _reason_to_stop(self) -> FinishReason | None:
        if self._steps[-1].end:
            return "complete"
        if len(self._steps) >= self.spec.max_tokens:
            return "limit"
        if len(self._prompt) + len(self._steps) > self.model.context:
            return "context"
        return None

    @cached_property
    def _run_id(self) -> str:
        return run_id(self.spec)

    @cached_property
    def _prompt_tokens(self) -> tuple[tuple[int, bytes], ...]:
        return spelled(self.model.vocabulary, self._prompt)

    @cached_property
    def _healed(self) -> Healed | None:
        if not self._removed:
            return None
        allowed = self.masker.mask(self.masker.constraint.start).to_bool()
        try:
            found = distributions(self._forward.after_removed(), allowed, self.spec.sampler)
        except DecodingError:  # the run itself never asks for these logits
            return Healed(spelled(self.model.vocabulary, self._removed), self._prefix, ())
        shown = candidates(found, found.allowed_favourites[0], self.model.vocabulary)
        return Healed(spelled(self.model.vocabulary, self._removed), self._prefix, shown)

    def _missing(self, state: int) -> str:
        if self.constraint is None or self.constraint.is_accepting(state):
            return ""
        completion, words = self.constraint.shortest(state), self.constraint.describe(state)
        if len(completion) > SHOWN_COMPLETION:
            return f"{words} (at least {len(completion)} more bytes)"
        return f"{words} (for example {completion.decode(errors='backslashreplace')})"

    def _failed(self, index: int, said: str) -> DecodingError:
        return DecodingError(said, remains=self._describe(index), origins=self._origins(index), trace=self.trace)

    def _where(self, index: int) -> str:
        if self.constraint is None and not self._owed(index):
            return "A free run takes any token except special ones."
        origins = ", ".join(map(str, self._origins(index)))
        return f"What remains is {self._describe(index)}" + (f", by {origins}." if origins else ".")

    def _describe(self, index: int) -> str:
        if self.constraint is None and not self._owed(index):
            return ""
        return self.masker.constraint.describe(self._states[index])

    def _origins(self, index: int) -> tuple[Origin, ...]:
        return self.masker.constraint.origins(self._states[index])

    def _blame(self, index: int, token_id: int) -> tuple[Origin, ...]:
        if self.constraint is None or token_id >= self.model.vocabulary.size:
            return ()
        return self.masker.blame(self._states[index], token_id)


def _masks(
    model: Model, spec: RunSpec, constraint: Constraint | None, masker: Masker | None
) -> tuple[Constraint | None, Masker]:
    """The constraint of the spec, None for a free run, and the masker of what may be written."""
    if spec.constraint is None:
        return None, Masker(any_bytes(), model.vocabulary)
    masker = masker or Masker(constraint or compile_source(spec.constraint), model.vocabulary)
    return masker.constraint, masker


def _prompt(model: Model, spec: RunSpec) -> list[int]:
    if not spec.prompt.strip():
        raise DecodingError("The prompt is empty. Write what the model should answer.")
    ids = model.encode(spec.prompt, spec.chat_template)
    if len(ids) > model.context:
        raise DecodingError(
            f"The prompt is too long: it has {len(ids)} tokens and the model reads at most {model.context}. Shorten it."
        )
    return ids
