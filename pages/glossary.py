"""The glossary: every term that lessons link to, with the lessons where it stands."""

from __future__ import annotations

import streamlit as st

from pages._lessons.declaration import LessonError
from pages._lessons.fields import terms
from pages._lessons.page import glossary, lessons, page_for, slug_of_term, write
from pages._lessons.reader import Lesson
from visualizations.notice import notice

st.title("Glossary", anchor=False)
try:
    entries = glossary()
except LessonError as error:
    entries = {}
    notice(f"The glossary can't be shown.\n{error}", key="glossary_problem")
used: dict[str, list[Lesson]] = {}
for lesson in lessons():
    if isinstance(lesson, Lesson):
        for term in {term for text in lesson.texts() for term in terms(text)}:
            used.setdefault(term, []).append(lesson)
for term in sorted(entries, key=str.casefold):
    st.subheader(term, anchor=slug_of_term(term))
    write(entries[term])
    if term in used:
        with st.container(horizontal=True):
            for lesson in used[term]:
                st.page_link(page_for(lesson.slug), label=f"Lesson {lesson.number}: {lesson.title}")
