"""Anthropic: `tools` with `tool_choice`, and the answer's format in `output_config` (formerly `output_format`).

The text of a call: of a tool that is determined (by name, or because it is the only one) its input; where the model
chooses among several, `{"name": ..., "input": {...}}`.
"""

from __future__ import annotations

import re

from engine.budget import Budget
from engine.findings import Finding
from engine.grammar.requests.found import AnyCall, AnyText, Call, Found, JsonValue, not_strict, of_schema, refusal
from engine.grammar.requests.part import Part
from engine.grammar.requests.providers import keyword_findings

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
CHOICES = ("auto", "any", "tool", "none")


def find(body: Part, budget: Budget) -> Found | None:
    """The constraint of a request to Anthropic."""
    if not has_tools(body):
        return _answer(body, budget)
    tools = body.get("tools")
    choice = body.get("tool_choice") or Part({"type": "auto"}, "/tools")
    return _of_tools(body, tools.items() if tools else (), choice, budget)


def has_tools(body: Part) -> bool:
    """Whether the request has tools, or a choice of them, in Anthropic's shape."""
    tools = body.get("tools")
    kind = body.get("tool_choice", "type")
    described = any(part.get("input_schema") for part in tools.items()) if tools else False
    return described or (kind is not None and kind.value in CHOICES)


def _answer(body: Part, budget: Budget) -> Found | None:
    part = body.get("output_config", "format") or body.get("output_format")
    if part is None:
        return None
    kind = part.need("type")
    if kind.value != "json_schema":
        raise kind.error("must be 'json_schema'")
    schema = part.need("schema").schema(budget)
    if part.pointer != "/output_format":
        return of_schema("anthropic", schema)
    why = "Newer versions may not read it."
    moved = Finding(part.pointer, "info", "output_format", "output_format has moved to output_config.format.", why)
    return of_schema("anthropic", schema, moved)


def _of_tools(body: Part, listed: tuple[Part, ...], choice: Part, budget: Budget) -> Found:
    calls, findings = _calls(listed, budget)
    kind = choice.need("type")
    if kind.value not in CHOICES:
        raise kind.error(f"must be one of {', '.join(CHOICES)}")
    if kind.value in ("auto", "none"):
        answer = _answer(body, budget)
        if answer is None:
            note = f"The text is free: tool_choice is {kind.value}."
            return Found("anthropic", choice.pointer, AnyText(), findings, (note,))
        note = "The model may also call a tool; its calls are not constrained."
        return Found("anthropic", answer.pointer, answer.wanted, (*answer.findings, *findings), (note,))
    if kind.value == "tool":
        name = choice.need("name")
        calls = [call for call in calls if call.name.text() == name.text()][:1]
        if not calls:
            raise name.error(f"names no tool with an input_schema: {name.text()!r}")
    if not calls:
        raise choice.error("asks for a call, but no tool has an input_schema")
    if len(calls) > 1:
        note = 'The text is a call: {"name": ..., "input": {...}}.'
        return Found("anthropic", "/tools", AnyCall("/tools", tuple(calls)), findings, (note,))
    schema = calls[0].schema
    return Found(
        "anthropic", schema.pointer, JsonValue(schema), findings, (f"The text is the input of {calls[0].name.text()}.",)
    )


def _calls(listed: tuple[Part, ...], budget: Budget) -> tuple[list[Call], tuple[Finding, ...]]:
    calls: list[Call] = []
    findings: list[Finding] = []
    for part in listed:
        name = part.need("name")
        given = part.get("input_schema")
        if given is None:
            why = "Its calls are not part of the constraint."
            findings.append(
                Finding(part.pointer, "info", "", f"{name.text()} is a tool that the provider defines.", why)
            )
            continue
        schema = given.schema(budget)
        if not NAME.fullmatch(name.text()):
            findings.append(refusal("Anthropic", name, "takes 1 to 128 letters, digits, _ and - in a name"))
        if any(call.name.text() == name.text() for call in calls):
            findings.append(refusal("Anthropic", name, f"has a tool {name.text()!r} already"))
        calls.append(Call(part.pointer, name, "input", schema))
        strict = part.get("strict")
        if strict and strict.flag():
            findings += keyword_findings("anthropic", schema.value, schema.pointer)
        else:
            findings.append(not_strict("Anthropic", part, "the input"))
    return calls, tuple(findings)
