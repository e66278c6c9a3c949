"""What providers refuse or do differently, with pointers into the request."""

from __future__ import annotations

from typing import Any

import pytest

from engine import Constraint, ConstraintError, compile_request
from engine.grammar.requests.providers import PROVIDERS, keyword_findings
from tests.unit.request_bodies import (
    CHAT_TOOLS,
    CLAUDE_TOOLS,
    FLAT_TOOLS,
    NAMED,
    PERSON,
    TIME,
    WEATHER,
    chat_tool,
    claude_tool,
)


def said(constraint: Constraint) -> list[tuple[str, str, str]]:
    return [(finding.severity, finding.pointer, finding.keyword) for finding in constraint.report.findings]


def test_what_openai_refuses() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}},
            {"type": "object", "properties": {}, "additionalProperties": False, "allOf": [{"type": "object"}]},
        ]
    }
    at = "/response_format/json_schema/schema"
    body = {"response_format": {"type": "json_schema", "json_schema": {"strict": True, "schema": schema}}}
    assert said(compile_request(body)) == [
        ("error", "/response_format/json_schema", "name"),
        ("error", f"{at}/anyOf/0", "additionalProperties"),
        ("error", f"{at}/anyOf/0/properties/a/minLength", "minLength"),
        ("error", f"{at}/anyOf/1/allOf", "allOf"),
        ("error", f"{at}/anyOf/1/allOf/0", "additionalProperties"),
        ("error", f"{at}/anyOf", "anyOf"),
        ("error", f"{at}/anyOf/0", "required"),
    ]


def test_strict_schemas_have_no_findings() -> None:
    for body in ({"response_format": NAMED}, {"tools": CHAT_TOOLS}, {"tools": FLAT_TOOLS}, {"tools": CLAUDE_TOOLS}):
        assert compile_request(body).report.findings == ()


def test_limits_of_openai() -> None:
    def strict(**properties: Any) -> dict[str, Any]:
        required = list(properties)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    wide = strict(**{f"p{index}": {"type": "string"} for index in range(5_001)})
    listed = strict(a={"type": "integer", "enum": list(range(600))}, b={"type": "integer", "enum": list(range(401))})
    deep = strict()
    for _ in range(10):
        deep = strict(below=deep)
    for schema, message in ((wide, "5,001"), (listed, "1,001"), (deep, "11")):
        (finding,) = keyword_findings("openai", schema, "/s")
        assert (finding.severity, finding.pointer) == ("error", "/s")
        assert message in finding.message
    assert keyword_findings("openai", deep["properties"]["below"]) == []


def test_what_anthropic_refuses() -> None:
    schema = {
        "type": "object",
        "properties": {
            "next": {"$ref": "#/$defs/node"},
            "count": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string", "maxLength": 9}, "minItems": 2},
            "one": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        },
        "required": ["count"],
        "additionalProperties": False,
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    body = {"tools": [claude_tool("t", schema, strict=True)]}
    at = "/tools/0/input_schema"
    assert said(compile_request(body)) == [
        ("info", f"{at}/required", "required"),  # count is written before next
        ("error", f"{at}/properties/count/minimum", "minimum"),
        ("error", f"{at}/properties/tags/minItems", "minItems"),
        ("error", f"{at}/properties/tags/items/maxLength", "maxLength"),
        ("error", f"{at}/$defs/node", "additionalProperties"),
        ("error", f"{at}/$defs/node/properties/next/$ref", "$ref"),
    ]


def test_without_strict_nothing_is_enforced() -> None:
    plain = {"type": "json_schema", "json_schema": {"name": "p", "schema": PERSON, "strict": False}}
    assert said(compile_request({"response_format": plain})) == [
        ("warning", "/response_format/json_schema/strict", "strict")
    ]
    assert said(compile_request({"tools": [chat_tool("weather", WEATHER)]})) == [
        ("warning", "/tools/0/function", "strict")
    ]
    assert said(compile_request({"tools": [claude_tool("weather", WEATHER)]})) == [("warning", "/tools/0", "strict")]


def test_what_vllm_does_differently() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "[a-z]", "maxLength": 3}, "b": {"type": "array"}},
    }
    constraint = compile_request({"guided_json": schema})
    assert said(constraint) == [
        ("warning", "/guided_json", "guided_json"),
        ("info", "/guided_json", "additionalProperties"),
        ("warning", "/guided_json/properties/a/pattern", "pattern"),
        ("warning", "/guided_json/properties/a/maxLength", "maxLength"),
    ]
    assert "structured_outputs.json" in constraint.report.findings[0].message
    assert constraint.check('{"a": "1b"}').kind == "accepted"  # the specification's reading, not xgrammar's
    assert constraint.check('{"a": "abcd"}').kind == "rejected"


def test_names_and_duplicates_of_tools() -> None:
    tools = [
        chat_tool("get weather", WEATHER, strict=True),
        chat_tool("t", TIME, strict=True),
        chat_tool("t", TIME, strict=True),
    ]
    assert said(compile_request({"tools": tools})) == [
        ("error", "/tools/0/function/name", ""),
        ("error", "/tools/2/function/name", ""),
    ]


def test_a_second_constraint_is_reported() -> None:
    constraint = compile_request({"guided_choice": ["a"], "response_format": NAMED})
    assert constraint.check("a").kind == "accepted"
    assert said(constraint)[-1] == ("warning", "/response_format/json_schema/schema", "")


def test_tools_that_the_provider_runs() -> None:
    body = {"tools": [{"type": "web_search"}, *CHAT_TOOLS[:1]], "tool_choice": "required"}
    constraint = compile_request(body)
    assert said(constraint) == [("info", "/tools/0", "web_search")]
    assert constraint.check('{"city": "Oslo"}').kind == "accepted"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_findings_of_anything(provider: str) -> None:
    """Malformed schemas are passed over."""
    odd = {
        "type": ["x", 1],
        "properties": [1],
        "required": 3,
        "enum": 1,
        "pattern": 2,
        "minItems": "a",
        "format": [],
        "$ref": 1,
    }
    keyword_findings(provider, odd)
    for schema in (True, False, None, 3, {"allOf": 1, "items": [1, None], "anyOf": [{}, True]}):
        keyword_findings(provider, schema)


def test_there_is_no_such_provider() -> None:
    with pytest.raises(ConstraintError, match="vllm"):
        keyword_findings("nobody", {})


def test_long_reference_chains_are_cheap() -> None:
    defs = {f"d{index}": {"$ref": f"#/$defs/d{index + 1}"} for index in range(5_000)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**defs, "d5000": {"type": "object"}}}
    assert all(finding.keyword != "$ref" for finding in keyword_findings("anthropic", schema))
    schema["$defs"]["d5000"] = {"type": "array", "items": {"$ref": "#/$defs/d0"}}
    assert sum(finding.keyword == "$ref" for finding in keyword_findings("anthropic", schema)) == 1
