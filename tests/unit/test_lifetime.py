"""Terms live as long as somebody needs them: nothing waits for the collector, which seldom looks at everything."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from engine import (
    Budget,
    Masker,
    Vocabulary,
    compare,
    compile_choices,
    compile_gbnf,
    compile_json_schema,
    compile_regex,
    lint,
)
from engine.constraint import Constraint
from engine.errors import ConstraintError
from engine.grammar.free_text import after_delimiter

BYTES = Vocabulary.from_tokens([bytes([byte]) for byte in range(256)] + [b"<end>"], end_ids=[256])

LONG = {"type": "string", "minLength": 100_000, "pattern": "^[a-z]+$"}
OVERLAPPING = {"oneOf": [{"type": "integer", "minimum": number} for number in range(60)]}
CONDITIONS = [
    {"if": {"properties": {"t": {"const": n}}}, "then": {"required": [f"a{n}"], "properties": {"b": LONG}}}
    for n in range(8)
]
FEW = Budget(terms=20_000)


def left_by(work: Callable[[], object]) -> int:
    """How many objects are there that were not before, without the collector."""
    compile_json_schema({"type": "string", "pattern": "^x$"})  # what all schemas share is made
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        work()
        return len(gc.get_objects()) - before
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("schema", "budget"),
    [
        (LONG, FEW),
        ({"allOf": [OVERLAPPING, {"required": ["a"], "properties": {"a": LONG}, "type": "object"}]}, FEW),
        ({"allOf": CONDITIONS, "required": ["b"], "type": "object"}, FEW),
        ({"$defs": {"a": {"required": ["a"], "type": "object", "properties": {"a": {"$ref": "#"}}}}, **LONG}, FEW),
        ({"type": "array", "uniqueItems": True, "minItems": 3, "items": {"enum": [1, 2]}}, Budget()),
        ({"type": "string", "pattern": "^(a|b)+$", "minLength": 9, "maxLength": 3}, Budget()),
        ({"type": "string", "pattern": "("}, Budget()),
    ],
)
def test_what_was_refused_is_freed_at_once(schema: Any, budget: Budget) -> None:
    def refused() -> None:
        with pytest.raises(ConstraintError):
            compile_json_schema(schema, budget=budget)

    assert left_by(refused) < 100


def test_a_grammar_that_was_refused_is_freed_at_once() -> None:
    rules = [f'x{n} ::= "a" x{n + 1} | "b" x{n + 1} "c" [a-z]{{3,9}}' for n in range(300)]
    grammar = "\n".join(["root ::= x0", *rules, 'x300 ::= "q"'])

    def refused() -> None:
        with pytest.raises(ConstraintError):
            compile_gbnf(grammar, budget=Budget(terms=300))

    refused()  # what all grammars share is made
    assert left_by(refused) < 100


@pytest.mark.parametrize(
    "question",
    [
        lambda: lint(OVERLAPPING),
        lambda: compare(compile_json_schema({"type": "integer"}), compile_json_schema({"type": "number"})),
    ],
)
def test_what_was_made_to_answer_a_question_is_freed_at_once(question: Callable[[], object]) -> None:
    question()  # what all questions share is made
    assert left_by(question) < 20


TREE = {
    "type": "object",
    "properties": {"names": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}, "next": {"$ref": "#"}},
}


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: compile_json_schema(TREE), '{"names": ["a", "b"], "next": {"names": []}}'),
        (lambda: compile_json_schema({}), '{"a": [1, null]}'),
        (lambda: compile_gbnf('root ::= "(" root ")" | "a"'), "((a))"),
        (lambda: compile_regex("(ab|c)*d{1,9}"), "abcdd"),
        (lambda: compile_choices(["ab", "ac"]), "ac"),
        (lambda: after_delimiter(compile_json_schema(TREE), "=>", free_after=True), 'x =>{"next": {}} y'),
    ],
)
def test_what_nobody_uses_is_freed_at_once(made: Callable[[], Constraint], text: str) -> None:
    def used() -> None:
        constraint = made()
        masker = Masker(constraint, BYTES)
        state: int | None = constraint.start
        for byte in text.encode():
            assert state is not None
            assert byte in masker.mask(state)
            state = masker.advance(state, byte)
        assert constraint.check(text).kind == "accepted"
        assert constraint.report.unsatisfiable == ()

    used()  # what all constraints share is made
    assert left_by(used) < 20


def test_a_constraint_outlives_the_one_that_it_was_made_of() -> None:
    lists = compile_json_schema({"type": "array", "items": {"$ref": "#"}})
    after = after_delimiter(lists, ":")
    del lists
    assert after.check("x:[[], []]").kind == "accepted"


def test_the_automaton_outlives_its_constraint() -> None:
    automaton = compile_json_schema({"type": "array", "items": {"$ref": "#"}}).automaton
    end = automaton.advance(automaton.start, b"[[], [[]]]")
    assert end is not None
    assert automaton.is_accepting(end)
