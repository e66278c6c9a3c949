"""What masks cost as the vocabulary, a bound, an enum, the nesting and the schema grow, beside llguidance in one run.

    python -m benchmarks.mask_costs [--axes maxLength,enum] [--engines maskscope,llguidance] [--folder FOLDER]

At every size of every axis each engine, in a process of its own with one thread and empty caches, compiles the schema,
makes its first mask and follows one valid text; three times, of which the least counts, step by step. The tables end in
slopes: the exponent of the size with which a time grows, over all sizes and between the last two. 0 is flat, 1 is
linear; above 1.1 the line is marked. `--folder` gets the figures as CSV and a plot per axis as HTML.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from benchmarks.masks import Process
from benchmarks.peers.vocabularies import tokenizer as named_tokenizer

REPEATS = 3
LINEAR = 1.1
FIGURES = {
    "first_ms": "compile and first mask, ms",
    "token_us": "mask and advance per token, µs",
    "whole_ms": "all, ms",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A schema with a value that it allows, over a vocabulary (`peers/vocabularies.py` has the names)."""

    schema: dict[str, Any]
    value: Any
    vocabulary: str = "bundled"


@dataclass(frozen=True, slots=True)
class Axis:
    """What grows, and the case of each size."""

    name: str
    sizes: tuple[int, ...]
    case: Callable[[int], Case]


@dataclass(frozen=True, slots=True)
class Point:
    """What one engine took at one size; `end` other than "done": nothing was measured."""

    axis: str
    size: int
    engine: str
    end: str
    tokens: int = 0
    first_ms: float = 0.0
    token_us: float = 0.0
    whole_ms: float = 0.0


def record(size: int) -> Case:
    """The same record over a vocabulary of `size` tokens."""
    schema = _object(
        name={"type": "string"},
        age={"type": "integer", "minimum": 0, "maximum": 150},
        mail={"type": "string", "format": "email"},
        role={"enum": ["author", "editor", "reader"]},
        tags={"type": "array", "items": {"type": "string", "maxLength": 20}},
    )
    value = {
        "name": "Marie Curie",
        "age": 66,
        "mail": "marie@example.org",
        "role": "author",
        "tags": ["Pólya", "radium"],
    }
    return Case(schema, value, str(size))


def bounded(length: int) -> Case:
    """A string of at most `length` characters, with a text that reaches the bound where that is 200 or less."""
    text = "It was a bright cold day in April, and the clocks were striking thirteen. " * 3
    return Case(_object(text={"type": "string", "maxLength": length}), {"text": text[: min(length, 200)]})


def enumeration(size: int) -> Case:
    """One of `size` strings, in no order; the last one is written."""
    values = [f"value {number * 7919 % 10_007}" for number in range(size)]
    return Case(_object(kind={"enum": values}), {"kind": values[-1]})


def nested(depth: int) -> Case:
    """Objects in objects, each written out in the schema."""
    schema: dict[str, Any] = {"type": "integer"}
    value: Any = 1
    for _ in range(depth):
        schema, value = _object(inner=schema), {"inner": value}
    return Case(schema, value)


def recursive(depth: int) -> Case:
    """The same texts, by a schema that refers to itself."""
    node = {"anyOf": [{"type": "integer"}, _object(inner={"$ref": "#/$defs/node"})]}
    return Case({"$ref": "#/$defs/node", "$defs": {"node": node}}, nested(depth).value)


