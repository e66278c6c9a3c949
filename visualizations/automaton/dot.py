"""A drawn graph as DOT: for Graphviz to lay out, and for a reader to take away.

It is written for every redraw of every visitor, so its text is put together here and not by the package `graphviz`,
which takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.automaton.explore import DrawnEdge, DrawnGraph
from visualizations.automaton.parts import Group, grouped
from visualizations.tokens import prose

_LABEL = 22  # characters of an edge's label in the picture; the whole is in its details and in the text twin


def dot(graph: DrawnGraph) -> str:
    """`graph` as DOT without the marks of a step: two steps in one window share their text, hence their layout.

    States are named by their numbers, edges carry their index, clusters are named by the pointer of their part.
    """
    lines = [
        # Without newrank Graphviz ranks each cluster by itself, and then some graphs abort the whole process.
        "graph [rankdir=LR newrank=true nodesep=0.22 ranksep=0.3]",
        'node [shape=circle fixedsize=true width=0.42 fontsize=10 label=""]',
        "edge [fontsize=11 fontname=Courier arrowsize=0.6]",
        *_clusters(grouped(graph)),
    ]
    for index, edge in enumerate(graph.edges):  # Graphviz orders edges its own way: the id brings them back
        lines.append(f"{edge.source} -> {edge.target} [label={_quoted(short(edge))} id={index}]")
    return _digraph(lines)


def exported(graph: DrawnGraph) -> str:
    """`graph` as DOT that draws it anywhere as it is drawn here, marks and whole labels included."""
    lines = ["graph [rankdir=LR]", "node [shape=circle]", "edge [fontname=monospace]"]
    for state in graph.states:
        shape = "doublecircle" if state.accepting else "circle"
        style = '"bold,filled"' if state.current else "filled" if state.on_path else "solid"
        fill = "lightgrey" if state.current or state.on_path else "white"
        tooltip = _quoted(prose(state.label))
        lines.append(f"{state.id} [shape={shape} style={style} fillcolor={fill} tooltip={tooltip}]")
    for edge in graph.edges:
        style = "bold" if edge.on_path else "dashed" if edge.allowed_now else "solid"
        lines.append(f"{edge.source} -> {edge.target} [label={_quoted(prose(edge.label))} style={style}]")
    return _digraph(lines)


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


def _clusters(groups: Iterable[Group]) -> Iterator[str]:
    for group in groups:
        if group.pointer:
            yield f"subgraph cluster_{group.number} {{"
            yield "margin=6"
        yield from map(str, group.states)
        yield from _clusters(group.inner)
        if group.pointer:
            yield "}"


def _digraph(lines: Iterable[str]) -> str:
    return "digraph {\n" + "".join(f"\t{line}\n" for line in lines) + "}\n"


def _quoted(text: str) -> str:
    """A label that is read as it stands: no escapes, no HTML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
