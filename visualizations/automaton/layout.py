"""Where Graphviz puts what: in this process, once per drawn window and not per step.

Graphviz is asked for positions only; the browser builds the picture from them, so that labels (hostile text) are set as
text, colours follow the theme, and the marks of a step cost no layout. Graphviz is not thread-safe, hence the one lock.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pygraphviz

_LOCK = threading.Lock()

Point = tuple[float, float]
Drawn = tuple[tuple[Point, ...], Point | None, Point | None]
"""An edge: control points of its B-spline, tip of the arrow, middle of the label."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in points, y down. `nodes`: centre and radius per state id; `edges`: see `Drawn`.

    `boxes`: left, top, width and height by the number of the cluster.
    """

    width: float
    height: float
    nodes: dict[int, tuple[float, float, float]]
    edges: tuple[Drawn, ...]
    boxes: dict[int, tuple[float, float, float, float]]


@lru_cache(maxsize=512)
def layout(source: str) -> Layout:
    """The positions of a DOT text (only ids and labels matter). Edges keep their order."""
    with _LOCK:
        drawn = json.loads(pygraphviz.AGraph(string=source).draw(format="json0", prog="dot"))
    _, _, width, height = (float(x) for x in drawn["bb"].split(","))
    nodes = {}
    boxes = {}
    for found in drawn.get("objects", ()):
        if "bb" in found:
            left, bottom, right, top = (float(x) for x in found["bb"].split(","))
            number = int(found["name"].removeprefix("cluster_"))
            boxes[number] = (left, height - top, right - left, top - bottom)
        else:
            x, y = _point(found["pos"], height)
            nodes[int(found["name"])] = (x, y, 36 * float(found["width"]))
    edges = sorted(drawn.get("edges", ()), key=lambda e: int(e["id"]))
    return Layout(width, height, nodes, tuple(_spline(e, height) for e in edges), boxes)


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
