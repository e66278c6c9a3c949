"""A small JSON Schema as one regex, the way the first index-based engines read it (Willard and Louf, 2307.09702).

Only for showing the step: a few keywords, keys in declared order, no white space. What it cannot say it refuses, and a
reference that comes back to itself is unrolled to a depth that one has to choose, for a regex has no name for itself.
The language of the result is compared with the compiled schema's before it is shown (classic.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import ConstraintError

INTEGER = r"-?(0|[1-9][0-9]*)"
LONGEST = 200_000
"""Characters of a regex beyond which unrolling stops."""

_KNOWN = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"pattern", "maxLength", "minLength"},
    "integer": set(),
    "boolean": set(),
    "null": set(),
}
_ALWAYS = {"type", "$defs", "title", "description"}


def schema_regex(schema: Mapping[str, Any], depth: int = 0) -> str:
    """The regex of a schema. `depth`: how often a reference may lead into itself; beyond, that way is left out.

    Raises ConstraintError for what it cannot say, with the keyword or the place.
    """
    written = _Writer(schema).value(schema, depth)
    if written is None:
        raise ConstraintError(f"No value is so shallow that {depth} levels are enough. Choose a greater depth.")
    return written


class _Writer:
    """Turns one document's parts into regexes; None stands for a part that the depth left without any text."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def value(self, schema: Any, depth: int) -> str | None:
        if not isinstance(schema, Mapping):
            raise ConstraintError("A part of the schema is no object; here every part says its type.")
        if "$ref" in schema:
            return self.value(self._target(schema["$ref"]), depth - 1) if depth > 0 else None
        if "enum" in schema or "const" in schema:
            return _literals(schema["enum"] if "enum" in schema else [schema["const"]])
        if "anyOf" in schema:
            return _either([self.value(part, depth) for part in schema["anyOf"]])
        kind = schema.get("type")
        if kind not in _KNOWN:
            raise ConstraintError(f"The type {kind!r} is not among those that this step knows: {', '.join(_KNOWN)}.")
        if unknown := schema.keys() - _KNOWN[kind] - _ALWAYS:
            raise ConstraintError(f"This step does not know the keyword {min(unknown)} of a {kind}.")
        return self._of_type(kind, schema, depth)

    def _of_type(self, kind: str, schema: Mapping[str, Any], depth: int) -> str | None:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return _string(schema)
        return {"integer": INTEGER, "boolean": "(true|false)", "null": "null"}[kind]

    def _target(self, reference: str) -> Any:
        if reference == "#":
            return self._root
        name = reference.removeprefix("#/$defs/")
        if name == reference or name not in self._root.get("$defs", {}):
            raise ConstraintError(f"The reference {reference!r} leads nowhere; here they read #/$defs/name.")
        return self._root["$defs"][name]

    def _object(self, schema: Mapping[str, Any], depth: int) -> str | None:
        if schema.get("additionalProperties") is not False:
            raise ConstraintError("Here an object says additionalProperties: false.")
        names, required = dict(schema.get("properties", {})), schema.get("required", ())
        if names and next(iter(names)) not in required:
            raise ConstraintError("Here the first property is required, so that a comma stands before each other one.")
        parts: list[str] = []
        for name, part in names.items():
            value = self.value(part, depth)
            if value is None and name in required:
                return None
            if value is not None:
                member = f"{',' if parts else ''}{_literal(name)}:{value}"
                parts.append(member if name in required else f"({member})?")
        return _short(r"\{" + "".join(parts) + r"\}")

    def _array(self, schema: Mapping[str, Any], depth: int) -> str | None:
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        item = self.value(schema.get("items"), depth) if high != 0 else None
        if item is None or high == 0:
            return None if low else r"\[\]"
        more = f"(,{item}){{{max(low - 1, 0)},{'' if high is None else high - 1}}}"
        some = f"{item}{more}"
        return _short(rf"\[{some}\]" if low else rf"\[({some})?\]")


def _string(schema: Mapping[str, Any]) -> str:
    if "pattern" not in schema:
        low, high = schema.get("minLength", 0), schema.get("maxLength", "")
        return f'"[ !#-\\[\\]-~]{{{low},{high}}}"'  # one backslash less than JSON: ASCII without escapes
    pattern = schema["pattern"]
    if "maxLength" in schema or "minLength" in schema:
        raise ConstraintError("A pattern and a length together need two automata at once; this step has one.")
    if not (pattern.startswith("^") and pattern.endswith("$")):
        raise ConstraintError("Here a pattern begins with ^ and ends with $, so that it says the whole string.")
    if "|" in pattern and not re.fullmatch(r"\^\([^()]*\)\$", pattern):
        raise ConstraintError("Here a choice in a pattern has brackets around it, ^ and $ outside: ^(a|b)$.")
    return f'"({pattern[1:-1]})"'


def _literals(values: Sequence[Any]) -> str | None:
    return _either([_literal(value) for value in values])


def _literal(value: Any) -> str:
    return re.sub(r'([^\w\s":,<>=!~`\'@#%&;/-])', r"\\\1", json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _either(parts: Sequence[str | None]) -> str | None:
    kept = [part for part in dict.fromkeys(parts) if part is not None]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else f"({'|'.join(kept)})"


def _short(pattern: str) -> str:
    if len(pattern) > LONGEST:
        raise ConstraintError(f"The regex has more than {LONGEST:,} characters at this depth.")
    return pattern
