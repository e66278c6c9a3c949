"""How two schemas relate: values of one and not of the other, as satisfiability of one document that holds both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from engine.automaton.arena import Arena
from engine.budget import Budget
from engine.errors import Origin
from engine.grammar.json_schema.clauses import Conjunction, Denied
from engine.grammar.json_schema.document import Document
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.source import unescape
from engine.grammar.json_schema.values import Values


@dataclass(frozen=True, slots=True)
class SchemaSource:
    """A schema as it was compiled: its value, where it begins, its options and budget."""

    value: Any
    at: str
    options: Options
    budget: Budget

    def keyword(self, origin: Origin) -> Any:
        """The value of the keyword that an origin names, None if there is none."""
        part = self.value
        for token in origin.pointer.split("/")[1:]:
            if isinstance(part, list) and token.isdecimal() and int(token) < len(part):
                part = part[int(token)]
            else:
                part = part.get(unescape(token)) if isinstance(part, dict) else None
        return part.get(origin.keyword) if isinstance(part, dict) else None


@dataclass(frozen=True, slots=True)
class Witnesses:
    """A shortest text of the first only, of the second only, of both; None where there is none."""

    only_a: bytes | None
    only_b: bytes | None
    both: bytes | None


def schema_witnesses(a: SchemaSource, b: SchemaSource) -> Witnesses | None:
    """Witnesses of the relation of two schemas by the values that they admit, whatever the order of members.

    None if they cannot stand in one document: other options or drafts, references to absolute addresses, closed objects
    (whose negation is not that of the schema). Raises `ConstraintError` or `BudgetError` as compiling does.
    """
    fits = a.options == b.options and a.options.objects == "open" and _dialect(a.value) == _dialect(b.value)
    if not fits or a.at or b.at or not all(_is_self_contained(source.value) for source in (a, b)):
        return None
    whole: dict[str, Any] = {"$schema": _dialect(a.value)} if _dialect(a.value) else {}
    identifier = "id" if "draft-04" in (_dialect(a.value) or "") else "$id"
    named = {name: _named(source.value, identifier, name) for name, source in (("a", a), ("b", b))}
    whole |= {"allOf": [{"$ref": "#/definitions/a"}, {"$ref": "#/definitions/b"}], "definitions": named}
    options = replace(a.options, key_order="any")
    document = Document(whole, options)
    arena = Arena(a.budget)
    arena.clock.start()
    try:
        values = Values(document, options, arena)
        one, other = document.at("/definitions/a"), document.at("/definitions/b")
        asked: list[Conjunction] = [(one, Denied(other)), (Denied(one), other), (one, other)]
        return Witnesses(*(values.liveness.shortest(values.of(demands, "")) for demands in asked))
    finally:
        arena.lifetime.end()


def _dialect(schema: Any) -> str | None:
    return schema.get("$schema") if isinstance(schema, dict) else None


def _is_self_contained(value: Any) -> bool:
    """Whether all references are fragments, so that the schema may be given another address."""
    if isinstance(value, list):
        return all(map(_is_self_contained, value))
    if not isinstance(value, dict):
        return True
    reference = value.get("$ref", "#")
    return not (isinstance(reference, str) and reference[:1] != "#") and all(map(_is_self_contained, value.values()))


def _named(schema: Any, identifier: str, name: str) -> Any:
    """The schema as a resource of its own, so that its references stay inside it."""
    if isinstance(schema, bool):
        return schema
    return {**{key: value for key, value in schema.items() if key != "$schema"}, identifier: f"urn:schema:{name}"}
