"""The whole view of an automaton: stack, picture, tape, outline, table of states, words, all with one selection.

A selection is a text: "s<id>" a state, "e<source>-<target>-<n>" an edge, "r<number>" a rule, "p<pointer>" a part of the
source, "" nothing (then the current state is what is looked at).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from engine.automaton.explore import View, find_states, look
from engine.automaton.terms import ALL_BYTES
from engine.automaton.view import FoundState
from engine.constraint import Constraint
from engine.decoding.records import Step
from engine.errors import Origin
from visualizations.automaton.dot import rule_name
from visualizations.automaton.parts import Segment, outline
from visualizations.automaton.picture import automaton_view
from visualizations.automaton.words import caption, view_in_words
from visualizations.component import register
from visualizations.tokens import prose, visible

_stack = register("automaton_stack")
_tape = register("automaton_tape")
_outline = register("automaton_outline")
_table = register("automaton_states")

FIRST_FRAMES = 3
LAST_FRAMES = 30
"""Rules of a deep stack that are shown."""

MOST_CELLS = 400
"""Characters of the tape; of a longer text the last."""


def automaton_panel(
    constraint: Constraint,
    path: bytes,
    *,
    key: str,
    selected: str,
    on_select: Callable[[str], None],
    places: Mapping[str, tuple[int, int]],
    source_text: str = "",
    steps: Sequence[Step] = (),
    open_bytes: int = ALL_BYTES,
    height: int = 300,
) -> View:
    """Draws the automaton of `constraint` after `path`, and what belongs to it; gives what it has drawn.

    `on_select` is told what was picked, "" for what was selected already. `places`: where the parts of the source
    stand (of a regex none; its outline quotes `source_text`). `steps`: of the run up to here, counted by part.
    `open_bytes`: what allowed tokens begin with.
    Raises as `look` does.
    """
    view = look(
        constraint,
        path,
        around=_state_of(selected),
        rule=_rule_of(selected),
        part=selected[1:] if selected.startswith("p") else "",
        open_bytes=open_bytes,
    )

    def picked(component: str) -> Callable[[], None]:
        def pick() -> None:
            what = st.session_state[f"{key}_{component}"].select
            if isinstance(what, str):
                on_select("" if what == selected else what)

        return pick

    if view.frames:
        _stack(key=f"{key}_stack", data=_stack_data(view), on_select_change=picked("stack"))
    automaton_view(
        view.graph,
        key=f"{key}_picture",
        selected=selected,
        height=height,
        caption=caption(view),
        of_rule=view.rule is not None,
        on_select=picked("picture"),
    )
    _tape(key=f"{key}_tape", data=tape(view, path, selected), on_select_change=picked("tape"))
    if view.frames or not view.graph.whole:
        data = {
            "rows": [_segment(s) for s in outline(places, view, steps, source_text)],
            "selected": selected,
            "complete": view.complete,
        }
        _outline(key=f"{key}_outline", data=data, on_select_change=picked("outline"))
    table = st.expander("Table of states", type="compact", key=f"{key}_states_open", on_change="rerun")
    if table.open:  # what nobody looks at is not made in each step of each visitor
        with table:
            _states(constraint, path, view, key=f"{key}_states", selected=selected, on_select=picked("states"))
    words = st.expander("The picture in words", type="compact", key=f"{key}_words_open", on_change="rerun")
    if words.open:
        words.code(view_in_words(view), language=None, height=220)
    return view


def selected_origin(view: View, selected: str) -> Origin | None:
    """The part of the source that a selected state, edge or part belongs to."""
    if selected.startswith("p"):
        return Origin(selected[1:])
    number = selected[1:].partition("-")[0]
    return next((s.origin for s in view.graph.states if str(s.id) == number and selected[:1] in "se"), None)


def tape(view: View, path: bytes, selected: str) -> dict[str, Any]:
    """The text so far, a cell per character, each with the state after it."""
    cells = []
    offset = 0
    for character in path.decode("utf-8", "surrogateescape"):
        data = character.encode("utf-8", "surrogateescape")
        offset += len(data)
        after = view.passed[offset]
        text = visible(character if character.isprintable() else data)
        cells.append({"text": text, "state": after.state, "depth": after.depth, "offset": offset})
    hidden = max(0, len(cells) - MOST_CELLS)
    start = {"state": view.passed[0].state, "depth": 0}
    return {"cells": cells[hidden:], "start": start, "hidden": hidden, "selected": selected, "deep": bool(view.frames)}


def _states(
    constraint: Constraint, path: bytes, view: View, *, key: str, selected: str, on_select: Callable[[], None]
) -> None:
    query = str((st.session_state.get(key) or {}).get("query") or "")[:100]
    table = find_states(constraint, path, query)
    data = {
        "rows": [_row(state, view) for state in table.rows],
        "found": table.found,
        "known": table.known,
        "complete": view.complete,
        "selected": selected,
        "query": query,
        "rules": bool(view.rules),
    }
    _table(key=key, data=data, default={"query": ""}, on_query_change=lambda: None, on_select_change=on_select)


def _row(state: FoundState, view: View) -> dict[str, Any]:
    return {
        "id": state.id,
        "label": prose(state.label),
        "part": prose(str(state.origin)) if state.origin else "",
        "rule": prose(rule_name(state.rule)),
        "accepting": state.accepting,
        "ways": state.ways,
        "visits": state.visits,
        "current": state.id == view.current,
    }


def _segment(segment: Segment) -> dict[str, Any]:
    return {
        "key": f"p{segment.pointer}",
        "name": prose(segment.name),
        "title": prose(segment.pointer or "the root"),
        "depth": segment.depth,
        "states": segment.states,
        "visits": segment.visits,
        "lost": segment.lost,
        "here": segment.here,
        "entered": segment.entered,
    }


def _stack_data(view: View) -> dict[str, Any]:
    hidden = max(0, len(view.frames) - FIRST_FRAMES - LAST_FRAMES)
    shown = (*view.frames[:FIRST_FRAMES], *view.frames[FIRST_FRAMES + hidden :])
    frames = [
        {
            "rule": frame.rule,
            "name": prose(rule_name(frame.name)),
            "title": prose(frame.name),
            "state": frame.state,
            "passing": frame.passing,
        }
        for frame in shown
    ]
    rules = [
        {"number": rule.number, "name": prose(rule_name(rule.name)) + (" (terminal)" if rule.terminal else "")}
        for rule in view.rules
    ]
    return {"frames": frames, "rules": rules, "shown": view.rule, "hidden": hidden, "first": FIRST_FRAMES}


def _state_of(selected: str) -> int | None:
    """The state that a selection looks at: of an edge the one it leaves."""
    number = selected[1:].partition("-")[0]
    return int(number) if selected[:1] in ("s", "e") and number.isdecimal() else None


def _rule_of(selected: str) -> int | None:
    return int(selected[1:]) if selected.startswith("r") and selected[1:].isdecimal() else None
