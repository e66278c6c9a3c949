"""What pictures are made of: rules and their stack, folded characters, neighbourhoods, the textbook's automaton."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from engine.automaton import explorer
from engine.automaton.classic import classic
from engine.automaton.explore import View, draw, draw_bytes, find_states, look
from engine.automaton.explorer import MOST_DRAWN, MOST_EDGES
from engine.automaton.rules import Reading, Rules
from engine.constraint import Constraint
from engine.errors import ConstraintError
from engine.examples import EXAMPLES, example
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex
from engine.grammar.sources import compile_source
from engine.shipped import shipped_names, shipped_trace

RECURSIVE = {
    "Family tree": b'{"name": "x", "child": {"name": "y"}}',
    "Nested list": b"[1, [2, []], -30]",
    "A tree without end": b'{"name": "a", "folders": [{"name": "b", "folders": []}]}',
    "Undeclared keys": b'{"title": "t", "year": 3, "z": [1, {"a": null}]}',
    "SQL (grammar)": b"SELECT a, max(b) FROM t WHERE (x = 1 OR y IS NULL) ORDER BY a DESC",
    "Arithmetic (grammar)": b"2 * (x + 3)^2 - max(a, b)",
    "Log line (grammar)": b'at=2026-11-03T10:15:00Z ok=true free=0.07 tags=[a,"b",[1]]',
}
CONSTRAINTS = {name: compile_source(example(name).constraint) for name in RECURSIVE}
RULES = {
    name: Rules(constraint.automaton, calls_all=constraint.kind == "lark", first="start")
    for name, constraint in CONSTRAINTS.items()
}


def labels(view: View) -> set[str]:
    return {edge.label for edge in view.graph.edges}


def of_regex(pattern: str, path: bytes = b"") -> View:
    return look(compile_regex(pattern), path)


def schema(properties: dict[str, Any], **more: Any) -> Constraint:
    whole = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return compile_json_schema(json.dumps(whole | more), whitespace="compact", key_order="schema")


def ends(rules: Rules, reading: Reading) -> bool:
    """Whether the text may end in every rule of the stack."""
    frame = reading.top
    while rules.is_accepting(frame.state):
        if frame.caller is None:
            return True
        frame = frame.caller
    return False


# Rules read what the automaton reads.


@pytest.mark.parametrize("name", RECURSIVE)
def test_rules_read_a_text_and_may_end_where_it_may(name: str) -> None:
    constraint, rules, text = CONSTRAINTS[name], RULES[name], RECURSIVE[name]
    assert constraint.check(text).kind == "accepted"
    for length in range(len(text) + 1):
        state = constraint.advance(constraint.start, text[:length])
        readings = rules.read(text[:length])
        assert state is not None
        assert constraint.is_accepting(state) == any(ends(rules, reading) for reading in readings), text[:length]


@settings(max_examples=150, deadline=None)
@given(some.sampled_from(sorted(RECURSIVE)), some.data())
def test_rules_read_nothing_else(name: str, data: some.DataObject) -> None:
    text = bytearray(RECURSIVE[name])
    place = data.draw(some.integers(0, len(text) - 1))
    text[place] = data.draw(some.sampled_from(sorted({*text, *b' ()[]{}",:;.x0'})))
    constraint = CONSTRAINTS[name]
    for length in (place + 1, len(text)):
        state = constraint.advance(constraint.start, bytes(text[:length]))
        assert (state is not None) == bool(RULES[name].read(bytes(text[:length]))), bytes(text[:length])


def test_a_constraint_without_recursion_has_no_rules() -> None:
    assert look(schema({"a": {"type": "array", "items": {"type": "integer"}}}), b"").frames == ()
    assert of_regex("(a(bc)*)+").rules == ()


def test_the_stack_grows_and_shrinks() -> None:
    constraint = CONSTRAINTS["Nested list"]

    def names(path: bytes) -> list[str]:
        return [frame.name for frame in look(constraint, path).frames]

    items = "/$defs/list/items"
    assert names(b"") == ["the root"]
    assert names(b"[") == ["the root"]
    assert names(b"[[[") == ["the root", items, items]
    assert names(b"[[[]") == ["the root", items]
    assert names(b"[[[],") == ["the root", items]
    assert names(b"[[1") == ["the root", items, items, "integer"]


def test_each_rule_has_its_picture() -> None:
    view = look(CONSTRAINTS["Arithmetic (grammar)"], b"(1+")
    pictures = {r.name: look(CONSTRAINTS["Arithmetic (grammar)"], b"(1+", rule=r.number) for r in view.rules}
    assert set(pictures) == {"start", "sum", "product", "sign", "power", "atom", "NUMBER", "CNAME"}
    assert labels(pictures["product"]) == {"⟨sign⟩", "[*/]", "[⇥␣]"}
    assert labels(pictures["sign"]) == {"⟨power⟩", "⟨sign⟩", "-", "[⇥␣]"}
    waiting = {name: [s.id for s in p.graph.states if s.waiting] for name, p in pictures.items()}
    assert len(waiting["atom"]) == len(waiting["start"]) == 1
    assert waiting["CNAME"] == []
    assert [s.current for s in pictures["sum"].graph.states].count(True) == 1


def test_a_rule_that_is_not_entered_has_no_place_in_the_run() -> None:
    view = look(CONSTRAINTS["Arithmetic (grammar)"], b"")
    number = next(r.number for r in look(CONSTRAINTS["Arithmetic (grammar)"], b"1").rules if r.name == "NUMBER")
    graph = look(CONSTRAINTS["Arithmetic (grammar)"], b"", rule=number).graph
    assert view.rule == 0
    assert not any(s.current or s.waiting or s.on_path for s in graph.states)
    assert not any(e.allowed_now for e in graph.edges)


# Edges.


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("[0-9]+", {"[0-9]"}),
        ("abc", {"abc"}),
        ("a b", {"a␣b"}),
        ("é", {"é"}),
        ("中文!", {"中文!"}),
        ("[à-ü]", {"[à-ü]"}),
        ("[aé😀]", {"a or [é😀]"}),
        ("(?s:.)", {"any character"}),
        ("(?i:select)", {'"SELECT"i'}),
        ("x(?i:ab)y", {'x"AB"iy'}),
        ("(?i:k)", {"[Kk] or \u212a"}),
        ("[ab]c", {"[ab]c"}),
        ("[\U00010000-\U0010ffff]", {"[1,048,576 beyond ASCII]"}),
    ],
)
def test_labels(pattern: str, expected: set[str]) -> None:
    assert labels(of_regex(pattern)) == expected


def test_what_is_inside_a_character_is_reached_by_an_edge() -> None:
    view = of_regex("(😀|😁)x", "😀".encode()[:2])
    current = next(s for s in view.graph.states if s.current)
    assert [e.label for e in view.graph.edges if e.target == current.id] == ["begun character"]
    assert [e.allowed_now for e in view.graph.edges if e.source == current.id] == [True]


def test_the_path_is_marked_and_nothing_else() -> None:
    view = of_regex("(ab|cd)(e|f)", b"ab")
    assert {e.label for e in view.graph.edges if e.on_path} == {"ab"}
    assert {e.label for e in view.graph.edges if e.allowed_now} == {"[ef]"}
    assert [p.state for p in view.passed][-1] == view.current


@pytest.mark.parametrize("path", [b"", b"a", b"abc"])
def test_the_way_from_the_start_is_drawn(path: bytes) -> None:
    graph = of_regex("abcd(e|f)g", path).graph
    assert [s.id for s in graph.states if s.start] == [graph.states[0].id]
    labels_of_path = "".join(e.label for e in graph.edges if e.on_path)
    assert labels_of_path == path.decode()


def test_only_edges_that_a_token_begins_along_are_allowed() -> None:
    view = look(compile_regex("a1|b2|c3"), b"", open_bytes=1 << ord("b"))
    assert {e.label for e in view.graph.edges if e.allowed_now} == {"b2"}


def test_dead_ends_are_hidden_and_counted() -> None:
    graph = draw(compile_regex("a(?=b)[bc]|d(?=e)f|x"), b"")
    assert {e.label for e in graph.edges} == {"ab", "x"}
    assert graph.hidden_dead > 0


@pytest.mark.parametrize("name", shipped_names())
def test_the_path_drawn_leads_from_the_start_to_the_current_state(name: str) -> None:
    constraint, trace = compile_source(example(name).constraint), shipped_trace(name)
    for step in trace.steps:
        view = look(constraint, trace.text[: step.offset])
        start = [s.id for s in view.graph.states if s.start]
        if not view.graph.whole or not any(s.id == view.current for s in view.graph.states):
            continue
        reached, taken = set(start), [e for e in view.graph.edges if e.on_path]
        while more := {e.target for e in taken if e.source in reached} - reached:
            reached |= more
        assert view.current in reached, trace.text[: step.offset]


def test_a_deep_stack_is_read_in_time() -> None:
    view = look(CONSTRAINTS["Nested list"], b"[" * 2_000)
    assert len(view.frames) == 2_000
    assert view.passed[-1].depth == 1_999


# Sizes.


def many(count: int) -> Constraint:
    kinds = [{"type": "string", "maxLength": 20}, {"type": "integer"}, {"enum": ["red", "green"]}]
    return schema({f"field_{i}": kinds[i % 3] for i in range(count)})


@pytest.mark.parametrize("entry", [e for e in EXAMPLES if e.constraint], ids=lambda e: e.name)
def test_no_picture_is_larger_than_what_is_laid_out(entry: Any) -> None:
    constraint = compile_source(entry.constraint)
    view = look(constraint, b"")
    for rule in [None, *(r.number for r in view.rules)]:
        graph = look(constraint, b"", rule=rule).graph
        assert len(graph.states) <= MOST_DRAWN
        assert len(graph.edges) <= MOST_EDGES
        ids = {state.id for state in graph.states}
        assert all(e.source in ids and e.target in ids for e in graph.edges)


def test_a_large_schema_is_counted_in_slices_and_shown_around_a_state() -> None:
    constraint = many(100)
    slices = 0
    while not (view := look(constraint, b'{"field_0":"a')).complete:
        slices += 1
        assert slices < 200
    assert view.graph.total_states is not None
    assert view.graph.total_states > 1_500
    assert not view.graph.whole
    assert view.graph.middle == view.current
    assert view.owned["/properties/field_3"] > 10
    near = look(constraint, b"", around=view.current).graph
    assert near.middle == view.current
    assert any(s.id == view.current and not s.current for s in near.states)
    of_part = look(constraint, b"", part="/properties/field_50")
    middle = next(s for s in of_part.graph.states if s.id == of_part.graph.middle)
    assert middle.origin is not None
    assert middle.origin.pointer == "/properties/field_50"
    assert look(constraint, b"", around=10**9).graph == look(constraint, b"").graph


def test_a_look_is_quick_however_large_the_schema() -> None:
    constraint = many(300)
    look(constraint, b"")
    started = time.process_time()
    look(constraint, b'{"field_0":"abc')
    assert time.process_time() - started < 0.5


def test_the_path_may_not_leave_the_language() -> None:
    with pytest.raises(ValueError, match="leaves the language"):
        look(many(2), b"[")
    with pytest.raises(ValueError, match="leaves the language"):
        look(CONSTRAINTS["Nested list"], b"{")


def test_states_are_found_by_number_part_and_what_remains() -> None:
    constraint = many(3)
    view = look(constraint, b'{"field_0":"ab')
    every = find_states(constraint, b'{"field_0":"ab', most=1_000)
    assert every.found == every.known == len(every.rows)
    current = next(row for row in every.rows if row.id == view.current)
    assert current.visits == sum(passed.state == view.current for passed in view.passed)
    assert find_states(constraint, b"", "field_1").found >= 1
    assert all("field_1" in f"{row.origin} {row.label}" for row in find_states(constraint, b"", "FIELD_1").rows)
    assert find_states(constraint, b"", str(view.current)).rows[0].id == view.current
    assert find_states(constraint, b"", "accepting").found == 1
    assert find_states(constraint, b"", "no such state").rows == ()


# The textbook's automaton.


def test_classic_reads_characters_and_ours_bytes() -> None:
    constraint = compile_regex("[é😀]")
    characters, in_bytes = classic("[é😀]", constraint), draw_bytes(constraint)
    assert [(e.source, e.label) for e in characters.edges] == [(characters.states[0].id, "[é😀]")]
    assert [s.accepting for s in characters.states].count(True) == 1
    assert in_bytes is not None
    assert sorted(e.label for e in in_bytes.edges) == ["<80>", "<98>", "<9F>", "<A9>", "<C3>", "<F0>"]


def test_classic_is_minimal() -> None:
    """Aho, Sethi and Ullman's example has four states."""
    graph = classic("(a|b)*abb", compile_regex("(a|b)*abb"))
    assert len(graph.states) == 4
    assert sorted(e.label for e in graph.edges) == ["a"] * 4 + ["b"] * 4
    assert sum(s.start for s in graph.states) == 1


