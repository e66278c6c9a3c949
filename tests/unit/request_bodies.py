"""Requests as people have them at hand, for tests."""

from __future__ import annotations

import json
from typing import Any

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
ADA = '{"name": "Ada", "age": 36}'
NAMELESS = '{"age": 36}'
WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
TIME = {"type": "object", "properties": {"zone": {"$ref": "#/$defs/zone"}}, "required": ["zone"]} | {
    "additionalProperties": False,
    "$defs": {"zone": {"enum": ["UTC", "CET"]}},
}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Who?"}]}


def chat_tool(name: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **more}}


def flat_tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": parameters, "strict": True}


def claude_tool(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "description": "d", "input_schema": schema, **more}


def grammar_tool(name: str, syntax: str, definition: str) -> dict[str, Any]:
    return {"type": "custom", "name": name, "format": {"type": "grammar", "syntax": syntax, "definition": definition}}


CHAT_TOOLS = [chat_tool("weather", WEATHER, strict=True), chat_tool("time", TIME, strict=True)]
FLAT_TOOLS = [flat_tool("weather", WEATHER), flat_tool("time", TIME)]
CLAUDE_TOOLS = [claude_tool("weather", WEATHER, strict=True), claude_tool("time", TIME, strict=True)]
NAMED = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": PERSON}}
CALL = '{"name": "weather", "arguments": {"city": "Oslo"}}'
MIXED_CALL = '{"name": "weather", "arguments": {"zone": "UTC"}}'
TAG = {"begin": "<person>", "schema": PERSON, "end": "</person>"}
LEGACY_TAG = {"type": "structural_tag", "structures": [TAG], "triggers": ["<person"]}
TAGGED = f"Here: <person>{ADA}</person>. Done."
GBNF = 'root ::= "yes" | "no"'
LARK = 'start: "yes" | "no"'
SUMS = """
start: expr
expr: term (SP ADD SP term)* -> add
    | term
term: factor (SP MUL SP factor)* -> mul
    | factor
factor: INT
SP: " "
ADD: "+"
MUL: "*"
%import common.INT
"""

Case = tuple[str, dict[str, Any], str, str, list[str], list[str]]

