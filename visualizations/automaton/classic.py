"""A small regex as textbooks draw it, over characters, beside the automaton over bytes that masks are computed from."""

from __future__ import annotations

import streamlit as st

from engine.automaton.classic import classic
from engine.automaton.explore import draw_bytes
from engine.constraint import Constraint
from engine.errors import ConstraintError
from visualizations.automaton.picture import automaton_view
from visualizations.automaton.words import in_words
from visualizations.notice import notice


def classic_view(pattern: str, constraint: Constraint, *, key: str, height: int = 260) -> None:
    """Draws both automata of the regex `pattern`, whose compiled form is `constraint`; says so where it cannot."""
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Over characters**, as in a textbook")
        try:
            graph = classic(pattern, constraint)
        except ConstraintError as error:
            notice(str(error), key=f"{key}_refused", kind="info")
        else:
            count = f"{len(graph.states)} states. An edge reads one character, however many bytes it has."
            automaton_view(
                graph, key=f"{key}_characters", height=height, caption=count, name="characters", on_select=_nothing
            )
            _words(in_words(graph))
    with right:
        st.markdown("**Over bytes**, as masks need it")
        graph = draw_bytes(constraint)
        if graph is None:
            notice("The automaton over bytes is too large to be drawn whole.", key=f"{key}_large", kind="info")
            return
        count = f"{len(graph.states)} states. A character beyond ASCII takes two to four edges, one for each byte."
        automaton_view(graph, key=f"{key}_bytes", height=height, caption=count, name="bytes", on_select=_nothing)
        _words(in_words(graph))


def _nothing() -> None:
    """What is compared here is not what the page is about."""


def _words(text: str) -> None:
    with st.expander("The picture in words", type="compact"):
        st.code(text, language=None, height=160)
