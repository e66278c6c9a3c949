"""What experiments have in common: the model when it is there, a recorded or live run, the step of it that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from engine.decoding.decoder import Decoder
from engine.decoding.records import RunSpec, Step, Trace
from engine.decoding.spec import run_id
from engine.masking import Masker
from engine.shipped import shipped_trace
from pages._constraints import demanded, masked
from pages._debug_work import Progress
from pages._lessons.room import shared
from pages._model import loading
from pages._session import worth_seeing
from visualizations.notice import notice
from visualizations.tokens import token_strip

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

PASS = 0.05  # seconds of one forward pass of the bundled model on two cores, for the cost that is stated beforehand
FOLLOW = 0.5
SAID = "_lesson_model_said"  # the page being drawn has said how the model is


@st.cache_resource(max_entries=16, show_spinner=False)
def recorded(name: str) -> Trace:
    """A shipped trace."""
    return shipped_trace(name)


def the_model() -> Model | None:
    """The model, or None; then a line says whether it is still loading or why there is none, once a page."""
    state = loading()
    if state.model is not None:
        return state.model
    if st.session_state.get(SAID):
        return None
    st.session_state[SAID] = True
    if state.busy:
        st.fragment(_loading, run_every=FOLLOW)()
    else:
        notice(
            f"No model: {state.problem}\nWhat is recorded can be looked at without one.", key="no_model", kind="info"
        )
    return None


def _loading() -> None:
    state = loading()
    if not state.busy:
        st.rerun()
    st.caption(f"{state.phase} … ({state.share:.0%}). Until then: what was recorded.")


def masker_of(spec: RunSpec, model: Model) -> Masker | None:
    """The masks of the spec's constraint, None for a free run. Raises ConstraintError."""
    if spec.constraint is None:
        return None
    return demanded(masked(spec.constraint, model.vocabulary))


def live_run(spec: RunSpec, model: Model, label: str, *, key: str, at_once: bool = False) -> Trace | None:
    """A run of `spec`, made once for the room; None while there is none. Draws the button or the progress."""

    def work(progress: Progress) -> Trace:
        masker = masker_of(spec, model)
        decoder = Decoder(model, spec, masker.constraint if masker else None, masker)
        for step in decoder.run(progress.stopped):
            said = decoder.trace.text[-40:].decode(errors="replace")
            progress.say(
                f"Token {step.index + 1} of at most {spec.max_tokens}: … {said!r}", step.index / spec.max_tokens
            )
        return decoder.trace

    return shared(("run", model.name, run_id(spec)), label, cost(spec.max_tokens), work, key=key, at_once=at_once)


def cost(passes: int) -> str:
    """What so many forward passes cost, in words."""
    seconds = passes * PASS
    time = f"about {seconds:.0f} s" if seconds >= 1 else "under a second"
    return f"Costs at most {passes:,} forward passes, {time} on two cores."


def step_shown(trace: Trace, key: str, start: int | None = None) -> Step:
    """Draws the trace's tokens and returns the step picked: at first `start`, or where the mask cost most."""
    place = f"{key}_{trace.run_id}_at"

    def pick() -> None:
        picked = st.session_state[f"{key}_strip"].step
        if isinstance(picked, int) and not isinstance(picked, bool) and 0 <= picked < len(trace.steps):
            st.session_state[place] = picked

    first = worth_seeing(trace) if start is None else start
    position = min(st.session_state.get(place, first), len(trace.steps) - 1)
    token_strip(trace, position, key=f"{key}_strip", on_step=pick)
    return trace.steps[position]
