"""Two versions of a source: how their languages relate, and one prompt under both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.compare import MOST_PAIRS, Relation, compare
from engine.analysis.room import distances_along
from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Sampler, Trace
from engine.errors import ConstraintError
from pages import _settings
from pages._constraints import compiled, located, masked, said
from pages._debug_fights import LANGUAGES, suggested_prompt
from pages._debug_kept import Kept, turn
from pages._debug_work import Progress, Question
from pages._model import loading
from pages._told import UNTOLD, tell
from pages._worker import Worker
from visualizations.budget import budget_view
from visualizations.editor import Problem, edited, editor, problem_of
from visualizations.notice import notice
from visualizations.tokens import token_strip, token_text

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

KEPT = 32  # runs that are shared by all visitors
MOST_WITNESS = 4_000  # characters of a witness that are shown
NAMES = ("first", "second")
RELATIONS = {
    "equal": "Both accept exactly the same texts.",
    "included": "Every text of the first is one of the second; the second accepts more.",
    "includes": "Every text of the second is one of the first; the second is stricter.",
    "overlapping": "Some texts are accepted by both, some only by the first, some only by the second.",
    "disjoint": "No text is accepted by both.",
    "undecided": f"Undecided within the budget of {MOST_PAIRS:,} pairs of states. What was found by then:",
}
BOUNDS = {"temperature": (0.0, 2.0), "max_tokens": (8, 512), "seed": (0, 2**31 - 1)}
DEFAULTS = {"temperature": 0.0, "max_tokens": 96, "seed": 0}


@st.cache_resource(show_spinner=False)
def kept() -> Kept[RunSpec, Trace]:
    """Finished runs."""
    return Kept(KEPT)


@dataclass
class Runs:
    """The prompt under both versions: what was asked, and what there is of each run so far."""

    asked: tuple[RunSpec, RunSpec] | None = None
    traces: list[Trace] = field(default_factory=list)
    worker: Worker | None = field(default=None, repr=False)

    @property
    def busy(self) -> bool:
        return self.worker is not None and self.worker.busy

    def start(self, asked: tuple[RunSpec, RunSpec], model: Model) -> None:
        """Run both, one after the other; what was under way is given up."""
        self.stop()
        self.asked, self.traces = asked, []
        self.worker = Worker(lambda stopped: self._run(asked, model, stopped))

    def stop(self) -> None:
        if self.worker is not None:
            self.worker.cancel()
            self.worker.wait()

    def _run(self, asked: tuple[RunSpec, RunSpec], model: Model, stopped: Callable[[], bool]) -> None:
        with turn(stopped) as mine:
            for place, spec in enumerate(asked if mine else ()):
                if (known := kept().get(spec)) is not None:
                    self.traces = [*self.traces[:place], known]
                    continue
                masker = masked(spec.constraint, model.vocabulary) if spec.constraint else None
                if masker is None or isinstance(masker, ConstraintError):
                    return
                decoder = Decoder(model, spec, masker.constraint, masker)
                for _ in decoder.run(stopped):
                    self.traces = [*self.traces[:place], decoder.trace]
                self.traces = [*self.traces[:place], decoder.trace]
                if stopped():
                    return
                kept().put(spec, decoder.trace)


@dataclass
class Versions:
    """What one visitor compares. `base`: the first version when the second was last taken from it."""

    base: str = ""
    version: int = 0
    relation: Question[Relation] = field(default_factory=Question)
    runs: Runs = field(default_factory=Runs)
    suggested: str = ""


def versions(source: ConstraintSource) -> None:
    """The part of the page. `source` is the first version; the second begins as a copy of it."""
    state: Versions = st.session_state.setdefault("versions", Versions())
    other = _other(state, source)
    st.caption("The source on the page is the first version. Change this copy of it, the second, and compare.")
    problem = _problem(other)
    editor(
        state.base,
        key="versions_text",
        label="Second version",
        language=LANGUAGES[other.kind],
        version=state.version,
        errors=[problem] if problem else [],
        height=300,
    )
    if other.text != source.text:
        st.button(
            "Begin again from the first",
            key="versions_again",
            icon=":material/content_copy:",
            on_click=lambda: _copy(state, source),
        )
    if problem is not None:
        return
    with st.container():
        _relation(state, source, other)
    st.divider()
    _prompt(state, source, other)


def _other(state: Versions, source: ConstraintSource) -> ConstraintSource:
    """The second version: what is in its field; a field nobody changed follows the first."""
    now = edited(state.base, key="versions_text", version=state.version)
    if now.text == state.base != source.text:
        _copy(state, source)
        now = edited(state.base, key="versions_text", version=state.version)
    return replace(source, text=now.text)


def _copy(state: Versions, source: ConstraintSource) -> None:
    state.base, state.version = source.text, state.version + 1


def _problem(other: ConstraintSource) -> Problem | None:
    found = _settings.constraint_problem(other, None)
    if found is not None:
        return found
    constraint = compiled(other)
    return (
        replace(problem_of(constraint, located(other)), message=said(constraint))
        if isinstance(constraint, ConstraintError)
        else None
    )


def _relation(state: Versions, source: ConstraintSource, other: ConstraintSource) -> None:
    first, second = compiled(source), compiled(other)
    if isinstance(first, ConstraintError) or isinstance(second, ConstraintError):
        return
    if source == other:
        notice("The two are the same. Change the second one.", key="versions_same", kind="info")
        return

    def work(progress: Progress) -> Relation:
        progress.say("Comparing the two languages", 0.3)
        return compare(first, second)

    found = state.relation.ask((source.kind, source.text, other.text, source.options), work)
    if state.relation.busy:
        st.fragment(lambda: _look(state.relation), run_every=UNTOLD)()
    elif found is None:
        notice(state.relation.problem, key="versions_problem")
    else:
        by_value = first.schema is not None and second.schema is not None and found.kind != "undecided"
        notice(RELATIONS[found.kind], key="versions_relation", kind="warning" if found.kind == "undecided" else "info")
        if by_value:
            st.caption("Decided by the values that satisfy each schema; the texts are examples of them.")
        _witnesses(found)


def _look(question: Question[Relation]) -> None:
    if not question.busy:
        st.rerun()
    tell(question.worker)
    st.caption("Comparing the two languages …")


def _witnesses(found: Relation) -> None:
    shown = (
        ("Only the first accepts", found.only_a),
        ("Only the second accepts", found.only_b),
        ("Both accept", found.both),
    )
    given = [(label, text) for label, text in shown if text is not None]
    for column, (label, text) in zip(st.columns(max(1, len(given))), given, strict=False):
        with column:
            st.caption(label)
            written = text.decode(errors="backslashreplace")
            st.code(written[:MOST_WITNESS] or "(the empty text)", language=None, wrap_lines=True)
    if found.kind == "undecided" and not given:
        st.caption("No difference and no common text was found.")


def _prompt(state: Versions, source: ConstraintSource, other: ConstraintSource) -> None:
    """One prompt, run under both."""
    fields = st.session_state
    for name, value in DEFAULTS.items():
        fields.setdefault(f"versions_{name}", value)
    suggestion = suggested_prompt(source)
    if fields.get("versions_prompt", "") in ("", state.suggested) and state.suggested != suggestion:
        fields["versions_prompt"] = suggestion
    state.suggested = suggestion
    st.text_area(
        "The same prompt under both",
        key="versions_prompt",
        height=76,
        max_chars=_settings.MAX_PROMPT,
        persist_state="session",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.slider(
            "Temperature (0 is greedy)",
            *BOUNDS["temperature"],
            step=0.05,
            key="versions_temperature",
            persist_state="session",
            width=180,
        )
        st.number_input(
            "Token limit", *BOUNDS["max_tokens"], key="versions_max_tokens", persist_state="session", width=130
        )
        st.number_input("Seed", *BOUNDS["seed"], key="versions_seed", persist_state="session", width=130)
    sampler = Sampler(temperature=_within("temperature"), seed=int(_within("seed")))
    spec = RunSpec(fields["versions_prompt"], source, sampler=sampler, max_tokens=int(_within("max_tokens")))
    asked = (spec, replace(spec, constraint=other))
    _run_buttons(state.runs, asked)
    if state.runs.asked == asked:
        _side_by_side(state.runs, source, other)
    elif state.runs.traces:
        st.caption("Something has changed since the last two runs. Run both again.")


def _within(name: str) -> float:
    """The field's value, cut to its bounds: a browser may send any."""
    value, (low, high) = st.session_state[f"versions_{name}"], BOUNDS[name]
    return DEFAULTS[name] if value is None else min(high, max(low, value))


