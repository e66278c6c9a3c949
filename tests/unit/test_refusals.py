"""What a refused schema leaves: nothing that waits for the collector, which looks at everything once an hour."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from engine import Budget, compile_json_schema
from engine.errors import ConstraintError

LONG = {"type": "string", "minLength": 100_000, "pattern": "^[a-z]+$"}
OVERLAPPING = {"oneOf": [{"type": "integer", "minimum": number} for number in range(60)]}
CONDITIONS = [
    {"if": {"properties": {"t": {"const": n}}}, "then": {"required": [f"a{n}"], "properties": {"b": LONG}}}
    for n in range(8)
]
FEW = Budget(terms=20_000)


@pytest.mark.parametrize(
    ("schema", "budget"),
    [
        (LONG, FEW),
        ({"allOf": [OVERLAPPING, {"required": ["a"], "properties": {"a": LONG}, "type": "object"}]}, FEW),
        ({"allOf": CONDITIONS, "required": ["b"], "type": "object"}, FEW),
        ({"$defs": {"a": {"required": ["a"], "type": "object", "properties": {"a": {"$ref": "#"}}}}, **LONG}, FEW),
        ({"type": "array", "uniqueItems": True, "minItems": 3, "items": {"enum": [1, 2]}}, Budget()),
        ({"type": "string", "pattern": "^(a|b)+$", "minLength": 9, "maxLength": 3}, Budget()),
        ({"type": "string", "pattern": "("}, Budget()),
    ],
)
def test_what_was_refused_is_freed_at_once(schema: Any, budget: Budget) -> None:
    compile_json_schema({"type": "string", "pattern": "^x$"})  # what all schemas share is made
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        with pytest.raises(ConstraintError):
            compile_json_schema(schema, budget=budget)
        assert len(gc.get_objects()) - before < 200
    finally:
        gc.enable()
