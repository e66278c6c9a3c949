"""The automaton view as it reaches the browser: what is sent, and what a selection does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState, look
from engine.automaton.explorer import MOST_DRAWN, MOST_EDGES
from engine.errors import Origin
from engine.examples import example
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex
from engine.grammar.sources import compile_source, spans
from engine.shipped import shipped_trace
from tests.app.conftest import sent
from visualizations.automaton import dot, layout, selected_origin
from visualizations.automaton.dot import exported, rule_name
from visualizations.automaton.parts import grouped, outline, property_of
from visualizations.automaton.picture import edge_names, picture
from visualizations.automaton.words import caption, view_in_words

HOSTILE = '</text><script>alert(1)</script>"\\N {|}&amp;'


def page(source: str, path: bytes, selected: str) -> None:
    import streamlit as st

    from engine.decoding.records import ConstraintSource
    from engine.grammar.sources import compile_source, spans
    from visualizations.automaton import automaton_panel, classic_view

    kind, text = source.split(":", 1)
    constraint = compile_source(ConstraintSource(kind, text))
    known = spans(ConstraintSource(kind, text))
    automaton_panel(constraint, path, key="a", selected=selected, on_select=lambda s: None, places=known)
    if st.session_state.get("classic"):
        classic_view(text, constraint, key="c")


def opened(source: str, path: bytes = b"", selected: str = "", **state: Any) -> AppTest:
    at = AppTest.from_function(page, args=(source, path, selected), default_timeout=30)
    for name, value in state.items():
        at.session_state[name] = value
    at.run()
    assert not at.exception
    return at


def graph(edges: list[tuple[int, int, str]], origins: dict[int, str] | None = None, count: int = 0) -> DrawnGraph:
    origins = origins or {}
    ids = range(max([count, *(max(a, b) + 1 for a, b, _ in edges)]))
    states = tuple(
        DrawnState(i, "rest", i == 1, Origin(origins[i]) if i in origins else None, i == 0, False) for i in ids
    )
    return DrawnGraph(states, tuple(DrawnEdge(*e, False, False, False) for e in edges), len(states), 0, True)


# What a page shows.


def test_a_small_automaton_is_whole() -> None:
    at = opened("regex:(ab|cd)e", b"ab", a_states_open=True, a_words_open=True)
    [data] = sent(at, "automaton")
    assert {e["label"] for e in data["edges"]} == {"ab", "cd", "e"}
    assert [s["current"] for s in data["states"]].count(True) == 1
    assert sent(at, "automaton_stack") == sent(at, "automaton_outline") == []
    [tape] = sent(at, "automaton_tape")
    assert [cell["text"] for cell in tape["cells"]] == ["a", "b"]
    [table] = sent(at, "automaton_states")
    assert table["found"] == table["known"] == 5
    assert "Current state" in at.code[0].value


def test_a_large_one_has_an_outline_and_a_neighbourhood() -> None:
    properties = {f"p{i}": {"type": "string", "maxLength": 9} for i in range(30)}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    at = opened("json_schema:" + json.dumps(schema), b'{"p0":"ab')
    [data] = sent(at, "automaton")
    assert len(data["states"]) <= 30
    assert data["middle"] == next(s["id"] for s in data["states"] if s["current"])
    [parts] = sent(at, "automaton_outline")
    assert [row["name"] for row in parts["rows"]] == ["the root", *properties]
    assert [row["name"] for row in parts["rows"] if row["here"]] == ["p0"]


def test_what_is_closed_is_not_made() -> None:
    at = opened("regex:(ab|cd)e", b"ab")
    assert sent(at, "automaton_states") == []
    assert not at.code


def test_a_recursive_one_has_a_stack() -> None:
    at = opened("gbnf:" + 'root ::= "(" root ")" | "x"', b"((")
    [stack] = sent(at, "automaton_stack")
    assert [frame["name"] for frame in stack["frames"]] == ["root", "root"]
    [tape] = sent(at, "automaton_tape")
    assert [cell["depth"] for cell in tape["cells"]] == [0, 1]


def test_a_selection_is_what_is_shown() -> None:
    at = opened("gbnf:" + 'root ::= item ("," item)*\nitem ::= "[" root "]" | "x"', b"", "r1")
    assert sent(at, "automaton_stack")[0]["shown"] == 1
    assert {e["label"] for e in sent(at, "automaton")[0]["edges"]} == {"[", "⟨root⟩", "]", "x"}


@pytest.mark.parametrize("selected", ["s999999", "e1-2-0", "r77", "p/nowhere", "nonsense", "s", "s-1", "e", "s１"])
def test_a_selection_that_is_not_there_does_no_harm(selected: str) -> None:
    at = opened("gbnf:" + 'root ::= "(" root ")" | "x"', b"(", selected)
    assert sent(at, "automaton")[0]["states"]
    opened("regex:ab|cd", b"a", selected)


def test_the_table_is_searched() -> None:
    source = "regex:(ab|cd)e"
    at = opened(source, b"", "", a_states_open=True, a_states={"query": "accepting"})
    [table] = sent(at, "automaton_states")
    assert table["query"] == "accepting"
    assert (table["found"], table["rows"][0]["accepting"]) == (1, True)


def test_classic_beside_bytes() -> None:
    at = opened("regex:é+", b"", classic=True)
    panel, characters, in_bytes = sent(at, "automaton")
    assert {e["label"] for e in panel["edges"]} == {e["label"] for e in characters["edges"]} == {"é"}
    assert {e["label"] for e in in_bytes["edges"]} == {"<C3>", "<A9>"}


def test_classic_says_why_not() -> None:
    at = opened(r"regex:a\b", b"", classic=True)
    assert "does not know" in sent(at, "notice")[0]["text"]


def test_hostile_text_stays_text() -> None:
    at = opened("regex:" + "".join(f"\\{c}" if c in r"\.^$*+?{}[]|()" else c for c in HOSTILE), HOSTILE.encode()[:5])
    assert HOSTILE.replace(" ", "␣")[5:].startswith(sent(at, "automaton")[0]["edges"][-1]["label"][:-1])
    assert all(HOSTILE not in element.value for element in at.markdown)


# Parts.


def test_property_of() -> None:
    assert property_of("/properties/a/items/properties/b~1c/maxLength") == "/properties/a/items/properties/b~1c"
    assert property_of("/anyOf/0/properties/properties") == "/anyOf/0/properties/properties"
    assert property_of("/anyOf/0") == property_of("") == ""


def test_states_are_grouped_by_property_within_property() -> None:
    origins = {0: "", 1: "/properties/a", 2: "/properties/a/properties/b", 3: "/properties/a/properties/b/type"}
    [root] = grouped(graph([(0, 1, "x"), (1, 2, "x"), (2, 3, "x"), (3, 4, "x")], origins | {4: "/properties/c"}))
    assert root.states == [0, 4]  # one state of c is no group
    [a] = root.inner
    assert (a.pointer, a.states) == ("/properties/a", [1])
    assert [(b.pointer, b.states) for b in a.inner] == [("/properties/a/properties/b", [2, 3])]


def test_the_outline_adds_up_a_run() -> None:
    trace = shipped_trace("Person record")
    source = example("Person record").constraint
    assert source is not None
    view = look(compile_source(source), trace.text[: trace.steps[6].offset])
    rows = outline(spans(source), view, trace.steps[:6])
    assert [row.name for row in rows] == ["the root", "name", "age", "city"]
    assert sum(row.visits for row in rows) == 6
    assert sum(row.lost for row in rows) == pytest.approx(sum(step.cost for step in trace.steps[:6]))
    assert [row.name for row in rows if row.here] == ["name"]


def test_the_outline_of_a_regex_quotes_it() -> None:
    pattern = "ab[0-9]{2}x"
    rows = outline({}, look(compile_regex(pattern), b"a"), (), pattern)
    assert [row.name for row in rows] == ["ab", "[0-9]{2}", "x"]
    assert [row.name for row in rows if row.here] == ["ab"]


def test_rule_names_are_short() -> None:
    assert rule_name("/$defs/folder/properties/folders/items") == "folders/items"
    assert rule_name("/$defs/person") == "$defs/person"
    assert rule_name("/properties/a~1b") == "a/b"
    assert rule_name("NUMBER") == "NUMBER"


def test_the_part_of_a_selection() -> None:
    view = look(compile_json_schema('{"type":"object","properties":{"a":{"type":"null"}},"required":["a"]}'), b'{"')
    assert selected_origin(view, f"s{view.current}") == view.owner
    assert selected_origin(view, f"e{view.current}-0-0") == view.owner
    assert selected_origin(view, "p/properties/a") == Origin("/properties/a")
    assert selected_origin(view, "") is None


def test_in_words_and_caption() -> None:
    view = look(compile_source(example("Nested list").constraint), b"[[")
    words = view_in_words(view)
    assert words.startswith("Stack of rules, outermost first:\n  0. the root")
    assert "1. list/items" in words
    assert caption(view).startswith("Rule list/items, one of ")


# Layout.


def test_edges_are_named_by_what_they_join() -> None:
    assert edge_names(graph([(0, 1, "a"), (1, 0, "b"), (0, 1, "c")])) == ["e0-1-0", "e1-0-0", "e0-1-1"]


def test_boxes_hold_their_states() -> None:
    origins = {1: "/properties/a", 2: "/properties/a", 3: "/properties/b", 4: "/properties/b"}
    data = picture(graph([(i, i + 1, "x") for i in range(5)], origins), "", 300, "", "x")
    for box, inside in zip(data["boxes"], [(1, 2), (3, 4)], strict=True):
        for state in data["states"]:
            holds = box["x"] <= state["x"] <= box["x"] + box["w"] and box["y"] <= state["y"] <= box["y"] + box["h"]
            assert holds == (state["id"] in inside)


@settings(max_examples=60, deadline=None)
@given(some.data())
def test_whatever_is_drawn_can_be_laid_out(data: some.DataObject) -> None:
    count = data.draw(some.integers(1, 12))
    state = some.integers(0, count - 1)
    edges = data.draw(some.lists(some.tuples(state, state, some.text(max_size=8) | some.just(HOSTILE)), max_size=20))
    owners = some.sampled_from(["", "/properties/a", "/properties/a/properties/b", "/properties/c"])
    drawn = graph(edges, {i: data.draw(owners) for i in range(count)}, count)
    placed = layout(dot(drawn))
    assert set(placed.nodes) == {s.id for s in drawn.states}
    assert len(placed.edges) == len(edges)
    assert exported(drawn).count(" -> ") >= len(edges)


CRASHES = """
import random
from engine.automaton.explore import DrawnEdge, DrawnGraph, DrawnState
from engine.errors import Origin
from visualizations.automaton import dot, layout
for seed in range(40):
    dice = random.Random(seed)
    count = dice.randrange(1, 40)
    parts = ["", "/properties/a", "/properties/a/properties/b", "/properties/c", "/properties/d/properties/b"]
    states = [DrawnState(i, "", False, Origin(dice.choice(parts)), False, False) for i in range(count)]
    edges = [
        DrawnEdge(dice.randrange(count), dice.randrange(count), dice.choice(["a", "", "any"]), False, False, False)
        for _ in range(dice.randrange(60))
    ]
    layout(dot(DrawnGraph(tuple(states), tuple(edges), count, 0, True)))
"""


def test_no_graph_brings_the_process_down() -> None:
    """Graphviz aborts on some graphs with clusters unless `newrank` is set: the end of a server."""
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", CRASHES], cwd=root, capture_output=True).returncode == 0


def test_the_largest_picture_is_laid_out_in_half_a_second() -> None:
    layout("digraph { 1 }")  # fonts are found once
    edges = [(i, (7 * i + j) % MOST_DRAWN, "any character") for i in range(MOST_DRAWN) for j in (1, 2)][:MOST_EDGES]
    source = dot(graph(edges, {i: f"/properties/p{i // 10}" for i in range(MOST_DRAWN)}))
    started = time.process_time()
    layout(source)
    assert time.process_time() - started < 0.5


def test_a_step_costs_no_layout() -> None:
    constraint = compile_source(example("Person record").constraint)
    texts = [b'{"name": "M', b'{"name": "Ma', b'{"name": "Mar']
    assert len({dot(look(constraint, text).graph) for text in texts}) == 1
