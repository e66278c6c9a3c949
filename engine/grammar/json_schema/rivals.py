"""Which parts of a oneOf may hold beside each other, as far as constants show at a glance.

A oneOf of a thousand objects, told apart by a constant member, must not cost half a million comparisons.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from engine.grammar.json_schema.clauses import scalar
from engine.grammar.json_schema.document import Document, Subschema

MOST_REFERENCES = 10
"""References that lead to each other before one is looked at."""

ITSELF = ""
"""The name under which the constants of a part itself are kept."""


class Rivals:
    """For each part of the oneOf of a schema, the others that its constants do not exclude."""

    def __init__(self, document: Document, schema: Subschema) -> None:
        self.parts = document.children(schema, "oneOf")
        told = {part: _constants(document, schema, part) for part in self.parts}
        common = set.intersection(*(set(names) for names in told.values()))
        self._told = {part: told[part][min(common)] for part in self.parts} if common else {}
        self._by_constant: dict[Any, list[Subschema]] = defaultdict(list)
        for part, constants in self._told.items():
            for constant in constants:
                self._by_constant[constant].append(part)

    def of(self, part: Subschema) -> list[Subschema]:
        """The parts that may hold beside one, without that one."""
        if part not in self._told:
            return [other for other in self.parts if other is not part]
        found = [other for constant in self._told[part] for other in self._by_constant[constant]]
        return [other for other in dict.fromkeys(found) if other is not part]


def _constants(document: Document, schema: Subschema, part: Subschema) -> dict[str, frozenset[Any]]:
    """By name of a required member, the scalars that it may be; those of the value itself under `ITSELF`."""
    for _ in range(MOST_REFERENCES):
        if not part.has("$ref"):
            break
        part = document.target(part)
    found: dict[str, frozenset[Any]] = {}
    own = _scalars(part)
    if own is not None:
        found[ITSELF] = own
    required = {*schema.get("required", []), *part.get("required", [])}
    if "object" in (part.get("type"), schema.get("type")) and not part.has("$ref"):
        for name in required & part.get("properties", {}).keys():
            listed = _scalars(document.child(part, "properties", name))
            if listed is not None and name != ITSELF:
                found[name] = listed
    return found


def _scalars(schema: Subschema) -> frozenset[Any] | None:
    """The constants of a subschema if they are all scalars."""
    if schema.has("$ref"):
        return None
    listed = [schema.get("const")] if schema.has("const") else schema.get("enum")
    if not isinstance(listed, list) or any(isinstance(value, (list, dict)) for value in listed):
        return None
    return frozenset(map(scalar, listed))
