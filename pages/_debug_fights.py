"""Where the schema fights the model: sampled runs of one prompt, their lost probability by part of the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis import fights as analysis
from engine.analysis.fights import Fights
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.errors import ConstraintError
from engine.examples import EXAMPLES
from engine.grammar.locate import Located
from engine.masking import Masker
from pages import _settings
from pages._constraints import located, masked, said
from pages._debug_kept import Kept, turn
from pages._model import loading
from pages._told import UNTOLD, tell
from pages._worker import Worker
from visualizations.editor import Language
from visualizations.heat import fights_table, headline, heat_text, part_at, selected_part
from visualizations.notice import notice

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

MOST_RUNS, MOST_TOKENS = 16, 512
KEPT = 24  # results that are shared by all visitors
PROMPT = "Make up an example and write it as JSON."
BOUNDS = {"samples": (1, MOST_RUNS), "temperature": (0.0, 2.0), "max_tokens": (8, MOST_TOKENS), "seed": (0, 2**31 - 1)}
DEFAULTS = {"samples": 4, "temperature": 1.0, "max_tokens": 96, "seed": 0}
LANGUAGES: dict[str, Language] = {
    "json_schema": "json",
    "request": "json",
    "regex": "regex",
    "lark": "lark",
    "gbnf": "gbnf",
}

Asked = tuple[RunSpec, int]


@st.cache_resource(show_spinner=False)
def kept() -> Kept[Asked, Fights]:
    """The one store of results."""
    return Kept(KEPT)


@dataclass
class Sampling:
    """What one visitor asked for and what is known of it so far; `tokens` written by the run under way."""

    asked: Asked | None = None
    found: Fights | None = None
    worker: Worker | None = field(default=None, repr=False)
    tokens: int = 0
    waiting: bool = False
    selected: str | None = None
    suggested: str = ""

    @property
    def busy(self) -> bool:
        return self.worker is not None and self.worker.busy

    def start(self, asked: Asked, model: Model, masker: Masker) -> None:
        """Begin to sample; what was under way is given up."""
        self.stop()
        self.asked, self.found, self.selected, self.tokens = asked, None, None, 0
        self.worker = Worker(lambda stopped: self._sample(asked, model, masker, stopped))

    def stop(self) -> None:
        if self.worker is not None:
            self.worker.cancel()
            self.worker.wait()

    def _sample(self, asked: Asked, model: Model, masker: Masker, stopped: Callable[[], bool]) -> None:
        self.waiting = True
        with turn(stopped) as mine:
            self.waiting = False
            if mine:
                self._run(asked, model, masker, stopped)

    def _run(self, asked: Asked, model: Model, masker: Masker, stopped: Callable[[], bool]) -> None:
        spec, samples = asked

        def ask() -> bool:
            self.tokens += 1
            return stopped()

        for found in analysis.fights(model, spec, masker, samples, ask):
            self.found, self.tokens = found, 0
        if self.found is not None and not stopped():
            kept().put(asked, self.found)


def fights(source: ConstraintSource, select: Callable[[str], None] | None = None) -> None:
    """The part of the page: what to ask for, and what was found. `select` is told which part of the source to show."""
    sampling: Sampling = st.session_state.setdefault("fights", Sampling())
    _suggest(sampling, source)
    asked = _fields(source)
    _adopt(sampling, source, asked)
    model = loading().model
    _buttons(sampling, asked, model)
    with st.container():
        if sampling.worker is not None and not sampling.busy:
            notice(sampling.worker.problem, key="fights_problem")
    if sampling.busy:
        done = len(sampling.found.runs) if sampling.found else 0
        st.fragment(lambda: _under_way(sampling, done), run_every=UNTOLD)()
    with st.container():
        if sampling.found is not None:
            _result(sampling, sampling.found, asked, located(source), LANGUAGES[source.kind], select)
        elif not sampling.busy:
            st.caption(
                "Each run is drawn from the model under this constraint. What the mask takes from the model at a step, "
                "−ln Z, is put down to the parts of the source that took it: the dearest is the one to rename, to "
                "move or to loosen."
            )


def _suggest(sampling: Sampling, source: ConstraintSource) -> None:
    """A prompt to begin with: that of the example the source is, as long as none was written by hand."""
    state = st.session_state
    for name, value in DEFAULTS.items():
        state.setdefault(f"fights_{name}", value)
    suggestion = suggested_prompt(source)
    if state.get("fights_prompt", "") in ("", sampling.suggested) and sampling.suggested != suggestion:
        state["fights_prompt"] = suggestion
    sampling.suggested = suggestion


def suggested_prompt(source: ConstraintSource) -> str:
    """The prompt of the example that the source is, else one that fits most."""
    same = (e.prompt for e in EXAMPLES if e.constraint is not None and e.constraint.text == source.text)
    return next(same, PROMPT)


def _fields(source: ConstraintSource) -> Asked:
    st.text_area(
        "Prompt",
        key="fights_prompt",
        height=76,
        max_chars=_settings.MAX_PROMPT,
        help="Best the one your application sends: the figures belong to it.",
        persist_state="session",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.slider("Runs", *BOUNDS["samples"], key="fights_samples", persist_state="session", width=150)
        st.slider(
            "Temperature",
            *BOUNDS["temperature"],
            step=0.05,
            key="fights_temperature",
            persist_state="session",
            width=150,
        )
        st.number_input(
            "Token limit", *BOUNDS["max_tokens"], key="fights_max_tokens", persist_state="session", width=130
        )
        st.number_input("First seed", *BOUNDS["seed"], key="fights_seed", persist_state="session", width=130)
    samples, limit, seed = (int(_within(name)) for name in ("samples", "max_tokens", "seed"))
    sampler = Sampler(temperature=_within("temperature"), seed=seed)
    return RunSpec(st.session_state["fights_prompt"], source, sampler=sampler, max_tokens=limit), samples


def _within(name: str) -> float:
    """The field's value, cut to its bounds: a browser may send any."""
    value, (low, high) = st.session_state[f"fights_{name}"], BOUNDS[name]
    return DEFAULTS[name] if value is None else min(high, max(low, value))


