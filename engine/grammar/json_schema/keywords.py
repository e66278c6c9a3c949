"""The keywords of JSON Schema: which draft knows them, what their values must look like, and which are refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from engine.errors import ConstraintError
from engine.grammar.json_schema.formats import REFUSED as REFUSED_FORMATS
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.source import escape

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def _is_schema(value: Any) -> bool:
    return isinstance(value, (bool, dict))


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_schema_or_schemas(value: Any) -> bool:
    return _is_schema(value) or (isinstance(value, list) and all(map(_is_schema, value)))


def _is_named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    if not _is_number(value) or value < 0:
        return False
    return isinstance(value, int) or (value.adjusted() < 19 and value == value.to_integral_value())


def _is_type(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(n, str) and n in TYPES for n in value) and len(set(value)) == len(value)
    return isinstance(value, str) and value in TYPES


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_named_names(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_names, value.values()))


def _is_dependencies(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_names(part) or _is_schema(part) for part in value.values())


Check = tuple[Callable[[Any], bool], str]
SCHEMA: Check = (_is_schema, "a schema (an object, true or false)")
SCHEMAS: Check = (_is_schemas, "a non-empty list of schemas")
NAMED_SCHEMAS: Check = (_is_named_schemas, "an object whose values are schemas")
COUNT: Check = (_is_count, "a whole number, 0 or more")
NUMBER: Check = (_is_number, "a number")
STRING: Check = (lambda value: isinstance(value, str), "a string")
BOOLEAN: Check = (lambda value: isinstance(value, bool), "true or false")

CHECKS: dict[str, Check] = {
    "$ref": STRING,
    "$dynamicRef": STRING,
    "type": (_is_type, f"one of {', '.join(TYPES)}, or a list of distinct ones"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    "const": (lambda value: True, "a JSON value"),
    "minLength": COUNT,
    "maxLength": COUNT,
    "pattern": STRING,
    "format": STRING,
    "minimum": NUMBER,
    "maximum": NUMBER,
    "exclusiveMinimum": NUMBER,
    "exclusiveMaximum": NUMBER,
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "items": SCHEMA,
    "prefixItems": SCHEMAS,
    "additionalItems": SCHEMA,
    "minItems": COUNT,
    "maxItems": COUNT,
    "uniqueItems": BOOLEAN,
    "contains": SCHEMA,
    "minContains": COUNT,
    "maxContains": COUNT,
    "unevaluatedItems": SCHEMA,
    "properties": NAMED_SCHEMAS,
    "patternProperties": NAMED_SCHEMAS,
    "additionalProperties": SCHEMA,
    "propertyNames": SCHEMA,
    "required": (_is_names, "a list of names"),
    "minProperties": COUNT,
    "maxProperties": COUNT,
    "dependentRequired": (_is_named_names, "an object whose values are lists of names"),
    "dependentSchemas": NAMED_SCHEMAS,
    "dependencies": (_is_dependencies, "an object whose values are schemas or lists of names"),
    "unevaluatedProperties": SCHEMA,
    "allOf": SCHEMAS,
    "anyOf": SCHEMAS,
    "oneOf": SCHEMAS,
    "not": SCHEMA,
    "if": SCHEMA,
    "then": SCHEMA,
    "else": SCHEMA,
}
"""Keywords that are enforced, with the test that their value must pass and that test in words."""

REFERENCES = frozenset(("$ref", "$dynamicRef"))
"""Keywords that refer to a subschema."""

NAMED = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
"""Keywords that hold subschemas by name."""

WITH_SUBSCHEMAS = NAMED | {keyword for keyword, check in CHECKS.items() if check in (SCHEMA, SCHEMAS, NAMED_SCHEMAS)}

_SINCE_2020 = {"prefixItems", "$dynamicRef"}
_SINCE_2019 = {
    "minContains",
    "maxContains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentRequired",
    "dependentSchemas",
}
_SINCE_7 = {"if", "then", "else"}
_SINCE_6 = {"const", "contains", "propertyNames"}
_ALL = set(CHECKS)

KNOWN: dict[str, frozenset[str]] = {
    "2020-12": frozenset(_ALL - {"additionalItems", "dependencies"}),
    "2019-09": frozenset(_ALL - _SINCE_2020 - {"dependencies"}),
    "draft-07": frozenset(_ALL - _SINCE_2020 - _SINCE_2019),
    "draft-06": frozenset(_ALL - _SINCE_2020 - _SINCE_2019 - _SINCE_7),
    "draft-04": frozenset(_ALL - _SINCE_2020 - _SINCE_2019 - _SINCE_7 - _SINCE_6),
}
"""The enforced keywords of each draft. All others are annotations to it, as the specification says."""

ANNOTATIONS = frozenset(
    {"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$defs", "definitions", "$comment", "$vocabulary", "title"}
    | {"description", "default", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding"}
    | {"contentMediaType", "contentSchema"}
)
"""Known keywords that forbid nothing."""


REFUSABLE = frozenset(("$recursiveRef", "format"))
"""Keywords that cannot always be enforced."""


def refusal(keyword: str, value: Any, draft: str, options: Options) -> str:
    """Why a keyword cannot be enforced, "" if it is, or needs not be."""
    if keyword == "$recursiveRef" and draft == "2019-09":
        return "what it refers to depends on how it is reached; use $ref"
    if keyword == "format" and options.formats == "enforce" and isinstance(value, str) and value in REFUSED_FORMATS:
        return f"the format {value!r} is not enforced ({REFUSED_FORMATS[value]}); use formats='annotate' to allow that"
    return ""


def check(pointer: str, keyword: str, value: Any, draft: str) -> None:
    """Raise `ConstraintError` if the value of an enforced keyword is malformed."""
    passes, words = CHECKS[keyword]
    if keyword == "items" and draft != "2020-12":
        passes, words = _is_schema_or_schemas, "a schema or a list of schemas"
    elif draft == "draft-04" and keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        passes, words = BOOLEAN
    if not passes(value):
        place = f"{pointer}/{escape(keyword)}"
        raise ConstraintError(f"The value of {keyword!r} at {place} must be {words}.", pointer=place, keyword=keyword)
