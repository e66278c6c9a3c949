"""A run's tokens beside the tokenizer's own, each with its log-probability, in a form that can be saved and drawn.

Nothing in it needs a model or a vocabulary any more, unlike `retokenised`, from which it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING, Any

from engine.analysis.retokenised import bridging_steps, log_probabilities, recorded_log_probabilities, retokenised
from engine.decoding.records import Trace
from engine.masking import Masker
from engine.masking.terminals import Aligned

if TYPE_CHECKING:
    from engine.model.model import Model


@dataclass(frozen=True, slots=True)
class Piece:
    """A token of a cut. `logprob`: natural logarithm, after the tokens before it of the same cut; None if unknown.

    `step`: the run's step that took it, None where no step did; `crosses`: it crosses a boundary of the grammar.
    """

    token: bytes
    logprob: float | None
    step: int | None = None
    crosses: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some bytes of the text in both cuts, which are the same there unless it `differs`."""

    written: tuple[Piece, ...]
    own: tuple[Piece, ...]

    @property
    def differs(self) -> bool:
        return [piece.token for piece in self.written] != [piece.token for piece in self.own]


def two_cuts(
    model: Model, masker: Masker, trace: Trace, cancelled: Callable[[], bool] = lambda: False
) -> tuple[Stretch, ...] | None:
    """Both cuts of what a run wrote; None if cancelled, or where the tokenizer does not give the text back."""
    cut = retokenised(model.canonical, model.vocabulary, trace.steps)
    prompt = [token_id for token_id, _ in trace.prompt_tokens]
    own = None if cut is None else log_probabilities(model, prompt, cut.canonical, cancelled)
    if cut is None or own is None:
        return None
    written, crossing = recorded_log_probabilities(trace.steps), bridging_steps(masker, Aligned(masker), trace)
    tokens = model.vocabulary.tokens
    return tuple(
        Stretch(
            tuple(
                Piece(tokens[token_id], written[at], at, at in crossing)
                for at, token_id in enumerate(span.written, span.first_step)
            ),
            tuple(Piece(tokens[token_id], own[at]) for at, token_id in enumerate(span.canonical, span.first_canonical)),
        )
        for span in cut.spans
    )


def log_probability(pieces: Iterable[Piece]) -> float:
    """The log-probability of a cut."""
    return fsum(piece.logprob or 0.0 for piece in pieces)


def stretches_to_json(stretches: Sequence[Stretch]) -> list[Any]:
    """The cuts as JSON; bytes are written as Latin-1 text."""
    return [[[_to_json(piece) for piece in row] for row in (one.written, one.own)] for one in stretches]


def stretches_from_json(value: list[Any]) -> tuple[Stretch, ...]:
    """What `stretches_to_json` wrote."""
    return tuple(Stretch(*(tuple(_from_json(piece) for piece in row) for row in one)) for one in value)


def _to_json(piece: Piece) -> list[Any]:
    return [piece.token.decode("latin-1"), piece.logprob, piece.step, piece.crosses]


def _from_json(value: list[Any]) -> Piece:
    token, logprob, step, crosses = value
    return Piece(token.encode("latin-1"), logprob, step, crosses)
