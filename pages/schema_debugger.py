"""Schema debugger: what a constraint really says, and why a text fails under it."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from engine.errors import ConstraintError
from engine.grammar.locate import Located
from engine.vocabulary.spelling import VocabularyError
from engine.vocabulary.tokenizer_file import TokenizerFile
from pages import _debug_replay, _debug_texts
from pages._constraints import located as parts_of
from pages._debug_fights import fights
from pages._debug_report import Examined, examined, headline, key_of, narrowed, report_panel
from pages._debug_source import LANGUAGES, SAMPLES, Given, controls, given
from pages._debug_versions import versions
from pages._debug_vocabulary import Tokens, tokens_in_use, vocabulary_panel
from pages._debug_work import Progress, Question, follow
from pages._model import loading
from visualizations.editor import Highlight, Problem, edited, editor, problem_of
from visualizations.notice import notice

FOLLOW = 0.5  # seconds between two looks at the model's loading
REPLAY, REPORT, TEXTS = "Replay a text", "Report", "Many texts"
FIGHTS, VERSIONS = "Where it fights the model", "Two versions"
VIEWS = [REPLAY, REPORT, TEXTS, FIGHTS, VERSIONS]


@dataclass
class Visit:
    """What one visitor debugs. `selected`: the part that is selected, None if none is; `selected_in`: of which text."""

    text: str
    version: int = 0
    selected: str | None = None
    selected_in: str = ""
    sample_text: str = ""
    report: Question[Examined] = field(default_factory=Question)
    tokenizer: Question[TokenizerFile | VocabularyError] = field(default_factory=Question)
    looking: _debug_replay.Looking = field(default_factory=_debug_replay.Looking)
    texts: _debug_texts.Texts = field(default_factory=_debug_texts.Texts)

    def select(self, pointer: str | None) -> None:
        self.selected = pointer
        self.selected_in = edited(self.text, key="debug_source", version=self.version).text


def visit_of_session() -> Visit:
    """The visitor's state; at first the first sample."""
    if "debug" not in st.session_state:
        defaults = {"debug_kind": "auto", "debug_example": SAMPLES[0].name, "debug_dialect": "", "debug_providers": []}
        defaults["debug_view"] = REPLAY
        options = {f"debug_{name}": "" for name in ("objects", "formats", "on_unsupported")}
        reading = {f"debug_read_{name}": "any" for name in _debug_replay.READING}
        for name, value in (defaults | options | reading).items():
            st.session_state.setdefault(name, value)
        first = SAMPLES[0]
        st.session_state["debug"] = Visit(first.source.text, sample_text=first.text)
        st.session_state["debug"].looking.text = first.text
    visit: Visit = st.session_state["debug"]
    return visit


def load_example() -> None:
    """Put the example picked into the field, and its text, unless there is a text of the visitor's own."""
    visit: Visit = st.session_state["debug"]
    sample = next((s for s in SAMPLES if s.name == st.session_state["debug_example"]), None)
    if sample is None:
        return
    visit.text, visit.version, visit.selected = sample.source.text, visit.version + 1, None
    st.session_state["debug_kind"] = "auto"
    st.session_state["debug_objects"] = dict(sample.source.options).get("objects", "")
    looking = visit.looking
    now = edited(looking.text, key="debug_text", version=looking.version).text
    if now in ("", visit.sample_text):
        visit.sample_text = sample.text
        looking.load(sample.text)


def report_of(visit: Visit, now: Given, tokens: Tokens | None) -> Examined | None:
    """The report, None while it is being made."""
    if now.source is None:
        return None
    source, vocabulary = now.source, tokens.vocabulary if tokens is not None else None
    providers = tuple(sorted(st.session_state["debug_providers"]))
    key = (key_of(source), vocabulary.digest if vocabulary is not None else "", providers)

    def work(progress: Progress) -> Examined:
        progress.say("Compiling and reading the source", 0.3)
        return examined(source, vocabulary, providers)

    return visit.report.ask(key, work)


def marks_of(found: Examined | None, located: Located) -> list[Highlight]:
    """The remarks, each at its keyword or at the first line of its part."""
    marks = []
    for finding in found.findings if found is not None and found.constraint is not None else []:
        span = located.span(narrowed(finding.pointer, finding.keyword))
        if span is None or not finding.pointer:
            continue
        start, end = span
        line = located.text.find("\n", start, end)
        marks.append(Highlight(start, end if line < 0 else line, finding.severity, finding.message))
    return marks


