"""Asking nicely: the same prompt many times without a constraint, and what it costs to try again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import streamlit as st

from engine.analysis.experiments import PERSON, asking
from engine.analysis.intervals import (
    calls_per_request,
    calls_per_success,
    calls_quantile,
    done_within,
    failures_left,
)
from engine.analysis.methods import Job
from engine.analysis.outputs import Shape, shape
from engine.analysis.trials import Outcome, Wanted, counted
from engine.errors import ConstraintError
from engine.recorded import Series, recorded
from pages._lessons.fields import Fields, Value
from pages._lessons.live import the_model
from pages._lessons.reader import Lesson
from pages._lessons.series import answers, live_series, origin, shares, visible_lines
from visualizations.charts import bars, curve
from visualizations.notice import notice

FIELDS = {
    "n": "answers in the recorded series",
    "parses": "of them, those that are JSON as a whole",
    "parses_percent": "the same in percent",
    "parses_low": "lower end of Wilson's interval",
    "parses_high": "upper end of it",
    "satisfies": "answers that satisfy the schema",
    "satisfies_share": "their share",
    "satisfies_low": "lower end of its interval",
    "satisfies_high": "upper end of it",
    "agrees": "answers that say what the text says",
    "fenced": "answers with a code fence",
    "preamble": "answers with words before the JSON",
    "trailing": "answers with words after it",
    "apology": "answers that say sorry, or can't",
    "inside": "answers that are no JSON but have some in them",
    "broken": "answers without any JSON in them",
    "example": "an answer that is no JSON",
    "temperature": "the temperature of the recorded series",
    "level": "the confidence of the intervals",
    "rate": "a failure rate: of a call, at random",
    "tries": "calls before one gives up",
    "one_in": "requests of which one is left without an answer then",
    "calls": "calls per success",
    "edge": "the share of requests that one call is enough for, exactly",
    "at_edge": "calls at the percentile that is this share",
    "above_edge": "calls at a percentile just above it",
    "above": "that percentile, as a share",
    "requests": "a number of requests",
    "repeated": "calls that are made again, for so many requests",
    "measured_left": "the share left after the same number of tries at the measured failure rate",
    "measured_calls": "calls per success at the measured failure rate",
    "exercise_rate": "the failure rate of the exercise",
    "exercise_one_in": "requests of which at most one may fail in the exercise",
    "exercise_tries": "calls that must be allowed for that",
}

RATE, TRIES, REQUESTS = Fraction(1, 20), 3, 1_000
ABOVE = Fraction(951, 1000)
EXERCISE_RATE, EXERCISE_ONE_IN = Fraction(1, 5), 10_000
LEVEL, TEMPERATURE = 0.95, 0.7


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The recorded series, and the arithmetic of trying again."""
    found = _of_series(recorded("asking"))
    edge = done_within(RATE, 1)
    return {
        **found,
        "level": LEVEL,
        "temperature": TEMPERATURE,
        "rate": float(RATE),
        "tries": TRIES,
        "one_in": int(1 / failures_left(RATE, TRIES)),
        "calls": float(calls_per_success(RATE)),
        "edge": float(edge),
        "at_edge": calls_quantile(RATE, edge),
        "above_edge": calls_quantile(RATE, ABOVE),
        "above": float(ABOVE),
        "requests": REQUESTS,
        "repeated": float(REQUESTS * (calls_per_request(RATE, TRIES) - 1)),
        "exercise_rate": float(EXERCISE_RATE),
        "exercise_one_in": EXERCISE_ONE_IN,
        "exercise_tries": _tries_for(EXERCISE_RATE, EXERCISE_ONE_IN),
    }


def _tries_for(rate: Fraction, one_in: int) -> int:
    """The fewest calls that leave at most one of so many requests without an answer."""
    return next(tries for tries in range(1, 1000) if failures_left(rate, tries) * one_in <= 1)


def opening(lesson: Lesson, key: str) -> None:
    """What is asked, and one answer."""
    st.caption("What the model is asked:")
    st.code(visible_lines(PERSON.prompt), language=None, wrap_lines=True)


def experiment(lesson: Lesson, key: str) -> Fields:
    """A prompt many times; then the arithmetic of retries."""
    st.markdown("#### The same prompt, again and again")
    fields = dict(_many(f"{key}_many"))
    st.markdown("#### Trying again until it works")
    _retries(f"{key}_retries")
    return fields


def _many(key: str) -> Fields:
    model = the_model()
    series, live = recorded("asking"), False
    with st.expander("Ask it yourself", key=f"{key}_own"):
        prompt = st.text_area("Prompt", PERSON.prompt, key=f"{key}_prompt", max_chars=1_000, height=80)
        schema = st.text_area("What it should satisfy", PERSON.schema, key=f"{key}_schema", height=120, max_chars=5_000)
        left, right = st.columns(2)
        n = int(left.slider("Answers", 5, 50, 10, 5, key=f"{key}_n"))
        temperature = right.slider("Temperature", 0.1, 1.5, TEMPERATURE, 0.1, key=f"{key}_temperature")
        job = replace(PERSON, prompt=prompt, schema=schema, known=PERSON.known if prompt == PERSON.prompt else None)
        if model is not None and prompt.strip() and _compiles(job, key):
            asked = ("asking", prompt, schema, n, temperature)
            found = live_series(
                asked,
                f"Ask {n} times",
                lambda model: asking(model, job, n, temperature=temperature),
                n * job.max_tokens,
                model,
                key=f"{key}_live",
            )
            series, live = (found, True) if found else (series, live)
    origin(series, live)
    outcomes = series.outcomes
    if outcomes:
        left, right = st.columns(2, gap="medium")
        with left:
            known = {} if outcomes[0].verdict.agrees is None else {"says what the text says": _agrees}
            claims = {"is JSON": _parses, "satisfies the schema": _satisfies, **known}
            found_shares = {name: counted(outcomes, holds) for name, holds in claims.items()}
            shares(found_shares, key=f"{key}_shares", title="share of the answers, with its 95 % interval")
        with right:
            around = _around(outcomes)
            bars(list(around), {"answers": list(around.values())}, key=f"{key}_around", title="answers", form=".0f")
        answers(outcomes, key=key)
    return _of_series(series)


