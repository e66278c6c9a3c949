"""Generate, then convert: the model answers freely, and a second call puts the answer into the wanted form.

The first call is not disturbed by any mask; the second one only copies. It is the usual remedy where a format costs
quality ("Let Me Speak Freely?", Tam et al. 2024, arXiv 2408.02442), paid for with a second prompt that holds the whole
answer, and with the risk that the copy says something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.decoding.decoder import Decoder, never
from engine.decoding.records import ConstraintSource, RunSpec, Sampler, Trace
from engine.grammar.sources import compile_source
from engine.masking import Masker

if TYPE_CHECKING:
    from engine.model.model import Model

TEMPLATE = """Question: {prompt}

Answer: {answer}

Write this answer again as JSON. Change nothing in it, add nothing to it."""
"""The second prompt, for JSON: `{prompt}` stands for the first one, `{answer}` for what was written to it. Another form
needs a template that names it."""


@dataclass(frozen=True, slots=True)
class TwoCalls:
    """Both runs. An answer that its token limit cut off has `free.finish` "limit"."""

    free: Trace
    converted: Trace

    @property
    def tokens(self) -> int:
        """Tokens written by both runs, end tokens included."""
        return len(self.free.steps) + len(self.converted.steps)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of both prompts: the second holds the first answer."""
        return len(self.free.prompt_tokens) + len(self.converted.prompt_tokens)

    @property
    def passes(self) -> int:
        """Forward passes of both runs, as `Trace.passes` counts them."""
        return self.free.passes + self.converted.passes


def generate_then_convert(
    model: Model,
    prompt: str,
    source: ConstraintSource,
    *,
    template: str = TEMPLATE,
    sampler: Sampler | None = None,
    free_tokens: int = 256,
    max_tokens: int = 128,
    chat_template: bool = True,
    masker: Masker | None = None,
    cancelled: Callable[[], bool] = never,
) -> TwoCalls:
    """Answer `prompt` in at most `free_tokens` tokens, then convert the answer under `source` in at most `max_tokens`.

    `sampler` serves both calls, greedy by default. `masker`: that of the compiled source, where it is known already.
    A cancelled first call is followed by a second one without steps.
    Raises ValueError if the template has no `{answer}`; ConstraintError before the first call if the source does not
    compile; DecodingError as `Decoder` does, also where the second prompt is too long for the model.
    """
    if "{answer}" not in template:
        raise ValueError("The template does not say where the answer goes. Write {answer} into it.")
    masker = masker or Masker(compile_source(source), model.vocabulary)
    sampler = sampler or Sampler()
    first = RunSpec(prompt, chat_template=chat_template, sampler=sampler, max_tokens=free_tokens)
    free = _finished(Decoder(model, first), cancelled)
    second = RunSpec(
        conversion_prompt(template, prompt, free.text),
        constraint=source,
        chat_template=chat_template,
        sampler=sampler,
        max_tokens=max_tokens,
    )
    return TwoCalls(free, _finished(Decoder(model, second, masker.constraint, masker), cancelled))


def conversion_prompt(template: str, prompt: str, answer: bytes) -> str:
    """The second prompt. Other braces stay, also those in what is filled in; half a character at its end is dropped."""
    parts = {"prompt": prompt, "answer": answer.decode(errors="ignore").strip()}
    return re.sub(r"\{(prompt|answer)\}", lambda place: parts[place[1]], template)


def _finished(run: Decoder, cancelled: Callable[[], bool]) -> Trace:
    for _ in run.run(cancelled):
        pass
    return run.trace
