"""The two places where a lesson asks: the prediction before the experiment, the exercise after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import streamlit as st

from pages._lessons.experiments import Experiment
from pages._lessons.fields import Fields, known_part
from pages._lessons.judge import Given, Verdict, judged, options_of, revealed
from pages._lessons.reader import Asked, Lesson
from visualizations.notice import notice

_LANGUAGES = {"regex": "regex", "json_schema": "JSON Schema"}
Write = Callable[[str], None]
"""Draws a lesson's Markdown."""


@dataclass
class Sitting:
    """How far one reader is in one lesson. `given`: the prediction; `open`: it was made or skipped."""

    open: bool = False
    given: Given = None
    verdict: Verdict | None = None
    hints: int = 0


def prediction(lesson: Lesson, sitting: Sitting, fields: Fields, write: Write, done: Callable[[], None]) -> None:
    """Asks for the prediction until it is made or skipped; then what was said beside what came out."""
    key, asked = f"{lesson.slug}_prediction", lesson.prediction
    with st.container(border=True, key=f"{key}_box"):
        st.markdown("**Your prediction**")
        write(known_part(lesson.text("Prediction"), fields)[0])
        if sitting.open:
            _outcome(sitting, asked, fields, key)
            return
        _field(asked, fields, key)

        def commit() -> None:
            if (given := _given(key)) is not None:  # else it was taken back since the page was drawn
                sitting.given, sitting.open = given, True
                done()

        def skip() -> None:
            sitting.open = True

        with st.container(horizontal=True):
            st.button("Commit", key=f"{key}_commit", type="primary", on_click=commit, disabled=_given(key) is None)
            st.button("Skip", key=f"{key}_skip", type="tertiary", on_click=skip)


def _outcome(sitting: Sitting, asked: Asked, fields: Fields, key: str) -> None:
    right, came_out = revealed(asked, sitting.given, fields)
    with st.container(horizontal=True, vertical_alignment="center"):
        if sitting.given is not None and right is not None:
            icon, colour = (":material/check:", "green") if right else (":material/close:", "orange")
            st.badge("As predicted" if right else "Not as predicted", icon=icon, color=colour)  # type: ignore[arg-type]
        if sitting.given is not None:
            unit = asked.unit and f" {asked.unit}"
            said = f"{sitting.given:,g}" if isinstance(sitting.given, float) else sitting.given
            st.markdown(f"You said {said}{unit}.")
        st.markdown(f"The answer: {came_out}." if came_out else "The answer comes out of the experiment below.")


def exercise(
    lesson: Lesson, sitting: Sitting, fields: Fields, module: Experiment, write: Write, done: Callable[[], None]
) -> None:
    """Asks for the answer, checks it, gives hints one at a time."""
    key, asked = f"{lesson.slug}_exercise", lesson.exercise
    with st.container(border=True, key=f"{key}_box"):
        write(known_part(lesson.text("Exercise"), fields)[0])
        _field(asked, fields, key)

        def check() -> None:
            sitting.verdict = _judged(asked, _given(key), fields, module)
            if sitting.verdict.right:
                done()

        def hint() -> None:
            sitting.hints += 1

        with st.container(horizontal=True):
            st.button("Check", key=f"{key}_check", type="primary", on_click=check)
            left = len(lesson.hints) - sitting.hints
            if left > 0:
                label = f"Hint ({left} left)"
                st.button(label, key=f"{key}_hint", icon=":material/lightbulb:", on_click=hint)
        for number, text in enumerate(lesson.hints[: sitting.hints], 1):
            ready, waits = known_part(text, fields)
            write(f"*Hint {number}.* {ready}" + (" *(needs the experiment)*" if waits else ""))
        if sitting.verdict is not None:
            kind = {True: "info", False: "warning", None: "info"}[sitting.verdict.right]
            mark = "✓ " if sitting.verdict.right else ""
            notice(mark + sitting.verdict.said, key=f"{key}_verdict", kind=kind)  # type: ignore[arg-type]


def _judged(asked: Asked, given: Given, fields: Fields, module: Experiment) -> Verdict:
    if asked.kind != "own":
        return judged(asked, given, fields)
    check = cast("Callable[[Fields, str], str] | None", getattr(module, "check", None))
    if check is None:
        return Verdict(None, "This experiment checks nothing: the lesson's file asks for a check that is not there.")
    missing = check(fields, "" if given is None else str(given))
    return Verdict(not missing, missing or "Right.")


def _field(asked: Asked, fields: Fields, key: str) -> None:
    """The widget that takes the answer."""
    label, key = "Your answer", f"{key}_given"
    if asked.kind == "token":
        st.pills(label, options_of(asked, fields), key=key, label_visibility="collapsed")
    elif asked.kind == "choice":
        st.radio(label, options_of(asked, fields), index=None, key=key, label_visibility="collapsed")
    elif asked.kind == "number" or (asked.kind == "own" and asked.input == "number"):
        st.number_input(f"{label} ({asked.unit})" if asked.unit else label, value=None, key=key, width=220)
    elif asked.kind == "constraint":
        st.text_area(f"Your {_LANGUAGES[asked.language]}", key=key, height=90)
    elif asked.kind != "own" or asked.input != "none":
        st.text_input(label, key=key, label_visibility="collapsed")


def _given(key: str) -> Given:
    """The answer as it is now: who clicks a button at once does so before the page has been drawn with it."""
    given: Given = st.session_state.get(f"{key}_given")
    return None if given == "" else given
