"""A lesson as a page: question, prediction, experiment, what was seen, rule, exercise, doors onward."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from engine.examples import example
from pages import _link
from pages._lessons import modes
from pages._lessons.asking import Sitting, exercise, prediction
from pages._lessons.declaration import LessonError
from pages._lessons.experiments import Experiment, experiment_named, fields_of
from pages._lessons.fields import Fields, known_part, linked, terms
from pages._lessons.handout import handout
from pages._lessons.live import SAID
from pages._lessons.progress import Progress, ProgressError, code_of, progress_of
from pages._lessons.reader import Lesson, Link, lesson_paths, read_glossary, read_lesson, slug_of
from visualizations.lesson_memory import remember
from visualizations.notice import notice

FOLDER = Path(__file__).parents[2] / "lessons"
GLOSSARY = FOLDER / "glossary.md"
_READABLE = "<style>[data-testid='stMarkdownContainer'] :is(p, li) { max-width: 54rem; }</style>"


def lessons() -> list[Lesson | LessonError]:
    """All lessons in their order; one that can't be read as its error."""
    return [lesson_of(path) for path in lesson_paths(FOLDER)]


def lesson_of(path: Path) -> Lesson | LessonError:
    """A lesson, read again when its file or the glossary has changed."""
    if path not in _addressed().values():
        return LessonError(path, 1, f"the address /{slug_of(path)} is taken; give the file another name.")
    return _read(path, path.stat().st_mtime_ns, GLOSSARY.stat().st_mtime_ns)


def _addressed() -> dict[str, Path]:
    """The lesson files by address; of two with the same one, the first."""
    found: dict[str, Path] = {}
    for path in lesson_paths(FOLDER):
        if slug_of(path) != GLOSSARY.stem:
            found.setdefault(slug_of(path), path)
    return found


@lru_cache(maxsize=128)
def _read(path: Path, _stamp: int, glossary_stamp: int) -> Lesson | LessonError:
    try:
        return read_lesson(path, fields_of, _glossary(glossary_stamp))
    except LessonError as error:
        return error.with_traceback(None)


@lru_cache(maxsize=2)
def _glossary(_stamp: int) -> dict[str, str]:
    return read_glossary(GLOSSARY)


def glossary() -> dict[str, str]:
    """Terms and definitions. Raises LessonError."""
    return _glossary(GLOSSARY.stat().st_mtime_ns)


def lesson_pages() -> list[Any]:
    """One page for each lesson file, for the navigation."""
    pages = {}
    for slug, path in _addressed().items():
        lesson = lesson_of(path)
        title = lesson.title if isinstance(lesson, Lesson) else slug.replace("-", " ")
        number = int(path.name[:2])
        pages[slug] = st.Page(_shows(path), title=f"{number}. {title}", url_path=slug)
    st.session_state["_lesson_pages"] = pages
    return list(pages.values())


def page_for(slug: str) -> Any:
    """The page of a lesson, for links and switches."""
    if "_lesson_pages" not in st.session_state:
        st.rerun()  # a new server runs a page's file alone if that is the first it is asked for; app.py comes next
    return st.session_state["_lesson_pages"][slug]


def progress() -> Progress:
    """What this reader has done."""
    return st.session_state.setdefault("_progress", Progress())  # type: ignore[no-any-return]


def keep_progress() -> None:
    """Keeps it in the browser's tab too: a page that is loaded again is a new session here."""

    def recall() -> None:
        kept = st.session_state["progress_memory"].recall
        if isinstance(kept, str):
            with suppress(ProgressError):
                st.session_state["_progress"] = progress().joined(progress_of(kept))

    remember(code_of(progress()), key="progress_memory", on_recall=recall)


def slug_of_term(term: str) -> str:
    """A term's anchor on the glossary page."""
    return "".join(c if c.isalnum() else "-" for c in term.casefold()).strip("-")


def write(text: str) -> None:
    """A lesson's Markdown, its terms linked to the glossary."""
    if text:
        st.markdown(linked(text, lambda term, words: f"[{words}](glossary#{slug_of_term(term)})"))


def _shows(path: Path) -> Callable[[], None]:
    def show() -> None:
        lesson = lesson_of(path)
        if isinstance(lesson, LessonError):
            st.title(slug_of(path).replace("-", " "))
            notice(f"This lesson can't be shown.\n{lesson}", key="lesson_problem")
        else:
            lesson_page(lesson)

    return show


@st.cache_resource(max_entries=64, show_spinner=False)
def _facts(name: str) -> Fields:
    module = experiment_named(name)
    return {} if module is None else module.facts()


