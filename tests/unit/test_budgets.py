"""Schemas made to hurt that must be answered all the same, and some that must be refused with the place to blame."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from engine import Budget, ConstraintError, compile_gbnf, compile_json_schema, compile_lark, compile_regex
from engine.errors import BudgetError


def told_apart(number: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"k": {"const": f"x{number}"}}, "required": ["k"]}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema, "minItems": 1}
    return schema


@pytest.mark.parametrize(
    ("schema", "accepted", "rejected"),
    [
        ({"enum": [f"v{number}" for number in range(5_000)]}, '"v4999"', '"v5000"'),
        ({"type": "string", "maxLength": 10_000_000}, '"' + "x" * 1_000 + '"', '"\t"'),
        ({"oneOf": [{"const": number} for number in range(1_000)]}, "7", "1000"),
        ({"oneOf": [told_apart(number) for number in range(1_000)]}, '{"k":"x7"}', '{"k":"y'),
        ({"anyOf": [told_apart(number) for number in range(1_000)]}, '{"k":"x7"}', '{"k":"y'),
        (nested(120), "[" * 120 + "1" + "]" * 120, "[" * 121),
    ],
    ids=["enum", "maxLength", "oneOf constants", "oneOf objects", "anyOf objects", "nesting"],
)
def test_answered(schema: Any, accepted: str, rejected: str) -> None:
    constraint = compile_json_schema(schema)
    assert constraint.check(accepted).kind == "accepted"
    assert constraint.check(rejected).kind == "rejected"


def test_exponentially_many_states_are_not_visited() -> None:
    constraint = compile_regex("[ab]*a[ab]{30}")
    assert constraint.check("ab" + "b" * 29 + "b").kind == "incomplete"
    assert constraint.check("b" + "a" + "b" * 30).kind == "accepted"
    assert len(constraint.automaton) < 100


def test_a_text_may_be_nested_deeply() -> None:
    constraint = compile_json_schema({"type": "array", "items": {"$ref": "#"}})
    assert constraint.check("[" * 5_000 + "]" * 5_000).kind == "accepted"
    assert constraint.check("[" * 5_000 + "}").offset == 5_000


def test_recursion_without_an_end_names_itself() -> None:
    schema = {
        "$defs": {
            "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
            "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]},
        },
        "$ref": "#/$defs/a",
    }
    with pytest.raises(ConstraintError) as caught:
        compile_json_schema(schema)
    assert caught.value.unsatisfiable
    assert "/$defs/" in caught.value.pointer


@pytest.mark.parametrize(
    ("schema", "budget"),
    [
        ({"oneOf": [{"type": "object", "required": [f"k{n}"]} for n in range(1_000)]}, Budget(seconds=1)),
        ({"type": "array", "uniqueItems": True, "minItems": 1_000_000, "items": {"type": "integer"}}, Budget()),
        ({"type": "integer", "minimum": 0, "maximum": 10**3_000}, Budget()),
    ],
    ids=["overlapping oneOf", "unique items", "digits"],
)
def test_refused(schema: Any, budget: Budget) -> None:
    with pytest.raises(ConstraintError) as caught:
        compile_json_schema(schema, budget=budget)
    assert not caught.value.unsatisfiable


@pytest.mark.parametrize("dialect", ["python", "ecma262"])
@pytest.mark.parametrize("part", ["word|", "[a-z]", "a", r"\d*"], ids=["alternatives", "classes", "literal", "repeats"])
def test_reading_a_regex_looks_at_the_clock(dialect: Literal["python", "ecma262"], part: str) -> None:
    with pytest.raises(BudgetError, match=r"longer than 0\.01 s"):
        compile_regex(part * 40_000, dialect=dialect, budget=Budget(seconds=0.01))


@pytest.mark.parametrize("dialect", ["python", "ecma262"])
def test_a_class_of_many_characters(dialect: Literal["python", "ecma262"]) -> None:
    members = [chr(0x100 + 2 * number) for number in range(20_000)]
    constraint = compile_regex(f"[{''.join(members)}]", dialect=dialect, budget=Budget(seconds=5))
    assert constraint.check(members[-1]).kind == "accepted"
    assert constraint.check(chr(0x101)).kind == "rejected"


@pytest.mark.parametrize(("pattern", "offset"), [("a)", "1"), ("(?<=a*)b", "0"), ("(?(2)a|b)", "3")])
def test_what_python_finds_after_reading(pattern: str, offset: str) -> None:
    with pytest.raises(ConstraintError, match="broken at offset") as caught:
        compile_regex(pattern)
    assert caught.value.pointer == offset


def test_reading_a_grammar_looks_at_the_clock() -> None:
    soon = Budget(seconds=0.01)
    names = [f"r{number}" for number in range(20_000)]
    with pytest.raises(BudgetError, match=r"longer than 0\.01 s") as caught:
        compile_gbnf("\n".join(f'{name} ::= "{name}"' for name in ["root", *names]), budget=soon)
    assert caught.value.pointer != "line 1, column 1"
    with pytest.raises(BudgetError, match=r"longer than 0\.01 s"):
        compile_lark("\n".join(f'{name}: "{name}"' for name in ["start", *names]), budget=soon)
    with pytest.raises(BudgetError, match=r"longer than 0\.01 s"):
        compile_lark(f"start: /{'word|' * 20_000}/", budget=soon)


def referring(links: int, last: Any, **beside: Any) -> dict[str, Any]:
    """Definitions each of which refers to the next, within an anyOf if there is something beside."""
    references: list[Any] = [{"$ref": f"#/$defs/d{number}"} for number in range(1, links + 1)]
    chain = [{"anyOf": [reference, beside]} if beside else reference for reference in references]
    return {f"d{number}": schema for number, schema in enumerate([*chain, last])}


@pytest.mark.parametrize("place", ["$ref", "properties", "items"])
def test_a_long_chain_of_references(place: str) -> None:
    first = "#/$defs/d0"
    root: dict[str, Any] = {"$ref": first} if place == "$ref" else {"items": {"$ref": first}}
    root = {"properties": {"a": {"$ref": first}}} if place == "properties" else root
    text = {"$ref": "%s", "properties": '{"a": %s}', "items": "[%s]"}[place]
    constraint = compile_json_schema({**root, "$defs": referring(1_000, {"type": "integer"})})
    assert [constraint.check(text % value).kind for value in ("12", "null")] == ["accepted", "rejected"]


def test_a_chain_that_leads_back_is_satisfied_by_nothing() -> None:
    with pytest.raises(ConstraintError) as caught:
        compile_json_schema({"$ref": "#/$defs/d0", "$defs": referring(9, {"$ref": "#/$defs/d0"})})
    assert caught.value.unsatisfiable


def test_alternatives_within_each_other_without_end_are_refused_where_a_value_begins() -> None:
    definitions = referring(1_000, {"type": "integer"}, type="null")
    constraint = compile_json_schema({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    assert constraint.shortest(constraint.start) == b"0"
    state = constraint.advance(constraint.start, b'{"a":')
    assert state is not None
    assert "<value>" in constraint.describe(state)
    for question in (constraint.origins, constraint.moves, constraint.shortest, lambda _: constraint.alphabet):
        with pytest.raises(BudgetError, match="nested too deeply"):
            question(state)


def test_a_pattern_elsewhere_is_not_blamed_for_values_that_hold_each_other() -> None:
    pairs = {"type": "array", "items": {"$ref": "#/properties/a"}, "minItems": 2, "uniqueItems": True}
    properties = {"a": pairs, "b": {"type": "string", "pattern": "^(((a|b)*c)*d)*$"}}
    constraint = compile_json_schema({"type": "object", "properties": properties})
    with pytest.raises(BudgetError, match="The text is nested too deeply"):
        constraint.check('{"a": [')


def test_a_schema_that_is_met_in_many_ways_is_kept_once() -> None:
    parts: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    parts["d40"] = {"type": "integer", "minimum": 3}
    constraint = compile_json_schema({"$ref": "#/$defs/d0", "$defs": parts})  # 2^40 clauses, were each way kept
    assert constraint.check("3").kind == "accepted"
    assert constraint.check("2").kind == "incomplete"
    assert constraint.check("-").kind == "rejected"
