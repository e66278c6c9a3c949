"""Which method when: one task through each method, one table, and the rule that comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import get_args

import streamlit as st

from engine.analysis.choosing import Where, advice
from engine.analysis.experiments import PERSON
from engine.analysis.intervals import Proportion
from engine.analysis.methods import (
    BAN,
    METHODS,
    MILD,
    TOOL_BEGINS,
    TRIES,
    Contradiction,
    Job,
    Method,
    contradictions,
    trials,
)
from engine.analysis.trials import Outcome, Wanted, counted
from engine.errors import ConstraintError
from engine.grammar.sources import compile_source
from engine.recorded import Series, recorded
from engine.vocabulary.small import small_vocabulary
from pages._lessons.fields import Fields, Value
from pages._lessons.live import the_model
from pages._lessons.reader import Lesson
from pages._lessons.series import answers, live_series, origin, shares, typical, visible_lines
from visualizations.notice import notice
from visualizations.tokens import visible

SHORT = {
    "prompt only": "prompt",
    "prompt with retries": "retries",
    "prefill": "prefill",
    "logit bias, mild": "mild",
    "logit bias, as a ban": "ban",
    "forced tool call": "tool",
    "constrained decoding": "constrained",
    "generate, then convert": "convert",
}

FIELDS = {
    "methods": "methods",
    "each": "answers of each method",
    "tries": "calls of the method that tries again, at most",
    **{
        f"{name}_{of}": f"{what}: {method}"
        for method, name in SHORT.items()
        for of, what in {
            "valid": "answers that satisfy the schema",
            "right": "answers that say what the text says",
            "tokens": "median of the tokens written",
        }.items()
    },
    "fewest": "the method with the fewest tokens",
    "most": "the method with the most tokens",
    "valid_low": "lower end of the interval of constrained decoding's share of valid answers",
    "level": "the confidence of the intervals",
    "mild_bias": "the mild bias, in logits",
    "ban_bias": "the strong one",
    "biased": "an answer under the strong bias",
    "answer_bytes": "the right answer, as one text",
    "clashing": "tokens of it that are allowed at one step and masked at another",
    "clash": "one of them",
    "clash_taken": "the step that takes it",
    "clash_masked": "a step that masks it",
    "exercise_answer": "what the decision rule says in the exercise",
}

EXERCISE: Where = "a provider that takes a schema"
RIGHT = b'{"name":"Marie Curie","age":66,"city":"Paris"}'


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The recorded series, the clash of a bias with a grammar, the rule's answer to the exercise."""
    return {
        "methods": len(METHODS),
        "tries": TRIES,
        "level": 0.95,
        "mild_bias": MILD,
        "ban_bias": BAN,
        "exercise_answer": advice(EXERCISE, certain=True, thought=True, simple=False).method,
        **_clash(),
        **_of_series(recorded("methods")),
    }


def opening(lesson: Lesson, key: str) -> None:
    """The task."""
    st.caption("The task, the same for all:")
    st.code(PERSON.prompt, language=None, wrap_lines=True)


def experiment(lesson: Lesson, key: str) -> Fields:
    """The table, the answers, the rule."""
    st.markdown("#### One task through each method")
    fields = dict(_table(f"{key}_table"))
    st.markdown("#### Why a bias is no grammar")
    _bias(f"{key}_bias")
    st.markdown("#### The decision")
    _decision(f"{key}_decision")
    return fields


def _table(key: str) -> Fields:
    model = the_model()
    series, live = recorded("methods"), False
    with st.expander("Your own task", key=f"{key}_own"):
        job, chosen, n = _own(key)
        if model is not None and chosen and _compiles(job, key):
            most = sum(n * _most(job, name) for name in chosen)
            known = tuple(sorted(chosen))
            found = live_series(
                ("methods", job.prompt, job.schema, job.begins, n, known),
                f"Ask {n} times by each of {len(chosen)} methods",
                lambda model: trials(model, job, n, methods=chosen),
                most,
                model,
                key=f"{key}_live",
            )
            series, live = (found, True) if found else (series, live)
    origin(series, live)
    rows = [_row(method, series.group(method.name)) for method in METHODS]
    st.dataframe(rows, hide_index=True, key=f"{key}_rows", height="content")
    if series.outcomes:
        left, right = st.columns(2, gap="medium")
        with left:
            shares(_counts(series, valid=True), key=f"{key}_valid", title="satisfy the schema, 95 % interval")
        if series.outcomes[0].verdict.agrees is not None:
            with right:
                shares(_counts(series, valid=False), key=f"{key}_right", title="say what the text says, 95 % interval")
        answers(series.outcomes, key=key)
    with st.expander("How each method is done here", key=f"{key}_how"):
        for method in METHODS:
            st.text(f"{method.name}: {method.does}.")
        st.caption("The tool call is simulated: the model reads a description of the tool, and its answer begins with")
        st.code(TOOL_BEGINS, language=None)
    return _of_series(series)


