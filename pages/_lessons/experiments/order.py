"""Order and thought: the same tasks with the answer first, with the reasoning first, and with thought left free."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import streamlit as st

from engine.analysis.experiments import (
    ANSWER_FIRST,
    DELIMITER,
    FORMS,
    ONE_CALL,
    REASONING_FIRST,
    TWO_CALLS,
    form_prompt,
    order,
    right_in_draft,
)
from engine.analysis.intervals import Proportion, wilson
from engine.analysis.tasks import KINDS, Task, tasks
from engine.analysis.trials import Outcome, counted
from engine.recorded import TASKS, Series, recorded
from pages._lessons.fields import Fields, Value
from pages._lessons.live import the_model
from pages._lessons.reader import Lesson
from pages._lessons.series import answers, live_series, origin, shares, typical, visible_lines
from visualizations.charts import bars

DRAFT = "the free text itself, as a person reads it"
NO_DIFFERENCE = "none"
MAX_TOKENS = 64
ALL = "All kinds"

SHORT = {ANSWER_FIRST: "answer_first", REASONING_FIRST: "reasoning_first", TWO_CALLS: "two_calls", ONE_CALL: "one_call"}

FIELDS = {
    "tasks": "tasks, each asked once in each form",
    "kinds": "kinds of tasks",
    **{
        f"{name}{of}": f"{what}, form: {form}"
        for form, name in SHORT.items()
        for of, what in {
            "": "right answers",
            "_low": "lower end of the interval of their share",
            "_high": "upper end of it",
            "_tokens": "median of the tokens of an answer",
        }.items()
    },
    "draft": "right answers in the free text of the two calls",
    "lost": "answers that were right in the free text and wrong in its conversion",
    "gained": "answers that were wrong in the free text and right in its conversion",
    "best": "the form with an interval wholly above that of the answer first, or none",
    "answer_first_example": "an answer whose reasoning comes too late",
    "answer_first_question": "the question to it",
    "answer_first_truth": "its right answer",
    "delimiter": "what switches the mask on in the one call",
    "needed": "right answers that a form would need for an interval wholly above that of the answer first",
    "level": "the confidence of the intervals",
}


@lru_cache(maxsize=1)
def facts() -> Fields:
    """The recorded series."""
    return {
        "kinds": len(KINDS),
        "delimiter": DELIMITER,
        "level": 0.95,
        **_of_series(recorded("order"), _recorded_tasks()),
    }


@lru_cache(maxsize=1)
def _recorded_tasks() -> dict[str, Task]:
    return {task.question: task for kind in KINDS for task in tasks(kind, TASKS)}


def opening(lesson: Lesson, key: str) -> None:
    """A task of each kind."""
    st.caption("A task of each kind, with its answer:")
    for task in (tasks(kind, 1)[0] for kind in KINDS):
        st.code(f"{task.question}   {task.answer}", language=None, wrap_lines=True)


def experiment(lesson: Lesson, key: str) -> Fields:
    """The forms side by side."""
    model = the_model()
    series, asked, live = recorded("order"), _recorded_tasks(), False
    with st.expander("Ask new tasks", key=f"{key}_own"):
        kind = st.segmented_control("Kind", list(KINDS), default=next(iter(KINDS)), key=f"{key}_kind")
        left, right = st.columns(2)
        n = int(left.slider("Tasks", 2, 30, 4, key=f"{key}_n"))
        seed = int(right.number_input("Seed of the tasks", 1, 10_000, 1, key=f"{key}_seed"))
        if model is not None and kind is not None:
            made = tasks(kind, n, seed)
            most = len(made) * MAX_TOKENS * (len(FORMS) + 1)  # one of the forms has two calls
            label = f"Ask {len(made)} tasks in {len(FORMS)} forms"
            question = ("order", kind, n, seed)
            found = live_series(
                question, label, lambda model: order(model, made, max_tokens=MAX_TOKENS), most, model, key=f"{key}_live"
            )
            if found:
                series, asked, live = found, {task.question: task for task in made}, True
    origin(series, live)
    present = [name for name in KINDS if any(task.kind == name for task in asked.values())]
    chosen = ALL
    if len(present) > 1:
        chosen = st.segmented_control("Count", [ALL, *present], default=ALL, key=f"{key}_{live}_count") or ALL
    outcomes = [o for o in series.outcomes if chosen in (ALL, asked[o.question].kind)]
    if outcomes:
        _pictures(outcomes, asked, key)
    return _of_series(series, asked)


def _pictures(outcomes: Sequence[Outcome], asked: Mapping[str, Task], key: str) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        shares(_found(outcomes, asked), key=f"{key}_shares", title="share of right answers, with its 95 % interval")
    with right:
        tokens = [typical(_of_form(outcomes, form), lambda o: o.answer.tokens) for form in FORMS]
        passes = [typical(_of_form(outcomes, form), lambda o: o.answer.passes) for form in FORMS]
        series = {"tokens": tokens, "forward passes": passes}
        bars(list(FORMS), series, key=f"{key}_tokens", title="median of an answer", form=".0f")
        times = [typical(_of_form(outcomes, form), lambda o: o.answer.seconds) for form in FORMS]
        st.caption("Seconds: " + "; ".join(f"{form} {s:.1f}" for form, s in zip(FORMS, times, strict=True)) + ".")
    answers(outcomes, key=key, task=True)
    with st.expander("What the model was asked", key=f"{key}_prompts"):
        task = next(iter(asked.values()))
        for form in FORMS:
            st.caption(form)
            st.code(visible_lines(form_prompt(task, form)), language=None, wrap_lines=True)


def _found(outcomes: Sequence[Outcome], asked: Mapping[str, Task]) -> dict[str, Proportion]:
    found = {form: counted(_of_form(outcomes, form), _right) for form in FORMS}
    return found | {DRAFT: counted(_of_form(outcomes, TWO_CALLS), _draft_right(asked))}


def _of_form(outcomes: Sequence[Outcome], form: str) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.group == form]


def _right(outcome: Outcome) -> bool:
    return bool(outcome.verdict.agrees)


def _draft_right(asked: Mapping[str, Task]) -> Callable[[Outcome], bool]:
    return lambda outcome: right_in_draft(outcome, asked[outcome.question])


def _of_series(series: Series, asked: Mapping[str, Task]) -> Fields:
    if not series.outcomes:
        return {}
    found: dict[str, Value] = {"tasks": len(series.group(ANSWER_FIRST))}
    counts = _found(series.outcomes, asked)
    for form, name in SHORT.items():
        one = counts[form]
        found |= {name: one.successes, f"{name}_low": one.low, f"{name}_high": one.high}
        found[f"{name}_tokens"] = typical(series.group(form), lambda outcome: outcome.answer.tokens)
    in_draft = _draft_right(asked)
    both = series.group(TWO_CALLS)
    found["draft"] = counts[DRAFT].successes
    found["lost"] = sum(in_draft(outcome) and not _right(outcome) for outcome in both)
    found["gained"] = sum(_right(outcome) and not in_draft(outcome) for outcome in both)
    found["best"] = _best(counts)
    found["needed"] = needed(counts[ANSWER_FIRST])
    late = next((outcome for outcome in series.group(ANSWER_FIRST) if not _right(outcome)), None)
    if late is not None:
        found["answer_first_example"] = late.answer.text[:160]
        found["answer_first_question"] = late.question
        found["answer_first_truth"] = asked[late.question].answer
    return found


def _best(counts: Mapping[str, Proportion]) -> str:
    """The form that is right most often, if its interval lies wholly above that of the answer first."""
    best = max((form for form in FORMS if form != ANSWER_FIRST), key=lambda form: counts[form].share)
    return best if counts[best].low > counts[ANSWER_FIRST].high else NO_DIFFERENCE


def needed(other: Proportion) -> int:
    """The fewest successes, in as many trials, whose interval lies wholly above that of `other`; the number of trials
    where all of them would not be enough."""
    enough = (k for k in range(other.n + 1) if wilson(k, other.n).low > other.high)
    return next(enough, other.n)
