"""Where Graphviz puts what: in a process beside this one, once per drawn window and not per step.

Graphviz is asked for positions only; the browser builds the picture from them, so that labels (hostile text) are set as
text, colours follow the theme, and the marks of a step cost no layout.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.errors import BudgetError

SECONDS = 10.0
"""What one layout may take; the windows that are drawn take a hundredth of it."""

_WORKER = Path(__file__).with_name("layout_worker.py")

Point = tuple[float, float]
Circle = tuple[float, float, float]
Drawn = tuple[tuple[Point, ...], Point | None, Point | None]
"""An edge: control points of its B-spline, tip of the arrow, middle of the label."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in points, y down. `nodes`: centre and radius by the node's name, a number; `edges`: see `Drawn`.

    `boxes`: left, top, width and height by the number of the cluster.
    """

    width: float
    height: float
    nodes: dict[int, Circle]
    edges: tuple[Drawn, ...]
    boxes: dict[int, tuple[float, float, float, float]]


class _Graphviz:
    """The process that lays out, one graph after the other: started when first needed, and anew once it is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def draw(self, source: str) -> dict[str, Any]:
        """Graphviz's JSON for a DOT text. Raises `BudgetError`."""
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            try:
                process.stdin.write(json.dumps(source) + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
            except OSError:  # it has just ended
                answer = ""
            timer.cancel()
            if not answer:
                process.kill()
                process.wait()
        if not answer:
            raise BudgetError("Graphviz finds no layout for this graph in time.")
        found: dict[str, Any] = json.loads(answer)
        return found

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_WORKER), str(2 * SECONDS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        return self._process


_graphviz = _Graphviz()


@lru_cache(maxsize=512)
def layout(source: str) -> Layout:
    """The positions of a DOT text (only ids and labels matter). Edges keep their order.

    Raises `BudgetError` when Graphviz takes longer than `SECONDS` or gives up.
    """
    drawn = _graphviz.draw(source)
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
