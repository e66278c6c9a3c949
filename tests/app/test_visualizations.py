"""What the drawings are made of: text made visible, spans, layouts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState
from engine.errors import Origin
from visualizations.automaton import dot, in_words, layout
from visualizations.automaton.picture import picture
from visualizations.schema_text import spans_of
from visualizations.tokens import percent, prose, visible


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b" the", "␣the"),
        (b"\n\t", "⏎⇥"),
        (b"\xf0\x9f", "<F0><9F>"),
        (b"a\xf0b", "a<F0>b"),
        ("é😨".encode(), "é😨"),
        ("\u202e\x00".encode(), "<U+202E><U+0000>"),
        (b"<script>", "<script>"),
    ],
)
def test_visible(token: bytes, shown: str) -> None:
    assert visible(token) == shown


@given(some.binary(max_size=30))
def test_visible_is_one_printable_line(token: bytes) -> None:
    assert visible(token).isprintable()


def test_prose_keeps_spaces() -> None:
    assert prose("a b\u200b") == "a b<U+200B>"


@pytest.mark.parametrize(
    ("p", "text"), [(0, "0 %"), (1, "100 %"), (0.314, "31 %"), (0.0042, "0.42 %"), (1e-9, "<0.01 %")]
)
def test_percent(p: float, text: str) -> None:
    assert percent(p) == text


def test_spans_of_the_nearest_part() -> None:
    known = {"": (0, 50), "/properties/a": (10, 20)}
    assert spans_of([Origin("/properties/a/items", "type")], known) == [(10, 20)]
    assert spans_of([Origin("/other")], known) == [(0, 50)]
    assert spans_of([Origin("3-7")], {}) == [(3, 7)]


def graph(labels: list[str], current: int = 0, first: int = 0) -> DrawnGraph:
    numbers = range(first, first + len(labels) + 1)
    states = tuple(DrawnState(n, "rest", False, None, n == current, False) for n in numbers)
    edges = tuple(
        DrawnEdge(n, n + 1, label, n == current, False, False) for n, label in zip(numbers, labels, strict=False)
    )
    return DrawnGraph(states, edges, len(states), 0, True)


def test_layout_keeps_the_order_of_edges() -> None:
    ring = graph(["a", "b", "c"])
    extra = DrawnEdge(0, 3, "z", False, False, False)
    drawn = DrawnGraph(ring.states, (extra, *reversed(ring.edges)), 4, 0, True)
    placed = layout(dot(drawn))
    for edge, (points, _, _) in zip(drawn.edges, placed.edges, strict=True):
        assert abs(points[0][0] - placed.nodes[edge.source][0]) < 20


@given(some.lists(some.text(max_size=12), min_size=1, max_size=4))
def test_any_label_can_be_laid_out(labels: list[str]) -> None:
    drawn = graph(labels)
    assert len(layout(dot(drawn)).edges) == len(labels)
    assert "Current state 0" in in_words(drawn)


def test_a_step_costs_no_layout() -> None:
    labels = ["a", "b", "c"]
    assert dot(graph(labels, 0)) == dot(graph(labels, 2))


def test_pictures_of_one_shape_share_a_layout_whatever_their_states_numbers() -> None:
    labels = ["a", "b", "c"]
    assert dot(graph(labels)) == dot(graph(labels, first=70))
    here, there = (picture(graph(labels, first=first), "", 300, "", "x") for first in (0, 70))
    assert [state["id"] for state in there["states"]] == [70, 71, 72, 73]
    assert [(s["x"], s["y"]) for s in there["states"]] == [(s["x"], s["y"]) for s in here["states"]]
    assert [(edge["source"], edge["target"]) for edge in there["edges"]] == [(70, 71), (71, 72), (72, 73)]
