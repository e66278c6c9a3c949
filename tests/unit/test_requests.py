"""Requests to providers: the constraint in each shape, and errors with pointers into the request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import Budget, BudgetError, Constraint, ConstraintError, compile_request
from tests.unit.request_bodies import (
    ADA,
    CASES,
    CHAT,
    CHAT_TOOLS,
    CLAUDE_TOOLS,
    FLAT_TOOLS,
    GBNF,
    LEGACY_TAG,
    NAMED,
    PERSON,
    WEATHER,
    flat_tool,
    grammar_tool,
)


@pytest.mark.parametrize(
    ("body", "provider", "found_at", "accepted", "rejected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_shapes(body: dict[str, Any], provider: str, found_at: str, accepted: list[str], rejected: list[str]) -> None:
    constraint = compile_request({**CHAT, **body})
    assert isinstance(constraint, Constraint)
    assert constraint.report.provider == provider
    assert constraint.report.found_at == found_at or not found_at
    for text in accepted:
        assert constraint.check(text).kind == "accepted", text
    for text in rejected:
        assert constraint.check(text).kind != "accepted", text


@pytest.mark.parametrize("body", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_json_text_is_the_same_request(body: dict[str, Any]) -> None:
    assert compile_request(json.dumps(body)).report.found_at == compile_request(body).report.found_at


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_the_report_says_that_text_is_free(choice: str) -> None:
    for body in (
        {"tools": CHAT_TOOLS, "tool_choice": choice},
        {"tools": CLAUDE_TOOLS, "tool_choice": {"type": choice}},
    ):
        constraint = compile_request(body)
        assert constraint.report.notes == (f"The text is free: tool_choice is {choice}.",)
        assert constraint.report.kind == "text"
        assert constraint.check(b"\xff").kind == "rejected"  # any text, not any bytes
        assert constraint.check("é 😀\n").kind == "accepted"


def test_the_report_says_what_shape_a_call_has() -> None:
    assert "arguments" in compile_request({"tools": CHAT_TOOLS, "tool_choice": "required"}).report.notes[0]
    forced = compile_request({"tools": CLAUDE_TOOLS, "tool_choice": {"type": "tool", "name": "time"}})
    assert forced.report.notes[0] == "The text is the input of time."


def test_origins_are_pointers_into_the_request() -> None:
    constraint = compile_request({"tools": CHAT_TOOLS, "tool_choice": "required"})
    verdict = constraint.check('{"name": "time", "arguments": {"zone": "X')
    assert [str(origin) for origin in verdict.origins] == ["/tools/1/function/parameters/$defs/zone (enum)"]
    ollama = compile_request({"format": PERSON}).check('{"name": "Ada", "age": x')
    assert [origin.pointer for origin in ollama.origins] == ["/format/properties/age"]
    text = json.dumps({"type": "json_schema", "json_schema": {"schema": PERSON}})
    tagged = compile_request({"structured_outputs": {"json": json.dumps(PERSON)}, "note": text}).check('{"name": 1')
    assert [origin.pointer for origin in tagged.origins] == ["/structured_outputs/json/properties/name"]


def test_each_tool_has_its_own_root() -> None:
    """Both schemas say #/$defs/x and #; neither may read the other's."""
    tools = [
        flat_tool("a", {"$ref": "#/$defs/x", "$defs": {"x": {"enum": ["a"]}}}),
        flat_tool(
            "b", {"properties": {"x": {"$ref": "#/$defs/x"}, "more": {"$ref": "#"}}, "$defs": {"x": {"enum": ["b"]}}}
        ),
    ]
    constraint = compile_request({"tools": tools, "tool_choice": "required"})
    assert constraint.check('{"name": "a", "arguments": "a"}').kind == "accepted"
    assert constraint.check('{"name": "a", "arguments": "b"}').kind == "rejected"
    assert constraint.check('{"name": "b", "arguments": {"x": "b", "more": {"x": "b"}}}').kind == "accepted"
    assert constraint.check('{"name": "b", "arguments": {"x": "b", "more": {"x": "a"}}}').kind == "rejected"


