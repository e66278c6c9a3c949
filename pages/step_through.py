"""Step-through: a run of the model under a constraint, one token at a time."""

from __future__ import annotations

import streamlit as st

from engine.decoding.records import RunSpec
from engine.examples import EXAMPLES
from engine.shipped import shipped_names, shipped_trace
from pages import _link, _settings
from pages._model import loading
from pages._session import Visit
from pages._told import UNTOLD, tell
from pages._viewer import heading, masks, viewer
from visualizations.notice import notice

FOLLOW = 0.35  # seconds between two looks at the model's loading
WITHOUT = "Recorded traces, automata and the checks of your constraint work without one."


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
        if beyond := _settings.beyond(spec):
            raise _link.LinkError(f"The run of this link can't be made here: {beyond}")
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
    else:
        st.session_state["visit"].problem = "No trace of this example is recorded: it runs as soon as there is a model."


def start() -> None:
    """A new run of what the fields hold."""
    model, visit = loading().model, st.session_state["visit"]
    spec = _settings.current()
    if model is None or _settings.problem(spec, model):
        return
    visit.start(title_of(spec), model, spec, masks(model)(spec))
    if not visit.problem:
        _to_address(_link.pack(spec, 0))


def _to_address(parameter: str) -> None:
    """The run in the address, so that a reload comes back to it; one too long would be refused by the server."""
    if len(parameter) <= _link.MAX_PACKED:
        st.query_params[_link.PARAMETER] = parameter
    elif _link.PARAMETER in st.query_params:
        del st.query_params[_link.PARAMETER]


def title_of(spec: RunSpec) -> str:
    """How the list of runs names a run of `spec`."""
    same = next((e.name for e in EXAMPLES if e.spec() == spec), None)
    name = same or ("free run" if spec.constraint is None else f"own {_settings.KINDS[spec.constraint.kind].lower()}")
    sampler = spec.sampler
    return f"{name}, " + (
        f"temperature {sampler.temperature:g}, seed {sampler.seed}" if sampler.temperature else "greedy"
    )


def restart() -> None:
    """The toolbar's: the same as Start run, on the whole page."""
    start()
    st.rerun()


def model_status() -> None:
    """How far the model is; looks again until that is decided, then draws the page anew."""
    state = loading()
    if st.session_state["awaited"] and not state.busy:
        st.rerun()
    if state.busy:
        st.progress(state.share, text=f"{state.phase} …")
    elif state.model is not None:
        st.caption(f"{state.model.name} · {state.model.vocabulary.size:,} tokens · {state.model.device}")
    else:
        notice(f"No model: {state.problem}\n{WITHOUT}", key="no_model", kind="warning")


def view() -> None:
    """The run; while a worker extends it, this is drawn again now and then, and once the worker is done."""
    visit = visit_of_session()
    visit.settle()
    tell(visit.worker, on_the_way=True)
    model = loading().model
    with st.container():
        heading(visit, model)
    viewer(visit, model, restart)


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


st.session_state["awaited"] = loading().busy
visit = visit_of_session()
model = loading().model
with st.sidebar:
    st.fragment(model_status, run_every=FOLLOW if st.session_state["awaited"] else None)()
    _settings.sidebar(model, on_example=show_example, on_start=start)
run_linked(visit)
if visit.run is None and not visit.problem:
    start()  # an example without a recorded trace, and the model is there by now
with st.container():
    notice(st.session_state.get("link_problem", ""), key="link_problem_shown")
st.fragment(view, run_every=UNTOLD if visit.busy else None, key="view")()