def _run_buttons(runs: Runs, asked: tuple[RunSpec, RunSpec]) -> None:
    model = loading().model
    problem = "" if model is None else next(filter(None, (_settings.problem(spec, model) for spec in asked)), "")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            "Run both",
            key="versions_run",
            type="primary",
            icon=":material/play_arrow:",
            on_click=lambda: runs.start(asked, model) if model is not None else None,
            disabled=model is None or bool(problem) or runs.busy,
        )
        if runs.busy and runs.worker is not None:
            st.button("Cancel", key="versions_cancel", icon=":material/stop:", on_click=runs.worker.cancel)
        if model is None:
            st.caption(
                "As soon as the model is loaded." if loading().busy else "This needs a model, and there is none."
            )
    notice(problem, key="versions_field_problem")
    if runs.worker is not None and not runs.busy:
        notice(runs.worker.problem, key="versions_run_problem")
    if runs.busy:
        st.fragment(lambda: _under_way(runs), run_every=UNTOLD)()


def _under_way(runs: Runs) -> None:
    if not runs.busy or runs.asked is None:
        st.rerun()
    tell(runs.worker, on_the_way=True)
    limit = runs.asked[0].max_tokens
    made = [len(trace.steps) for trace in runs.traces]
    place = max(1, len(made))
    st.progress(
        min(1.0, sum(made) / (2 * limit)), text=f"The {NAMES[place - 1]} version: {made[-1] if made else 0} tokens"
    )


