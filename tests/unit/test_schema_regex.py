"""A schema as a regex: what it says, compared with the compiled schema by the textbook's automaton; what it refuses."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest

from engine import ConstraintError, compile_json_schema
from engine.analysis.schema_regex import schema_regex
from engine.automaton.classic import built, difference


def closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}},
}


@pytest.mark.parametrize(
    "schema",
    [
        closed({"ok": {"type": "boolean"}, "n": {"type": "integer"}}, ["ok"]),
        closed({"a": {"type": "null"}, "b": {"enum": ["x+y", 1.5]}, "c": {"const": {"k": [1]}}}, ["a", "c"]),
        closed({"id": {"type": "string", "pattern": "^([a-f][0-9]|zz)$"}}, ["id"]),
        closed({}, []),
        {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
        {"type": "array", "items": {"type": "integer"}},
        {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    ],
    ids=str,
)
def test_the_regex_has_the_language_of_the_schema(schema: dict[str, Any]) -> None:
    assert difference(built(schema_regex(schema)), compile_json_schema(schema, whitespace="compact")) is None


def test_a_regex_by_hand() -> None:
    schema = closed({"ok": {"type": "boolean"}, "n": {"type": "integer"}}, ["ok"])
    assert schema_regex(schema) == r'\{"ok":(true|false)(,"n":-?(0|[1-9][0-9]*))?\}'


def test_a_reference_into_itself_is_unrolled_to_the_depth() -> None:
    pattern = schema_regex(TREE, 3)
    assert re.fullmatch(pattern, "[[[],[]],[]]")
    assert not re.fullmatch(pattern, "[[[[]]]]")


def test_each_level_more_than_doubles_the_regex() -> None:
    lengths = [len(schema_regex(TREE, depth)) for depth in range(1, 9)]
    assert all(after > 2 * before for before, after in pairwise(lengths))


def test_the_unrolled_automaton_differs_where_the_depth_ends() -> None:
    assert difference(built(schema_regex(TREE, 3)), compile_json_schema(TREE, whitespace="compact")) == "[[[["


@pytest.mark.parametrize(
    ("schema", "depth", "said"),
    [
        (TREE, 0, "greater depth"),
        (TREE, 30, "characters"),
        ({"type": "number"}, 0, "number"),
        ({"type": "integer", "minimum": 3}, 0, "minimum"),
        ({"type": "string", "pattern": "^a$", "maxLength": 1}, 0, "two automata"),
        ({"type": "string", "pattern": "^a|b$"}, 0, "choice"),
        ({"type": "string", "pattern": "a"}, 0, "begins with"),
        ({"type": "object", "properties": {}}, 0, "additionalProperties"),
        (closed({"a": {"type": "null"}}, []), 0, "first property"),
        ({"$ref": "#/$defs/none"}, 1, "nowhere"),
        (True, 0, "no object"),
    ],
)
def test_what_it_cannot_say_it_refuses(schema: Any, depth: int, said: str) -> None:
    with pytest.raises(ConstraintError, match=said):
        schema_regex(schema, depth)
