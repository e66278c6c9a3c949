"""How two constraints relate, with witnesses checked on both."""

from __future__ import annotations

from typing import Any

import pytest

from engine.analysis.compare import compare
from engine.grammar.choices import compile_choices
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex

INTEGER_A = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
NUMBER_A = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}
TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["v"]}
NULLABLE_TREE = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
    "required": ["v"],
}


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("a*", "(aa)*", "includes"),
        ("[ab]+", "(a|b)(a|b)*", "equal"),
        ("x", "y", "disjoint"),
        ("a?b", "b?a|b", "overlapping"),
        ("[0-9]{2}", "[0-9]+", "included"),
    ],
)
def test_regexes(one: str, other: str, kind: str) -> None:
    relation = compare(compile_regex(one), compile_regex(other))
    assert relation.kind == kind


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (INTEGER_A, NUMBER_A, "included"),
        (NUMBER_A, INTEGER_A, "includes"),
        ({"enum": [1, 2, 3]}, {"type": "integer", "minimum": 1, "maximum": 3}, "equal"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["null", "string"]}, "equal"),
        ({"type": "string"}, {"type": "array"}, "disjoint"),
        (TREE, NULLABLE_TREE, "included"),
        (TREE, TREE, "equal"),
        ({"minLength": 2, "type": "string"}, {"maxLength": 3, "type": "string"}, "overlapping"),
        ({"$id": "urn:x", **INTEGER_A}, {"$id": "urn:x", **NUMBER_A}, "included"),
    ],
)
def test_schemas_by_their_values(one: Any, other: Any, kind: str) -> None:
    a, b = compile_json_schema(one, key_order="any"), compile_json_schema(other, key_order="any")
    relation = compare(a, b)
    assert relation.kind == kind
    judged = {"only_a": ("accepted", False), "only_b": (False, "accepted"), "both": ("accepted", "accepted")}
    for name, (by_a, by_b) in judged.items():
        witness = getattr(relation, name)
        if witness is not None:
            assert (a.check(witness).kind == "accepted") == bool(by_a), (name, witness)
            assert (b.check(witness).kind == "accepted") == bool(by_b), (name, witness)


def test_kinds_of_constraints_mix() -> None:
    assert compare(compile_choices(["yes", "no"]), compile_regex("yes|no")).kind == "equal"
    relation = compare(compile_choices(["yes", "no"]), compile_regex("yes|maybe"))
    assert (relation.only_a, relation.only_b, relation.both) == (b"no", b"maybe", b"yes")


def test_what_the_budget_cannot_decide_is_said() -> None:
    strings = compile_json_schema({"type": "array", "items": {"type": "string"}}, objects="closed")
    longer = compile_json_schema({"type": "array", "items": {"type": "string", "maxLength": 10_000}}, objects="closed")
    relation = compare(strings, longer, most_pairs=500)
    assert relation.kind == "undecided"
    assert relation.both == b"[]"
