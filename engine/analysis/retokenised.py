"""What a run wrote, token by token, beside the tokenizer's own cut of the same text.

A mask lets tokens through that the tokenizer would never have put side by side, and the model has hardly ever seen
them so. Where the two cuts differ, each has a log-probability, and their difference is what the detour costs or gains
(Geh et al. 2024, arXiv 2408.08541). Tokens that cross a boundary between two terminals of the grammar are *bridging*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.analysis.tokenisations import boundaries, differences
from engine.decoding.records import Step, Trace
from engine.masking import Masker, Place
from engine.masking.terminals import Aligned
from engine.vocabulary import Canonical, Vocabulary

if TYPE_CHECKING:
    from engine.model.model import Model

ROWS = 64
"""Tokens whose logits are held at the same time."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the output, bytes `start` to `end`, with its tokens in both cuts; one step index a token written.

    `differs`: the cuts are not the same there.
    """

    start: int
    end: int
    written: tuple[int, ...]
    canonical: tuple[int, ...]
    first_step: int
    first_canonical: int
    differs: bool


@dataclass(frozen=True, slots=True)
class Retokenised:
    """A run's tokens and the canonical ones of the same text; `steps`: how many of the run's tokens are compared.

    The last ones are left out where they end inside a character, of which no tokenizer has a cut.
    """

    written: tuple[int, ...]
    canonical: tuple[int, ...]
    spans: tuple[Span, ...]

    @property
    def steps(self) -> int:
        return len(self.written)

    @property
    def differing(self) -> tuple[Span, ...]:
        return tuple(span for span in self.spans if span.differs)


def retokenised(canonical: Canonical, vocabulary: Vocabulary, steps: Sequence[Step]) -> Retokenised | None:
    """Both cuts of what the steps wrote; None where the tokenizer does not give the text back."""
    written = [step.token_id for step in steps if not step.end]
    tokens = [vocabulary.tokens[token_id] for token_id in written]
    while tokens and not _whole(b"".join(tokens)):
        tokens.pop()
        written.pop()
    own = canonical.encode(b"".join(tokens))
    if own is None:
        return None
    return Retokenised(tuple(written), own, tuple(_spans(vocabulary, written, own)))


def _whole(text: bytes) -> bool:
    """The text does not end inside a character."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return error.end < len(text) or error.reason != "unexpected end of data"
    return True


def _spans(vocabulary: Vocabulary, written: Sequence[int], own: Sequence[int]) -> list[Span]:
    """The differing stretches and, between them, the equal ones."""
    places, own_places = boundaries(vocabulary, written), boundaries(vocabulary, own)
    offsets, spans, done = {at: offset for offset, at in places.items()}, [], 0

    def add(start: int, end: int, differs: bool) -> None:
        first, last, own_first, own_last = places[start], places[end], own_places[start], own_places[end]
        if start < end:
            one, other = tuple(written[first:last]), tuple(own[own_first:own_last])
            spans.append(Span(start, end, one, other, first, own_first, differs))

    for difference in differences(vocabulary, written, own):
        add(done, difference.start, False)
        add(difference.start, difference.end, True)
        done = difference.end
    add(done, offsets[len(written)], False)
    return spans


def log_probabilities(
    model: Model, prompt: Sequence[int], ids: Sequence[int], cancelled: Callable[[], bool] = lambda: False
) -> tuple[float, ...] | None:
    """The log-probability (natural) of each token of a path after the prompt and those before it; None if cancelled.

    Raises ValueError if they do not fit in the context.
    """
    cache = model.new_cache()
    after = model.extend(cache, prompt, keep=1)[-1]
    found: list[float] = []
    for start in range(0, len(ids), ROWS):
        if cancelled():
            return None
        rows = model.extend(cache, ids[start : start + ROWS], keep=ROWS)
        for token_id, row in zip(ids[start : start + ROWS], [after, *rows], strict=False):
            logits = row.astype(np.float64)
            top = logits.max()
            found.append(float(logits[token_id] - top - np.log(np.exp(logits - top).sum())))
        after = rows[-1]
    return tuple(found)


def recorded_log_probabilities(steps: Sequence[Step]) -> tuple[float, ...]:
    """The log-probability of each token a run took, as it was recorded."""
    return tuple(math.log(step.raw) if step.raw > 0 else -math.inf for step in steps)


def bridging_steps(masker: Masker, aligned: Aligned, trace: Trace) -> frozenset[int]:
    """Steps whose token crosses a boundary between two terminals of the grammar (DOMINO, arXiv 2403.06988).

    `aligned`: that policy over the same masks.
    """
    constraint = masker.constraint
    prefix = trace.healed.prefix if trace.healed else b""
    start = constraint.after_prefix(prefix) if prefix else constraint.start
    ids = tuple(step.token_id for step in trace.steps)
    state: int | None = start
    found = set()
    for index, step in enumerate(trace.steps):
        if state is None or step.end:
            break
        if not aligned.stays(step.token_id, Place(start, len(prefix), ids[:index], state, 1)):
            found.add(index)
        state = masker.advance(state, step.token_id)
    return frozenset(found)
