"""From the keywords of one subschema to clauses."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from engine.errors import Origin
from engine.grammar.json_schema.clauses import (
    KINDS_OF_TYPE,
    NEVER,
    All,
    Bound,
    Clause,
    Conjunction,
    Constants,
    Contains,
    Format,
    ItemCount,
    Items,
    Kinds,
    Length,
    MemberCount,
    Members,
    Multiple,
    Names,
    Pattern,
    Required,
    Unique,
    scalar,
)
from engine.grammar.json_schema.document import Document, Subschema
from engine.grammar.json_schema.source import escape

_DECLARING = ("properties", "patternProperties", "additionalProperties")


def own_clauses(document: Document, schema: Subschema) -> tuple[Clause, ...]:
    """The clauses of all keywords that speak about the value itself, without `enum` and `const`."""
    if isinstance(schema.value, bool):
        return ()
    clauses: list[Clause] = []
    for keywords, read in _READERS:
        if not keywords.isdisjoint(schema.value):
            clauses += read(document, schema)
    return tuple(clauses)


def complex_constants(document: Document, schema: Subschema, keyword: str) -> tuple[Conjunction, ...]:
    """The alternatives of an enum or const: its scalars together, each array or object as clauses on its parts."""
    origin = Origin(schema.pointer, keyword)
    place = f"{schema.pointer}/{keyword}"
    value = schema.get(keyword)
    listed = [(value, place)] if keyword == "const" else [(item, f"{place}/{i}") for i, item in enumerate(value)]
    scalars = tuple(scalar(item) for item, _ in listed if not isinstance(item, (list, dict)))
    options: list[Conjunction] = [(All((Constants(origin, scalars),)),)] if scalars else []
    for item, pointer in listed:
        if isinstance(item, dict):
            options.append((All(_object_constant(document, origin, item, pointer)),))
        elif isinstance(item, list):
            options.append((All(_array_constant(document, origin, item, pointer)),))
    return tuple(options)


def constant(document: Document, origin: Origin, value: Any, pointer: str) -> tuple[Clause, ...]:
    """The clauses that only `value` satisfies."""
    if isinstance(value, dict):
        return _object_constant(document, origin, value, pointer)
    if isinstance(value, list):
        return _array_constant(document, origin, value, pointer)
    return (Constants(origin, (scalar(value),)),)


def _object_constant(document: Document, origin: Origin, value: dict[str, Any], pointer: str) -> tuple[Clause, ...]:
    named = tuple(
        (name, (All(constant(document, origin, item, f"{pointer}/{escape(name)}")),)) for name, item in value.items()
    )
    kinds = Kinds(origin, frozenset(("object",)))
    return kinds, Members(origin, named, (), NEVER), Required(origin, tuple(value))


def _array_constant(document: Document, origin: Origin, value: list[Any], pointer: str) -> tuple[Clause, ...]:
    first = tuple((All(constant(document, origin, item, f"{pointer}/{i}")),) for i, item in enumerate(value))
    kinds = Kinds(origin, frozenset(("array",)))
    return kinds, Items(origin, first, NEVER), ItemCount(origin, len(value), len(value))


def _kinds(document: Document, schema: Subschema) -> list[Clause]:
    named = schema.get("type")
    names = [named] if isinstance(named, str) else named
    kinds = frozenset(kind for name in names for kind in KINDS_OF_TYPE[name])
    return [Kinds(Origin(schema.pointer, "type"), kinds)]


def _string(document: Document, schema: Subschema) -> list[Clause]:
    clauses: list[Clause] = _counts(schema, "minLength", "maxLength", Length)
    if schema.has("pattern"):
        clauses.append(Pattern(Origin(schema.pointer, "pattern"), schema.get("pattern")))
    if schema.has("format") and document.enforces_format(schema.get("format")):
        clauses.append(Format(Origin(schema.pointer, "format"), schema.get("format")))
    return clauses


def _counts(schema: Subschema, least: str, most: str, kind: Callable[..., Clause]) -> list[Clause]:
    clauses: list[Clause] = []
    if schema.has(least) and int(schema.get(least)) > 0:
        clauses.append(kind(Origin(schema.pointer, least), int(schema.get(least)), None))
    if schema.has(most):
        clauses.append(kind(Origin(schema.pointer, most), 0, int(schema.get(most))))
    return clauses


def _number(document: Document, schema: Subschema) -> list[Clause]:
    clauses: list[Clause] = []
    for keyword, exclusively, lower in (("minimum", "exclusiveMinimum", True), ("maximum", "exclusiveMaximum", False)):
        strict = schema.get(exclusively)
        if schema.has(keyword):
            # In draft 4 the exclusive keyword is a boolean that sharpens the other.
            value = Decimal(schema.get(keyword))
            clauses.append(Bound(Origin(schema.pointer, keyword), value, lower, exclusive=strict is True))
        if strict is not None and not isinstance(strict, bool):
            clauses.append(Bound(Origin(schema.pointer, exclusively), Decimal(strict), lower, exclusive=True))
    if schema.has("multipleOf"):
        clauses.append(Multiple(Origin(schema.pointer, "multipleOf"), Decimal(schema.get("multipleOf"))))
    return clauses


def _members(document: Document, schema: Subschema) -> list[Clause]:
    clauses: list[Clause] = []
    if any(map(schema.has, _DECLARING)):
        named = tuple((n, _asks(document.child(schema, "properties", n))) for n in schema.get("properties", {}))
        patterns = tuple(
            (p, _asks(document.child(schema, "patternProperties", p))) for p in schema.get("patternProperties", {})
        )
        rest = None
        if schema.has("additionalProperties"):
            rest = _asks(document.child(schema, "additionalProperties"))
        keyword = "properties" if named else "patternProperties" if patterns else "additionalProperties"
        clauses.append(Members(Origin(schema.pointer, keyword), named, patterns, rest))
    if schema.get("required"):
        clauses.append(Required(Origin(schema.pointer, "required"), tuple(dict.fromkeys(schema.get("required")))))
    clauses += _counts(schema, "minProperties", "maxProperties", MemberCount)
    if schema.has("propertyNames"):
        asked = _asks(document.child(schema, "propertyNames"))
        clauses.append(Names(Origin(schema.pointer, "propertyNames"), asked))
    return clauses


def _items(document: Document, schema: Subschema) -> list[Clause]:
    first: tuple[Conjunction, ...] = ()
    rest: Conjunction | None = None
    keyword = "items"
    items = schema.get("items")
    if isinstance(items, list):
        first = tuple(_asks(part) for part in document.children(schema, "items"))
        if schema.has("additionalItems"):
            rest = _asks(document.child(schema, "additionalItems"))
    else:
        if schema.has("prefixItems"):
            first = tuple(_asks(part) for part in document.children(schema, "prefixItems"))
            keyword = "prefixItems"
        if items is not None:
            rest = _asks(document.child(schema, "items"))
    clauses: list[Clause] = []
    if first or rest is not None:
        clauses.append(Items(Origin(schema.pointer, keyword), first, rest))
    clauses += _counts(schema, "minItems", "maxItems", ItemCount)
    if schema.has("contains"):
        low, high = schema.get("minContains", 1), schema.get("maxContains")
        asked = _asks(document.child(schema, "contains"))
        highest = None if high is None else int(high)
        clauses.append(Contains(Origin(schema.pointer, "contains"), asked, int(low), highest))
    if schema.get("uniqueItems") is True:
        clauses.append(Unique(Origin(schema.pointer, "uniqueItems")))
    return clauses


def _asks(schema: Subschema) -> Conjunction:
    return () if schema.value is True or schema.value == {} else (schema,)


_READERS: tuple[tuple[frozenset[str], Callable[[Document, Subschema], list[Clause]]], ...] = (
    (frozenset(("type",)), _kinds),
    (frozenset(("minLength", "maxLength", "pattern", "format")), _string),
    (frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")), _number),
    (frozenset(("required", "propertyNames", "minProperties", "maxProperties", *_DECLARING)), _members),
    (frozenset(("items", "additionalItems", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems")), _items),
)
"""Who reads the keywords of each type."""
