"""What it can't guarantee: a required field with nothing to fill it, and what the form does guarantee instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import streamlit as st

from engine.analysis.experiments import (
    BRANCHES,
    CLOSED,
    CUT,
    CUT_SCHEMA,
    OR_NULL,
    OR_NULL_TOLD,
    OR_UNKNOWN,
    PASSAGES,
    REQUIRED,
    Passage,
    branch_prompt,
    branch_source,
    employer_in,
    guarantee,
    truncation,
)
from engine.analysis.intervals import Proportion
from engine.analysis.trials import Outcome, counted
from engine.constraint import Constraint
from engine.grammar.json_schema.compile import compile_json_schema
from engine.recorded import Series, recorded
from pages._lessons.fields import Fields, Value
from pages._lessons.live import the_model
from pages._lessons.reader import Lesson
from pages._lessons.series import answers, live_series, origin, shares, visible_lines

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model

SHORT = {REQUIRED: "required", OR_UNKNOWN: "unknown", OR_NULL: "null", OR_NULL_TOLD: "told"}
MAX_TOKENS = 40

FIELDS = {
    "texts": "texts",
    "silent": "texts that name no employer",
    "named": "texts that name one",
    **{
        f"{name}_{of}": f"{what}, schema: {branch}"
        for branch, name in SHORT.items()
        for of, what in {
            "invented": "employers invented where the text names none",
            "declined": "answers that decline where the text names none",
            "right": "employers given as the text has them, where it names one",
        }.items()
    },
    "satisfy": "answers that satisfy their schema",
    "answers": "answers in all",
    "example_text": "a text that names no employer",
    "example": "what was written for it under the required field",
    "low": "lower end of the interval of the share that declines, told so",
    "high": "upper end of it",
    "level": "the confidence of the interval",
    "fourth": "what the automaton says to a value outside a closed vocabulary",
    "seventh": "what it says to one item too many",
    "items": "items that are allowed",
    "polite": "what it says to a preamble",
    "polite_at": "the byte at which it says so",
    "more": "what it says to a word after the end",
    "ways_on": "bytes that may follow a finished answer",
    "limits": "token limits tried",
    "cut_json": "of the runs cut off by them, those that are JSON",
    "closed_json": "of the runs that close in time, those that are JSON",
    "cut_limit": "a limit that cuts",
    "cut_text": "what it leaves",
    "closed_text": "what closing in time makes of the same limit",
}


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The recorded series, and verdicts of the automaton."""
    sevens = _colors()
    polite = sevens.check('Sure, here it is: {"colors": ["red"]}')
    done = sevens.advance(sevens.start, b'{"colors": ["red"]}')
    assert done is not None
    passages = {passage.text: passage for passage in PASSAGES}
    return {
        "level": 0.95,
        "fourth": _verdict(compile_json_schema({"enum": ["low", "high"]}), '"medium"'),
        "seventh": _verdict(sevens, '{"colors": [' + ", ".join(['"red"'] * 8) + "]}"),
        "items": 7,
        "polite": polite.kind,
        "polite_at": polite.offset + 1,
        "more": _verdict(sevens, '{"colors": ["red"]} I hope this helps!'),
        "ways_on": len(sevens.moves(done)),
        **_of_series(recorded("guarantee"), passages),
        **_of_cuts(recorded("truncation")),
    }


def opening(lesson: Lesson, key: str) -> None:
    """The texts and the schema."""
    st.caption("The texts:")
    st.code("\n".join(passage.text for passage in PASSAGES), language=None)
    st.caption("The schema asks for both:")
    st.code(branch_source(REQUIRED).text, language=None, wrap_lines=True)


def experiment(lesson: Lesson, key: str) -> Fields:
    """Fields without information; what is certain; what a token limit does."""
    model = the_model()
    st.markdown("#### A required field, and nothing to put in it")
    fields = dict(_extraction(model, f"{key}_extract"))
    st.markdown("#### What is certain")
    _certain(f"{key}_certain")
    st.markdown("#### What a token limit does")
    return fields | dict(_cuts(model, f"{key}_cut"))


def _extraction(model: Model | None, key: str) -> Fields:
    series, passages, live = recorded("guarantee"), {passage.text: passage for passage in PASSAGES}, False
    with st.expander("Your own text", key=f"{key}_own"):
        text = st.text_input("A text", "Lucy sat in the garden and read.", key=f"{key}_text", max_chars=300)
        employer = st.text_input("The employer that it names (nothing if it names none)", key=f"{key}_employer")
        if model is not None and text.strip():
            own = Passage(text, None, employer.strip() or None)
            most = len(BRANCHES) * MAX_TOKENS
            found = live_series(
                ("guarantee", own),
                f"Extract it under {len(BRANCHES)} schemas",
                lambda model: guarantee(model, [own], max_tokens=MAX_TOKENS),
                most,
                model,
                key=f"{key}_live",
            )
            if found:
                series, passages, live = found, {text: own}, True
    origin(series, live)
    if series.outcomes:
        left, right = st.columns(2, gap="medium")
        with left:
            invented = {branch: _invented(series.group(branch), passages) for branch in BRANCHES}
            shares(invented, key=f"{key}_invented", title="invented, where the text names none")
        with right:
            right_ones = {branch: _right(series.group(branch), passages) for branch in BRANCHES}
            shares(right_ones, key=f"{key}_right", title="right, where the text names one")
        _side_by_side(series.outcomes, key)
        answers(series.outcomes, key=key, task=True)
        with st.expander("Prompts and schemas", key=f"{key}_asked"):
            for branch in BRANCHES:
                st.caption(branch)
                st.code(visible_lines(branch_prompt(series.outcomes[0].question, branch)), language=None)
                st.code(branch_source(branch).text, language=None, wrap_lines=True)
    return _of_series(series, passages)


