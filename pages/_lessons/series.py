"""Series of trials on a page: recorded ones at once, live ones when asked for, and every answer as it came out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.intervals import Proportion
from engine.analysis.trials import Outcome, Trial, performed
from engine.decoding.errors import DecodingError
from engine.recorded import Series
from pages._debug_work import Progress
from pages._lessons.live import cost
from pages._lessons.room import shared
from visualizations.charts import intervals
from visualizations.tokens import prose, visible

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

SHOWN = 200  # characters of an answer in a table; all of it below


def live_series(
    asked: Hashable,
    label: str,
    make: Callable[[Model], Sequence[Trial]],
    most: int,
    model: Model,
    *,
    key: str,
) -> Series | None:
    """The outcomes of the trials that `make` gives, made once for the room; None while there are none. `most`: the
    forward passes that they take at the most."""

    def work(progress: Progress) -> Series:
        try:
            trials = make(model)
        except ValueError as error:  # the tokenizer can't spell an answer's beginning
            raise DecodingError(str(error)) from error
        outcomes: list[Outcome] = []
        for outcome in performed(trials, progress.stopped):
            outcomes.append(outcome)
            progress.say(f"{len(outcomes)} of {len(trials)} answers", len(outcomes) / len(trials))
        return Series(model.name, tuple(outcomes))

    return shared(("series", model.name, asked), label, cost(most), work, key=key)


def origin(series: Series, live: bool) -> None:
    """Draws where the outcomes come from."""
    if live:
        st.caption(f"Live: {len(series.outcomes)} answers of {series.model}, from this machine.")
    elif series.outcomes:
        st.caption(
            f"Recorded: {len(series.outcomes)} answers of {series.model}, a small model, as they came out. "
            "Times are those of the machine that made the record, which had other work to do."
        )
    else:
        st.caption("Nothing is recorded here. Run it with the model.")


def shares(found: Mapping[str, Proportion], *, key: str, title: str) -> None:
    """Draws shares with their intervals; one without trials is left out."""
    kept = {f"{name} ({one.successes} of {one.n})": one for name, one in found.items() if one.n}
    if kept:
        values = list(kept.values())
        points = [one.share for one in values]
        intervals(list(kept), points, [one.low for one in values], [one.high for one in values], key=key, title=title)


def answers(outcomes: Sequence[Outcome], *, key: str, task: bool = False) -> None:
    """Draws every answer as it came out, and all of one that is picked."""
    if not outcomes:
        return
    with st.expander(f"All {len(outcomes)} answers, as they came out", key=f"{key}_all"):
        st.dataframe([_row(outcome, task) for outcome in outcomes], hide_index=True, key=f"{key}_table")
        number = st.number_input("Read answer", 1, len(outcomes), 1, key=f"{key}_{len(outcomes)}_number", width=160)
        one = outcomes[int(number) - 1]
        if one.answer.draft:
            st.caption("Written freely first:")
            st.code(visible_lines(one.answer.draft), language=None, wrap_lines=True)
            st.caption("What the second call made of it:")
        st.code(visible_lines(one.answer.text), language=None, wrap_lines=True)


def visible_lines(text: str) -> str:
    """A text as a model wrote it, in its lines, with what can't be seen made visible."""
    return "\n".join(prose(line) for line in text.splitlines()) or "(nothing)"


def typical(outcomes: Sequence[Outcome], of: Callable[[Outcome], float]) -> float:
    """The median over the outcomes; 0.0 without any."""
    return float(median(map(of, outcomes))) if outcomes else 0.0


def _row(outcome: Outcome, task: bool) -> dict[str, object]:
    answer, verdict = outcome.answer, outcome.verdict
    asked = {"asked": prose(outcome.question)} if task else {}
    return {
        "how": outcome.group,
        **asked,
        "answer": visible(answer.text)[:SHOWN],
        "is JSON": verdict.parses,
        "has the form": verdict.satisfies,
        "is right": verdict.agrees,
        "tokens": answer.tokens,
        "passes": answer.passes,
        "seconds": round(answer.seconds, 1),
    }
