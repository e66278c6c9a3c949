"""Ollama: `format` is "json" or a schema."""

from __future__ import annotations

from engine.budget import Budget
from engine.grammar.requests.found import AnyText, Found, any_object, of_schema
from engine.grammar.requests.part import Part


def find(body: Part, budget: Budget) -> Found | None:
    """The constraint of a request to Ollama."""
    part = body.get("format")
    if part is None:
        return None
    if part.value == "json":
        return Found("ollama", part.pointer, any_object(part.pointer), notes=("JSON mode: any JSON object.",))
    if part.value == "":
        return Found("ollama", part.pointer, AnyText(), notes=("The text is free: format is empty.",))
    if not isinstance(part.value, dict):
        raise part.error("must be 'json' or a JSON Schema (an object)")
    return of_schema("ollama", part)
