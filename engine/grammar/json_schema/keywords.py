"""The keywords of JSON Schema: which are enforced, which are annotations, and what their values must look like."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal

from engine.errors import ConstraintError
from engine.grammar.json_schema.source import escape

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def _is_schema(value: Any) -> bool:
    return isinstance(value, (bool, dict))


def _is_count(value: Any) -> bool:
    if isinstance(value, Decimal) and value.adjusted() < 19:
        return value >= 0 and value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(name in TYPES for name in value) and len(set(value)) == len(value)
    return isinstance(value, str) and value in TYPES


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_anything(value: Any) -> bool:
    return True


COUNT = (_is_count, "a whole number, 0 or more")
SCHEMA = (_is_schema, "a schema (an object, true or false)")
SCHEMAS = (_is_schemas, "a non-empty list of schemas")
NAMED_SCHEMAS = (_is_named_schemas, "an object whose values are schemas")
STRING = (_is_string, "a string")

ENFORCED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "$ref": STRING,
    "type": (_is_type, f"one of {', '.join(TYPES)}, or a list of distinct ones"),
    "enum": (_is_list, "a list"),
    "const": (_is_anything, "a JSON value"),
    "minLength": COUNT,
    "maxLength": COUNT,
    "pattern": STRING,
    "items": SCHEMA,
    "minItems": COUNT,
    "maxItems": COUNT,
    "properties": NAMED_SCHEMAS,
    "required": (_is_names, "a list of names"),
    "additionalProperties": SCHEMA,
    "allOf": SCHEMAS,
    "anyOf": SCHEMAS,
}
"""Keywords that are enforced, with the test that their value must pass and that test in words."""

ANNOTATIONS = frozenset(
    ["$schema", "$id", "$anchor", "$defs", "definitions", "$comment", "$vocabulary", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema"]
)
"""Keywords that forbid nothing, by the specification."""

REFUSED = frozenset(
    ["$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format", "prefixItems", "additionalItems", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems", "patternProperties", "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "oneOf", "not", "if", "then", "else"]
)
"""Keywords that the specification asks to enforce and that are not, yet."""


def unsupported(keyword: str, draft: str) -> str:
    """Why a keyword cannot be enforced, "" if it is or needs not be. Unknown keywords are annotations."""
    return "it is not enforced yet, and ignoring it would accept invalid texts" if keyword in REFUSED else ""


def check(pointer: str, keyword: str, value: Any, draft: str) -> None:
    """Raise `ConstraintError` if the value of an enforced keyword is malformed."""
    rule = ENFORCED.get(keyword)
    if rule is None:
        return
    passes, words = rule
    if not passes(value):
        place = f"{pointer}/{escape(keyword)}"
        raise ConstraintError(f"The value of {keyword!r} at {place} must be {words}.", pointer=place, keyword=keyword)


def holds(keyword: str, value: Any) -> Literal["schema", "list", "names", ""]:
    """What subschemas stand below a keyword."""
    rule = ENFORCED.get(keyword)
    if rule is SCHEMA:
        return "schema"
    if rule is SCHEMAS:
        return "list"
    return "names" if rule is NAMED_SCHEMAS else ""
