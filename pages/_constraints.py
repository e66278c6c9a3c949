"""Constraints compiled once for all visitors, under bounds; what cannot be compiled is remembered as its error."""

from __future__ import annotations

import streamlit as st

from engine.automaton.explore import DrawnGraph, draw
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.grammar.locate import Located, locate
from engine.grammar.sources import compile_source, spans
from engine.masking import Masker
from engine.vocabulary import Vocabulary

_KEY = {
    ConstraintSource: lambda source: (source.kind, source.text, source.options, source.after, source.free_after),
}


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_KEY)
def compiled(source: ConstraintSource) -> Constraint | ConstraintError:
    """The constraint, or why there is none."""
    try:
        return compile_source(source)
    except ConstraintError as error:
        return error.with_traceback(None)


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs=_KEY)
def masked(source: ConstraintSource, _vocabulary: Vocabulary) -> Masker | ConstraintError:
    """The masks of a constraint over the model's vocabulary, or why there are none. One process has one vocabulary."""
    constraint = compiled(source)
    if isinstance(constraint, ConstraintError):
        return constraint
    try:
        return Masker(constraint, _vocabulary)
    except ConstraintError as error:
        return error.with_traceback(None)


@st.cache_resource(max_entries=512, show_spinner=False, hash_funcs=_KEY)
def drawn(source: ConstraintSource, path: bytes) -> DrawnGraph | None:
    """The automaton with the state after `path` as the current one; None if there is no such constraint or state."""
    constraint = compiled(source)
    if isinstance(constraint, ConstraintError):
        return None
    try:
        return draw(constraint, path)
    except (ConstraintError, ValueError):  # out of budget; a path that another version of the engine recorded
        return None


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs=_KEY)
def places(source: ConstraintSource) -> dict[str, tuple[int, int]]:
    """Where each part of the source stands in its text: pointer -> (start, end) in code points."""
    return spans(source)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs=_KEY)
def located(source: ConstraintSource) -> Located:
    """The parts of a source that can be seen in its text, whether it compiles or not."""
    return locate(source)


def said(error: ConstraintError) -> str:
    """The error as one message that names the place."""
    message, place = str(error), error.pointer
    if not place or (place.lower() in message.lower() and not place.isdigit()) or f"offset {place}" in message:
        return message
    return f"Offset {place}: {message}" if place.isdigit() else f"{place}: {message}"
