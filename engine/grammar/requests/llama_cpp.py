"""llama.cpp's server: `grammar` or `json_schema`."""

from __future__ import annotations

from engine.budget import Budget
from engine.grammar.requests.found import Found, GrammarText, of_schema
from engine.grammar.requests.part import Part


def find(body: Part, budget: Budget) -> Found | None:
    """The constraint of a request to llama.cpp."""
    for place in (body, body.get("extra_body")):
        grammar = place.get("grammar") if place else None
        # As a value of response_format, json_schema holds the schema with its name: OpenAI's shape.
        schema = place.get("json_schema") if place and place.get("type") is None else None
        if grammar and schema:
            raise schema.error(f"stands beside {grammar.pointer}: llama.cpp takes one constraint")
        if grammar and grammar.value != "":
            return Found("llama.cpp", grammar.pointer, GrammarText(grammar, "gbnf"))
        if schema:
            return of_schema("llama.cpp", schema.schema(budget))
    return None