def test_classic_leaves_out_dead_states_and_says_any_character() -> None:
    graph = classic('"[^"]*"', compile_regex('"[^"]*"'))
    assert {e.label for e in graph.edges} == {'"', 'any character but "'}


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"a\b", "does not know"),
        (r"[ab]*a[ab]{13}", "takes longer"),
        (r"[]a]", "would be wrong"),
        (r"\w+", "would be wrong"),
        ("a" * 300, "at most 200"),
        ("a{100}", "has 101 states"),
    ],
)
def test_classic_refuses_what_it_cannot_show(pattern: str, reason: str) -> None:
    with pytest.raises(ConstraintError, match=reason):
        classic(pattern, compile_regex(pattern))


def test_bytes_are_drawn_only_where_they_fit() -> None:
    assert draw_bytes(compile_regex("[ab]*a[ab]{13}")) is None
    assert draw_bytes(compile_regex(r"\w+")) is None


def test_a_room_that_works_holds_up_all_looks_at_an_automaton_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,002 states in two chains, of which 200 are looked at in any case; the first may take what time it needs."""
    monkeypatch.setattr(explorer._bustle, "permits", lambda most, seldom: False)
    monkeypatch.setattr(explorer, "SPARED", 60.0)
    pattern = f"a{'b' * 1000}|b{'a' * 1000}"
    monkeypatch.setattr(explorer, "TIME_AT_FIRST", 60.0)
    assert look(compile_regex(pattern), b"").graph.whole
    monkeypatch.setattr(explorer, "TIME_AT_FIRST", 0.0)
    constraint = compile_regex(pattern)
    assert [look(constraint, b"").known for _ in range(2)] == [explorer.FEWEST_COUNTED + 1] * 2