def source_side(visit: Visit, now: Given, found: Examined | None, located: Located, speaking: list[Highlight]) -> None:
    """The source: what it was taken for, its text with all that is said about it marked."""
    controls(now.kind, now.recognised, load_example)
    problems: list[Problem] = []
    if found is not None and found.constraint is None:
        refusal = found.findings[0]
        problems = [problem_of(ConstraintError(refusal.message, pointer=refusal.pointer), located)]
    marks = [*marks_of(found, located), *speaking]
    if visit.selected is not None and (span := located.span(visit.selected)) is not None:
        marks.append(Highlight(*span, "selected", f"Selected: {visit.selected or 'the root'}"))
    field = editor(
        visit.text,
        key="debug_source",
        label="Schema, regex, grammar or provider request",
        language=LANGUAGES[now.kind],
        version=visit.version,
        errors=problems,
        highlights=marks,
        legend={"speaks": "rules at the place looked at"},
        height=430,
    )
    notice(field.refused, key="debug_source_refused")


def model_status() -> None:
    """Looks at the loading model until it is decided, then draws the page anew: tokens have come."""
    state = loading()
    if not state.busy:
        st.rerun()
    st.progress(state.share, text=f"{state.phase} …")


def page() -> None:
    visit = visit_of_session()
    source_field = edited(visit.text, key="debug_source", version=visit.version)
    now = given(source_field)
    tokens = tokens_in_use(visit.tokenizer)
    located = parts_of(now.source) if now.source is not None else Located(now.text, ())
    if source_field.clicked is not None:
        visit.select(located.at(source_field.clicked))
    elif visit.selected_in != source_field.text:
        visit.selected = None
    found = report_of(visit, now, tokens)
    looking = visit.looking
    text_now = edited(looking.text, key="debug_text", version=looking.version)
    compiles = now.source is not None and found is not None and found.constraint is not None
    refused = found is not None and found.constraint is None
    outcome = None
    if now.source is not None and not refused:
        outcome = _debug_replay.outcome(looking, now.source, text_now, tokens)
    place = _debug_replay.place(looking, now.source, outcome, tokens) if outcome and now.source else None
    speaking = []
    if place is not None and st.session_state["debug_view"] == REPLAY:
        rules = _debug_replay.rules_of(place.here.origins, located)
        spans = [span for rule in rules if (span := located.span(rule.pointer)) is not None]
        speaking = [Highlight(*span, "speaks", "A rule at the place looked at") for span in spans]

    st.caption(
        "A constraint on the left, an output on the right: where the output leaves it, why, and whose rule that is."
    )
    left, right = st.columns([5, 6], gap="medium")
    with left:
        source_side(visit, now, found, located, speaking)
        vocabulary_panel(tokens, visit.tokenizer)
        if loading().busy:
            st.fragment(model_status, run_every=FOLLOW, key="debug_model")()
    with right:
        if now.problem:
            notice(now.problem, key="debug_problem", kind="warning")
        elif found is not None and now.source is not None:
            headline(now.source, found)
        elif visit.report.problem:
            notice(visit.report.problem, key="debug_report_problem")
        follow([visit.report, looking.outcome, visit.tokenizer], key="debug_follow")  # type: ignore[list-item]
        view = st.segmented_control(
            "View",
            VIEWS,
            key="debug_view",
            required=True,
            label_visibility="collapsed",
            width="stretch",
            wrap=True,
            persist_state="session",
        )
        if view == REPLAY:
            replay_view(visit, now, outcome, place, tokens, located)
        elif view == REPORT and found is not None:
            report_panel(found, visit.selected, lambda finding: visit.select(finding.pointer))
        elif view == TEXTS:
            _debug_texts.panel(visit.texts, now.source if compiles else None, looking)
        elif view == FIGHTS and now.source is not None and compiles:
            fights(now.source, visit.select)
        elif view == VERSIONS and now.source is not None and compiles:
            versions(now.source)


def replay_view(
    visit: Visit,
    now: Given,
    outcome: _debug_replay.Outcome | None,
    place: _debug_replay.Place | None,
    tokens: Tokens | None,
    located: Located,
) -> None:
    _debug_replay.text_field(visit.looking, outcome, place)
    if now.source is not None:
        _debug_replay.reading_options(now.source)
    if visit.looking.outcome.problem and visit.report.answer is not None and visit.report.answer.constraint is not None:
        notice(visit.looking.outcome.problem, key="debug_replay_problem")
    elif outcome is not None and place is not None and now.source is not None:
        _debug_replay.result(visit.looking, now.source, outcome, place, tokens, located, visit.select)


page()