CASES: list[Case] = [
    (
        "chat json_schema",
        {"response_format": NAMED},
        "openai",
        "/response_format/json_schema/schema",
        [ADA],
        [NAMELESS],
    ),
    ("the format alone", NAMED, "openai", "/json_schema/schema", [ADA], [NAMELESS]),
    (
        "chat json_object",
        {"response_format": {"type": "json_object"}},
        "openai",
        "/response_format",
        ["{}", '{"a": [1]}'],
        ["[]"],
    ),
    ("chat text", {"response_format": {"type": "text"}}, "openai", "/response_format", ["", "Ada 😀"], []),
    (
        "responses json_schema",
        {"input": "Who?", "text": {"format": {"type": "json_schema", "name": "p", "schema": PERSON, "strict": True}}},
        "openai",
        "/text/format/schema",
        [ADA],
        [NAMELESS],
    ),
    (
        "chat, one function by name",
        {"tools": CHAT_TOOLS, "tool_choice": {"type": "function", "function": {"name": "time"}}},
        "openai",
        "/tools/1/function/parameters",
        ['{"zone": "UTC"}'],
        ['{"zone": "PST"}', '{"city": "Oslo"}'],
    ),
    (
        "chat, any of several functions",
        {"tools": CHAT_TOOLS, "tool_choice": "required"},
        "openai",
        "/tools",
        [CALL, '{"name": "time", "arguments": {"zone": "CET"}}'],
        [MIXED_CALL, '{"name": "time"}', '{"city": "Oslo"}'],
    ),
    (
        "chat, the only function",
        {"tools": CHAT_TOOLS[:1], "tool_choice": "required"},
        "openai",
        "",
        ['{"city": ""}'],
        [CALL],
    ),
    (
        "responses, any function",
        {"tools": FLAT_TOOLS, "tool_choice": "required"},
        "openai",
        "/tools",
        [CALL],
        [MIXED_CALL],
    ),
    (
        "responses, one function by name",
        {"tools": FLAT_TOOLS, "tool_choice": {"type": "function", "name": "weather"}},
        "openai",
        "/tools/0/parameters",
        ['{"city": "Oslo"}'],
        [CALL],
    ),
    (
        "some of the functions",
        {
            "tools": [*CHAT_TOOLS, chat_tool("die", {})],
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": name}} for name in ("weather", "time")],
                },
            },
        },
        "openai",
        "/tools",
        [CALL],
        ['{"name": "die", "arguments": {}}'],
    ),
    (
        "functions, none forced",
        {"tools": CHAT_TOOLS, "tool_choice": "auto"},
        "openai",
        "/tool_choice",
        ["Hi", CALL],
        [],
    ),
    ("functions, none at all", {"tools": CHAT_TOOLS, "tool_choice": "none"}, "openai", "/tool_choice", ["Hi"], []),
    ("functions, no choice", {"tools": CHAT_TOOLS}, "openai", "/tools", ["Hi"], []),
    (
        "functions beside a format",
        {"tools": CHAT_TOOLS, "response_format": NAMED},
        "openai",
        "/response_format/json_schema/schema",
        [ADA],
        [NAMELESS],
    ),
    (
        "custom tool with a regex",
        {"tools": [grammar_tool("day", "regex", r"\d{4}-\d\d")], "tool_choice": {"type": "custom", "name": "day"}},
        "openai",
        "/tools/0/format/definition",
        ["2026-11"],
        ["2026-1", '"2026-11"'],
    ),
    (
        "custom tool with a Lark grammar",
        {"tools": [grammar_tool("sum", "lark", SUMS)], "tool_choice": "required"},
        "openai",
        "/tools/0/format/definition",
        ["4", "1 + 2 * 30"],
        ["1+2", "1 + "],
    ),
    (
        "custom tool as chat completions write it",
        {
            "tools": [
                {
                    "type": "custom",
                    "custom": {
                        "name": "n",
                        "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[ab]+"}},
                    },
                }
            ],
            "tool_choice": {"type": "custom", "custom": {"name": "n"}},
        },
        "openai",
        "/tools/0/custom/format/grammar/definition",
        ["abba"],
        ["", "c"],
    ),
    (
        "custom tool of any text among functions",
        {"tools": [*FLAT_TOOLS, {"type": "custom", "name": "run"}], "tool_choice": "required"},
        "openai",
        "/tools",
        [CALL, '{"name": "run", "input": "print()"}'],
        ['{"name": "run", "arguments": {}}', '{"name": "weather", "input": "x"}'],
    ),
    (
        "claude, one tool by name",
        {"tools": CLAUDE_TOOLS, "tool_choice": {"type": "tool", "name": "time"}},
        "anthropic",
        "/tools/1/input_schema",
        ['{"zone": "UTC"}'],
        ['{"zone": "PST"}'],
    ),
    (
        "claude, any tool",
        {"tools": CLAUDE_TOOLS, "tool_choice": {"type": "any"}},
        "anthropic",
        "/tools",
        ['{"name": "weather", "input": {"city": "Oslo"}}', '{"name": "time", "input": {"zone": "CET"}}'],
        ['{"name": "time", "input": {"city": "Oslo"}}', CALL],
    ),
    ("claude, auto", {"tools": CLAUDE_TOOLS, "tool_choice": {"type": "auto"}}, "anthropic", "/tool_choice", ["Hi"], []),
    ("claude, none", {"tools": CLAUDE_TOOLS, "tool_choice": {"type": "none"}}, "anthropic", "/tool_choice", ["Hi"], []),
    (
        "claude, output_config",
        {"output_config": {"format": {"type": "json_schema", "schema": PERSON}}, "tools": CLAUDE_TOOLS},
        "anthropic",
        "/output_config/format/schema",
        [ADA],
        [NAMELESS],
    ),
    (
        "claude, output_format",
        {"output_format": {"type": "json_schema", "schema": PERSON}},
        "anthropic",
        "/output_format/schema",
        [ADA],
        [NAMELESS],
    ),
    ("vllm json", {"structured_outputs": {"json": PERSON}}, "vllm", "/structured_outputs/json", [ADA], [NAMELESS]),
    (
        "vllm json as text",
        {"structured_outputs": {"json": json.dumps(PERSON)}},
        "vllm",
        "/structured_outputs/json",
        [ADA],
        [NAMELESS],
    ),
    (
        "vllm regex",
        {"structured_outputs": {"regex": "a+b"}},
        "vllm",
        "/structured_outputs/regex",
        ["aab"],
        ["b", "aabb"],
    ),
    (
        "vllm choice",
        {"structured_outputs": {"choice": ["good", "bad"]}},
        "vllm",
        "/structured_outputs/choice",
        ["good", "bad"],
        ["goodbad", '"good"'],
    ),
    ("vllm GBNF", {"structured_outputs": {"grammar": GBNF}}, "vllm", "/structured_outputs/grammar", ["no"], ["maybe"]),
    ("vllm Lark", {"structured_outputs": {"grammar": LARK}}, "vllm", "/structured_outputs/grammar", ["no"], ["maybe"]),
    (
        "vllm JSON mode",
        {"structured_outputs": {"json_object": True}},
        "vllm",
        "/structured_outputs/json_object",
        ["{}"],
        ["1"],
    ),
    (
        "vllm structural tag",
        {"structured_outputs": {"structural_tag": json.dumps(LEGACY_TAG)}},
        "vllm",
        "/structured_outputs/structural_tag",
        [TAGGED, "Nobody."],
        ["<person>", f"<person>{NAMELESS}</person>"],
    ),
    ("vllm guided_json", {"guided_json": PERSON}, "vllm", "/guided_json", [ADA], [NAMELESS]),
    ("vllm guided_regex", {"guided_regex": "[01]{3}"}, "vllm", "/guided_regex", ["010"], ["01", "012"]),
    ("vllm guided_choice", {"guided_choice": ["a", "b"]}, "vllm", "/guided_choice", ["a"], ["ab"]),
    ("vllm guided_grammar", {"guided_grammar": GBNF}, "vllm", "/guided_grammar", ["yes"], ["y es"]),
    ("vllm extra_body", {"extra_body": {"guided_choice": ["a"]}}, "vllm", "/extra_body/guided_choice", ["a"], ["b"]),
    (
        "sglang json_schema",
        {"text": "Who?", "sampling_params": {"json_schema": json.dumps(PERSON), "temperature": 0}},
        "sglang",
        "/sampling_params/json_schema",
        [ADA],
        [NAMELESS],
    ),
    (
        "sglang regex",
        {"sampling_params": {"regex": "(Paris|Rome)"}},
        "sglang",
        "/sampling_params/regex",
        ["Rome"],
        ["Bonn"],
    ),
    ("sglang ebnf", {"extra_body": {"ebnf": GBNF}}, "sglang", "/extra_body/ebnf", ["yes"], ["maybe"]),
    (
        "sglang structural tag",
        {"sampling_params": {"structural_tag": json.dumps(LEGACY_TAG)}},
        "sglang",
        "/sampling_params/structural_tag",
        [TAGGED],
        ["<person>x"],
    ),
    ("ollama schema", {"format": PERSON, "stream": False}, "ollama", "/format", [ADA], [NAMELESS]),
    ("ollama json", {"format": "json"}, "ollama", "/format", ['{"a": {"b": null}}'], ["[]", "1"]),
    ("llama.cpp grammar", {"prompt": "?", "grammar": GBNF}, "llama.cpp", "/grammar", ["yes"], ["maybe"]),
    ("llama.cpp json_schema", {"prompt": "?", "json_schema": PERSON}, "llama.cpp", "/json_schema", [ADA], [NAMELESS]),
    (
        "llama.cpp json_object with a schema",
        {"response_format": {"type": "json_object", "schema": PERSON}},
        "llama.cpp",
        "/response_format/schema",
        [ADA],
        [NAMELESS],
    ),
    ("structural tag", {"response_format": LEGACY_TAG}, "xgrammar", "/response_format", [TAGGED], ["<person>x"]),
    ("structural tag alone", LEGACY_TAG, "xgrammar", "", [TAGGED], ["<person>x"]),
]
