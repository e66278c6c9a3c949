"""Random schemas and instances that have a chance to meet: few names, few values, every keyword that is enforced.

A recursive schema refers to itself only below `properties`, `items` and the like, so that every schema has a meaning;
numbers are multiples of 1/4, which floats, and so the oracle, get right.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from hypothesis import strategies as st

NAMES = ["a", "b", "ab", 'é"']
PATTERNS = ["^a", "b$", "^[ab]{2,}$", "é", "^(a|bc)*$", "^.{1,2}$"]
FORMATS = ["date", "ipv4", "uuid"]
NUMBERS: list[Any] = [-2, -1, 0, 1, 2, 3, 10, 0.5, -1.5, 2.25]
STRINGS = ["", "a", "b", "ab", "ba", "abc", "é", '"', "\\", "😀", "aaaaaaaa", "2024-02-29", "2023-02-29", "1.2.3.4"]
STRINGS += ["1.2.3.256", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "\n"]
CONSTANTS: list[Any] = [None, True, False, 0, 1, 2, 2.25, "", "a", "ab", [], [1], {}, {"a": 1}, [1, {"b": None}], 1.0]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]

Draw = Callable[[st.SearchStrategy[Any]], Any]
Schema = Any


class _Writer:
    """Writes one schema. `defs`: how many definitions there are; `own`: in which one this is (-1: in none)."""

    def __init__(self, draw: Draw, defs: int, own: int) -> None:
        self.draw = draw
        self.defs = defs
        self.own = own

    def schema(self, depth: int, below: bool) -> Schema:
        """A schema; `below`: it speaks of a part of the value that the definition speaks of."""
        if depth == 0 or self.draw(st.integers(0, 9)) == 0:
            return self.leaf(below)
        written: dict[str, Any] = {}
        parts: list[Callable[[int, bool], dict[str, Any]]] = [self.type, self.constants, self.string, self.number]
        parts += [self.members, self.names, self.counts, self.dependent, self.items, self.contains, self.combined]
        parts += [self.combined, self.negated, self.conditional, self.members, self.unevaluated]
        for part in self.draw(st.lists(st.sampled_from(parts), min_size=1, max_size=3, unique=True)):
            written |= part(depth - 1, below)
        return written

    def leaf(self, below: bool) -> Schema:
        """A schema without subschemas."""
        references = [f"#/$defs/d{index}" for index in range(self.defs) if below or index > self.own]
        choices: list[st.SearchStrategy[Any]] = [
            st.booleans(),
            st.sampled_from(TYPES).map(lambda name: {"type": name}),
            st.sampled_from(CONSTANTS).map(lambda value: {"const": value}),
            st.integers(0, 2).map(lambda number: {"minimum": number}),
            st.sampled_from(PATTERNS).map(lambda pattern: {"type": "string", "pattern": pattern}),
        ]
        if references:
            choices += [st.sampled_from(references).map(lambda reference: {"$ref": reference})] * 3
        return self.draw(st.one_of(*choices))

    def type(self, depth: int, below: bool) -> dict[str, Any]:
        names = self.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True))
        return {"type": names[0] if len(names) == 1 else names}

    def constants(self, depth: int, below: bool) -> dict[str, Any]:
        values = self.draw(st.lists(st.sampled_from(CONSTANTS), min_size=1, max_size=5))
        return {"const": values[0]} if len(values) == 1 else {"enum": values}

    def string(self, depth: int, below: bool) -> dict[str, Any]:
        return self.some(
            {
                "minLength": st.integers(0, 3),
                "maxLength": st.integers(0, 5),
                "pattern": st.sampled_from(PATTERNS),
                "format": st.sampled_from(FORMATS),
            },
            2,
        )

    def number(self, depth: int, below: bool) -> dict[str, Any]:
        bound = st.sampled_from(NUMBERS)
        bounds = dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), bound)
        return self.some({**bounds, "multipleOf": st.sampled_from([1, 2, 3, 0.5, 0.75])}, 2)

    def members(self, depth: int, below: bool) -> dict[str, Any]:
        names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True)
        written = self.some(
            {
                "properties": names,
                "patternProperties": st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2, unique=True),
                "additionalProperties": st.just(None),
                "required": names,
            },
            3,
        )
        for keyword in ("properties", "patternProperties"):
            if keyword in written:
                written[keyword] = {name: self.schema(depth, True) for name in written[keyword]}
        if "additionalProperties" in written:
            written["additionalProperties"] = self.schema(depth, True)
        return written

    def names(self, depth: int, below: bool) -> dict[str, Any]:
        listed = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(lambda names: {"enum": names})
        return {"propertyNames": self.draw(listed) if self.draw(st.booleans()) else self.schema(min(depth, 1), True)}

    def counts(self, depth: int, below: bool) -> dict[str, Any]:
        keywords = ("minProperties", "maxProperties", "minItems", "maxItems")
        written = self.some({keyword: st.integers(0, 3) for keyword in keywords}, 2)
        return written | ({"uniqueItems": self.draw(st.booleans())} if self.draw(st.booleans()) else {})

    def dependent(self, depth: int, below: bool) -> dict[str, Any]:
        name = self.draw(st.sampled_from(NAMES))
        if self.draw(st.booleans()):
            return {"dependentRequired": {name: self.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))}}
        return {"dependentSchemas": {name: self.schema(depth, below)}}

    def items(self, depth: int, below: bool) -> dict[str, Any]:
        written: dict[str, Any] = {}
        if self.draw(st.booleans()):
            written["prefixItems"] = self.list_of(depth, True, 3)
        if not written or self.draw(st.booleans()):
            written["items"] = self.schema(depth, True)
        return written

    def contains(self, depth: int, below: bool) -> dict[str, Any]:
        written = self.some({"minContains": st.integers(0, 3), "maxContains": st.integers(0, 3)}, 2)
        written = written if self.draw(st.booleans()) else {}
        written["contains"] = self.schema(min(depth, 1), True)
        return written

    def combined(self, depth: int, below: bool) -> dict[str, Any]:
        return {self.draw(st.sampled_from(["allOf", "anyOf", "oneOf"])): self.list_of(depth, below, 3)}

    def negated(self, depth: int, below: bool) -> dict[str, Any]:
        return {"not": self.schema(depth, below)}

    def conditional(self, depth: int, below: bool) -> dict[str, Any]:
        written = {"if": self.schema(depth, below), "then": self.schema(depth, below)}
        return written | ({"else": self.schema(depth, below)} if self.draw(st.booleans()) else {})

    def unevaluated(self, depth: int, below: bool) -> dict[str, Any]:
        keyword = self.draw(st.sampled_from(["unevaluatedProperties", "unevaluatedItems"]))
        beside = self.members if keyword == "unevaluatedProperties" else self.items
        evaluating = beside(depth, below) | self.combined(depth, below)
        return evaluating | {keyword: self.draw(st.sampled_from([False, False, {"type": "integer"}]))}

    def some(self, offered: dict[str, st.SearchStrategy[Any]], most: int) -> dict[str, Any]:
        """Some of the keywords on offer, at least one."""
        chosen = self.draw(st.lists(st.sampled_from(sorted(offered)), min_size=1, max_size=most, unique=True))
        return {keyword: self.draw(offered[keyword]) for keyword in chosen}

    def list_of(self, depth: int, below: bool, most: int) -> list[Schema]:
        return [self.schema(depth, below) for _ in range(self.draw(st.integers(1, most)))]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """A schema with up to two definitions, all of them parts of what the engine says that it enforces."""
    defs = draw(st.integers(0, 2))
    root = _Writer(draw, defs, -1).schema(depth, False)
    written = root if isinstance(root, dict) else {"allOf": [root]}
    if defs:
        written["$defs"] = {f"d{own}": _Writer(draw, defs, own).schema(depth - 1, False) for own in range(defs)}
    return written


def instances(random: Random, count: int) -> list[Any]:
    """Random JSON values."""
    return [_instance(random, 3) for _ in range(count)]


def _instance(random: Random, depth: int) -> Any:
    kind = random.randrange(10 if depth else 4)
    if kind < 2:
        return random.choice(CONSTANTS)
    if kind < 4:
        return random.choice(random.choice([NUMBERS, STRINGS]))
    if kind < 7:
        return [_instance(random, depth - 1) for _ in range(random.randrange(5))]
    names = random.sample([*NAMES, "c", "aaa", "bc"], random.randrange(5))
    return {name: _instance(random, depth - 1) for name in names}


def mutated(random: Random, value: Any) -> Any:
    """The value with one part of it changed."""
    inside = isinstance(value, (dict, list)) and value and random.random() < 0.6
    if isinstance(value, dict):
        return _mutated_object(random, value, bool(inside))
    if isinstance(value, list):
        return _mutated_array(random, value, bool(inside))
    if isinstance(value, str) and random.random() < 0.5:
        at = random.randrange(len(value) + 1)
        return value[:at] + random.choice(["a", "b", "é", ""]) + value[at + random.randrange(2) :]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and random.random() < 0.5:
        return value + random.choice([-1, 1, 0.25, 0.5])
    return _instance(random, 1)


def _mutated_object(random: Random, value: dict[str, Any], inside: bool) -> dict[str, Any]:
    changed = dict(value)
    name = random.choice([*value, "c"] if value else [*NAMES, "c"])
    if inside and name in value:
        changed[name] = mutated(random, value[name])
    elif name in value and random.random() < 0.5:
        changed.pop(name)
    else:
        changed[random.choice([*NAMES, "c", "aaa"])] = _instance(random, 1)
    return changed


def _mutated_array(random: Random, value: list[Any], inside: bool) -> list[Any]:
    changed = list(value)
    at = random.randrange(len(value) + 1)
    if inside and at < len(value):
        changed[at] = mutated(random, value[at])
    elif at < len(value) and random.random() < 0.5:
        changed.pop(at)
    else:
        changed.insert(at, random.choice([*value, _instance(random, 1)]))
    return changed


def keywords_of(schema: Any) -> Iterable[str]:
    """Every keyword of a schema, as often as it occurs."""
    if isinstance(schema, list):
        for part in schema:
            yield from keywords_of(part)
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            yield keyword
            if keyword in ("properties", "patternProperties", "$defs", "dependentSchemas"):
                yield from keywords_of(list(value.values()))
            elif keyword not in ("const", "enum", "required", "dependentRequired"):
                yield from keywords_of(value)


def written(value: Any) -> str:
    """The instance as the issue asks for it."""
    return json.dumps(value, ensure_ascii=False)
