"""A schema that a glance admits has a value that printable ASCII spells: found the long way here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from engine.automaton.liveness import Liveness
from engine.budget import Budget
from engine.errors import ConstraintError
from engine.grammar.json_schema import source
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Document
from engine.grammar.json_schema.lexicon import arena_for
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.values import Values
from tests.unit.random_schemas import schemas

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def glance(schema: Any, **options: Any) -> bool:
    document = Document(source.from_python(schema, Budget()), Options(**options))
    values = Values(document, document.options, arena_for(document.options, Budget()))
    return values.glance.admits(document.root)


def shortest(schema: Any) -> Any:
    """A shortest text in printable ASCII, by the automaton's own structure."""
    options = Options()
    document, arena = Document(source.from_python(schema, Budget()), options), arena_for(options, Budget())
    values = Values(document, options, arena)
    return Liveness(arena, range(0x20, 0x7F)).planned(values.of(conjunction(document.root), ""))


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minLength": 2}}},
        {"type": "array", "minItems": 2, "prefixItems": [{"type": "null"}], "items": {"const": 3}},
        {"type": "number", "minimum": 1, "exclusiveMaximum": 3},
        {"multipleOf": 3, "minimum": -1, "type": "integer"},
        {"enum": ["é", "a"], "type": "string"},
        {"oneOf": [{"type": "string"}, {"type": ["null", "integer"]}]},
        {"$schema": DRAFT_7, "type": "array", "items": [True, False], "minItems": 1},
        {"type": "object", "dependentRequired": {"a": ["b"]}, "required": ["c"]},
        {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": []},
        {"type": "string", "format": "date-time"},
        {"type": "string", "pattern": "^[a-zé]+$"},
    ],
)
def test_admitted(schema: Any) -> None:
    assert glance(schema)
    assert shortest(schema) is not None


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"type": "object", "required": ["a"], "additionalProperties": False},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "required": ["a"], "maxProperties": 0},
        {"type": "array", "minItems": 2, "maxItems": 1},
        {"type": "array", "minItems": 1, "items": {"enum": [1], "type": "string"}},
        {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}},
        {"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"oneOf": [{"type": "integer"}, {"type": "integer"}]},
        {"allOf": [{"type": "string"}, {"type": "null"}]},
        {"anyOf": [False, False]},
        {"enum": []},
        {"$schema": DRAFT_7, "type": "array", "items": [False], "minItems": 1},
        {"type": "object", "dependentRequired": {"a": ["b"]}, "required": ["a"], "properties": {"b": False}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    ],
)
def test_what_nothing_satisfies_is_not_admitted(schema: Any) -> None:
    assert not glance(schema)
    with pytest.raises(ConstraintError) as found:
        compile_json_schema(schema)
    assert found.value.unsatisfiable


@pytest.mark.parametrize(
    "schema", [{"const": "é"}, {"type": "string", "pattern": "^é"}, {"type": "object", "required": ["é"]}]
)
def test_what_ascii_does_not_spell_is_not_admitted(schema: Any) -> None:
    assert not glance(schema)
    assert compile_json_schema(schema)


def test_closed_objects() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"b": True}}
    assert glance(schema)
    assert not glance(schema, objects="closed")


@given(schemas())
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_random_schemas(schema: Any) -> None:
    try:
        admitted = glance(schema)
        text = shortest(schema) if admitted else None
    except ConstraintError:
        return
    assert not admitted or text is not None


def nested(depth: int, innermost: Any) -> Any:
    """Objects in objects, each of which must have the next one."""
    for _ in range(depth):
        innermost = {"type": "object", "required": ["a"], "properties": {"a": innermost}}
    return innermost


def test_nesting_is_seen_through() -> None:
    assert glance(nested(120, {"type": "integer"}))
    assert not glance(nested(120, False))
    assert not glance(nested(60, {"anyOf": [{"$ref": "#"}, False]}))


def test_chains_of_references_are_seen_through() -> None:
    chain = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(3_000)}
    assert glance({"$ref": "#/$defs/d0", "$defs": {**chain, "d3000": {"type": "null"}}})
    assert not glance({"$ref": "#/$defs/d0", "$defs": {**chain, "d3000": {"$ref": "#/$defs/d0"}}})


def test_no_level_of_a_nested_schema_is_made_before_a_value_begins_there() -> None:
    assert len({compile_json_schema(nested(depth, {})).report.terms for depth in (10, 40, 120)}) == 1