def _side_by_side(runs: Runs, source: ConstraintSource, other: ConstraintSource) -> None:
    traces = runs.traces
    if len(traces) == 2 and not runs.busy:
        notice(in_a_sentence(*traces), key="versions_outcome", kind="info")
    for column, trace, version, name in zip(st.columns(2, gap="medium"), traces, (source, other), NAMES, strict=False):
        with column:
            ended = {"complete": "complete", "limit": "stopped at the token limit"}.get(
                trace.finish or "", "not at its end"
            )
            st.markdown(f"**The {name} version**")
            st.caption(f"{len(trace.steps)} tokens, −ln Z {trace.cost:.2f} nats in all, {ended} · run {trace.run_id}")
            st.code(trace.text.decode(errors="backslashreplace") or " ", language=None, wrap_lines=True)
            if not trace.steps:
                continue
            token_strip(trace, len(trace.steps) - 1, key=f"versions_strip_{name}", on_step=_nothing)
            if not runs.busy:
                _budget(trace, version, name)


def _budget(trace: Trace, source: ConstraintSource, name: str) -> None:
    model = loading().model
    masker = masked(source, model.vocabulary) if model is not None else None
    if masker is None or isinstance(masker, ConstraintError):
        return
    try:
        distances = distances_along(trace, masker)
    except ConstraintError as error:
        st.caption("The distance to an end can't be found within the budget.")
        notice(said(error), key=f"versions_budget_problem_{name}", kind="warning")
        return
    budget_view(trace, distances, key=f"versions_budget_{name}")


def in_a_sentence(first: Trace, second: Trace) -> str:
    """What the second version changed, by the two runs."""
    saved = first.cost - second.cost
    change = "as much as" if abs(saved) < 0.005 else f"{abs(saved):.2f} nats {'less' if saved > 0 else 'more'} than"
    said = f"The second version's mask costs {change} the first's ({second.cost:.2f} against {first.cost:.2f} nats)."
    pairs = enumerate(zip_longest(first.steps, second.steps))
    parted = next(((i, a, b) for i, (a, b) in pairs if a is None or b is None or a.token_id != b.token_id), None)
    if parted is None:
        return f"{said}\nBoth runs wrote the same tokens."
    index, ours, theirs = parted
    shown = [
        f"“{token_text(step.token, step.token_id, step.end)}”" if step else "nothing more" for step in (ours, theirs)
    ]
    return f"{said}\nThe runs part at step {index}: {shown[0]} under the first, {shown[1]} under the second."


def _nothing() -> None:
    """The strips here are to be read."""
