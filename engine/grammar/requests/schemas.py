"""The schemas of a request as one JSON Schema document, so that every pointer is a pointer into the request.

Each schema is a document of its own, whose `#` is its own root: it gets an `$id`, and stands where it stands in the
request. Nothing else of the request is in the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urldefrag

from engine.errors import ConstraintError
from engine.grammar.json_schema.source import unescape
from engine.grammar.requests.found import AnyCall
from engine.grammar.requests.part import Part

ADDRESS = "https://request.invalid"
"""Base of the `$id`s of schemas that have none; a reserved name, never looked up."""

OLD_DRAFTS = ("draft-04", "draft-06", "draft-07")
"""Drafts in which nothing beside a `$ref` counts, not even an `$id`."""


def document(schemas: Sequence[Part]) -> dict[str, Any]:
    """The document that holds some schemas, each where it stands in the request."""
    dialect = _dialect(schemas)
    old = any(draft in dialect for draft in OLD_DRAFTS)
    root: dict[str, Any] = {"$schema": dialect} if dialect else {}
    taken: set[str] = set()
    for schema in schemas:
        put(root, schema.pointer, _identified(schema, taken, old, "id" if "draft-04" in dialect else "$id"))
    return root


def calls(asked: AnyCall) -> dict[str, Any]:
    """The document of the alternative of some calls, which stands at the place of the list of tools."""
    root = document([call.schema for call in asked.calls])
    for call in asked.calls:
        put(root, call.name.pointer, {"enum": [call.name.text()]})  # draft 4 has no const
        put(root, call.pointer, _call(call.name.pointer, call.key, call.schema.pointer))
    put(root, asked.pointer, any_of([call.pointer for call in asked.calls]))
    return root


def any_of(pointers: Sequence[str]) -> dict[str, Any]:
    """The alternative of the schemas at some pointers."""
    return {"anyOf": [_reference(pointer) for pointer in pointers]}


def put(root: dict[str, Any], pointer: str, value: Any) -> None:
    """Put a value at a pointer; members that stand there already stay."""
    if not pointer:
        root.update(value)
        return
    *above, last = (unescape(token) for token in pointer.split("/")[1:])
    place = root
    for name in above:
        place = place.setdefault(name, {})
    place[last] = {**place[last], **value} if last in place and isinstance(value, dict) else value


def _call(name: str, key: str, arguments: str) -> dict[str, Any]:
    properties = {"name": _reference(name), key: _reference(arguments)}
    return {"type": "object", "properties": properties, "required": ["name", key], "additionalProperties": False}


def _reference(pointer: str) -> dict[str, str]:
    return {"$ref": f"#{quote(pointer)}"}


def _dialect(schemas: Sequence[Part]) -> str:
    """The dialect that all schemas name, "" if none does."""
    first = ""
    for index, schema in enumerate(schemas):
        named = schema.get("$schema")
        dialect = named.text().rstrip("#") if named else ""
        if index == 0:
            first = dialect
        if dialect != first:
            where = named or schema
            raise where.error(f"must name the same $schema as {schemas[0].pointer}: {first or 'none'}", "$schema")
    return first


def _identified(schema: Part, taken: set[str], old: bool, keyword: str) -> Any:
    """The schema with an identifier that no other has."""
    if not isinstance(schema.value, dict):
        return schema.value
    value = dict(schema.value)
    if old and "$ref" in value:
        named = {name: value[name] for name in ("$defs", "definitions", "$schema") if name in value}
        value = {"allOf": [{"$ref": value["$ref"]}], **named}
    own = value.get(keyword)
    address = urldefrag(own)[0] if isinstance(own, str) else ""
    if address in taken:
        raise schema.error(f"has the same {keyword} as a schema before it", keyword)
    if not address:
        address = value[keyword] = ADDRESS + quote(schema.pointer)
    taken.add(address)
    return value


def at_request(schema: Part, error: ConstraintError) -> ConstraintError:
    """An error about the document as one about the request."""
    if error.keyword != "$schema":
        return error
    return type(error)(str(error), pointer=f"{schema.pointer}/$schema", keyword="$schema")
