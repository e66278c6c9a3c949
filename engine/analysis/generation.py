"""Answers without a constraint: free, with the beginning given, or with a bias on some tokens.

What can be had of a model where no mask can: it is asked, its answer is begun for it (prefill), or some tokens are made
likelier or impossible throughout (logit bias). `Decoder` is the loop with a mask; this is the one without.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.analysis.trials import Answer, Cancelled
from engine.decoding.decoder import Decoder, never
from engine.decoding.forward import Forward
from engine.decoding.records import FinishReason, RunSpec, Sampler
from engine.decoding.sampler import distributions, draw
from engine.grammar.free_text import any_bytes
from engine.masking import Masker

if TYPE_CHECKING:
    from engine.model.model import Model


class Asked:
    """A prompt that is answered many times and read once. `begun`: the beginning of every answer, given to the model
    with the prompt. For one thread at a time.

    Raises ValueError if the model's tokenizer can't spell `begun`.
    """

    def __init__(self, model: Model, prompt: str, begun: bytes = b"") -> None:
        ids = model.canonical.encode(begun) if begun else ()
        if ids is None:
            raise ValueError(f"The tokenizer does not give {begun!r} back.")
        self.model, self.prompt, self.begun = model, prompt, begun
        self._ids = [*model.encode(prompt, True), *ids]
        self._forward = Forward(model, self._ids)
        free = any_bytes()
        self._allowed = Masker(free, model.vocabulary).mask(free.start).to_bool()

    def answer(
        self,
        sampler: Sampler,
        max_tokens: int,
        *,
        bias: Mapping[int, float] | None = None,
        stop: bytes = b"",
        cancelled: Cancelled = never,
    ) -> Answer:
        """One answer of at most `max_tokens` tokens, `begun` before it. `bias`: logits to add, by token id, at every
        step alike; `stop`: what ends the answer, once it is written."""
        started = perf_counter()
        vocabulary, added = self.model.vocabulary, _added(bias or {}, self.model.vocabulary.size)
        tokens: list[int] = []
        written, finish = self.begun, None
        most = min(max_tokens, self.model.context - len(self._ids))
        while finish is None and len(tokens) < most and not cancelled():
            logits = self._forward.logits(tokens)[0]
            found = distributions(logits[: len(added)] + added, self._allowed, sampler)
            tokens.append(draw(found.sampling, sampler, len(tokens)).token_id)
            written += vocabulary.tokens[tokens[-1]]
            finish = _finish(tokens[-1] in vocabulary.end_ids or bool(stop and stop in written))
        return Answer(
            written.decode(errors="replace"),
            tokens=len(tokens),
            passes=len(tokens),
            seconds=perf_counter() - started,
            finish=finish or ("cancelled" if len(tokens) < most else "limit"),
        )


class Masked:
    """A prompt that is answered many times under one constraint and read once."""

    def __init__(self, model: Model, spec: RunSpec, masker: Masker) -> None:
        self.model, self.spec, self.masker = model, spec, masker
        self._forward = Forward(model, model.encode(spec.prompt, spec.chat_template))

    def answer(self, sampler: Sampler, cancelled: Cancelled = never) -> Answer:
        """One answer. Raises DecodingError as Decoder does."""
        started = perf_counter()
        spec = replace(self.spec, sampler=sampler)
        run = Decoder(self.model, spec, self.masker.constraint, self.masker, self._forward)
        for _ in run.run(cancelled):
            pass
        trace = run.trace
        text = trace.text.decode(errors="replace")
        return Answer(text, len(trace.steps), trace.passes, perf_counter() - started, finish=trace.finish)


def _finish(ended: bool) -> FinishReason | None:
    return "complete" if ended else None


def _added(bias: Mapping[int, float], size: int) -> NDArray[np.float32]:
    added = np.zeros(size, dtype=np.float32)
    for token_id, value in bias.items():
        added[token_id] = value
    return added
