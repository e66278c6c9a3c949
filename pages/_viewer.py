"""One run, seen step by step: the controls and the panels, all driven by the one selection a `Visit` holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Literal

import streamlit as st

from engine.analysis.room import distances_along
from engine.automaton.view import View
from engine.constraint import Constraint
from engine.decoding.records import FinishReason, RunSpec, Step, Trace
from engine.errors import ConstraintError, Origin
from engine.masking import Masker
from pages._breakpoints import breakpoint
from pages._carry import carry
from pages._constraints import compiled, demanded, masked, places
from pages._runs import runs
from pages._session import Visit, never, sampled, speaks
from pages._step import inside_step, masker_of, written_tokens
from visualizations.automaton import automaton_panel, classic_view, selected_origin
from visualizations.budget import budget_view
from visualizations.facts import facts
from visualizations.notice import notice
from visualizations.schema_text import schema_text, spans_of
from visualizations.timeline import step_slider, steps_table, timeline
from visualizations.tokens import prose, token_strip

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

_FINISH: dict[FinishReason, tuple[str, str, Literal["blue", "orange", "gray"]]] = {
    "complete": ("Complete", ":material/check:", "blue"),
    "limit": ("Token limit", ":material/content_cut:", "orange"),
    "context": ("Context full", ":material/content_cut:", "orange"),
    "cancelled": ("Cancelled", ":material/stop:", "gray"),
}


def masks(model: Model) -> Callable[[RunSpec], Masker | None]:
    """Where runs on `model` get their masks: compiled once for all visitors."""

    def of(spec: RunSpec) -> Masker | None:
        if spec.constraint is None:
            return None
        return demanded(masked(spec.constraint, model.vocabulary))

    return of


def viewer(visit: Visit, model: Model | None, restart: Callable[[], None]) -> None:
    """The whole view of the run shown.

    What may draw nothing, or different things, stands in a container that is always there: while a run is followed,
    what a redraw sends late must never meet another kind of thing in its place.
    """
    run = visit.run
    with st.container():
        _controls(visit, model, restart)
    with st.container():
        notice(visit.problem, key="run_problem")
    step = visit.step
    if run is None or step is None:
        return
    token_strip(run.trace, visit.position, key="strip", on_step=_goes(visit, "strip"))
    with st.container():
        if visit.position == len(run.trace.steps) - 1:
            _ending(run.trace)
    _facts(run.trace, step)
    left, right = st.columns([11, 10], gap="medium")
    with right:
        masking = inside_step(visit, run.trace, step, model, masks) or step.argmax_origins
    with left:
        view = _automaton(visit, run.trace, step)
        picked = selected_origin(view, visit.selected) if view is not None and visit.selected else None
        _source(run.trace, (picked,) if picked else step.origins, masking)
        _classic(run.trace)
    with st.container():
        runs(visit)
    with st.container():
        written_tokens(visit, run.trace, step, model)
    with st.container():
        timeline(run.trace, visit.position, key="timeline", on_step=_goes(visit, "timeline"))
        _budget(visit, run.trace, model)
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
            lambda: visit.forward_until(sampled),
            ahead,
        ),
        ("to_end", "Run to end", ":material/fast_forward:", "E", lambda: visit.forward_until(never), ahead),
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
        if run is not None and visit.step is not None:
            until = st.popover(
                "Run until",
                icon=":material/pause_circle:",
                disabled=busy or not ahead,
                key="until",
                on_change="rerun",
            )
            if until.open:
                with until:
                    enough = breakpoint(visit.step, _parts(run.trace))
                    if st.button("Run", key="run_until", type="primary", shortcut="B"):
                        visit.forward_until(enough)
                        st.rerun()
    if run is None:
        return
    if busy:
        made, limit = len(run.trace.steps), run.trace.spec.max_tokens
        before = visit.worker.behind(model) if visit.worker and model else 0
        queue = f", {before} before you" if before else ""
        st.progress(min(1.0, made / limit), text=f"{made} of at most {limit} tokens{queue}")
    elif last > 0:
        step_slider(run.trace, visit.position, key="at", on_step=_goes(visit, "at"))


def _goes(visit: Visit, key: str) -> Callable[[], None]:
    """What a click on a step in the component `key` does."""

    def go() -> None:
        if not visit.busy and isinstance(index := st.session_state[key].step, int):
            visit.goto(index)

    return go


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


def _parts(trace: Trace) -> Iterable[str]:
    source = trace.spec.constraint
    return places(source) if source is not None else ()


def _automaton(visit: Visit, trace: Trace, step: Step) -> View | None:
    source = trace.spec.constraint
    if source is None:
        first = "once the end of the prompt is spelled again, " if trace.healed and trace.healed.prefix else ""
        st.caption(f"A free run has no automaton: {first}every token is allowed at every step.")
        return None
    try:
        return automaton_panel(
            demanded(compiled(source)),
            trace.text_before(step.index),
            key="automaton",
            selected=visit.selected,
            on_select=partial(setattr, visit, "selected"),
            places=places(source),
            source_text=source.text,
            steps=trace.steps[: step.index + 1],
        )
    except (ConstraintError, ValueError) as error:  # over budget; a path that another version of the engine recorded
        notice(f"The automaton of this trace can't be drawn here: {error}", key="no_graph", kind="warning")
        return None


def _classic(trace: Trace) -> None:
    """A regex as textbooks draw it, for those who ask for it: it is built in a process of its own."""
    source = trace.spec.constraint
    constraint = compiled(source) if source is not None and source.kind == "regex" and not source.after else None
    if source is None or not isinstance(constraint, Constraint):
        return
    if st.toggle("Beside the textbook's automaton, over characters", key="classic_shown", persist_state="session"):
        classic_view(source.text, constraint, key="classic")


def _budget(visit: Visit, trace: Trace, model: Model | None) -> None:
    """Whether the limit leaves room for an end, for those who ask: distances take a while where they are new."""
    masker = masker_of(trace.spec.constraint, model) if model is not None and speaks(trace, model) else None
    if masker is None or trace.spec.constraint is None:
        return
    if st.toggle("Token budget: what the limit leaves, what an end takes", key="budget_on", persist_state="session"):
        try:
            budget_view(
                trace,
                distances_along(trace, masker),
                position=visit.position,
                key="budget",
                on_step=_goes(visit, "budget"),
            )
        except (ConstraintError, ValueError) as error:
            notice(str(error), key="budget_problem")


def _source(trace: Trace, speaking: tuple[Origin, ...], masking: tuple[Origin, ...]) -> None:
    source = trace.spec.constraint
    if source is None or isinstance(compiled(source), ConstraintError):
        return
    known = places(source)
    schema_text(source.text, spans_of(speaking, known), spans_of(masking, known), key="source")


def heading(visit: Visit, model: Model | None) -> None:
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
                help=f"Made earlier with {prose(run.trace.model)}: shipped with Maskscope, or opened from a file",
            )
        else:
            st.badge("Live", icon=":material/bolt:", color="green")
        if run.trace.finish is not None:
            label, icon, colour = _FINISH[run.trace.finish]
            st.badge(label, icon=icon, color=colour)
        st.caption(f"run {run.trace.run_id}")
        carry(visit, run.trace, model)
