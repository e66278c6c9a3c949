"""One step as experiments show it: the model's favourites beside the mask's, and the door to Step-through."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from engine.decoding.records import Candidate, RunSpec, Step
from pages import _link
from visualizations.charts import bars
from visualizations.tokens import candidate_text


def favourites(candidates: Sequence[Candidate], count: int = 4) -> list[Candidate]:
    """The model's favourites and the allowed ones, up to `count` of either, by rank."""
    ranked = sorted(candidates, key=lambda candidate: candidate.rank)
    allowed = [candidate for candidate in ranked if candidate.allowed][:count]
    return sorted({c.token_id: c for c in (*ranked[:count], *allowed)}.values(), key=lambda c: c.rank)


def step_bars(step: Step, *, key: str) -> None:
    """Draws the favourites of a step, before and after the mask."""
    shown = favourites(step.candidates)
    series = {
        "the model": [candidate.raw for candidate in shown],
        "after the mask": [candidate.renormalised for candidate in shown],
    }
    gone = [not candidate.allowed for candidate in shown]
    bars([candidate_text(c) for c in shown], series, key=key, masked=gone, form=".1%", largest=1.0)


def door(spec: RunSpec, step: int, text: str, *, key: str) -> None:
    """Draws a link to a run in Step-through."""
    with st.container(key=key, width="content"):
        st.link_button(text, f"step_through?{_link.PARAMETER}={_link.pack(spec, step)}", icon=":material/steps:")
