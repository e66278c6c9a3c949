"""What a request asks for, once it is recognised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.findings import Finding
from engine.grammar.requests.part import Part
from engine.grammar.requests.providers import keyword_findings


@dataclass(frozen=True, slots=True)
class AnyText:
    """Nothing constrains the text."""


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A JSON value that satisfies a schema."""

    schema: Part


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the tool at a pointer: `{"name": <name>, <key>: <a value that satisfies the schema>}`."""

    pointer: str
    name: Part
    key: str
    schema: Part


@dataclass(frozen=True, slots=True)
class AnyCall:
    """One of several calls. `pointer` is that of the list of tools."""

    pointer: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Regex:
    """A text that a regular expression matches as a whole."""

    pattern: Part


@dataclass(frozen=True, slots=True)
class GrammarText:
    """A text of a grammar."""

    grammar: Part
    syntax: Literal["gbnf", "lark"]


@dataclass(frozen=True, slots=True)
class Choices:
    """One of several texts."""

    choices: Part


@dataclass(frozen=True, slots=True)
class Tags:
    """Text with tags in it, as a structural tag describes."""

    format: Part


Wanted = AnyText | JsonValue | AnyCall | Regex | GrammarText | Choices | Tags


@dataclass(frozen=True, slots=True)
class Found:
    """A constraint in a request: whose it is, where it stands, what it asks for, and what there is to say about it."""

    provider: str
    pointer: str
    wanted: Wanted
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def any_object(pointer: str) -> JsonValue:
    """Any JSON object, asked for at a pointer without a schema."""
    return JsonValue(Part({"type": "object"}, pointer))


def of_schema(provider: str, schema: Part, *more: Finding, notes: tuple[str, ...] = ()) -> Found:
    """A schema that a provider enforces."""
    findings = (*more, *keyword_findings(provider, schema.value, schema.pointer))
    return Found(provider, schema.pointer, JsonValue(schema), findings, notes)


def refusal(provider: str, part: Part, message: str, keyword: str = "") -> Finding:
    """Something for which a provider refuses the request. The message goes on after its name."""
    return Finding(part.pointer, "error", keyword, f"{provider} {message}.", "The request fails.")


def not_strict(provider: str, part: Part, what: str) -> Finding:
    """A schema that a provider only shows to the model, because the part does not say `strict: true`."""
    where = f"{part.pointer}/strict" if part.get("strict") else part.pointer
    message = f"Without strict: true {provider} does not enforce {what}."
    return Finding(where, "warning", "strict", message, "The model can write a value that violates the schema.")