def _own(key: str) -> tuple[Job, list[str], int]:
    prompt = st.text_area("Prompt", PERSON.prompt, key=f"{key}_prompt", max_chars=1_000, height=80)
    schema = st.text_area("Schema", PERSON.schema, key=f"{key}_schema", max_chars=5_000, height=100)
    begins = st.text_input("Prefill: how the answer begins", PERSON.begins, key=f"{key}_begins", max_chars=80)
    names = [method.name for method in METHODS]
    chosen = st.pills("Methods", names, selection_mode="multi", default=names, key=f"{key}_methods")
    n = int(st.slider("Answers of each", 1, 20, 3, key=f"{key}_n"))
    known = PERSON.known if (prompt, schema) == (PERSON.prompt, PERSON.schema) else None
    return replace(PERSON, prompt=prompt, schema=schema, begins=begins, known=known), list(chosen), n


def _compiles(job: Job, key: str) -> bool:
    if not job.prompt.strip():
        return False
    try:
        Wanted(job.schema)
    except ConstraintError as error:
        notice(str(error), key=f"{key}_problem")
        return False
    return True


def _most(job: Job, method: str) -> int:
    calls = {"prompt with retries": TRIES, "generate, then convert": 2}
    return job.max_tokens * calls.get(method, 1)


def _row(method: Method, outcomes: Sequence[Outcome]) -> dict[str, object]:
    n = len(outcomes)
    known = bool(outcomes) and outcomes[0].verdict.agrees is not None
    return {
        "method": method.name,
        "has the form": f"{_valid(outcomes).successes} of {n}" if n else "",
        "is right": f"{_agreeing(outcomes).successes} of {n}" if known else "",
        "tokens": typical(outcomes, lambda o: o.answer.tokens) if n else None,
        "passes": typical(outcomes, lambda o: o.answer.passes) if n else None,
        "seconds": round(typical(outcomes, lambda o: o.answer.seconds), 1) if n else None,
        "calls": typical(outcomes, lambda o: o.answer.calls) if n else None,
        "own model": method.own,
        "hosted, schema": method.with_schema,
        "hosted, bias only": method.with_bias,
    }


def _bias(key: str) -> None:
    st.caption(
        "Tokens of the right answer, of a small vocabulary. Each is taken at one step and masked at another, so no "
        "fixed number added to its logit is right at both."
    )
    rows = [
        {"token": visible(one.token), "taken at step": one.taken_at, "masked at step": one.masked_at}
        for one in _clashes()
    ]
    st.dataframe(rows, hide_index=True, key=f"{key}_rows")


def _decision(key: str) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        where = st.radio("At hand is", list(get_args(Where)), key=f"{key}_where")
        certain = st.toggle("An answer without the form does harm", True, key=f"{key}_certain")
        thought = st.toggle("The answer has to be worked out", False, key=f"{key}_thought")
        simple = st.toggle("The form is one of a few words", False, key=f"{key}_simple")
    with right:
        found = advice(where, certain=certain, thought=thought, simple=simple)
        st.caption("Use")
        st.code(visible_lines(found.method), language=None)
        st.text(f"Because {found.why}.")


@lru_cache(maxsize=1)
def _clashes() -> tuple[Contradiction, ...]:
    """The tokens of the right answer, of the small vocabulary, that no bias can be right for."""
    tokens, rest = [], RIGHT
    while rest:
        tokens.append(max((t for t in small_vocabulary().tokens if t and rest.startswith(t)), key=len))
        rest = rest[len(tokens[-1]) :]
    return contradictions(compile_source(PERSON.source), tokens)


def _clash() -> Fields:
    found = _clashes()
    one = next((one for one in found if one.token in (b'"}', b"}", b'",')), found[0])
    return {
        "answer_bytes": RIGHT.decode(),
        "clashing": len(found),
        "clash": one.token.decode(errors="replace"),
        "clash_taken": one.taken_at,
        "clash_masked": one.masked_at,
    }


def _valid(outcomes: Sequence[Outcome]) -> Proportion:
    return counted(outcomes, lambda outcome: outcome.verdict.satisfies)


def _agreeing(outcomes: Sequence[Outcome]) -> Proportion:
    return counted(outcomes, lambda outcome: bool(outcome.verdict.agrees) and outcome.verdict.satisfies)


def _counts(series: Series, *, valid: bool) -> dict[str, Proportion]:
    count = _valid if valid else _agreeing
    return {method.name: count(series.group(method.name)) for method in METHODS}


def _of_series(series: Series) -> Fields:
    asked = {method.name: series.group(method.name) for method in METHODS if series.group(method.name)}
    if not asked:
        return {}
    found: dict[str, Value] = {"each": max(map(len, asked.values()))}
    tokens = {name: typical(outcomes, lambda o: o.answer.tokens) for name, outcomes in asked.items()}
    for name, outcomes in asked.items():
        short = SHORT[name]
        found[f"{short}_valid"] = _valid(outcomes).successes
        found[f"{short}_right"] = _agreeing(outcomes).successes
        found[f"{short}_tokens"] = tokens[name]
    found["fewest"], found["most"] = min(tokens, key=tokens.__getitem__), max(tokens, key=tokens.__getitem__)
    if constrained := asked.get("constrained decoding"):
        found["valid_low"] = _valid(constrained).low
    if banned := asked.get("logit bias, as a ban"):
        found["biased"] = banned[0].answer.text[:120]
    return found
