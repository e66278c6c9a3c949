"""The lint: findings about the values at a place, about the automaton, and as a whole."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from typer.testing import CliRunner

import engine
from engine.analysis.lint import lint, states
from engine.cli import app
from engine.examples import EXAMPLES
from tests.unit.linting import WORD, closed, pointers, said


def test_nothing_to_say_of_a_careful_schema() -> None:
    careful = closed({"reasoning": WORD, "answer": {"enum": ["yes", "no", "unknown"]}}, ["reasoning", "answer"])
    assert lint(careful) == ()
    assert engine.lint is lint


def test_findings_are_ordered_by_pointer_and_say_why() -> None:
    found = lint(closed({"b": {"type": "string"}, "a": {"type": "array"}, "0": {"type": "integer", "maximum": 3}}))
    assert [finding.pointer for finding in found] == sorted(finding.pointer for finding in found)
    assert len(found) > 2
    assert all(finding.why and finding.message.endswith((".", "?")) for finding in found)


class TestDoesNotCompile:
    def test_the_error_is_the_only_finding(self) -> None:
        (finding,) = lint({"type": "integer", "minimum": 5, "maximum": 3}, providers=["openai"])
        assert (finding.severity, finding.pointer, finding.keyword) == ("error", "/minimum", "minimum")

    @pytest.mark.parametrize("schema", ["{", False, {"type": "strin"}, {"$ref": "https://elsewhere.example/x"}])
    def test_any_error(self, schema: Any) -> None:
        (finding,) = lint(schema)
        assert finding.severity == "error"

    def test_what_fails_only_when_a_text_comes_there(self) -> None:
        many = {"type": "object", "patternProperties": {f"^{letter}": WORD for letter in "abcdefghijkl"}}
        (finding,) = [finding for finding in lint(closed({"a": many})) if finding.severity == "error"]
        assert finding.pointer == "/properties/a"
        assert "a run fails" in finding.why


class TestOrder:
    @pytest.mark.parametrize(
        ("answer", "reasoning"),
        [("answer", "reasoning"), ("label", "explanation"), ("final_score", "chainOfThought"), ("Result", "why")],
    )
    def test_answer_before_reasoning(self, answer: str, reasoning: str) -> None:
        (finding,) = said(closed({answer: {"type": "integer"}, reasoning: WORD}), "is written before")
        assert (finding.pointer, finding.severity) == (f"/properties/{answer}", "warning")
        assert repr(answer) in finding.message
        assert repr(reasoning) in finding.message

    @pytest.mark.parametrize(
        "properties",
        [
            {"reasoning": WORD, "answer": WORD},
            {"answer": WORD, "name": WORD},
            {"answer": WORD, "steps": {"type": "integer"}},
            {"score_explanation": WORD, "explanation": WORD},
            {"resulting": WORD, "reasoning": WORD},
        ],
    )
    def test_fine(self, properties: dict[str, Any]) -> None:
        assert said(closed(properties), "is written before") == []

    def test_declared_order_is_that_of_a_walk(self) -> None:
        """A $ref stands for its target, and allOf comes where it stands: here after properties."""
        reasoning, answer = {"properties": {"reasoning": WORD}}, {"properties": {"answer": WORD}}
        later = {"type": "object", **answer, "allOf": [{"$ref": "#/$defs/r"}], "$defs": {"r": reasoning}}
        earlier = {"allOf": [{"$ref": "#/$defs/r"}], "type": "object", **answer, "$defs": {"r": reasoning}}
        assert pointers(later, "is written before") == ["/properties/answer"]
        assert pointers(earlier, "is written before") == []

    def test_no_order_no_finding(self) -> None:
        assert said(closed({"answer": WORD, "reasoning": WORD}), "is written before", key_order="any") == []


class TestDeclining:
    @pytest.mark.parametrize(
        ("schema", "advice"),
        [
            ({"type": "integer"}, "null beside the number"),
            ({"type": "boolean"}, "null beside the boolean"),
            ({"type": "string", "minLength": 1}, "empty string"),
            ({"type": "string", "format": "date"}, "empty string"),
            ({"type": "array", "items": WORD, "minItems": 1, "maxItems": 2}, "empty array"),
            ({"enum": ["yes", "no"]}, "unknown"),
            ({"anyOf": [{"const": "yes"}, {"const": "no"}]}, "unknown"),
            ({"$ref": "#/properties/other"}, "null"),
        ],
    )
    def test_no_way(self, schema: dict[str, Any], advice: str) -> None:
        (finding,) = said(closed({"a": schema, "other": {"type": "number"}}, ["a"]), "no way to decline")
        assert (finding.pointer, finding.severity) == ("/properties/a", "info")
        assert advice in finding.message

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": ["integer", "null"]},
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            WORD,
            {"type": "string", "pattern": "^([0-9]{4})?$"},
            {"type": "array", "items": WORD, "maxItems": 2},
            {"enum": ["yes", "no", "N/A"]},
            {"enum": ["yes", "no", "not_specified"]},
            {"enum": ["yes", ""]},
            {"enum": [1, 2, None]},
            {"const": "circle"},
            True,
            closed({"b": {"type": "integer"}}),
        ],
    )
    def test_a_way(self, schema: Any) -> None:
        assert said(closed({"a": schema}, ["a"]), "no way to decline") == []

    def test_optional(self) -> None:
        assert said(closed({"a": {"type": "integer"}}), "no way to decline") == []

    def test_a_word_that_is_excluded_is_no_way(self) -> None:
        schema = {"enum": ["yes", "no", "unknown"], "not": {"const": "unknown"}}
        assert pointers(closed({"a": schema}, ["a"]), "no way to decline") == ["/properties/a"]

    def test_a_branch_without_it_is_a_way(self) -> None:
        condition = {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}}
        assert said(closed({"a": {"enum": [1, 2]}, "b": WORD}, **condition), "no way to decline") == []


class TestBounds:
    @pytest.mark.parametrize(
        ("schema", "words"),
        [
            ({"type": "string"}, "string may be of any length"),
            ({"type": "string", "minLength": 3}, "string may be of any length"),
            ({"type": "string", "pattern": "^a+$"}, "matches texts of any length"),
            ({"type": "string", "pattern": "[0-9]{3}"}, "matches texts of any length"),
            ({"type": "string", "format": "uri"}, "format has texts of any length"),
            ({"type": "array", "items": WORD}, "any number of items"),
            ({"type": "array", "prefixItems": [WORD]}, "any number of items"),
            ({"type": "array", "items": WORD, "uniqueItems": True}, "any number of items"),
        ],
    )
    def test_unbounded(self, schema: dict[str, Any], words: str) -> None:
        (finding,) = [finding for finding in said(schema, words) if finding.severity == "warning"]
        assert finding.pointer == ""

    @pytest.mark.parametrize(
        "schema",
        [
            WORD,
            {"type": "string", "enum": ["a", "b"]},
            {"type": "string", "const": "a"},
            {"type": "string", "pattern": "^[0-9]{3}(-[a-z]{1,4})?$"},
            {"type": "string", "pattern": r"^(?=.*\d)[a-z0-9]{8}$"},
            {"type": "string", "format": "date"},
            {"type": "string", "format": "ipv6"},
            {"type": "array", "items": WORD, "maxItems": 3},
            {"type": "array", "prefixItems": [WORD, WORD], "items": False},
            {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
            {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 6}, "uniqueItems": True},
            {"type": "array", "items": {"type": ["boolean", "null"]}, "uniqueItems": True},
            {"allOf": [{"type": "string"}, {"maxLength": 5}]},
            {"$ref": "#/$defs/short", "type": "string", "$defs": {"short": {"maxLength": 5}}},
        ],
    )
    def test_bounded(self, schema: dict[str, Any]) -> None:
        assert [finding for finding in lint(schema) if finding.keyword in ("maxLength", "maxItems")] == []

    def test_said_once_where_the_type_stands(self) -> None:
        text = {"$ref": "#/$defs/text"}
        properties = {"a": text, "b": {"type": "array", "items": text, "maxItems": 2}}
        schema = closed(properties) | {"$defs": {"text": {"type": "string"}}}
        assert pointers(schema, "any length") == ["/$defs/text"]

    def test_any_value(self) -> None:
        assert pointers(closed({"a": {}, "b": True}), "Any JSON value") == ["/properties/a", "/properties/b"]

    @pytest.mark.parametrize(
        ("schema", "words"),
        [
            ({"type": "object"}, "any members"),
            ({"type": "object", "properties": {"a": WORD}}, "not declared may follow"),
            ({"type": "object", "additionalProperties": WORD}, "any number of members"),
            ({"patternProperties": {"^x": WORD}, "additionalProperties": False, "type": "object"}, "number of members"),
        ],
    )
    def test_open_object(self, schema: dict[str, Any], words: str) -> None:
        assert [finding.severity for finding in said(schema, words)] == ["info"]

    @pytest.mark.parametrize(
        "schema",
        [
            closed({"a": WORD}),
            {"type": "object", "additionalProperties": WORD, "maxProperties": 3},
            {"type": "object", "additionalProperties": WORD, "propertyNames": {"enum": ["a", "b"]}},
            {"type": "object", "properties": {"a": WORD}, "unevaluatedProperties": False},
        ],
    )
    def test_closed_object(self, schema: dict[str, Any]) -> None:
        assert said(schema, "members") == []

    def test_the_language_option_closes_too(self) -> None:
        assert said({"type": "object", "properties": {"a": WORD}}, "members", objects="closed") == []


class TestWhiteSpace:
    def test_between_the_parts(self) -> None:
        (finding,) = said(WORD, "white space", whitespace="any", max_whitespace=20)
        assert (finding.pointer, finding.severity) == ("", "warning")
        assert "20 bytes" in finding.message

    @pytest.mark.parametrize("whitespace", ["compact", "spaced"])
    def test_not_between_the_parts(self, whitespace: str) -> None:
        assert said(closed({"a": WORD}), "white space", whitespace=whitespace) == []

    @pytest.mark.parametrize("pattern", ["^a *b$", "^[a-z]+( +[a-z]+)*$", r"^\s*x$"])
    def test_loop_in_a_pattern(self, pattern: str) -> None:
        schema = closed({"a": {"type": "string", "pattern": pattern}})
        assert pointers(schema, "white space without end") == ["/properties/a/pattern"]

    @pytest.mark.parametrize("pattern", ["^a ?b$", "^[a-z ]+$", "^.*$", "^a {0,3}b$"])
    def test_no_loop_of_its_own(self, pattern: str) -> None:
        assert said({"type": "string", "pattern": pattern}, "white space") == []


class TestNumbers:
    @pytest.mark.parametrize(
        ("schema", "words"),
        [
            ({"type": "integer", "minimum": 18, "maximum": 99}, ["from 18 to 99", "82 values"]),
            ({"type": "integer", "minimum": 0, "exclusiveMaximum": 5}, ["below 5", "5 values", "enum"]),
            ({"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 100}, ["a multiple of 5", "21 values"]),
            ({"type": "number", "exclusiveMinimum": 0.5, "maximum": 1.5}, ["above 0.5 and at most 1.5"]),
            ({"type": "number", "multipleOf": 0.01}, ["a multiple of 0.01"]),
        ],
    )
    def test_bounds(self, schema: dict[str, Any], words: list[str]) -> None:
        (finding,) = said(schema, "The mask, not the model")
        assert finding.severity == "info"
        assert all(word in finding.message for word in words), finding.message

    @pytest.mark.parametrize(
        "schema", [{"type": "integer"}, {"type": "integer", "minimum": 0}, {"enum": [1, 2, 3], "minimum": 2}]
    )
    def test_no_digits_forced(self, schema: dict[str, Any]) -> None:
        assert said(schema, "The mask, not the model") == []


class TestShares:
    def test_the_part_that_most_states_belong_to(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(states, "LONGEST_LOOK", 30)
        large = {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 20, "maxItems": 30}
        found = said(closed({"small": {"type": "boolean"}, "large": large}), "This part has")
        assert [(finding.pointer, finding.severity) for finding in found] == [("/properties/large/items", "info")]

    def test_small_automata_are_not_counted(self) -> None:
        """A counter far from its bound is one state: a long string is a small automaton."""
        long = {"type": "string", "maxLength": 100_000}
        assert said(closed({"a": {"type": "boolean"}, "b": long}), "This part has") == []


SCHEMAS = [entry for entry in EXAMPLES if entry.constraint is not None and entry.constraint.kind == "json_schema"]


@pytest.mark.parametrize("entry", SCHEMAS, ids=lambda entry: entry.name)
def test_examples_are_linted_quickly_and_without_false_alarms(entry: Any) -> None:
    """Warnings only where the example is made to show the fault."""
    began = time.monotonic()
    found = lint(entry.constraint.text, **dict(entry.constraint.options))
    assert time.monotonic() - began < 5  # about a tenth of a second on a machine that is free
    assert all(finding.severity != "error" for finding in found)
    warned = [finding.pointer for finding in found if finding.severity == "warning"]
    assert warned == (["/properties/answer"] if entry.name == "Answer first" else [])


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [f"value number {number}" for number in range(5000)]},
        {"anyOf": [closed({"k": {"const": number}}, ["k"]) for number in range(300)]},
        {"type": "string", "maxLength": 10_000_000},
        {"type": "string", "pattern": "^((a{1,50}){1,50}){1,50}$"},
        {"$ref": "#/$defs/tree", "$defs": {"tree": closed({"left": {"$ref": "#/$defs/tree"}, "value": WORD})}},
        json.dumps({"properties": {"": {"enum": [1]}, "a/b~c": {"anyOf": [True, False]}}}),
    ],
)
def test_unusual_schemas_take_a_bounded_time(schema: Any) -> None:
    began = time.monotonic()
    lint(schema)
    assert time.monotonic() - began < 10


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "status", "words"),
        [
            (["--schema", '{"type": "string"}'], 0, "warning: the root: The string may be of any length"),
            (["--schema", '{"type": "null"}'], 0, "nothing to say"),
            (["--schema", "false"], 1, "error: the root"),
            (["--schema", '{"type": "null"}', "--provider", "openai"], 1, "asks for an object at the root"),
            (["--schema", '{"type": "null"}', "--provider", "nobody"], 2, "nobody"),
            (["--schema", '{"type": "null"}', "--option", "colour=red"], 2, "colour"),
            (["--schema", "no-such-file.json"], 2, "no-such-file.json"),
        ],
    )
    def test_exit_status(self, arguments: list[str], status: int, words: str) -> None:
        result = CliRunner().invoke(app, ["lint", *arguments])
        assert result.exit_code == status
        assert words in result.output

    def test_json(self) -> None:
        result = CliRunner().invoke(app, ["lint", "--schema", '{"type": "string"}', "--json"])
        (finding,) = json.loads(result.stdout)
        assert (finding["pointer"], finding["severity"], finding["keyword"]) == ("", "warning", "maxLength")
        assert finding["why"]
