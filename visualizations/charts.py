"""Plain charts: bars of distributions, curves with marked points, points with intervals. Each has a text twin, a table.

A label may be any token: it is made visible and escaped, since Plotly reads tags in labels as markup. Colour is never
alone: series differ by pattern or line style too.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from visualizations.theme import PALETTE, ROLES
from visualizations.tokens import prose

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LARGE = "_projector"
"""The session's switch: charts are read from the back of a room."""

FONT = 12  # px
_PATTERNS = ("", "/", ".", "x", "-")
_DASHES = ("solid", "dash", "dot", "dashdot")
_COLOURS = tuple(PALETTE[name] for name in ("blue", "orange", "green", "purple", "sky"))
_GREY = "#8A929B"

Point = tuple[float, float, str]
"""A marked place of a curve: x, y, what is said there."""


def label(text: str) -> str:
    """Any text as a label that shows just this text."""
    return html.escape(prose(text), quote=False) or " "


def bars(
    labels: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    *,
    key: str,
    masked: Sequence[bool] = (),
    title: str = "Probability",
    form: str = ".0%",
    height: int | None = None,
    largest: float | None = None,
) -> None:
    """Draws horizontal bars, the first label on top; one bar a series. `masked`: labels that get a cross."""
    go = _plotly()
    names = [label(text) + (" ✕" if place < len(masked) and masked[place] else "") for place, text in enumerate(labels)]
    figure = go.Figure()
    for number, (name, values) in enumerate(series.items()):
        marker = {"color": _COLOURS[number % 5], "pattern": {"shape": _PATTERNS[number % 5], "solidity": 0.35}}
        texts = ["" if value is None else format(value, form) for value in values]
        figure.add_bar(
            name=label(name),
            y=_unique(names),
            x=list(values),
            text=texts,
            orientation="h",
            marker=marker,
            cliponaxis=False,
        )
    most = largest or max((v for values in series.values() for v in values if v is not None), default=1.0)
    figure.update_yaxes(_of_labels(names))
    figure.update_xaxes(title=label(title), tickformat=form, range=[0, 1.12 * (most or 1.0)])
    figure.update_traces(textposition="outside")
    tall = height or 60 + max(30, 24 * len(series)) * len(labels)
    _draw(figure, tall, key, {"": list(labels), **{n: [_said(v, form) for v in vs] for n, vs in series.items()}})


def curve(
    x: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    *,
    key: str,
    x_title: str,
    y_title: str,
    marks: Sequence[Point] = (),
    y_form: str = "",
    log_x: bool = False,
    log_y: bool = False,
    height: int = 280,
) -> None:
    """Draws lines over the same x, with marked points that say something."""
    go = _plotly()
    figure = go.Figure()
    for number, (name, values) in enumerate(series.items()):
        line = {"color": _COLOURS[number % 5], "dash": _DASHES[number % 4], "width": 2.5}
        figure.add_scatter(name=label(name), x=list(x), y=list(values), mode="lines", line=line)
    if marks:
        at_x, at_y, words = zip(*marks, strict=True)
        marker = {"size": 11, "symbol": "diamond", "color": PALETTE[ROLES["masked"]]}
        said = [label(one) for one in words]
        figure.add_scatter(
            x=at_x,
            y=at_y,
            text=said,
            mode="markers+text",
            marker=marker,
            textposition="top center",
            showlegend=False,
            cliponaxis=False,  # a point may sit at the very top
        )
    figure.update_xaxes(title=label(x_title), type="log" if log_x else "linear")
    figure.update_yaxes(title=label(y_title), type="log" if log_y else "linear", tickformat=y_form, rangemode="tozero")
    _draw(figure, height, key, _thinned({x_title: list(x), **{n: list(vs) for n, vs in series.items()}}))


def intervals(
    labels: Sequence[str],
    points: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    key: str,
    title: str,
    form: str = ".0%",
    largest: float | None = 1.0,
) -> None:
    """Draws a point with its interval for each label, the first on top."""
    go = _plotly()
    names = [label(text) for text in labels]
    error = {
        "type": "data",
        "symmetric": False,
        "array": [h - p for h, p in zip(high, points, strict=True)],
        "arrayminus": [p - one for one, p in zip(low, points, strict=True)],
        "color": _GREY,
        "thickness": 2.5,
        "width": 6,
    }
    marker = {"size": 11, "color": PALETTE[ROLES["path"]]}
    texts = [format(point, form) for point in points]
    figure = go.Figure()
    figure.add_scatter(
        x=list(points),
        y=_unique(names),
        error_x=error,
        mode="markers+text",
        text=texts,
        marker=marker,
        showlegend=False,
        cliponaxis=False,
    )
    figure.update_traces(textposition="top center")
    figure.update_yaxes(_of_labels(names))
    figure.update_xaxes(
        title=label(title), tickformat=form, range=[-0.03 * largest, 1.03 * largest] if largest else None
    )
    said = {"low": low, "measured": points, "high": high}
    columns = {name: [format(value, form) for value in values] for name, values in said.items()}
    _draw(figure, 70 + 44 * len(labels), key, {"": list(labels), **columns})


def _draw(figure: Figure, height: int, key: str, twin: Mapping[str, Sequence[Any]]) -> None:
    large = 1.4 if st.session_state.get(LARGE) else 1.0
    figure.update_layout(
        height=large * height,
        font={"size": large * FONT},
        uniformtext={"minsize": large * FONT, "mode": "show"},
        margin={"l": 8, "r": 8, "t": 26, "b": 8},
        barmode="group",
        bargap=0.25,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        dragmode=False,
        hovermode="closest",
    )
    figure.update_xaxes(automargin=True, fixedrange=True, zeroline=False)
    figure.update_yaxes(automargin=True, fixedrange=True, zeroline=False)
    st.plotly_chart(figure, key=key, config={"displayModeBar": False})
    with st.popover("The same as a table", type="tertiary", icon=":material/table:", key=f"{key}_twin"):
        st.dataframe(dict(twin), hide_index=True, key=f"{key}_table")


def _of_labels(names: Sequence[str]) -> dict[str, Any]:
    """An axis of labels, the first on top; `10101` is no number there."""
    unique = _unique(names)
    return {"type": "category", "autorange": "reversed", "ticktext": names, "tickvals": unique, "tickmode": "array"}


def _unique(names: Sequence[str]) -> list[str]:
    """Names with an invisible difference where two are the same: Plotly would stack their bars."""
    seen: dict[str, int] = {}
    made = []
    for name in names:
        made.append(name + "\u200b" * seen.get(name, 0))
        seen[name] = seen.get(name, 0) + 1
    return made


def _thinned(columns: Mapping[str, Sequence[Any]], most: int = 60) -> dict[str, list[Any]]:
    """At most about `most` rows, the first and the last among them."""
    size = len(next(iter(columns.values())))
    stride = max(1, size // most)
    rows = sorted({*range(0, size, stride), size - 1}) if size else []
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _said(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _plotly() -> Any:
    """Plotly's import takes a while and is needed by charts only."""
    import plotly.graph_objects

    return plotly.graph_objects
