"""OpenAI: `response_format`, the Responses API's `text.format`, function and custom tools.

The text of a call: of a tool that is determined (by name, or because it is the only one) its arguments, or the input of
a custom tool; where the model chooses among several, `{"name": ..., "arguments": {...}}`, or `{"name": ..., "input":
"..."}` for a custom tool. It is one call, also where several may be made in parallel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.budget import Budget
from engine.findings import Finding
from engine.grammar.requests import anthropic
from engine.grammar.requests.conditions import LOOKAROUND
from engine.grammar.requests.found import (
    AnyCall,
    AnyText,
    Call,
    Found,
    GrammarText,
    JsonValue,
    Regex,
    Wanted,
    any_object,
    not_strict,
    of_schema,
    refusal,
)
from engine.grammar.requests.part import Part
from engine.grammar.requests.providers import keyword_findings

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NO_PARAMETERS = {"type": "object", "properties": {}, "additionalProperties": False}
KEYS = {"function": "arguments", "custom": "input"}
CALL = 'The text is a call: {"name": ..., "arguments": {...}}, or {"name": ..., "input": "..."} of a custom tool.'
FORMATS = ("text", "json_object", "json_schema")


@dataclass(frozen=True, slots=True)
class Tool:
    """A function or custom tool at a pointer. `definition` holds its name and its other members."""

    pointer: str
    kind: str
    definition: Part

    @property
    def name(self) -> str:
        """What the tool is called by."""
        return self.definition.need("name").text()


def find(body: Part, budget: Budget) -> Found | None:
    """The constraint of a request to OpenAI, or to a server that takes the same."""
    if anthropic.has_tools(body):
        return None
    tools, findings = _tools(body, budget)
    choice = body.get("tool_choice") or Part("auto" if tools else "none", "/tools")
    chosen = _chosen(tools, choice)
    if chosen:
        return _called(chosen, findings, budget)
    answer = _answer(body, budget)
    if answer is not None and answer.wanted != AnyText():
        notes = ("The model may also call a tool; its calls are not constrained.",) if tools else ()
        return Found(answer.provider, answer.pointer, answer.wanted, (*answer.findings, *findings), notes)
    if tools:
        said = choice.value if isinstance(choice.value, str) else choice.need("type").text()
        return Found("openai", choice.pointer, AnyText(), findings, (f"The text is free: tool_choice is {said}.",))
    return answer


def _answer(body: Part, budget: Budget) -> Found | None:
    """What the answer itself must look like."""
    for part in (body.get("response_format"), body.get("text", "format"), body):
        kind = part.get("type") if part else None
        if part and kind and kind.value in FORMATS:
            return _format(part, kind.text(), budget)
        if part and kind and kind.value != "structural_tag" and part is not body:
            raise kind.error(f"must be one of {', '.join(FORMATS)}")
    return None


def _format(part: Part, kind: str, budget: Budget) -> Found:
    if kind == "text":
        return Found("openai", part.pointer, AnyText(), notes=("The text is free: the format is 'text'.",))
    if kind == "json_object":
        schema = part.get("schema")
        if schema:  # llama.cpp and servers built on it
            return of_schema("llama.cpp", schema.schema(budget))
        return Found("openai", part.pointer, any_object(part.pointer), notes=("JSON mode: any JSON object.",))
    given = part.get("json_schema") or part
    schema = given.need("schema").schema(budget)
    findings = [] if given.get("name") else [refusal("OpenAI", given, "asks for a name of the schema", "name")]
    strict = given.get("strict")
    if strict and strict.flag():
        return of_schema("openai", schema, *findings)
    return Found("openai", schema.pointer, JsonValue(schema), (*findings, not_strict("OpenAI", given, "the schema")))


def _tools(body: Part, budget: Budget) -> tuple[list[Tool], tuple[Finding, ...]]:
    listed = body.get("tools")
    tools: list[Tool] = []
    findings: list[Finding] = []
    for part in listed.items() if listed else ():
        kind = part.need("type").text()
        if kind not in KEYS:
            why = "Its calls are not part of the constraint."
            findings.append(
                Finding(part.pointer, "info", kind, f"{kind} is a tool that the provider runs itself.", why)
            )
            continue
        definition = part.get(kind) or part
        tool = Tool(part.pointer, kind, definition)
        if any(tool.name == other.name for other in tools):
            findings.append(refusal("OpenAI", definition.need("name"), f"has a tool {tool.name!r} already"))
        tools.append(tool)
        findings += _tool_findings(tool, nested=definition is not part, budget=budget)
    return tools, tuple(findings)


def _tool_findings(tool: Tool, nested: bool, budget: Budget) -> list[Finding]:
    findings = []
    if not NAME.fullmatch(tool.name):
        findings.append(
            refusal("OpenAI", tool.definition.need("name"), "takes 1 to 64 letters, digits, _ and - in a name")
        )
    if tool.kind == "custom":
        return findings + _grammar_findings(tool)
    strict = tool.definition.get("strict")
    parameters = tool.definition.get("parameters")
    # The Responses API, whose tools are flat, is strict unless told otherwise.
    if not (strict.flag() if strict else not nested):
        findings.append(not_strict("OpenAI", tool.definition, "the parameters"))
    elif parameters:
        schema = parameters.schema(budget)
        findings += keyword_findings("openai", schema.value, schema.pointer)
    return findings


def _grammar_findings(tool: Tool) -> list[Finding]:
    grammar = _grammar(tool)
    if grammar is None or not LOOKAROUND.search(grammar.need("definition").text()):
        return []
    return [refusal("OpenAI", grammar.need("definition"), "takes no lookahead or lookbehind in a grammar")]


def _chosen(tools: list[Tool], choice: Part) -> list[Tool]:
    """The tools of which one must be called, [] if none must."""
    if isinstance(choice.value, str):
        if choice.value not in ("auto", "none", "required", "any"):
            raise choice.error("must be 'auto', 'none', 'required' or an object")
        if choice.value in ("auto", "none"):
            return []
        if not tools:
            raise choice.error("asks for a call, but there is no function or custom tool")
        return tools
    kind = choice.need("type").text()
    if kind == "allowed_tools":
        allowed = choice.get("allowed_tools") or choice
        named = [_named(tools, part) for part in allowed.need("tools").items()]
        return named if allowed.need("mode").text() == "required" else []
    if kind not in KEYS:
        raise choice.error(f"asks for {kind}, a tool that the provider runs itself, and whose calls are not known here")
    return [_named(tools, choice)]


def _named(tools: list[Tool], reference: Part) -> Tool:
    """The tool that a part `{"type": ..., ...: {"name": ...}}` refers to."""
    kind = reference.need("type").text()
    name = (reference.get(kind) or reference).need("name")
    for tool in tools:
        if (tool.kind, tool.name) == (kind, name.text()):
            return tool
    raise name.error(f"names no {kind} tool of the request: {name.text()!r}")


def _called(tools: list[Tool], findings: tuple[Finding, ...], budget: Budget) -> Found:
    if len(tools) > 1:
        calls = tuple(
            Call(tool.pointer, tool.definition.need("name"), KEYS[tool.kind], _json_arguments(tool, budget))
            for tool in tools
        )
        return Found("openai", "/tools", AnyCall("/tools", calls), findings, (CALL,))
    tool = tools[0]
    if tool.kind == "function":
        schema = _json_arguments(tool, budget)
        note = f"The text is the arguments of {tool.name}."
        return Found("openai", schema.pointer, JsonValue(schema), findings, (note,))
    wanted, pointer = _custom_input(tool)
    return Found("openai", pointer, wanted, findings, (f"The text is the input of {tool.name}.",))


def _json_arguments(tool: Tool, budget: Budget) -> Part:
    if tool.kind == "function":
        parameters = tool.definition.get("parameters")
        return parameters.schema(budget) if parameters else Part(NO_PARAMETERS, f"{tool.definition.pointer}/parameters")
    grammar = _grammar(tool)
    if grammar is not None:
        raise grammar.error("cannot be enforced inside the JSON text of a call. Choose this tool alone in tool_choice")
    return Part({"type": "string"}, f"{tool.definition.pointer}/input")


def _grammar(tool: Tool) -> Part | None:
    """The part with syntax and definition, None if the input is free text."""
    form = tool.definition.get("format")
    kind = form.need("type") if form else None
    if form is None or kind is None or kind.value == "text":
        return None
    if kind.value != "grammar":
        raise kind.error("must be 'text' or 'grammar'")
    return form.get("grammar") or form


def _custom_input(tool: Tool) -> tuple[Wanted, str]:
    grammar = _grammar(tool)
    if grammar is None:
        return AnyText(), tool.definition.pointer
    syntax, definition = grammar.need("syntax"), grammar.need("definition")
    if syntax.value == "lark":
        return GrammarText(definition, "lark"), definition.pointer
    if syntax.value == "regex":
        return Regex(definition), definition.pointer
    raise syntax.error("must be 'lark' or 'regex'")
