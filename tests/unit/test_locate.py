"""Places in a source: found by pointer and pointers by place, in texts that are JSON and in those that aren't yet."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.decoding.records import ConstraintSource
from engine.grammar.json_schema.source import escape, spans
from engine.grammar.locate import DEEPEST, Located, fault, locate, locate_json

SCHEMA = '{"type": "object", "properties": {"a/b": {"enum": [1, "x"]}}}'
VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | some.text(),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


def parts(text: str) -> list[tuple[str, str]]:
    return [(p.pointer, text[p.start : p.end]) for p in locate_json(text).parts]


def test_parts_of_a_schema() -> None:
    assert parts(SCHEMA) == [
        ("", SCHEMA),
        ("/type", '"type": "object"'),
        ("/properties", '"properties": {"a/b": {"enum": [1, "x"]}}'),
        ("/properties/a~1b", '"a/b": {"enum": [1, "x"]}'),
        ("/properties/a~1b/enum", '"enum": [1, "x"]'),
        ("/properties/a~1b/enum/0", "1"),
        ("/properties/a~1b/enum/1", '"x"'),
    ]


@given(VALUES, some.sampled_from([None, 2]), some.booleans())
def test_as_the_strict_reader_where_it_is_json(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert {p.pointer: (p.start, p.end) for p in locate_json(text).parts} == spans(text)
    assert fault(text) is None


@given(VALUES, some.integers(0, 200), some.integers(0, 200), some.text('{}[]",:1 \n', max_size=5))
def test_any_text_has_parts(value: Any, start: int, length: int, instead: str) -> None:
    text = json.dumps(value)
    text = text[:start] + instead + text[start + length :]
    located = locate_json(text)
    for part in located.parts:
        assert 0 <= part.start <= part.end <= len(text)
    starts = [part.start for part in located.parts]
    assert starts == sorted(starts)
    for offset in range(len(text) + 1):
        pointer = located.at(offset)
        assert pointer is None or located.span(pointer) is not None


@given(VALUES)
def test_there_and_back(value: Any) -> None:
    located = locate_json(json.dumps(value))
    for part in located.parts:
        assert located.at(part.start) in _down(located, part.pointer)
        assert located.span(part.pointer) == (part.start, part.end)


def _down(located: Located, pointer: str) -> set[str]:
    """The part and those that begin where it does."""
    start = located.span(pointer)[0]
    return {p.pointer for p in located.parts if p.start == start}


BROKEN = [
    pytest.param('{"a": 1 "b": 2}', {"/a": '"a": 1', "/b": '"b": 2'}, id="comma missing"),
    pytest.param('{"a": {"b": 1, "c"', {"/a/b": '"b": 1', "/a/c": '"c"', "/a": '"a": {"b": 1, "c"'}, id="cut"),
    pytest.param('{"a": {"b": 1,}, "c": 2,}', {"/a/b": '"b": 1', "/c": '"c": 2'}, id="commas too many"),
    pytest.param('{"a": [1}, "b": 2}', {"/a/0": "1"}, id="wrong bracket"),
    pytest.param('{"a": "no end,\n "b": 2}', {"/a": '"a": "no end,', "/b": '"b": 2'}, id="string without an end"),
    pytest.param("{a: 1, 'b': true}", {"/a": "a: 1", "/b": "'b': true"}, id="names without quotes"),
    pytest.param('{"a": 1}} {"b"', {"/a": '"a": 1'}, id="bracket too many"),
]


@pytest.mark.parametrize(("text", "found"), BROKEN)
def test_broken_texts_have_parts_too(text: str, found: dict[str, str]) -> None:
    known = dict(parts(text))
    assert {pointer: known.get(pointer) for pointer in found} == found


def test_a_name_that_occurs_twice() -> None:
    text = '{"a": 1, "b": 0, "a": 2}'
    located = locate_json(text)
    assert located.at(text.index("1")) == "/a"
    assert located.at(text.index("2")) == "/a"
    assert located.span("/a") == (17, 23)


def test_the_innermost_part_is_at_a_caret() -> None:
    located = locate_json('{"a": {"b": 1}}')
    assert [located.at(i) for i in (0, 1, 7, 13, 14, 15)] == ["", "/a", "/a/b", "/a/b", "/a", ""]
    assert locate_json("  1").at(0) is None


PLACES = [
    ("/properties/a~1b/enum/1", '"x"'),
    ("/properties/a~1b/minimum", '"a/b": {"enum": [1, "x"]}'),
    ("", SCHEMA),
    ("line 1, column 3", "t"),
    ("1-7", '"type"'),
    ("1", '"'),
    ("line 7, column 99", ""),
    ("9000-9001", ""),
]


@pytest.mark.parametrize(("place", "text"), PLACES)
def test_places_as_they_are_named(place: str, text: str) -> None:
    start, end = locate_json(SCHEMA).span(place)
    assert SCHEMA[start : max(end, start)].startswith(text)
    assert (start == end) == (text == "")


def test_a_grammar_has_its_rules() -> None:
    text = 'start: "[" item "]"\n?item: NUMBER\n'
    located = locate(ConstraintSource("lark", text))
    assert located.span("item") == (20, 33)
    assert located.at(25) == "item"


def test_a_regex_is_marked_by_offsets() -> None:
    located = locate(ConstraintSource("regex", "a(b|c)"))
    assert located.span("1-6") == (1, 6)
    assert located.at(2) is None


FAULTS = [
    ('{"a": 1,\n "b" 2}', 2, 6, "2", "A colon is missing before this."),
    ('{"a": 1\n "b": 2}', 2, 2, '"b"', "A comma or a closing bracket is missing before this."),
    ('{"a": 1,}', 1, 8, ",", "There is a comma too many: nothing follows it."),
    ("[1, ]", 1, 3, ",", "There is a comma too many: nothing follows it."),
    ('{"a": NaN}', 1, 7, "NaN", "NaN is not a JSON value."),
    ("{a: 1}", 1, 2, "a", "A name in double quotes should stand here."),
    ('{"a": ', 1, 6, "", "The text ends too early: a bracket, a quote or a value is missing."),
    ('{"a": 1} x', 1, 10, "x", "The JSON ends before this; nothing may follow it."),
    ('["a\\d"]', 1, 4, "\\", "JSON has no such escape."),
    ('["a', 1, 2, '"a', "This string has no closing quote."),
    ("[TRUE]", 1, 2, "TRUE", "A value should stand here."),
]


@pytest.mark.parametrize(("text", "line", "column", "blamed", "message"), FAULTS)
def test_where_a_text_stops_being_json(text: str, line: int, column: int, blamed: str, message: str) -> None:
    found = fault(text)
    assert found is not None
    assert (found.line, found.column, found.message) == (line, column, message)
    assert text[found.start : found.end].startswith(blamed)
    assert (found.start == found.end) == (blamed == "")


def test_numbers_of_any_length_are_json() -> None:
    assert fault("9" * 10_000) is None


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "]" * 100_000, '"' * 100_000])
def test_hostile_texts_are_read_in_time(text: str) -> None:
    begun = time.process_time()
    located = locate_json(text)
    assert located.at(len(text) // 2) is not None or not located.parts
    assert time.process_time() - begun < 3
    assert max((p.pointer.count("/") for p in located.parts), default=0) <= DEEPEST


def test_pointers_are_escaped() -> None:
    text = json.dumps({"~/": {"": 1}})
    assert locate_json(text).at(text.index("1")) == f"/{escape('~/')}/"
