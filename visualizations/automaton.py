"""The automaton around the current state: laid out by Graphviz in this process, drawn and clicked in the browser.

Graphviz is asked for positions only, once per drawn window and not per step; the browser builds the picture from them,
so that labels (hostile text) are set as text, colours follow the theme, and the marks of a step cost no layout.
Graphviz is not thread-safe, hence the one lock.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import graphviz
import pygraphviz

from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState
from visualizations.theme import Callback, register
from visualizations.tokens import prose

_LABEL = 22  # characters of an edge's label in the picture; the whole is in its tooltip and in the text twin
_LOCK = threading.Lock()
_view = register("automaton")

Point = tuple[float, float]
Drawn = tuple[tuple[Point, ...], Point | None, Point | None]
"""An edge: control points of its B-spline, tip of the arrow, middle of the label."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in points, y down. `nodes`: centre and radius per state id; `edges`: see `Drawn`."""

    width: float
    height: float
    nodes: dict[int, tuple[float, float, float]]
    edges: tuple[Drawn, ...]


def automaton_view(graph: DrawnGraph, *, key: str, selected: str = "", height: int = 300, on_select: Callback) -> None:
    """Draws `graph`. A click or Enter on a state or edge calls `on_select`.

    The component's `.select` is then "s<id>" for a state or "e<index>" for an edge of `graph.edges`.
    """
    placed = layout(dot(graph))
    states = [_state(s, placed) for s in graph.states if s.id in placed.nodes]
    edges = [_edge(e, place) for e, place in zip(graph.edges, placed.edges, strict=True)]
    data = {
        "width": placed.width,
        "height": placed.height,
        "box": height,
        "states": states,
        "edges": edges,
        "selected": selected,
    }
    _view(key=key, data=data, on_select_change=on_select)


def dot(graph: DrawnGraph) -> str:
    """`graph` as DOT, without the marks of a step: two steps in one window share their text, hence their layout."""
    drawing = graphviz.Digraph(
        graph_attr={"rankdir": "LR", "nodesep": "0.22", "ranksep": "0.3"},
        node_attr={"shape": "circle", "fixedsize": "true", "width": "0.42", "fontsize": "10", "label": ""},
        edge_attr={"fontsize": "11", "fontname": "Courier", "arrowsize": "0.6"},
    )
    for state in graph.states:
        drawing.node(str(state.id))
    for index, edge in enumerate(graph.edges):  # Graphviz orders edges its own way: the id brings them back
        drawing.edge(str(edge.source), str(edge.target), label=graphviz.escape(short(edge.label)), id=str(index))
    return str(drawing.source)


@lru_cache(maxsize=512)
def layout(source: str) -> Layout:
    """Where Graphviz puts the nodes and edges of a DOT text (only ids and labels matter). Edges keep their order."""
    with _LOCK:
        drawn = json.loads(pygraphviz.AGraph(string=source).draw(format="json0", prog="dot"))
    _, _, width, height = (float(x) for x in drawn["bb"].split(","))
    nodes = {}
    for node in drawn.get("objects", ()):
        x, y = _point(node["pos"], height)
        nodes[int(node["name"])] = (x, y, 36 * float(node["width"]))
    edges = sorted(drawn.get("edges", ()), key=lambda e: int(e["id"]))
    return Layout(width, height, nodes, tuple(_spline(e, height) for e in edges))


def short(label: str) -> str:
    """An edge's label as it fits the picture, white space visible."""
    shown = prose(label)
    return shown if len(shown) <= _LABEL else shown[: _LABEL - 1] + "…"


def in_words(graph: DrawnGraph) -> str:
    """The picture as text: where we are, what can come, the way here."""
    names = {s.id: s for s in graph.states}
    current = next((s for s in graph.states if s.current), None)
    lines = []
    if current is not None:
        lines.append(
            f"Current state {current.id}{_if(current.accepting, ', accepting')}: what remains is {prose(current.label)}"
        )
        lines += [
            f"  {prose(e.label)} leads to {_name(names, e.target)}"
            for e in graph.edges
            if e.source == current.id and e.allowed_now
        ]
    path = [e for e in graph.edges if e.on_path]
    lines += ["Path taken:", *(f"  {e.source} {prose(e.label)} {e.target}" for e in path)] if path else []
    lines += ["All edges drawn:", *(f"  {e.source} {prose(e.label)} {e.target}" for e in graph.edges)]
    return "\n".join(lines)


def _name(names: dict[int, DrawnState], state: int) -> str:
    found = names.get(state)
    return f"{state} ({prose(found.label)})" if found else str(state)


def _state(state: DrawnState, placed: Layout) -> dict[str, Any]:
    x, y, radius = placed.nodes[state.id]
    marks = _if(state.current, ", current") + _if(state.accepting, ", accepting")
    title = f"state {state.id}{marks}; what remains: {prose(state.label)}"
    if state.more:
        title += f"; {state.more} more edges lead out of the picture"
    if state.origin is not None:
        title += f"; part {prose(str(state.origin))}"
    return {
        "id": state.id,
        "x": x,
        "y": y,
        "r": radius,
        "accepting": state.accepting,
        "current": state.current,
        "path": state.on_path,
        "more": state.more,
        "title": title,
    }


def _edge(edge: DrawnEdge, place: Drawn) -> dict[str, Any]:
    points, tip, label_at = place
    marks = _if(edge.allowed_now, ", allowed now") + _if(edge.on_path, ", path taken")
    return {
        "source": edge.source,
        "target": edge.target,
        "d": _path(points),
        "tip": tip,
        "from": points[-1] if points else None,
        "label": short(edge.label),
        "at": label_at,
        "allowed": edge.allowed_now,
        "path": edge.on_path,
        "chain": edge.chain,
        "title": f"{edge.source} to {edge.target} on {prose(edge.label)}{marks}",
    }


def _if(condition: bool, text: str) -> str:
    return text if condition else ""


def _path(points: tuple[Point, ...]) -> str:
    start, *rest = points
    return f"M{start[0]:.1f},{start[1]:.1f}C" + " ".join(f"{x:.1f},{y:.1f}" for x, y in rest)


def _spline(edge: dict[str, Any], height: float) -> Drawn:
    tip = None
    points = []
    for part in edge["pos"].split():
        if part.startswith("e,"):
            tip = _point(part[2:], height)
        else:
            points.append(_point(part, height))
    return tuple(points), tip, _point(edge["lp"], height) if "lp" in edge else None


def _point(text: str, height: float) -> Point:
    x, y = text.split(",")[:2]
    return float(x), height - float(y)