def _adopt(sampling: Sampling, source: ConstraintSource, asked: Asked) -> None:
    """Another source makes what is shown void; what anybody has found for these very fields is shown at once."""
    if sampling.asked is not None and sampling.asked[0].constraint != source:
        sampling.stop()
        sampling.asked, sampling.found, sampling.worker, sampling.selected = None, None, None, None
    if not sampling.busy and sampling.asked != asked and (found := kept().get(asked)) is not None:
        sampling.asked, sampling.found, sampling.worker = asked, found, None


def _buttons(sampling: Sampling, asked: Asked, model: Model | None) -> None:
    spec, samples = asked
    problem = "" if model is None else _settings.prompt_problem(spec, model)
    masker = None if model is None or spec.constraint is None else masked(spec.constraint, model.vocabulary)
    if isinstance(masker, ConstraintError):
        problem, masker = problem or said(masker), None

    def start() -> None:
        if model is not None and masker is not None and not problem:
            sampling.start(asked, model, masker)

    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label = f"Sample {samples} runs" if samples > 1 and spec.sampler.temperature else "Sample one run"
        st.button(
            label,
            key="fights_start",
            type="primary",
            icon=":material/play_arrow:",
            on_click=start,
            disabled=masker is None or bool(problem) or sampling.busy,
        )
        if sampling.busy and sampling.worker is not None:
            st.button("Cancel", key="fights_cancel", icon=":material/stop:", on_click=sampling.worker.cancel)
        if model is None:
            st.caption(
                "As soon as the model is loaded." if loading().busy else "This needs a model, and there is none."
            )
    notice(problem, key="fights_field_problem")


def _under_way(sampling: Sampling, shown: int) -> None:
    """How far the runs are; the page is drawn anew with each that ends."""
    found, asked = sampling.found, sampling.asked
    done = len(found.runs) if found else 0
    if not sampling.busy or asked is None or done > shown:
        st.rerun()
    tell(sampling.worker, on_the_way=True)
    spec, samples = asked
    if sampling.waiting:
        st.progress(0.0, text="Waiting: another visitor's runs are under way")
        return
    share = (done + min(1.0, sampling.tokens / spec.max_tokens)) / samples
    st.progress(min(1.0, share), text=f"Run {min(done + 1, samples)} of {samples}: {sampling.tokens} tokens")


def _result(
    sampling: Sampling,
    found: Fights,
    asked: Asked,
    where: Located,
    language: Language,
    select: Callable[[str], None] | None,
) -> None:
    if sampling.asked != asked and not sampling.busy:
        notice(
            "The fields have changed since these runs. Sample again to see what that does.",
            key="fights_old",
            kind="info",
        )
    notice(headline(found), key="fights_headline", kind="info")

    def choose(pointer: str | None) -> None:
        sampling.selected = pointer
        if pointer is not None and select is not None:
            select(pointer)

    def clicked() -> None:
        part = selected_part(st.session_state["fights_table"].select, found)
        if part is not None:
            choose(None if part.pointer == sampling.selected else part.pointer)

    chosen = found.parts[0].pointer if sampling.selected is None and found.parts else sampling.selected
    fights_table(found, chosen, key="fights_table", on_select=clicked)
    text = heat_text(found, where, chosen, key="fights_heat", language=language)
    if text.clicked is not None and (pointer := part_at(found, where, text.clicked)) not in (None, chosen):
        choose(pointer)
        st.rerun()
    _runs(found)


def _runs(found: Fights) -> None:
    mean = found.cost / max(1, len(found.runs))
    label = f"{len(found.runs)} of {found.asked} runs, {mean:.1f} nats each on average"
    with st.expander(label, icon=":material/format_list_numbered:"):
        for run in found.runs:
            ended = {"complete": "complete", "limit": "stopped at the token limit"}.get(
                run.finish or "", "stopped early"
            )
            st.caption(f"Seed {run.seed}: {run.steps} tokens, {run.cost:.1f} nats, {ended}")
            st.code(run.text.decode(errors="backslashreplace") or " ", language=None, wrap_lines=True)
