"""Step-through: a run of the model under a constraint, one token at a time."""

from __future__ import annotations

import streamlit as st

from engine.examples import EXAMPLES
from engine.shipped import shipped_names, shipped_trace
from pages import _link, _settings
from pages._model import loading
from pages._session import Visit
from pages._viewer import heading, masks, viewer
from visualizations.notice import notice

FOLLOW = 0.35  # seconds between two looks at a worker or at the model's loading


def visit_of_session() -> Visit:
    """The visitor's state; at the first call it holds what the link asks for, else a shipped trace."""
    if "visit" not in st.session_state:
        st.session_state["visit"] = Visit()
        _settings.begin()
        if _link.PARAMETER in st.query_params:
            open_link(st.query_params[_link.PARAMETER])
        else:
            show_example()
    visit: Visit = st.session_state["visit"]
    return visit


def open_link(parameter: str) -> None:
    """Fill the fields from a link; the run itself waits for the model."""
    try:
        spec, step = _link.unpack(parameter)
    except _link.LinkError as error:
        st.session_state["link_problem"] = str(error)
        show_example()
        return
    _settings.fill(spec)
    st.session_state["example"] = None
    st.session_state["linked"] = (spec, step)


def show_example() -> None:
    """Fill the fields from the example picked; show its recorded trace, or run it where none is shipped."""
    example = next((e for e in EXAMPLES if e.name == st.session_state["example"]), None)
    if example is None:
        return
    _settings.fill(example.spec())
    if example.name in shipped_names():
        st.session_state["visit"].show_recorded(example.name, shipped_trace(example.name))
    elif loading().model is not None:
        start()


def start() -> None:
    """A new run of what the fields hold."""
    model, visit = loading().model, st.session_state["visit"]
    spec = _settings.current()
    if model is None or visit.busy or _settings.problem(spec, model):
        return
    kind = _settings.KINDS[spec.constraint.kind] if spec.constraint else "free"
    how = (
        "greedy"
        if spec.sampler.temperature == 0
        else f"temperature {spec.sampler.temperature:g}, seed {spec.sampler.seed}"
    )
    visit.start(f"{st.session_state['example'] or kind}, {how}", model, spec, masks(model)(spec))
    if visit.run is not None:
        st.query_params[_link.PARAMETER] = _link.pack(spec, 0)


def restart() -> None:
    """The toolbar's: the same as Start run, on the whole page."""
    start()
    st.rerun()


def model_status() -> None:
    """How far the model is; looks again until it is there, then draws the page anew."""
    state = loading()
    if state.busy:
        st.session_state["waited"] = True
        st.progress(state.share, text=f"Loading the model: {state.phase}")
    elif st.session_state.pop("waited", False):
        st.rerun()
    elif state.problem:
        notice(
            f"No model: {state.problem}\nRecorded traces, automata and the checks of your constraint work without one.",
            key="no_model",
            kind="warning",
        )
    elif state.model is not None:
        st.caption(f"{state.model.name} · {state.model.vocabulary.size:,} tokens · {state.model.device}")


def view() -> None:
    """The run; while a worker extends it, this is drawn again and again."""
    visit = visit_of_session()
    if visit.busy and visit.settle():
        st.rerun()
    viewer(visit, loading().model, restart)


def run_linked(visit: Visit) -> None:
    """Make the run a link asks for, once the model is there."""
    model = loading().model
    if model is None or "linked" not in st.session_state:
        return
    spec, step = st.session_state.pop("linked")
    if problem := _settings.problem(spec, model):
        visit.problem = problem
        return
    visit.start("from a link", model, spec, masks(model)(spec))
    if step:
        visit.forward_until(lambda made: made.index >= step)


visit = visit_of_session()
model = loading().model
with st.sidebar:
    st.fragment(model_status, run_every=FOLLOW if loading().busy else None)()
    _settings.sidebar(model, on_example=show_example, on_start=start, busy=visit.busy)
run_linked(visit)
notice(st.session_state.get("link_problem", ""), key="link_problem_shown")
heading(visit, model)
st.fragment(view, run_every=FOLLOW if visit.busy else None, key="view")()