def _side_by_side(outcomes: Sequence[Outcome], key: str) -> None:
    texts = list(dict.fromkeys(outcome.question for outcome in outcomes))
    rows = []
    for text in texts:
        said = {o.group: employer_in(o.answer.text) or "(declines)" for o in outcomes if o.question == text}
        rows.append({"text": text, **{branch: said.get(branch, "") for branch in BRANCHES}})
    st.caption("The employer that each answer gives:")
    st.dataframe(rows, hide_index=True, key=f"{key}_employers")


def _certain(key: str) -> None:
    sevens = _colors()
    claims = [
        ("closed vocabulary", compile_json_schema({"enum": ["low", "high"]}), '"medium"'),
        ("bounded array", sevens, '{"colors": [' + ", ".join(['"red"'] * 8) + "]}"),
        ("no preamble", sevens, 'Sure, here it is: {"colors": ["red"]}'),
        ("nothing after the end", sevens, '{"colors": ["red"]} I hope this helps!'),
    ]
    rows = []
    for claim, constraint, text in claims:
        verdict = constraint.check(text)
        expected = ", ".join(verdict.expected)[:80] or "the end"
        rows.append(
            {"certain": claim, "tried": text, "verdict": verdict.kind, "at byte": verdict.offset + 1, "there": expected}
        )
    st.dataframe(rows, hide_index=True, key=f"{key}_table")
    st.caption(
        "Verdicts of the automaton, no model asked. After a finished answer no byte may follow, so the only token left "
        "is the end: the run stops because it must, not because the model thinks of it."
    )


def _cuts(model: Model | None, key: str) -> Fields:
    series, live = recorded("truncation"), False
    with st.expander("Your own limit", key=f"{key}_own"):
        limit = int(st.slider("Token limit", 9, 48, 20, key=f"{key}_limit"))
        if model is not None:
            found = live_series(
                ("truncation", limit),
                f"Write within {limit} tokens, both ways",
                lambda model: truncation(model, [limit]),
                2 * limit,
                model,
                key=f"{key}_live",
            )
            series, live = (found, True) if found else (series, live)
    origin(series, live)
    limits = sorted({outcome.seed for outcome in series.outcomes})
    if limits:
        if len(limits) == 1:
            chosen = limits[0]
        else:
            chosen = st.select_slider("The run may write so many tokens", limits, limits[1], key=f"{key}_chosen")
        left, right = st.columns(2, gap="medium")
        for column, group in ((left, CUT), (right, CLOSED)):
            outcome = next(o for o in series.group(group) if o.seed == chosen)
            with column:
                st.caption(
                    f"{group}: {'JSON' if outcome.verdict.parses else 'no JSON'}, {outcome.answer.tokens} tokens"
                )
                st.code(visible_lines(outcome.answer.text), language=None, wrap_lines=True)
    return _of_cuts(series)


def _colors() -> Constraint:
    return compile_json_schema(CUT_SCHEMA)


def _verdict(constraint: Constraint, text: str) -> str:
    return constraint.check(text).kind


def _silent(outcomes: Sequence[Outcome], passages: Mapping[str, Passage]) -> list[Outcome]:
    return [outcome for outcome in outcomes if passages[outcome.question].employer is None]


def _invented(outcomes: Sequence[Outcome], passages: Mapping[str, Passage]) -> Proportion:
    return counted(_silent(outcomes, passages), lambda outcome: employer_in(outcome.answer.text) is not None)


def _right(outcomes: Sequence[Outcome], passages: Mapping[str, Passage]) -> Proportion:
    speaking = [outcome for outcome in outcomes if passages[outcome.question].employer is not None]
    return counted(speaking, lambda outcome: bool(outcome.verdict.agrees))


def _of_series(series: Series, passages: Mapping[str, Passage]) -> Fields:
    if not series.outcomes:
        return {}
    silent = sum(passage.employer is None for passage in passages.values())
    found: dict[str, Value] = {
        "texts": len(passages),
        "silent": silent,
        "named": len(passages) - silent,
        "answers": len(series.outcomes),
        "satisfy": sum(outcome.verdict.satisfies for outcome in series.outcomes),
    }
    for branch, name in SHORT.items():
        invented = _invented(series.group(branch), passages)
        found[f"{name}_invented"] = invented.successes
        found[f"{name}_declined"] = invented.n - invented.successes
        found[f"{name}_right"] = _right(series.group(branch), passages).successes
    declines = counted(_silent(series.group(OR_NULL_TOLD), passages), lambda o: employer_in(o.answer.text) is None)
    found |= {"low": declines.low, "high": declines.high}
    for outcome in _silent(series.group(REQUIRED), passages)[:1]:
        found |= {"example_text": outcome.question, "example": outcome.answer.text}
    return found


def _of_cuts(series: Series) -> Fields:
    cuts = {outcome.seed: outcome for outcome in series.group(CUT)}
    closed = {outcome.seed: outcome for outcome in series.group(CLOSED)}
    if not cuts:
        return {}
    found: dict[str, Value] = {
        "limits": len(cuts),
        "cut_json": sum(outcome.verdict.parses for outcome in cuts.values()),
        "closed_json": sum(outcome.verdict.parses for outcome in closed.values()),
    }
    broken = [limit for limit, outcome in cuts.items() if not outcome.verdict.parses]
    if broken:
        limit = max(broken)
        found |= {
            "cut_limit": limit,
            "cut_text": cuts[limit].answer.text[-160:],
            "closed_text": closed[limit].answer.text[-160:],
        }
    return found
