"""What the lessons on automata draw: a text judged while it is typed, states found alive backwards, tokens, costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from engine.analysis.dead import Both
from engine.analysis.prefixes import Prefix
from engine.automaton.explain import label
from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState
from visualizations.automaton import layout
from visualizations.automaton.dot import dot, short
from visualizations.component import register
from visualizations.tokens import prose, token_text, visible

LONGEST_TYPED = 160
"""Characters of a text that is typed."""

MOST_TOKENS = 60
"""Tokens that are shown of a set."""

_typed = register("lesson_typed")
_backwards = register("lesson_backwards")
_tokens = register("lesson_tokens")
_ladder = register("lesson_ladder")


def typed_text(default: str, *, key: str) -> str:
    """What the field of `typed` holds. The browser may say anything."""
    held = st.session_state.get(key)
    text = getattr(held, "text", None) if held is not None else None
    return text[:LONGEST_TYPED] if isinstance(text, str) else default


def typed(text: str, read: Sequence[Prefix], said: str, examples: Mapping[str, str], *, key: str, heading: str) -> None:
    """Draws a field with a row of bytes below it: is the text valid already, can it still become valid.

    `read`: of `text`, which `typed_text` gave. `said`: the verdict in a sentence. `examples`: words to texts to try.
    """
    data = {
        "text": text,
        "limit": LONGEST_TYPED,
        "heading": heading,
        "said": prose(said),
        "cells": [_cell(prefix) for prefix in read],
        "examples": [{"label": words, "text": example} for words, example in examples.items()],
    }
    _typed(key=key, data=data, default={"text": text}, on_text_change=lambda: None)


def _cell(prefix: Prefix) -> dict[str, Any]:
    word = "expected" if prefix.standing == "dead" else "still to come"
    return {
        "text": token_text(bytes([prefix.byte]), 0),
        "standing": prefix.standing,
        "valid": prefix.standing == "accepted",
        "title": f"{prefix.byte:02X} {prefix.standing}; {word}: {prose(prefix.remains)}" if prefix.remains else "",
        "remains": prose(prefix.remains),
    }


def backwards(found: Both, rounds: int, *, key: str) -> None:
    """Draws the states of two demands at once; those found alive in so many steps backwards carry their distance.

    After the last step what is left over is marked as dead.
    """
    graph = _graph(found)
    placed = layout(dot(graph))
    finished = rounds >= found.rounds
    nodes = []
    for number, state in enumerate(found.states):
        x, y, radius = placed.nodes[number]
        alive = state.to_end is not None and state.to_end <= rounds
        kind = "alive" if alive else "dead" if finished else "open"
        nodes.append(
            {
                "x": x,
                "y": y,
                "r": radius,
                "kind": kind,
                "accepting": state.accepting,
                "start": number == 0,
                "label": str(state.to_end) if alive else "✕" if finished else "?",
                "title": f"after {visible(state.text) or 'nothing'}: {_distance(state.to_end, kind)}",
            }
        )
    edges = [_drawn(edge, place, nodes) for edge, place in zip(graph.edges, placed.edges, strict=True)]
    data = {"width": placed.width, "height": placed.height, "nodes": nodes, "edges": edges}
    _backwards(key=key, data=data)


def _distance(to_end: int | None, kind: str) -> str:
    if kind == "open":
        return "not decided yet"
    return "dead: no text is accepted from here" if to_end is None else f"{to_end} more at least to an end"


def _graph(found: Both) -> DrawnGraph:
    states = tuple(
        DrawnState(number, "", state.accepting, None, False, False, start=number == 0)
        for number, state in enumerate(found.states)
    )
    edges = tuple(DrawnEdge(source, target, label(bits), False, False, False) for source, target, bits in found.moves)
    return DrawnGraph(states, edges, len(states), 0, True)


def _drawn(edge: DrawnEdge, place: Any, nodes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    points, tip, at = place
    start, *rest = points
    return {
        "d": f"M{start[0]:.1f},{start[1]:.1f}C" + " ".join(f"{x:.1f},{y:.1f}" for x, y in rest),
        "tip": tip,
        "from": points[-1],
        "at": at,
        "label": short(edge),
        "kind": nodes[edge.target]["kind"],
    }


def tokens(shown: Sequence[bytes], total: int, *, key: str, heading: str, marked: Sequence[bytes] = ()) -> None:
    """Draws a set of tokens, the first `MOST_TOKENS` of `shown`, as chips; those `marked` have a second mark."""
    chips = [{"text": visible(token) or "⟨end⟩", "marked": token in set(marked)} for token in shown[:MOST_TOKENS]]
    _tokens(key=key, data={"heading": heading, "chips": chips, "more": max(0, total - len(chips))})


@dataclass(frozen=True, slots=True)
class Rung:
    """A method of the ladder: what it takes, in seconds, checks and bytes, and its one-time preparation."""

    name: str
    how: str
    seconds: float
    checks: int
    bytes_read: int
    memory_bytes: int
    prepared: float
    same: bool


def ladder(rungs: Sequence[Rung], asked: str, *, key: str) -> None:
    """Draws the methods with their times on a logarithmic scale, slowest as long as the row."""
    slowest = max((rung.seconds for rung in rungs), default=1.0)
    fastest = min((rung.seconds for rung in rungs), default=1.0)
    decades = max(1.0, math.log10(slowest / fastest)) + 0.5
    rows = [
        {
            "name": rung.name,
            "how": rung.how,
            "time": duration(rung.seconds),
            "share": max(0.02, 1 + math.log10(rung.seconds / slowest) / decades),
            "checks": f"{rung.checks:,}",
            "bytes": f"{rung.bytes_read:,}",
            "memory": memory(rung.memory_bytes),
            "prepared": duration(rung.prepared) if rung.prepared else "",
            "same": rung.same,
        }
        for rung in rungs
    ]
    _ladder(key=key, data={"asked": asked, "rows": rows})


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if (found := seconds / size) >= 1:
            return f"{found:{',.0f' if found >= 100 else '.3g'}} {unit}"
    return f"{seconds * 1e6:.2g} µs"


def memory(size: int) -> str:
    """Bytes in the unit that suits them."""
    for unit, large in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size >= large:
            return f"{size / large:,.3g} {unit}"
    return f"{size} B"