def members(size: int) -> Case:
    """An object of `size` optional members of several types; ten of them, evenly spread, are written."""
    kinds: list[tuple[dict[str, Any], Any]] = [
        ({"type": "string"}, "London"),
        ({"type": "integer", "minimum": 1}, 12),
        ({"type": "array", "items": {"type": "boolean"}}, [True, False]),
        ({"enum": ["low", "medium", "high"]}, "medium"),
        ({"type": "number"}, 2.5),
    ]
    properties = {f"member_{number}": kinds[number % 5][0] for number in range(size)}
    written = [size * tenth // 10 - 1 for tenth in range(1, 11)]
    value = {f"member_{number}": kinds[number % 5][1] for number in written}
    return Case({"type": "object", "properties": properties}, value)


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


AXES = (
    Axis("vocabulary", (16_384, 49_152, 131_072, 262_144), record),
    Axis("maxLength", (10, 100, 1_000, 10_000, 100_000, 1_000_000), bounded),
    Axis("enum", (10, 30, 100, 300, 1_000, 3_000, 10_000), enumeration),
    Axis("depth", (1, 3, 10, 30, 60, 120, 200), nested),
    Axis("recursion", (1, 3, 10, 30, 100, 200), recursive),
    Axis("properties", (10, 30, 100, 300, 1_000, 3_000), members),
)


def measure(axis: str, size: int, process: Process, request: dict[str, Any]) -> Point:
    """The least of the first mask, and of every step, over the repeats: what else the machine does falls away."""
    replies: list[dict[str, Any]] = []
    for _ in range(REPEATS):
        reply = process.ask(request)
        if reply is None or reply["end"] != "done" or reply["wrong"]:
            end = "timeout" if reply is None else "wrong" if reply["end"] == "done" else reply["end"]
            return Point(axis, size, process.engine, end)
        replies.append(reply)
    first = min(reply["first"] for reply in replies)
    steps = sum(np.min([reply[part] for reply in replies], axis=0).sum() for part in ("masks", "advances"))
    tokens = len(replies[0]["masks"])
    return Point(axis, size, process.engine, "done", tokens, 1e3 * first, 1e6 * steps / tokens, 1e3 * (first + steps))


def points(axes: list[Axis], engines: list[str]) -> Iterator[Point]:
    """Every size of every axis by every engine, the engines in turn; processes last as long as their vocabulary."""
    cases = [(axis.name, size, axis.case(size)) for axis in axes for size in axis.sizes]
    for vocabulary, group in groupby(cases, lambda case: case[2].vocabulary):
        tokenizer = named_tokenizer(vocabulary)
        processes = [Process(engine, vocabulary) for engine in engines]
        for axis, size, case in group:
            ids = tokenizer.encode(json.dumps(case.value, ensure_ascii=False), add_special_tokens=False)
            request = {"id": f"{axis} {size}", "schema": json.dumps(case.schema), "cold": True}
            request["texts"] = [{"ids": ids, "valid": True}]
            for process in processes:
                yield measure(axis, size, process, request)
        for process in processes:
            process.close()


def slopes(sizes: list[int], times: list[float]) -> tuple[float, float]:
    """The exponent of the size with which a time grows: over all sizes, and between the last two."""
    size, time = np.log(sizes), np.log(times)
    return float(np.polyfit(size, time, 1)[0]), float((time[-1] - time[-2]) / (size[-1] - size[-2]))


def report(axis: str, engine: str, found: list[Point]) -> None:
    """A table of one engine over one axis, its slopes below."""
    print(f"\n{axis}, {engine}\n{'size':>10} {'tokens':>7} " + " ".join(f"{name:>10}" for name in FIGURES))
    for point in found:
        times = " ".join(f"{getattr(point, name):10.3f}" for name in FIGURES) if point.end == "done" else point.end
        print(f"{point.size:10} {point.tokens:7} {times}")
    done = [point for point in found if point.end == "done"]
    if len(done) < 2:
        return
    over = [slopes([point.size for point in done], [getattr(point, name) for point in done]) for name in FIGURES]
    for label, which in (("slope", 0), ("at the end", 1)):
        steep = [name for name, slope in zip(FIGURES, over, strict=True) if slope[which] > LINEAR]
        mark = f"  worse than linear: {', '.join(steep)}" if steep else ""
        print(f"{label:>18} " + " ".join(f"{slope[which]:10.2f}" for slope in over) + mark)


def plot(axis: str, found: list[Point]) -> go.Figure:
    """A panel per figure, a line per engine, both axes logarithmic."""
    figure = make_subplots(cols=len(FIGURES), subplot_titles=list(FIGURES.values()))
    colors = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756")
    engines = list(dict.fromkeys(point.engine for point in found))
    for column, name in enumerate(FIGURES, start=1):
        for engine, color in zip(engines, colors, strict=False):
            line = [point for point in found if point.engine == engine and point.end == "done"]
            figure.add_scatter(
                x=[point.size for point in line],
                y=[getattr(point, name) for point in line],
                name=engine,
                legendgroup=engine,
                showlegend=column == 1,
                line_color=color,
                col=column,
                row=1,
            )
    figure.update_xaxes(type="log", title=axis)
    figure.update_yaxes(type="log")
    return figure


def write(folder: Path, found: list[Point]) -> None:
    """costs.csv, and AXIS.html of each axis."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "costs.csv").open("w", newline="") as file:
        rows = csv.DictWriter(file, [each.name for each in fields(Point)], lineterminator="\n")
        rows.writeheader()
        rows.writerows(asdict(point) for point in found)
    for axis in dict.fromkeys(point.axis for point in found):
        plot(axis, [point for point in found if point.axis == axis]).write_html(
            folder / f"{axis}.html", include_plotlyjs="directory"
        )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="What masks cost as things grow.")
    parser.add_argument("--axes", default=",".join(axis.name for axis in AXES))
    parser.add_argument("--engines", default="maskscope,llguidance")
    parser.add_argument("--folder", type=Path, help="where to write the figures and plots")
    options = parser.parse_args(arguments)
    axes, engines = options.axes.split(","), options.engines.split(",")
    found = list(points([axis for axis in AXES if axis.name in axes], engines))
    for axis in axes:
        for engine in engines:
            report(axis, engine, [point for point in found if (point.axis, point.engine) == (axis, engine)])
    if options.folder is not None:
        write(options.folder, found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
