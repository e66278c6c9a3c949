"""The lint: findings about keywords, enums, alternatives and parts that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from engine.analysis.lint import lint, unsatisfiable_parts
from engine.errors import ConstraintError
from engine.vocabulary import Vocabulary
from tests.unit.linting import DRAFT_7, WORD, closed, pointers, said

NAMED = {"type": "object", "required": ["a"], "properties": {"a": True}}


class TestOverlap:
    def test_any_of(self) -> None:
        (finding,) = said({"anyOf": [WORD, {"type": "null"}, {"type": "string", "maxLength": 2}]}, "both admit")
        assert (finding.pointer, finding.severity) == ("/anyOf", "info")
        assert 'Branches 0 and 2 both admit ""' in finding.message

    def test_one_of_refuses_what_two_branches_admit(self) -> None:
        schema = {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 10}, {"type": "integer", "minimum": 7}]}
        (finding,) = said(schema, "both admit")
        assert (finding.pointer, finding.severity) == ("/oneOf", "warning")
        assert "both admit 7" in finding.message
        assert "refused" in finding.message

    @pytest.mark.parametrize(
        "options",
        [
            [WORD, {"type": "null"}],
            [{"const": "a"}, {"enum": ["b", 1]}],
            [{"type": "integer", "maximum": 3}, {"type": "integer", "minimum": 4}],
            [{"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}],
            [closed({"k": {"const": "x"}}, ["k"]), closed({"k": {"const": "y"}, "v": WORD}, ["k"])],
            [closed({"a": WORD}, ["a"]), closed({"b": WORD}, ["b"])],
        ],
    )
    @pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
    def test_apart(self, keyword: str, options: list[Any]) -> None:
        assert said({keyword: options}, "both admit") == []

    def test_what_stands_beside_it_counts(self) -> None:
        options = [{"maxLength": 3}, {"minimum": 5}]
        assert said({"anyOf": options}, "both admit") != []
        assert said({"type": ["integer"], "anyOf": options}, "both admit") != []
        assert said({"type": "string", "anyOf": [{"maxLength": 3}, {"minLength": 4}]}, "both admit") == []

    def test_open_objects_overlap(self) -> None:
        """Neither closes: an object with both names is a value of both."""
        options = [{"type": "object", "required": [name], "properties": {name: {"const": 1}}} for name in "ab"]
        (finding,) = said({"anyOf": options}, "both admit")
        assert '{"a":1,"b":1}' in finding.message

    def test_alternatives_within_alternatives(self) -> None:
        inner = {"anyOf": [WORD, {"type": "string", "minLength": 1, "maxLength": 4}]}
        schema = closed({"a": {"allOf": [{"anyOf": [inner, {"type": "null"}]}]}})
        assert pointers(schema, "both admit") == ["/properties/a/allOf/0/anyOf/0/anyOf"]


class TestEnums:
    def test_shared_prefix(self) -> None:
        (finding,) = said({"enum": ["support_billing", "support_technical", "sales"]}, "begin with")
        assert finding.pointer == "/enum"
        assert "2 of 3 values begin with 'support_'" in finding.message

    @pytest.mark.parametrize("values", [["support", "supplier"], ["north", "south"], [1, 2], ["a_long_value_alone"]])
    def test_no_shared_prefix(self, values: list[Any]) -> None:
        assert said({"enum": values}, "begin with") == []

    def test_odd_tokens(self) -> None:
        vocabulary = Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), b"yes", b"no", b"XQ"])
        (finding,) = said({"enum": ["yes", "no", "XQ7Z1"]}, "odd tokens", vocabulary=vocabulary)
        assert "1 of 3 values" in finding.message
        assert "'XQ7Z1' into 4" in finding.message
        assert "XQ·7·Z·1" in finding.message

    def test_a_token_that_ends_inside_a_character_is_odd(self) -> None:
        vocabulary = Vocabulary.from_tokens([bytes([b]) for b in range(256)])
        assert said({"enum": ["é", "a"]}, "odd tokens", vocabulary=vocabulary) != []

    def test_whole_words_are_not_odd(self) -> None:
        vocabulary = Vocabulary.from_tokens([b"yes", b"no", b"may", b"be", b"x"])
        assert lint({"enum": ["yes", "no", "maybe"]}, vocabulary=vocabulary) == ()

    def test_values_that_cannot_be_spelled(self) -> None:
        vocabulary = Vocabulary.from_tokens([b"yes", b"n"])
        (finding,) = said({"enum": ["yes", "no"]}, "cannot spell", vocabulary=vocabulary)
        assert finding.severity == "warning"
        assert "'no'" in finding.message


class TestProviders:
    SCHEMA = closed({"a": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2, "uniqueItems": True}}, ["a"])

    def test_each_named_one(self) -> None:
        found = lint(self.SCHEMA, providers=["xgrammar", "llguidance"])
        about = [finding for finding in found if finding.pointer == "/properties/a/uniqueItems"]
        assert {finding.severity for finding in about} == {"warning", "error"}
        assert any("xgrammar ignores uniqueItems" in finding.message for finding in about)

    def test_none_by_default(self) -> None:
        assert said(self.SCHEMA, "uniqueItems") == []

    def test_an_unknown_one(self) -> None:
        with pytest.raises(ConstraintError, match="openai"):
            lint({}, providers=["nobody"])


class TestIgnoredKeywords:
    @pytest.mark.parametrize(
        ("wrong", "right"), [("maxLenght", "maxLength"), ("maxlength", "maxLength"), ("patern", "pattern")]
    )
    def test_misspelled(self, wrong: str, right: str) -> None:
        (finding,) = said(closed({"a": {**WORD, wrong: 5}}), "Did you mean")
        assert (finding.pointer, finding.severity) == (f"/properties/a/{wrong}", "warning")
        assert right in finding.message

    @pytest.mark.parametrize("keyword", ["x-order", "note", "tittle", "_maxLength", "displayName", "$comment"])
    def test_not_misspelled(self, keyword: str) -> None:
        found = [finding for finding in lint({**WORD, keyword: "5"}) if finding.severity != "info"]
        assert [finding for finding in found if finding.keyword == keyword] == []

    def test_names_of_members_are_no_keywords(self) -> None:
        assert lint(closed({"maxLenght": WORD})) == ()

    def test_of_another_draft(self) -> None:
        (finding,) = said({"$schema": DRAFT_7, "type": "array", "maxItems": 2, "prefixItems": [WORD]}, "ignored in")
        assert finding.pointer == "/prefixItems"
        assert "2020-12" in finding.message

    def test_nullable(self) -> None:
        assert pointers({**WORD, "nullable": True}, "OpenAPI") == ["/nullable"]

    def test_beside_a_reference_in_draft_7(self) -> None:
        schema = {"definitions": {"a": WORD}, "$ref": "#/definitions/a", "minLength": 3}
        assert pointers({"$schema": DRAFT_7, **schema}, "beside $ref") == ["/minLength"]
        assert pointers(schema, "beside $ref") == []

    def test_formats(self) -> None:
        assert "'date-time'" in said({**WORD, "format": "datetime"}, "Did you mean")[0].message
        assert pointers({**WORD, "format": "colour"}, "not enforced") == ["/format"]
        (annotated,) = said({**WORD, "format": "date"}, "not enforced", formats="annotate")
        assert annotated.severity == "info"
        assert said({**WORD, "format": "date"}, "not enforced") == []

    def test_left_out_on_demand(self) -> None:
        (finding,) = said({**WORD, "format": "iri"}, "not enforced", on_unsupported="report")
        assert (finding.pointer, finding.severity) == ("/format", "warning")


class TestUnsatisfiableParts:
    @pytest.mark.parametrize(
        ("schema", "dead"),
        [
            ({"type": "object", "properties": {"x": False, "y": True}}, ("/properties/x",)),
            (closed({"a": {"type": "integer", "minimum": 5, "maximum": 3}, "b": WORD}), ("/properties/a",)),
            ({"type": "array", "items": {"type": "integer", "enum": ["a"]}}, ("/items",)),
            ({"type": "array", "prefixItems": [WORD, False]}, ("/prefixItems/1",)),
            ({"type": "string", "anyOf": [{"type": "integer"}, {"maxLength": 2}]}, ("/anyOf/0",)),
            ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, ("/oneOf/1",)),
            ({"type": "array", "prefixItems": [WORD], "items": False}, ()),
            (closed({"a": WORD}), ()),
            ({"not": {"properties": {"a": False}}}, ()),
            ({"anyOf": [WORD, {"type": "object", "required": ["a"]}], "additionalProperties": False}, ("/anyOf/1",)),
            ({"oneOf": [NAMED, WORD], "unevaluatedProperties": False}, ()),
            ({"anyOf": [NAMED, WORD], "unevaluatedProperties": False}, ()),
            ({"$defs": {"never": False}, **WORD}, ()),
        ],
    )
    def test_parts(self, schema: dict[str, Any], dead: tuple[str, ...]) -> None:
        assert unsatisfiable_parts(schema) == dead
        assert pointers(schema, "never") == list(dead)

    def test_closed_schemas_that_are_combined(self) -> None:
        """additionalProperties sees only its own schema: neither member can be written."""
        schema = {"allOf": [closed({"a": WORD}), closed({"b": WORD})]}
        assert unsatisfiable_parts(schema) == ("/allOf/0/properties/a", "/allOf/1/properties/b")
        assert "/allOf/1/additionalProperties" in said(schema, "never written")[0].message

    def test_possible_somewhere_is_possible(self) -> None:
        """In each branch of the condition the other value of k is impossible."""
        schema = closed({"k": {"enum": ["a", "b"]}}, ["k"])
        schema |= {"if": {"properties": {"k": {"const": "a"}}}, "then": {"properties": {"k": {"const": "a"}}}}
        assert unsatisfiable_parts(schema) == ()

    def test_the_message_names_what_contradicts(self) -> None:
        (finding,) = said(closed({"a": {"type": "integer", "minimum": 5, "maximum": 3}}), "never written")
        assert finding.severity == "warning"
        assert "/properties/a/minimum and /properties/a/maximum" in finding.message

    def test_an_unsatisfiable_whole_is_an_error(self) -> None:
        with pytest.raises(ConstraintError):
            unsatisfiable_parts(False)
