"""A drawn graph as DOT: for Graphviz to lay out, and for a reader to take away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import graphviz

from engine.automaton.explore import DrawnEdge, DrawnGraph
from visualizations.automaton.parts import Group, grouped
from visualizations.tokens import prose

_LABEL = 22  # characters of an edge's label in the picture; the whole is in its details and in the text twin


Parts = tuple["Part", ...]
Part = tuple[bool, int, tuple[int, ...], "Parts"]
"""A `Group` as a value: whether it has a box, its number, the places of its states, and what is inside."""


def dot(graph: DrawnGraph) -> str:
    """`graph` as DOT without the marks of a step: two steps in one window share their text, hence their layout, and so
    do windows of one shape in automata whose states have other numbers.

    States are named by their place among the graph's, edges carry their index, clusters the number of their part.
    """
    places = {state.id: place for place, state in enumerate(graph.states)}
    edges = tuple((str(places[edge.source]), str(places[edge.target]), short(edge)) for edge in graph.edges)
    return _source(_parts(grouped(graph), places), edges)


@lru_cache(maxsize=512)  # asked for in every redraw of every visitor, and the same for all steps in one window
def _source(parts: Parts, edges: tuple[tuple[str, str, str], ...]) -> str:
    drawing = graphviz.Digraph(
        # Without newrank Graphviz ranks each cluster by itself, and then some graphs abort the whole process.
        graph_attr={"rankdir": "LR", "newrank": "true", "nodesep": "0.22", "ranksep": "0.3"},
        node_attr={"shape": "circle", "fixedsize": "true", "width": "0.42", "fontsize": "10", "label": ""},
        edge_attr={"fontsize": "11", "fontname": "Courier", "arrowsize": "0.6"},
    )
    _add(drawing, parts)
    for index, (source, target, label) in enumerate(
        edges
    ):  # Graphviz orders edges its own way: the id brings them back
        drawing.edge(source, target, label=graphviz.escape(label), id=str(index))
    return str(drawing.source)


def exported(graph: DrawnGraph) -> str:
    """`graph` as DOT that draws it anywhere as it is drawn here, marks and whole labels included."""
    drawing = graphviz.Digraph(
        graph_attr={"rankdir": "LR"}, node_attr={"shape": "circle"}, edge_attr={"fontname": "monospace"}
    )
    drawing.body += [
        _node(state.id, state.label, state.accepting, state.current, state.on_path) for state in graph.states
    ]
    drawing.body += [_edge(e.source, e.target, e.label, e.on_path, e.allowed_now) for e in graph.edges]
    return str(drawing.source)


@lru_cache(maxsize=4096)  # from one step to the next a few marks change, and quoting takes longer than a look here
def _node(number: int, label: str, accepting: bool, current: bool, on_path: bool) -> str:
    one = graphviz.Digraph()
    one.node(
        str(number),
        shape="doublecircle" if accepting else "circle",
        style="bold,filled" if current else "filled" if on_path else "solid",
        fillcolor="lightgrey" if current or on_path else "white",
        tooltip=graphviz.escape(prose(label)),
    )
    return one.body[0]


@lru_cache(maxsize=4096)
def _edge(source: int, target: int, label: str, on_path: bool, allowed: bool) -> str:
    one = graphviz.Digraph()
    style = "bold" if on_path else "dashed" if allowed else "solid"
    one.edge(str(source), str(target), label=graphviz.escape(prose(label)), style=style)
    return one.body[0]


def short(edge: DrawnEdge) -> str:
    """An edge's label as it fits the picture, white space visible."""
    shown = prose(edge.label)
    if edge.rule is not None:
        shown = f"⟨{prose(rule_name(edge.label[1:-1]))}⟩"
    return shown if len(shown) <= _LABEL else shown[: _LABEL - 1] + "…"


def rule_name(name: str) -> str:
    """A rule as its reader calls it: of a JSON Schema's pointer the last parts are enough."""
    if not name.startswith("/"):
        return name
    after = name.rpartition("/properties/")[2] if "/properties/" in name else "/".join(name.split("/")[-2:])
    return after.replace("~1", "/").replace("~0", "~")


def _parts(groups: Iterable[Group], places: Mapping[int, int]) -> Parts:
    return tuple(
        (bool(group.pointer), group.number, tuple(places[state] for state in group.states), _parts(group.inner, places))
        for group in groups
    )


def _add(drawing: graphviz.Digraph, parts: Parts) -> None:
    for boxed, number, states, inner in parts:
        if not boxed:
            for state in states:
                drawing.node(str(state))
            _add(drawing, inner)
            continue
        with drawing.subgraph(name=f"cluster_{number}") as box:
            box.attr(margin="6")
            for state in states:
                box.node(str(state))
            _add(box, inner)
