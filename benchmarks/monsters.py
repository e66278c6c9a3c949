"""Sources made to hurt, as visitors paste them: large, deep, exponential for whoever builds all states."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]


def _nested(depth: int, around: Callable[[Schema], Schema]) -> Schema:
    inside: Schema = {"type": "integer"}
    for _ in range(depth):
        inside = around(inside)
    return inside


def _object(name: str, value: Schema) -> Schema:
    return {"type": "object", "properties": {name: value}, "required": [name]}


def _chain(length: int, link: Callable[[Schema], Schema]) -> Schema:
    """Definitions each of which refers to the next."""
    defs = {f"d{i}": link({"$ref": f"#/$defs/d{i + 1}"}) for i in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{length}": {"type": "integer"}}}


def _kind(number: int) -> Schema:
    return _object("t", {"const": f"kind {number}"}) | {"additionalProperties": False}


_VALUES = [f"value {number}" for number in range(2000)]

_SCHEMAS: dict[str, Schema] = {
    "exponential pattern": {"type": "string", "pattern": "^[ab]*a[ab]{13}$"},
    "nested counters": {"type": "string", "pattern": "^((a{1,50}){1,50}){1,50}$"},
    "maxLength 60": {"type": "string", "maxLength": 60},
    "lengths in an array": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 5},
    "minLength and pattern": {"type": "string", "minLength": 1_000_000, "pattern": "^[a-z]+$"},
    "an enum of 2,000": {"type": "object", "properties": {"a": {"enum": _VALUES}}, "required": ["a"]},
    "not in an enum": {"not": {"enum": _VALUES}},
    "unique values": {"type": "array", "items": {"enum": _VALUES}, "uniqueItems": True},
    "100 levels": _nested(100, lambda inner: _object("a", inner)),
    "80 nots": _nested(80, lambda inner: {"not": {"properties": {"a": inner}}}),
    "anyOf of 1,000": {"anyOf": [_kind(number) for number in range(1000)]},
    "oneOf that overlap": {"oneOf": [{"type": "integer", "minimum": number} for number in range(1000)]},
    "60 fields": {"properties": {f"field{n}": {"type": "string", "maxLength": 20} for n in range(60)}},
    "10,000 members": {"properties": {f"p{n}": {"type": "string", "description": "x" * 60} for n in range(10_000)}},
    "2,000 references": _chain(2000, lambda inner: _object("a", inner)),
    "2^20 ways": _chain(20, lambda inner: {"allOf": [inner, inner]}),
    "16 contains": {"allOf": [{"contains": _object(f"a{n}", {"const": n})} for n in range(16)]},
    "12 patterns": {"patternProperties": {letter: {"minimum": 1} for letter in "abcdefghijkl"}},
    "conditions": {
        "allOf": [{"if": _object("t", {"const": n}), "then": {"required": [f"a{n}"]}} for n in range(100)],
    },
}

MONSTERS: list[tuple[str, str]] = [(name, json.dumps(schema)) for name, schema in _SCHEMAS.items()]
"""Name and text of each."""
