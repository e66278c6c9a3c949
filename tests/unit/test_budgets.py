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
