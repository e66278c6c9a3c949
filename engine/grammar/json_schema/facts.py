"""What the keywords of one branch say about a value, gathered by JSON type.

A branch is a list of subschemas that hold together. Its types intersect, its constants intersect, its bounds take the
tighter one, and a member or an item must satisfy what every subschema says about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from engine.errors import Origin
from engine.grammar.json_schema.conjunction import Branch, Conjunction, conjunction
from engine.grammar.json_schema.document import Document, Subschema
from engine.grammar.json_schema.keywords import TYPES
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.source import escape


@dataclass(frozen=True, slots=True)
class Constant:
    """A value of an enum or const, and its place."""

    value: Any
    pointer: str
    origin: Origin


def types_of(branch: Branch) -> tuple[str, ...]:
    """The JSON types that every `type` admits; "integer" and "number" are one type here, see `integers_only`."""
    allowed = set(TYPES)
    for schema in branch:
        named = schema.get("type")
        if named is not None:
            names = {named} if isinstance(named, str) else set(named)
            if "number" in names:
                names.add("integer")
            allowed &= names
    if "integer" in allowed:
        allowed.add("number")
    return tuple(name for name in TYPES if name in allowed and name != "integer")


def integers_only(branch: Branch) -> bool:
    """Whether a number must be an integer."""
    for schema in branch:
        named = schema.get("type")
        if named is not None and "number" not in ([named] if isinstance(named, str) else named):
            return True
    return False


def constants(branch: Branch) -> list[Constant] | None:
    """The values that every enum and const of the branch admits, None if it has neither."""
    common: list[Constant] | None = None
    for schema in branch:
        for keyword in ("enum", "const"):
            if not schema.has(keyword):
                continue
            value = schema.get(keyword)
            place = f"{schema.pointer}/{keyword}"
            origin = Origin(schema.pointer, keyword)
            if keyword == "const":
                listed = [Constant(value, place, origin)]
            else:
                listed = [Constant(item, f"{place}/{index}", origin) for index, item in enumerate(value)]
            if common is not None:
                admitted = {identity(constant.value) for constant in listed}
                listed = [constant for constant in common if identity(constant.value) in admitted]
            common = listed
    return common


def identity(value: Any) -> Any:
    """A hashable form of a JSON value: equal exactly when the values are equal as JSON (1 is 1.0, true is not 1)."""
    if isinstance(value, dict):
        return "object", frozenset((name, identity(item)) for name, item in value.items())
    if isinstance(value, list):
        return "array", tuple(map(identity, value))
    if isinstance(value, bool) or value is None:
        return "literal", str(value)
    if isinstance(value, (int, Decimal)):
        return "number", value
    return "string", value


def type_of(value: Any) -> str:
    """The JSON type of a value, integers being numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, Decimal)):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


@dataclass(frozen=True, slots=True)
class Bounds:
    """`low` to `high` (None: no upper bound), with who said so."""

    low: int
    high: int | None
    low_origin: Origin | None
    high_origin: Origin | None


def bounds(branch: Branch, least: str, most: str) -> Bounds:
    """The tightest of all bounds named by two keywords."""
    lows = [(int(schema.get(least)), Origin(schema.pointer, least)) for schema in branch if schema.has(least)]
    highs = [(int(schema.get(most)), Origin(schema.pointer, most)) for schema in branch if schema.has(most)]
    low, low_origin = max(lows, key=lambda pair: pair[0], default=(0, None))
    high, high_origin = min(highs, key=lambda pair: pair[0], default=(None, None))
    return Bounds(low, high, low_origin, high_origin)


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """Declared names in order with what their values must satisfy, required names, and undeclared members.

    `extra` is None where undeclared members are forbidden.
    """

    members: tuple[tuple[str, Conjunction, str], ...]
    required: tuple[str, ...]
    extra: Conjunction | None
    forbids: Origin | None


def object_facts(document: Document, branch: Branch, options: Options) -> ObjectFacts:
    """What a branch says about the members of an object."""
    names: dict[str, str] = {}
    for schema in branch:
        for name in schema.get("properties", {}):
            names.setdefault(name, f"{schema.pointer}/properties/{escape(name)}")
    required: dict[str, str] = {}
    for schema in branch:
        for name in schema.get("required", []):
            required.setdefault(name, f"{schema.pointer}/required")
    closing = Origin(branch[0].pointer, "properties") if names and options.objects == "closed" else None
    if any(schema.has("additionalProperties") for schema in branch):
        closing = None
    members = [(name, _said_of(document, branch, name), place) for name, place in names.items()]
    for name, place in required.items():
        if name not in names:
            said = _said_of(document, branch, name)
            members.append((name, (document.never(closing.pointer),) if closing else said, place))
    undeclared = None if closing else conjunction(*_additional(document, branch))
    if undeclared and any(schema.value is False for schema in undeclared):
        forbidding = next(schema for schema in branch if schema.get("additionalProperties") is False)
        closing, undeclared = Origin(forbidding.pointer, "additionalProperties"), None
    return ObjectFacts(tuple(members), tuple(required), undeclared, closing)


def _said_of(document: Document, branch: Branch, name: str) -> Conjunction:
    """What every subschema of the branch asks of the member `name`."""
    said: list[Subschema] = []
    for schema in branch:
        if name in schema.get("properties", {}):
            said.append(document.child(schema, "properties", name))
        elif schema.has("additionalProperties"):
            said.append(document.child(schema, "additionalProperties"))
    return conjunction(*said)


def _additional(document: Document, branch: Branch) -> list[Subschema]:
    return [document.child(schema, "additionalProperties") for schema in branch if schema.has("additionalProperties")]


def item_conjunction(document: Document, branch: Branch) -> Conjunction:
    """What every subschema of the branch asks of each item of an array."""
    return conjunction(*(document.child(schema, "items") for schema in branch if schema.has("items")))


def owner(branch: Branch, place: str, *keywords: str) -> Origin:
    """The subschema to name as owner: the last that has the first of the keywords that any has."""
    for keyword in keywords:
        for schema in reversed(branch):
            if schema.has(keyword):
                return Origin(schema.pointer, keyword)
    return Origin(branch[0].pointer if branch else place)
