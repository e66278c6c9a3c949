"""The first page: what this is, in three sentences, and a door for each of three kinds of visitor."""

from __future__ import annotations

import streamlit as st

from pages import _link
from pages._lessons import modes
from pages._lessons.page import keep_progress, lessons, page_for, progress
from pages._lessons.progress import ProgressError, code_of, progress_of
from pages._lessons.reader import Lesson
from visualizations.notice import notice

STEP_THROUGH = "pages/step_through.py"

if _link.PARAMETER in st.query_params:  # a link to a run, from when Step-through was the first page
    st.switch_page(STEP_THROUGH, query_params=st.query_params.to_dict())


def take_code() -> None:
    """Add what a typed code says to what was done here."""
    typed = st.session_state["progress_code"]
    st.session_state["progress_problem"] = ""
    if not typed.strip():
        return
    try:
        st.session_state["_progress"] = progress().joined(progress_of(typed))
    except ProgressError as error:
        st.session_state["progress_problem"] = str(error)


def doors() -> None:
    known = [lesson for lesson in lessons() if isinstance(lesson, Lesson)]
    done = progress().solved
    following = next((lesson for lesson in known if lesson.number not in done), known[0]) if known else None
    learn, teach, debug = st.columns(3, gap="medium")
    with learn, st.container(border=True, height="stretch"):
        st.subheader("I want to learn this", anchor=False)
        st.write("One idea a page, each an experiment that you predict first. Five to ten minutes each.")
        if following is not None:
            label = "Begin with lesson {}" if not done else "Go on with lesson {}"
            title = f"{label.format(following.number)}: {following.title}"
            st.page_link(page_for(following.slug), label=title, icon=":material/school:")
    with teach, st.container(border=True, height="stretch"):
        st.subheader("I teach this", anchor=False)
        st.write("Large type for the wall, notes that no learner's link carries, a handout to print for every lesson.")
        st.button(
            "Projector mode, with notes",
            key="teach",
            icon=":material/cast_for_education:",
            type="tertiary",
            on_click=_teach,
        )
    with debug, st.container(border=True, height="stretch"):
        st.subheader("My schema misbehaves", anchor=False)
        st.write(
            "Paste a schema, a grammar or a provider's request, and an output: where it fails, why, whose rule it is."
        )
        st.page_link("pages/schema_debugger.py", label="Open the Schema debugger", icon=":material/bug_report:")


def _teach() -> None:
    modes.set_teacher(True)
    modes.set_projector(True)


def contents() -> None:
    """The lessons, and what is done of them."""
    st.subheader("The lessons", anchor=False)
    now = progress()
    for found in lessons():
        if not isinstance(found, Lesson):
            notice(f"A lesson can't be shown. {found}", key=f"bad_{found}")
            continue
        mark = "✓ " if found.number in now.solved else "◐ " if found.number in now.predicted else ""
        label = f"{mark}{found.number}. {found.title} ({found.minutes} minutes)"
        st.page_link(page_for(found.slug), label=label)
    code = code_of(now)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if code:
            st.text("Your progress, to go on in another browser:")
            st.code(code, language=None, width="content")
        st.text_input(
            "Have a progress code? Type it here", key="progress_code", max_chars=40, width=280, on_change=take_code
        )
    notice(st.session_state.get("progress_problem", ""), key="progress_problem_shown", kind="warning")


st.title("Maskscope", anchor=False)
st.markdown(
    "A language model writes one token at a time, and a grammar can forbid tokens before they are drawn. "
    "Here you can watch that happen: a real model, a real automaton, and the reason for every token that was masked. "
    "Everything runs on this machine, and every number on a page comes from a run."
)
doors()
st.page_link(STEP_THROUGH, label="Or go straight to a run, token by token", icon=":material/steps:")
contents()
keep_progress()