def lesson_page(lesson: Lesson) -> None:
    """Draws a lesson."""
    module = experiment_named(lesson.experiment)
    assert module is not None  # the reader has made sure of it
    st.session_state[SAID] = False
    sitting: Sitting = st.session_state.setdefault(f"_sitting_{lesson.slug}", Sitting())
    fields = _facts(lesson.experiment)
    st.html(_READABLE)
    _heading(lesson, fields)
    write(known_part(lesson.text("Question"), fields)[0])
    prediction_place = st.container()
    if opening := getattr(module, "opening", None):
        with st.container():
            if not sitting.open:
                opening(lesson, f"{lesson.slug}_opening")
    with st.container():
        if sitting.open:
            st.subheader("Experiment", anchor="experiment")
            write(known_part(lesson.text("Experiment"), fields)[0])
            fields = {**fields, **module.experiment(lesson, lesson.slug)}
        else:
            st.caption("The experiment opens when you have committed to a prediction, or skipped it.")
    with prediction_place:
        prediction(lesson, sitting, fields, write, _does(lesson, "predicted"))
    if sitting.open:
        _after(lesson, sitting, fields, module)
    _onward(lesson, fields, sitting)
    keep_progress()


def _after(lesson: Lesson, sitting: Sitting, fields: Fields, module: Experiment) -> None:
    """What a reader meets below the experiment."""
    for section, heading in (("Seen", "What was seen"), ("Rule", "The rule to take home")):
        st.subheader(heading, anchor=section.lower())
        ready, waits = known_part(lesson.text(section), fields)
        write(ready)
        if waits:
            st.caption("More stands here once the experiment above has run.")
    st.subheader("Exercise", anchor="exercise")
    exercise(lesson, sitting, fields, module, write, _does(lesson, "solved"))


def _heading(lesson: Lesson, fields: Fields) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        done = lesson.number in progress().solved
        st.caption(
            f"Lesson {lesson.number} · about {lesson.minutes} minutes" + (" · ✓ exercise solved" if done else "")
        )
        with st.popover("For the room", icon=":material/more_vert:", type="tertiary"):
            _switch("Projector mode", "projector", modes.projector(), modes.set_projector)
            _switch("Teacher's notes", "teacher", modes.teacher(), modes.set_teacher)
            st.download_button(
                "Handout to print",
                handout(lesson, fields, modes.address()),
                file_name=f"{lesson.number:02}-{lesson.slug}.html",
                mime="text/html",
                icon=":material/print:",
                key="handout",
                on_click="ignore",
            )
    st.title(lesson.title, anchor=False)


def _switch(label: str, key: str, on: bool, change: Callable[[bool], None]) -> None:
    name = f"{key}_switch"
    st.toggle(label, value=on, key=name, on_change=lambda: change(st.session_state[name]))


def _does(lesson: Lesson, what: str) -> Callable[[], None]:
    def done() -> None:
        now = progress()
        made = now.with_predicted(lesson.number) if what == "predicted" else now.with_solved(lesson.number)
        st.session_state["_progress"] = made

    return done


def _onward(lesson: Lesson, fields: Fields, sitting: Sitting) -> None:
    """Doors: the same states in Step-through, the words used, the neighbours; the teacher's notes."""
    if sitting.open and lesson.links:
        st.markdown("**The same in Step-through** (opens beside this page)")
        with st.container(horizontal=True):
            for number, link in enumerate(lesson.links):
                # a door leads to a recorded run, so its step is what was recorded, whatever a reader has run since
                _door(link, {**fields, **_facts(lesson.experiment)}, f"{lesson.slug}_door_{number}")
    used = dict.fromkeys(term for text in lesson.texts() for term in terms(text))
    if used:
        with st.expander("Words used here", key="words"):
            known = glossary()
            write("\n\n".join(f"**{term}**: {known[term]}" for term in used if term in known))
    others = list(st.session_state.get("_lesson_pages", {}))
    here = others.index(lesson.slug) if lesson.slug in others else 0
    with st.container(horizontal=True, horizontal_alignment="distribute", key="neighbours"):
        if here > 0:
            st.page_link(page_for(others[here - 1]), icon=":material/arrow_back:")
        if here + 1 < len(others):
            st.page_link(page_for(others[here + 1]), icon=":material/arrow_forward:", icon_position="right")
        else:
            st.page_link("pages/start.py", icon=":material/home:")
    if modes.teacher():
        with st.expander("Teacher's notes", icon=":material/school:", key="teacher_notes"):
            write(known_part(lesson.text("Teacher"), fields)[0])
            st.caption("The link to this page shows learners no notes. What this experiment computes, for texts:")
            names = fields_of(lesson.experiment) or {}
            rows = [{"field": name, "what": what, "now": str(fields.get(name, ""))} for name, what in names.items()]
            st.dataframe(rows, hide_index=True, key="teacher_fields")


def _door(link: Link, fields: Fields, key: str) -> None:
    step = fields.get(link.step, link.step)
    if str(step).isdigit():
        packed = _link.pack(example(link.example).spec(), int(step))
        with st.container(key=key, width="content"):
            large = f"&{modes.PROJECTOR}=1" if modes.projector() else ""
            st.link_button(link.text, f"step_through?{_link.PARAMETER}={packed}{large}", icon=":material/steps:")
