"""The picture of an automaton: laid out here, drawn and clicked in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState
from visualizations.automaton.dot import dot, exported, short
from visualizations.automaton.layout import Circle, Drawn, Layout, Point, layout
from visualizations.automaton.parts import Group, grouped
from visualizations.automaton.words import edge_title, state_title
from visualizations.component import Callback, register
from visualizations.tokens import prose

_view = register("automaton")


def automaton_view(
    graph: DrawnGraph,
    *,
    key: str,
    selected: str = "",
    height: int = 300,
    caption: str = "",
    name: str = "automaton",
    of_rule: bool = False,
    on_select: Callback,
) -> None:
    """Draws `graph`. A click or Enter on a state or edge calls `on_select`; the component's `.select` is what it was.

    That is "s<id>" for a state, "r<number>" for an edge that reads a rule, see `edge_names` for other edges, "" to go
    back to the current state. `name`: of the files that pictures are saved to. `of_rule`: it is a rule's automaton.
    """
    _view(key=key, data=picture(graph, selected, height, caption, name, of_rule), on_select_change=on_select)


def picture(
    graph: DrawnGraph, selected: str, height: int, caption: str, name: str, of_rule: bool = False
) -> dict[str, Any]:
    """What the browser draws."""
    view = {"box": height, "selected": selected, "caption": caption, "name": name}
    return _drawn(graph, of_rule) | view


@lru_cache(maxsize=512)  # those who look at the same step of a run look at the same graph
def _drawn(graph: DrawnGraph, of_rule: bool) -> dict[str, Any]:
    """What depends on the graph alone."""
    placed = layout(dot(graph))
    names = edge_names(graph)
    return {
        "width": placed.width,
        "height": placed.height,
        "states": [_state(s, placed.nodes[i], "the rule" if of_rule else "a text") for i, s in enumerate(graph.states)],
        "edges": [_edge(*each) for each in zip(graph.edges, names, placed.edges, strict=True)],
        "boxes": list(_boxes(grouped(graph), placed)),
        "middle": graph.middle,
        "dot": exported(graph),
    }


def edge_names(graph: DrawnGraph) -> list[str]:
    """What a selection calls each edge: "e<source>-<target>-<how many such edges come before it>"."""
    met: dict[tuple[int, int], int] = {}
    names = []
    for edge in graph.edges:
        pair = (edge.source, edge.target)
        names.append(f"e{edge.source}-{edge.target}-{met.get(pair, 0)}")
        met[pair] = met.get(pair, 0) + 1
    return names


def _state(state: DrawnState, place: Circle, what: str) -> dict[str, Any]:
    x, y, radius = place
    return {
        "id": state.id,
        "x": x,
        "y": y,
        "r": radius,
        "accepting": state.accepting,
        "current": state.current,
        "waiting": state.waiting,
        "start": state.start,
        "path": state.on_path,
        "more": state.more,
        "title": state_title(state, what),
    }


def _edge(edge: DrawnEdge, name: str, place: Drawn) -> dict[str, Any]:
    points, tip, label_at = place
    return {
        "key": name if edge.rule is None else f"r{edge.rule}",
        "source": edge.source,
        "target": edge.target,
        "d": _path(points),
        "tip": tip,
        "from": points[-1] if points else None,
        "label": short(edge),
        "at": label_at,
        "allowed": edge.allowed_now,
        "path": edge.on_path,
        "chain": edge.chain,
        "rule": edge.rule is not None,
        "title": edge_title(edge),
    }


def _boxes(groups: list[Group], placed: Layout) -> Iterator[dict[str, Any]]:
    """The frames around properties, outer ones first."""
    for group in groups:
        if group.number in placed.boxes and group.pointer:
            x, y, width, height = placed.boxes[group.number]
            label = prose(group.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~"))
            yield {"x": x, "y": y, "w": width, "h": height, "label": label, "key": f"p{group.pointer}"}
        yield from _boxes(group.inner, placed)


def _path(points: tuple[Point, ...]) -> str:
    start, *rest = points
    return f"M{start[0]:.1f},{start[1]:.1f}C" + " ".join(f"{x:.1f},{y:.1f}" for x, y in rest)