def test_anchors_and_identifiers_of_tools() -> None:
    schema = {
        "$id": "https://example.com/t",
        "$ref": "https://example.com/t#z",
        "$defs": {"z": {"$anchor": "z", "const": 1}},
    }
    tools = [flat_tool("a", schema), flat_tool("b", {"$ref": "#z", "$defs": {"z": {"$anchor": "z", "const": 2}}})]
    constraint = compile_request({"tools": tools, "tool_choice": "required"})
    assert constraint.check('{"name": "a", "arguments": 1}').kind == "accepted"
    assert constraint.check('{"name": "b", "arguments": 2}').kind == "accepted"
    assert constraint.check('{"name": "b", "arguments": 1}').kind == "rejected"
    with pytest.raises(ConstraintError, match="same") as raised:
        compile_request({"tools": [tools[0], flat_tool("c", schema)], "tool_choice": "required"})
    assert raised.value.pointer == "/tools/1/parameters"


def test_draft_7_root_reference() -> None:
    """As zod-to-json-schema writes schemas; nothing beside a draft-7 $ref counts, an $id neither."""
    schema = {
        "$ref": "#/definitions/P",
        "definitions": {"P": PERSON},
        "$schema": "http://json-schema.org/draft-07/schema#",
    }
    tools = [flat_tool("a", schema), flat_tool("b", {**schema, "definitions": {"P": WEATHER}})]
    constraint = compile_request({"tools": tools, "tool_choice": "required"})
    assert constraint.check(f'{{"name": "a", "arguments": {ADA}}}').kind == "accepted"
    assert constraint.check('{"name": "b", "arguments": {"city": "Oslo"}}').kind == "accepted"
    assert constraint.check(f'{{"name": "b", "arguments": {ADA}}}').kind == "rejected"


def test_draft_4_tools() -> None:
    """Draft 4 names schemas by id and has no const."""
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "#/definitions/x"}
    tools = [flat_tool(name, {**schema, "definitions": {"x": {"enum": [name]}}}) for name in ("a", "b")]
    constraint = compile_request({"tools": tools, "tool_choice": "required"})
    assert constraint.check('{"name": "b", "arguments": "b"}').kind == "accepted"
    assert constraint.check('{"name": "b", "arguments": "a"}').kind == "rejected"
    tools = [flat_tool("a", schema), flat_tool("b", WEATHER)]
    with pytest.raises(ConstraintError, match=r"same \$schema") as raised:
        compile_request({"tools": tools, "tool_choice": "required"})
    assert raised.value.pointer == "/tools/1/parameters"


def test_options_pass_through() -> None:
    body = {"response_format": NAMED}
    swapped = '{"age":36,"name":"Ada"}'
    assert compile_request(body).check(swapped).kind == "rejected"
    assert compile_request(body, key_order="any", whitespace="compact").check(swapped).kind == "accepted"
    assert compile_request(body, whitespace="compact").check(ADA).kind == "rejected"
    assert compile_request({"guided_regex": "a"}, whitespace="any").check(" a").kind == "rejected"
    with pytest.raises(ConstraintError, match="key_order"):
        compile_request(body, key_order="alphabetical")  # type: ignore[arg-type]


def test_objects_are_closed_where_the_provider_closes_them() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    more = '{"a": 1, "b": 2}'
    assert compile_request({"json_schema": schema}).check(more).kind == "rejected"
    assert "llama.cpp" in compile_request({"json_schema": schema}).report.notes[0]
    assert compile_request({"json_schema": schema}, objects="open").check(more).kind == "accepted"
    assert (
        compile_request({"output_config": {"format": {"type": "json_schema", "schema": schema}}}).check(more).kind
        == "accepted"
    )