def _compiles(job: Job, key: str) -> bool:
    try:
        Wanted(job.schema)
    except ConstraintError as error:
        notice(str(error), key=f"{key}_problem")
        return False
    return True


def _retries(key: str) -> None:
    left, right = st.columns([2, 3], gap="medium")
    with left:
        percent = int(st.slider("A call fails with probability (%)", 1, 60, int(100 * RATE), key=f"{key}_rate"))
        tries = int(st.slider("Calls before giving up", 1, 8, TRIES, key=f"{key}_tries"))
        rate = Fraction(percent, 100)
        with st.container(horizontal=True):
            st.metric("Requests left without an answer", f"1 in {float(1 / failures_left(rate, tries)):,.0f}")
            st.metric("Calls per success", f"{float(calls_per_success(rate)):.3f}")
        repeated = float(REQUESTS * (calls_per_request(rate, tries) - 1))
        st.metric(f"Side effects repeated in {REQUESTS:,} requests", f"{repeated:,.1f}")
        st.caption("If the call does something before it fails, a booking say, each repeated call does it again.")
    with right:
        x, y = _staircase(rate)
        edge = float(done_within(rate, 1))
        marks = [(100 * edge, 1.0, f"the edge: {100 * edge:g} %")]
        titles = {"x_title": "percentile of the requests", "y_title": "calls they take"}
        curve(x, {"calls": y}, key=f"{key}_curve", marks=marks, **titles)
        st.caption(
            f"One call is enough for {100 * edge:g} % of the requests, exactly. The 95th percentile is "
            f"{calls_quantile(rate, 0.95)}, the 96th {calls_quantile(rate, 0.96)}, the 99th "
            f"{calls_quantile(rate, 0.99)}, the 99.9th {calls_quantile(rate, 0.999)}."
        )


def _staircase(rate: Fraction) -> tuple[list[float], list[float]]:
    """Calls over percentiles up to 99.99, from a little before the first edge: flat between the shares that one, two,
    three calls are enough for."""
    x, y, calls, start = [], [], 1, max(0.0, 100 * float(done_within(rate, 1)) - 15)
    while start < 99.99:
        end = min(99.99, 100 * float(done_within(rate, calls)))
        x += [start, end]
        y += [float(calls), float(calls)]
        start, calls = end, calls + 1
    return x, y


def _parses(outcome: Outcome) -> bool:
    return outcome.verdict.parses


def _satisfies(outcome: Outcome) -> bool:
    return outcome.verdict.satisfies


def _agrees(outcome: Outcome) -> bool:
    return bool(outcome.verdict.agrees)


def _around(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """What stands around the JSON, or instead of it: in how many answers."""
    shapes = [shape(outcome.answer.text) for outcome in outcomes]
    return {
        "code fence": sum(one.fenced for one in shapes),
        "words before": sum(bool(one.preamble and one.inside) for one in shapes),
        "words after": sum(bool(one.trailing) for one in shapes),
        "an apology": sum(one.apology for one in shapes),
        "no JSON in it": sum(_broken(one) for one in shapes),
    }


def _broken(one: Shape) -> bool:
    return not one.inside


def _of_series(series: Series) -> Fields:
    outcomes = series.outcomes
    if not outcomes:
        return {}
    parses, satisfies = counted(outcomes, _parses), counted(outcomes, _satisfies)
    failing = 1 - Fraction(satisfies.successes, satisfies.n)
    around = _around(outcomes)
    bad = next((outcome.answer.text for outcome in outcomes if not outcome.verdict.parses), "")
    found: dict[str, Value] = {
        "n": len(outcomes),
        "parses": parses.successes,
        "parses_percent": round(100 * parses.share),
        "parses_low": parses.low,
        "parses_high": parses.high,
        "satisfies": satisfies.successes,
        "satisfies_share": satisfies.share,
        "satisfies_low": satisfies.low,
        "satisfies_high": satisfies.high,
        "agrees": counted(outcomes, _agrees).successes,
        "fenced": around["code fence"],
        "preamble": around["words before"],
        "trailing": around["words after"],
        "apology": around["an apology"],
        "broken": around["no JSON in it"],
        "inside": len(outcomes) - parses.successes - around["no JSON in it"],
        "measured_left": float(failures_left(failing, TRIES)) if failing < 1 else 1.0,
    }
    if bad:
        found["example"] = bad[:160]
    if failing < 1:
        found["measured_calls"] = float(calls_per_success(failing))
    return found
