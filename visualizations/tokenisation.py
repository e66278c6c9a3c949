"""Rows of tokens: a run's own cut of its text beside the tokenizer's, and what the model would have written freely."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Any

from engine.analysis.inside import Wish
from engine.analysis.retokenised import Retokenised, Span
from engine.vocabulary import Vocabulary
from visualizations.component import Callback, register
from visualizations.tokens import percent, token_text, visible

_cuts = register("cuts")
_freely = register("freely")

SHOWN = 400
"""Stretches that are drawn."""


def tokenisation(
    cut: Retokenised,
    vocabulary: Vocabulary,
    *,
    bridging: Set[int],
    written: Sequence[float],
    canonical: Sequence[float] | None,
    current: int,
    key: str,
    on_step: Callback,
) -> None:
    """Draws both cuts of a run's text, the stretches that differ framed, bridging tokens marked.

    `bridging`: steps whose token crosses a boundary of the grammar. `written`, `canonical`: the log-probability of each
    token of either cut, the latter None where they are not known yet. A click on a token written calls `on_step`, its
    step in the component's `.step`.
    """
    spans = [_span(span, vocabulary, bridging, written, canonical) for span in cut.spans[:SHOWN]]
    data = {
        "spans": spans,
        "more": max(0, len(cut.spans) - SHOWN),
        "current": current,
        "summary": summary(cut, bridging, written, canonical),
        "bridges": bool(bridging),
        "differences": [_difference(span, vocabulary, written, canonical) for span in cut.differing[:SHOWN]],
    }
    _cuts(key=key, data=data, on_step_change=on_step)


def summary(cut: Retokenised, bridging: Set[int], written: Sequence[float], canonical: Sequence[float] | None) -> str:
    """How the cuts compare, in a sentence or two."""
    tokens = f"{len(cut.written)} tokens written, {len(cut.canonical)} in the tokenizer's own cut of the same text"
    differ = len(cut.differing)
    cuts = "the cuts are the same" if not differ else f"they differ in {differ} place{'s' * (differ != 1)}"
    said = f"{tokens}: {cuts}. {len(bridging)} of them cross a boundary of the grammar."
    if canonical is None:
        return said
    one, other = math.fsum(written[: cut.steps]), math.fsum(canonical)
    return f"{said} The model gives the whole {_nats(one)} as written and {_nats(other)} as the tokenizer cuts it."


def _span(
    span: Span, vocabulary: Vocabulary, bridging: Set[int], written: Sequence[float], canonical: Sequence[float] | None
) -> dict[str, Any]:
    steps = range(span.first_step, span.first_step + len(span.written))
    own = range(span.first_canonical, span.first_canonical + len(span.canonical))
    return {
        "differs": span.differs,
        "written": [
            {"text": token_text(vocabulary.tokens[i], i), "step": at, "bridges": at in bridging, "log": written[at]}
            for at, i in zip(steps, span.written, strict=True)
        ],
        "canonical": [
            {"text": token_text(vocabulary.tokens[i], i), "log": None if canonical is None else canonical[at]}
            for at, i in zip(own, span.canonical, strict=True)
        ]
        if span.differs
        else [],
    }


def _difference(
    span: Span, vocabulary: Vocabulary, written: Sequence[float], canonical: Sequence[float] | None
) -> dict[str, str]:
    one = math.fsum(written[span.first_step : span.first_step + len(span.written)])
    own = (
        None
        if canonical is None
        else math.fsum(canonical[span.first_canonical : span.first_canonical + len(span.canonical)])
    )
    return {
        "place": f"bytes {span.start} to {span.end}",
        "written": " ".join(visible(vocabulary.tokens[i]) for i in span.written),
        "canonical": " ".join(visible(vocabulary.tokens[i]) for i in span.canonical),
        "written_log": _nats(one),
        "canonical_log": "not read yet" if own is None else _nats(own),
    }


def _nats(logprob: float) -> str:
    return f"ln p = {logprob:.2f}".replace("-", "−")


def freely(wishes: Sequence[Wish], *, constrained: bool, key: str) -> None:
    """Draws what the model would have written without the mask, and where it leaves the constraint."""
    left = next((place for place, wish in enumerate(wishes) if not wish.allowed), None)
    if not constrained:
        said = "The model's favourites from here on."
    elif left is None:
        said = "The constraint would have let all of it through."
    else:
        said = (
            "It leaves the constraint at once." if left == 0 else f"It leaves the constraint at its token {left + 1}."
        )
    chips = [
        {
            "text": f"⟨{visible(wish.name)}⟩" if wish.name and not wish.end else token_text(wish.token, 0, wish.end),
            "share": percent(wish.raw),
            "out": constrained and not wish.allowed,
            "leaves": constrained and place == left,
        }
        for place, wish in enumerate(wishes)
    ]
    _freely(key=key, data={"chips": chips, "said": said})
