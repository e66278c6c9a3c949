"""Questions about one schema object that decide whether a rule of an engine applies to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

Schema = Mapping[str, Any]
Condition = Callable[[Schema], bool]

PLACES = frozenset(["$anchor", "$defs", "$id", "$schema", "definitions"])
WORDS = frozenset(["$comment", "default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly"])
ANNOTATIONS = PLACES | WORDS
BY_TYPE = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties", "patternProperties"),
}
SPECIFIC = tuple(keyword for keywords in BY_TYPE.values() for keyword in keywords)
CHOOSING = ("$ref", "$dynamicRef", "enum", "const", "anyOf", "oneOf", "allOf")

LOOKAROUND = re.compile(r"\(\?<?[=!]")
WORD_BOUNDARY = re.compile(r"(?<!\\)(?:\\\\)*\\[bB]")
BACKREFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[1-9]|k<)")
PROPERTY_CLASS = re.compile(r"(?<!\\)(?:\\\\)*\\[pP]\{")
LETTER_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\[^\\^$.\[\]()|{}*+?\"]")


def has(keyword: str) -> Condition:
    """The keyword is there."""
    return lambda schema: keyword in schema


def beside(keyword: str, *others: str) -> Condition:
    """The keyword is there with one of some others; without others named: with any that is not an annotation."""

    def condition(schema: Schema) -> bool:
        rest = schema.keys() - ANNOTATIONS - {keyword}
        return keyword in schema and bool(rest & set(others) if others else rest)

    return condition


def without(keyword: str, other: str) -> Condition:
    """The keyword is there and another is not."""
    return lambda schema: keyword in schema and other not in schema


def both(first: Condition, second: Condition) -> Condition:
    """Two conditions at once."""
    return lambda schema: first(schema) and second(schema)


def either(first: Condition, second: Condition) -> Condition:
    """At least one of two conditions."""
    return lambda schema: first(schema) or second(schema)


def is_true(keyword: str) -> Condition:
    """The keyword is switched on."""
    return lambda schema: schema.get(keyword) is True


def several(keyword: str) -> Condition:
    """The keyword lists two or more schemas."""
    return lambda schema: isinstance(schema.get(keyword), list) and len(schema[keyword]) > 1


def types(schema: Schema) -> tuple[Any, ...]:
    """The types that a schema names."""
    named = schema.get("type", ())
    return tuple(named) if isinstance(named, (list, tuple)) else (named,)


def is_object(schema: Schema) -> bool:
    """The schema describes objects."""
    return "object" in types(schema) or "properties" in schema


def admits_fractions(schema: Schema) -> bool:
    """Numbers need not be whole."""
    return "number" in types(schema) or not schema.keys() & {"type", "enum", "const"}


def is_typeless(schema: Schema) -> bool:
    """Keywords that speak about one type stand without a type."""
    return not schema.keys() & {"type", *CHOOSING} and bool(schema.keys() & set(SPECIFIC))


def names_no_type(schema: Schema) -> bool:
    """Neither a type nor anything that implies one."""
    return not schema.keys() & {"type", *CHOOSING}


def has_extra_types(schema: Schema) -> bool:
    """A list of types beside keywords about one of them."""
    return len(types(schema)) > 1 and bool(schema.keys() & set(SPECIFIC))


def leaves_members_open(schema: Schema) -> bool:
    """Properties are declared, others neither admitted nor forbidden."""
    return "properties" in schema and not schema.keys() & {"additionalProperties", "unevaluatedProperties"}


def admits_more_members(schema: Schema) -> bool:
    """Properties are declared and others admitted."""
    return "properties" in schema and schema.get("additionalProperties", False) is not False


def declares_too_little(schema: Schema) -> bool:
    """A required name is no declared property."""
    required, properties = schema.get("required"), schema.get("properties", {})
    return (
        isinstance(required, list) and isinstance(properties, dict) and not set(map(str, required)) <= set(properties)
    )


def optional_first(schema: Schema) -> bool:
    """An optional property is declared before a required one."""
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    asked = [name in required for name in properties]
    return True in asked and False in asked[: len(asked) - asked[::-1].index(True)]


def names_need_escapes(schema: Schema) -> bool:
    """A declared name contains a character that JSON escapes."""
    properties = schema.get("properties")
    return isinstance(properties, dict) and any(c in '"\\' or c < " " for name in properties for c in name)


def has_empty_property(schema: Schema) -> bool:
    """A property may have any value."""
    properties = schema.get("properties")
    return isinstance(properties, dict) and {} in properties.values()


def enum_beyond_type(schema: Schema) -> bool:
    """An enum next to a type that excludes some of its values."""
    admitted = types(schema)
    values = schema.get("enum")
    if "type" not in schema or not isinstance(values, list):
        return False
    return not all(
        type_of(value) in admitted or (type_of(value) == "integer" and "number" in admitted) for value in values
    )


def enum_of_several_types(schema: Schema) -> bool:
    """An enum whose values are not all strings, or not all numbers."""
    values = schema.get("enum")
    kinds = {type_of(value) for value in values} if isinstance(values, list) else set()
    return len(kinds) > 1 or bool(kinds & {"array", "object"})


def enum_of_structures(schema: Schema) -> bool:
    """An enum with an array or object among its values."""
    values = schema.get("enum")
    return isinstance(values, list) and any(isinstance(value, (list, dict)) for value in values)


def type_of(value: Any) -> str:
    """The JSON type of a value; whole numbers are integers."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (str, list, dict)):
        return {str: "string", list: "array", dict: "object"}[type(value)]
    whole = value == value.to_integral_value() if isinstance(value, Decimal) else value % 1 == 0
    return "integer" if whole else "number"


def matching(regex: re.Pattern[str]) -> Condition:
    """The pattern contains a construct."""
    return lambda schema: isinstance(schema.get("pattern"), str) and regex.search(schema["pattern"]) is not None


def unanchored(schema: Schema) -> bool:
    """The pattern is not held at both ends, so that searching and matching the whole differ."""
    pattern = schema.get("pattern")
    if not isinstance(pattern, str):
        return False
    held = pattern.startswith("^") and pattern.endswith("$") and not pattern.endswith("\\$")
    return not held or has_top_alternation(schema)


def has_top_alternation(schema: Schema) -> bool:
    """The pattern is an alternation outside of any group."""
    pattern = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", str(schema.get("pattern", "")))
    depth = 0
    for character in pattern:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "|" and depth == 0:
            return True
    return False


def format_beyond(*known: str) -> Condition:
    """A format that is not one of these."""
    return lambda schema: "format" in schema and schema["format"] not in known


def format_among(*named: str) -> Condition:
    """One of these formats."""
    return lambda schema: schema.get("format") in named


def refers_by_name(schema: Schema) -> bool:
    """A reference to an anchor or an address instead of a place."""
    reference = schema.get("$ref")
    return isinstance(reference, str) and reference != "#" and not reference.startswith("#/")


def refers_outside(schema: Schema) -> bool:
    """A reference to another document."""
    reference = schema.get("$ref")
    return isinstance(reference, str) and not reference.startswith("#")


def refers_to_root(schema: Schema) -> bool:
    """A reference to the whole document."""
    return schema.get("$ref") == "#"


def above(keyword: str, most: int) -> Condition:
    """The number is greater than some."""

    def condition(schema: Schema) -> bool:
        value = schema.get(keyword)
        return not isinstance(value, (str, list, dict, bool)) and value is not None and value > most

    return condition


def lists_items(schema: Schema) -> bool:
    """`items` is a list of schemas, as in draft 7."""
    return isinstance(schema.get("items"), list)
