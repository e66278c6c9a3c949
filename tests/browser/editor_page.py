"""A small app around the editor, for its browser tests: two pages, an example to load, what Python has of the text."""

from __future__ import annotations

import time

import streamlit as st

from engine.grammar.locate import locate_json
from visualizations.editor import Highlight, edited, editor
from visualizations.theme import PAGE_STYLE

FIRST = (
    '{\n  "type": "object",\n  "properties": {\n    "name": {"type": "string"},\n    "age": {"type": "integer"}\n  }\n}'
)
EXAMPLE = '{"enum": ["an example"]}'


def load() -> None:
    st.session_state["loads"] = st.session_state.get("loads", 0) + 1


def edit() -> None:
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    version = st.session_state.get("loads", 0)
    text = st.query_params.get("text", FIRST) if not version else EXAMPLE
    version += 100 if "text" in st.query_params else 0
    given = edited(text, key="schema", version=version)
    located = locate_json(given.text)
    if given.clicked is not None:
        st.session_state["selected"] = located.at(given.clicked)
    time.sleep(float(st.query_params.get("slow", "0")))
    st.button("Load the example", key="load", on_click=load)
    st.button("Counted", key="counted", shortcut="N", on_click=count)
    st.text(f"selected: {st.session_state.get('selected')}", width="content")
    marks = []
    if st.session_state.get("selected"):
        marks.append(Highlight(*located.span(st.session_state["selected"]), "selected", "The part that is selected"))
    if len(given.text) % 2:
        st.text("odd")  # comes and goes above the field
    now = editor(text, key="schema", label="Schema", version=version, highlights=marks)
    st.text(f"length: {len(now.text)}")
    st.text(f"refused: {now.refused}")
    st.text(f"counted: {st.session_state.get('count', 0)}")
    st.code(now.text[-2000:], language=None)


def count() -> None:
    st.session_state["count"] = st.session_state.get("count", 0) + 1


def other() -> None:
    st.text("the other page")


if __name__ == "__main__":
    st.set_page_config(layout="wide")
    st.html(PAGE_STYLE)
    st.navigation([st.Page(edit, title="Edit", default=True), st.Page(other, title="Other")], position="top").run()
