"""One run, seen step by step: the controls and the panels, all driven by the one selection a `Visit` holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal

import streamlit as st

from engine.automaton.explore import DrawnGraph
from engine.automaton.forms import MOST_SHOWN
from engine.decoding.records import ConstraintSource, FinishReason, RunSpec, Step, Trace
from engine.errors import ConstraintError, Origin
from engine.masking import Masker
from pages import _link
from pages._constraints import compiled, drawn, masked, places
from pages._session import Visit, never, sampled, speaks
from visualizations.automaton import automaton_view, in_words
from visualizations.distribution import distribution
from visualizations.facts import facts
from visualizations.notice import notice
from visualizations.schema_text import schema_text, spans_of
from visualizations.search import Found, found_tokens
from visualizations.timeline import step_slider, steps_table, timeline
from visualizations.tokens import prose, token_strip

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

SEARCH_ROWS = 20
_FINISH: dict[FinishReason, tuple[str, str, Literal["blue", "orange", "gray"]]] = {
    "complete": ("Complete", ":material/check:", "blue"),
    "limit": ("Token limit", ":material/content_cut:", "orange"),
    "context": ("Context full", ":material/content_cut:", "orange"),
    "cancelled": ("Cancelled", ":material/stop:", "gray"),
}
_BACK = str.maketrans({"␣": " ", "⏎": "\n", "⇥": "\t"})


def masks(model: Model) -> Callable[[RunSpec], Masker | None]:
    """Where runs on `model` get their masks: compiled once for all visitors."""

    def of(spec: RunSpec) -> Masker | None:
        if spec.constraint is None:
            return None
        found = masked(spec.constraint, model.vocabulary)
        if isinstance(found, ConstraintError):
            raise found
        return found

    return of


def viewer(visit: Visit, model: Model | None, restart: Callable[[], None]) -> None:
    """The whole view of the run shown.

    Each part stands in a container that is always there: while a run is followed, what a redraw sends late must never
    meet another kind of thing in its place.
    """
    run = visit.run
    with st.container():
        _controls(visit, model, restart)
    with st.container():
        notice(visit.problem, key="run_problem")
    step = visit.step
    if run is None or step is None:
        return
    with st.container():
        token_strip(run.trace, visit.position, key="strip", on_step=_goes(visit, "strip"))
    with st.container():
        if visit.position == len(run.trace.steps) - 1:
            _ending(run.trace)
    with st.container():
        _facts(run.trace, step)
    left, right = st.columns([11, 10], gap="medium")
    with left:
        _automaton(visit, run.trace, step)
        _source(visit, run.trace, step)
    with right:
        _distribution(visit, run.trace, step, model)
        _search(visit, run.trace, step, model)
    with st.container():
        timeline(run.trace, visit.position, key="timeline", on_step=_goes(visit, "timeline"))
        steps_table(run.trace, visit.position, key="steps", on_step=_goes(visit, "steps"))


def _controls(visit: Visit, model: Model | None, restart: Callable[[], None]) -> None:
    run, busy = visit.run, visit.busy
    last = len(run.trace.steps) - 1 if run else 0
    ahead = run is not None and (visit.position < last or run.going)
    buttons = [
        ("first", "First", ":material/first_page:", "Home", lambda: visit.goto(0), visit.position > 0),
        ("back", "Back", ":material/chevron_left:", "Left", lambda: visit.goto(visit.position - 1), visit.position > 0),
        ("step", "Step", ":material/chevron_right:", "Right", visit.forward, ahead),
        (
            "next_sampled",
            "Next sampled",
            ":material/keyboard_double_arrow_right:",
            "N",
            lambda: _work(visit, sampled),
            ahead,
        ),
        ("to_end", "Run to end", ":material/fast_forward:", "E", lambda: _work(visit, never), ahead),
        ("last", "Last", ":material/last_page:", "End", lambda: visit.goto(last), visit.position < last),
    ]
    with st.container(horizontal=True, gap="xsmall", key="controls"):
        for key, label, icon, shortcut, act, possible in buttons:
            kind = "primary" if key == "step" else "secondary"
            st.button(
                label, key=key, icon=icon, shortcut=shortcut, on_click=act, disabled=busy or not possible, type=kind
            )
        if busy and visit.worker is not None:
            st.button("Cancel", key="cancel", icon=":material/stop:", shortcut="Esc", on_click=visit.worker.cancel)
        else:
            st.button(
                "Restart",
                key="restart",
                icon=":material/replay:",
                shortcut="Shift+Home",
                on_click=restart,
                disabled=model is None,
            )
    if run is None:
        return
    if busy:
        made, limit = len(run.trace.steps), run.trace.spec.max_tokens
        st.progress(min(1.0, made / limit), text=f"{made} of at most {limit} tokens")
    elif last > 0:
        step_slider(run.trace, visit.position, key="at", on_step=_goes(visit, "at"))


def _work(visit: Visit, enough: Callable[[Step], bool]) -> None:
    visit.forward_until(enough)
    if visit.busy:
        st.rerun()  # the whole page, so that the view starts to follow the worker


def _goes(visit: Visit, key: str) -> Callable[[], None]:
    """What a click on a step in the component `key` does."""

    def go() -> None:
        if not visit.busy and isinstance(index := st.session_state[key].step, int):
            visit.goto(index)

    return go


def _takes(visit: Visit, model: Model, key: str) -> Callable[[], None]:
    """What a click on a token in the component `key` does."""

    def take() -> None:
        picked = st.session_state[key].take
        if not isinstance(picked, dict):
            return
        index, token_id = picked.get("step"), picked.get("token")
        if isinstance(index, int) and isinstance(token_id, int):
            visit.take(index, token_id, model, masks(model))
            st.rerun()

    return take


def _ending(trace: Trace) -> None:
    if trace.finish == "limit":
        missing = f" Still missing: {trace.missing}" if trace.missing else ""
        notice(f"Stopped at the token limit of {trace.spec.max_tokens}.{missing}", key="ending", kind="warning")
    elif trace.finish == "context":
        notice(f"Stopped: the model's context is full. Still missing: {trace.missing}", key="ending", kind="warning")
    elif trace.finish == "cancelled":
        notice("Cancelled. Step goes on from here.", key="ending", kind="info")


def _facts(trace: Trace, step: Step) -> None:
    cost = sum(s.cost for s in trace.steps[: step.index + 1])
    constrained = trace.spec.constraint is not None
    facts(step, vocabulary_size=trace.vocabulary_size, running_cost=cost, constrained=constrained, key="facts")


def _automaton(visit: Visit, trace: Trace, step: Step) -> None:
    source = trace.spec.constraint
    if source is None:
        st.caption("A free run has no automaton: every token is allowed at every step.")
        return
    graph = drawn(source, trace.text[: step.offset])
    if graph is None:
        notice(
            "The automaton of this trace can't be drawn: its constraint doesn't compile here.",
            key="no_graph",
            kind="warning",
        )
        return

    def select() -> None:
        picked = st.session_state["automaton"].select
        visit.selected = picked if isinstance(picked, str) and picked != visit.selected else ""

    automaton_view(graph, key="automaton", selected=visit.selected, on_select=select)
    total = f"{graph.total_states:,} states" if graph.total_states is not None else "More states than are counted"
    shown = "all of them drawn" if graph.whole else f"{len(graph.states)} around the current one drawn"
    dead = f", {graph.hidden_dead} dead ends hidden" if graph.hidden_dead else ""
    counts = f" Counts above {MOST_SHOWN} are drawn as loops." if graph.hides_counts else ""
    st.caption(f"{total}, {shown}{dead}.{counts} Drag to pan, Ctrl + wheel to zoom.")
    if visit.selected:
        st.text(_selection(visit, graph))
    with st.expander("The picture in words", type="compact"):
        st.code(in_words(graph), language=None, height=220)


def _selection(visit: Visit, graph: DrawnGraph) -> str:
    kind, number = visit.selected[:1], visit.selected[1:]
    if kind == "e" and number.isdigit() and int(number) < len(graph.edges):
        edge = graph.edges[int(number)]
        return f"Edge from {edge.source} to {edge.target} on {prose(edge.label)}" + (
            ", allowed now" if edge.allowed_now else ""
        )
    state = next((s for s in graph.states if str(s.id) == number), None)
    if state is None:
        return ""
    place = f"; part {prose(str(state.origin))}" if state.origin else ""
    return f"State {state.id}: what remains is {prose(state.label)}{place}"


def _selected_origins(visit: Visit, source: ConstraintSource, trace: Trace, step: Step) -> tuple[Origin, ...]:
    """The part of a selected state, else those that speak at the step."""
    graph = drawn(source, trace.text[: step.offset]) if visit.selected.startswith("s") else None
    state = next((s for s in graph.states if f"s{s.id}" == visit.selected), None) if graph else None
    return (state.origin,) if state and state.origin else step.origins


def _source(visit: Visit, trace: Trace, step: Step) -> None:
    source = trace.spec.constraint
    if source is None or isinstance(compiled(source), ConstraintError):
        return
    known = places(source)
    origins = _selected_origins(visit, source, trace, step)
    schema_text(source.text, spans_of(origins, known), spans_of(step.argmax_origins, known), key="source")


def _distribution(visit: Visit, trace: Trace, step: Step, model: Model | None) -> None:
    takes = model is not None and not visit.busy and speaks(trace, model)
    on_take = _takes(visit, model, "distribution") if model is not None else lambda: None
    sampler = trace.spec.sampler
    drawn_with = sampler.temperature not in (0.0, 1.0) or sampler.top_k > 0 or sampler.top_p < 1
    distribution(
        step, vocabulary_size=trace.vocabulary_size, drawn=drawn_with, takes=takes, key="distribution", on_take=on_take
    )


def _search(visit: Visit, trace: Trace, step: Step, model: Model | None) -> None:
    if model is None:
        st.caption("Searching the vocabulary needs the model.")
        return
    text = st.text_input(
        "Find any token of the vocabulary", key="search", placeholder='for example ", or ␣the', persist_state="session"
    )
    if text:
        found = list(_matches(text[:100], trace, step, model))
        found_tokens(
            found,
            step=step.index,
            takes=not visit.busy and speaks(trace, model),
            key="found",
            on_take=_takes(visit, model, "found"),
        )


def _matches(text: str, trace: Trace, step: Step, model: Model) -> Iterator[Found]:
    vocabulary = model.vocabulary
    wanted = text.translate(_BACK).encode(errors="replace")
    hits = [i for i, token in enumerate(vocabulary.tokens) if wanted in token]
    hits.sort(key=lambda i: (not vocabulary.tokens[i].startswith(wanted), len(vocabulary.tokens[i])))
    source = trace.spec.constraint
    masker = masked(source, vocabulary) if source else None
    if isinstance(masker, ConstraintError):
        return
    state = masker.constraint.advance(masker.constraint.start, trace.text[: step.offset]) if masker else None
    for token_id in islice(hits, SEARCH_ROWS):
        token = vocabulary.tokens[token_id]
        if masker is None or state is None:
            yield Found(token_id, token, True)
            continue
        why = masker.explain(state, token_id)
        reason = f"{why.reason}; {', '.join(map(str, why.origins[:2]))} wants {why.expected[0]}"
        yield Found(token_id, token, why.allowed, "" if why.allowed else reason)


def heading(visit: Visit) -> None:
    """What is shown: the run, whether it is live, and the link to it."""
    run = visit.run
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if len(visit.runs) > 1:
            titles = {r.number: f"Run {r.number}: {r.title}" for r in visit.runs}
            key = f"runs_{visit.shows}"  # another widget once another run is shown: the old one's value may come late
            st.selectbox(
                "Runs",
                list(titles),
                index=list(titles).index(visit.shown),
                format_func=titles.get,
                key=key,
                label_visibility="collapsed",
                width=420,
                on_change=lambda: visit.show(st.session_state[key]),
                disabled=visit.busy,
            )
        elif run is not None:
            st.text(f"Run {run.number}: {run.title}")
        if run is None:
            return
        if run.recorded:
            st.badge(
                "Recorded trace",
                icon=":material/history:",
                color="orange",
                help=f"Made earlier with {prose(run.trace.model)} and shipped with Maskscope",
            )
        else:
            st.badge("Live", icon=":material/bolt:", color="green")
        if run.trace.finish is not None:
            label, icon, colour = _FINISH[run.trace.finish]
            st.badge(label, icon=icon, color=colour)
        st.caption(f"run {run.trace.run_id}")
        with st.popover("Link", icon=":material/link:", type="tertiary"):
            st.caption("Opens this run at this step on any Maskscope with this model.")
            base = (st.context.url or "").partition("?")[0]
            st.code(
                f"{base}?{_link.PARAMETER}={_link.pack(run.trace.spec, visit.position)}", language=None, wrap_lines=True
            )