ERRORS: list[tuple[dict[str, Any], str, str]] = [
    ({"model": "m", "messages": []}, "", "response_format"),
    ({"response_format": {"type": "xml"}}, "/response_format/type", "json_schema"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "p"}}},
        "/response_format/json_schema",
        "schema",
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": 3}}},
        "/response_format/json_schema/schema",
        "JSON Schema",
    ),
    ({"tools": "x"}, "/tools", "a list"),
    ({"tools": [{"function": {}}]}, "/tools/0", "'type'"),
    ({"tools": CHAT_TOOLS, "tool_choice": "perhaps"}, "/tool_choice", "'auto'"),
    (
        {"tools": CHAT_TOOLS, "tool_choice": {"type": "function", "function": {"name": "tim"}}},
        "/tool_choice/function/name",
        "tim",
    ),
    ({"tool_choice": "required"}, "/tool_choice", "no function"),
    ({"tools": CLAUDE_TOOLS, "tool_choice": {"type": "tool", "name": "tim"}}, "/tool_choice/name", "tim"),
    ({"tools": CLAUDE_TOOLS, "tool_choice": {"type": "function"}}, "/tool_choice/type", "auto"),
    ({"output_config": {"format": {"type": "text"}}}, "/output_config/format/type", "json_schema"),
    ({"structured_outputs": {"json": PERSON, "regex": "a"}}, "/structured_outputs", "exactly one"),
    ({"structured_outputs": {"regex": 1}}, "/structured_outputs/regex", "a string"),
    ({"structured_outputs": {"choice": ["a", 1]}}, "/structured_outputs/choice/1", "a string"),
    ({"structured_outputs": {"choice": []}}, "/structured_outputs/choice", "at least one"),
    ({"guided_json": "{"}, "/guided_json", "line 1, column 2"),
    ({"guided_regex": "(a"}, "/guided_regex", ""),
    ({"guided_json": {"type": "strin"}}, "/guided_json/type", "strin"),
    ({"guided_json": PERSON, "guided_regex": "a"}, "/guided_regex", "one constraint"),
    ({"guided_json": {"$schema": "http://example.com/x"}}, "/guided_json/$schema", "dialect"),
    ({"grammar": GBNF, "json_schema": PERSON}, "/json_schema", "one constraint"),
    ({"grammar": "root ::= missing"}, "/grammar", "missing"),
    ({"format": "xml"}, "/format", "json"),
    ({"format": {"type": "object", "properties": {"a": {"$ref": "#/no"}}}}, "/format/properties/a/$ref", "#/no"),
    (
        {"tools": [grammar_tool("a", "regex", "x"), *FLAT_TOOLS], "tool_choice": "required"},
        "/tools/0/format",
        "alone",
    ),
    (
        {"tools": [grammar_tool("a", "bnf", "x")], "tool_choice": "required"},
        "/tools/0/format/syntax",
        "lark",
    ),
    ({"type": "structural_tag", "format": {"type": "token", "token": 3}}, "/format/type", "vocabulary"),
    ({**LEGACY_TAG, "triggers": ["<other"]}, "/structures/0/begin", "trigger"),
    (
        {"type": "structural_tag", "format": {"type": "any_text", "max_tokens": 3}},
        "/format/max_tokens",
        "not supported",
    ),
]


@pytest.mark.parametrize(("body", "pointer", "message"), ERRORS)
def test_errors_point_into_the_request(body: dict[str, Any], pointer: str, message: str) -> None:
    with pytest.raises(ConstraintError) as raised:
        compile_request(body)
    assert raised.value.pointer == pointer
    assert message in str(raised.value)


def test_broken_json_has_line_and_column() -> None:
    with pytest.raises(ConstraintError) as raised:
        compile_request('{"tools": [\n  1,,\n]}')
    assert raised.value.pointer == "line 2, column 5"
    with pytest.raises(ConstraintError, match="object"):
        compile_request("[]")


def test_unsatisfiable_and_oversized_requests() -> None:
    schema = {"type": "string", "minLength": 3, "maxLength": 2}
    with pytest.raises(ConstraintError) as raised:
        compile_request({"format": schema})
    assert raised.value.unsatisfiable
    assert raised.value.pointer.startswith("/format/m")
    with pytest.raises(BudgetError):
        compile_request({"guided_choice": ["a" * 100]} | {"guided_choice": ["b"] * 3}, budget=Budget(terms=3))
