"""SGLang: `json_schema`, `regex`, `ebnf` or `structural_tag`, in `sampling_params` or beside the messages."""

from __future__ import annotations

from engine.budget import Budget
from engine.grammar.requests.found import Found, GrammarText, Regex, of_schema
from engine.grammar.requests.part import Part
from engine.grammar.requests.structural_tag import of_tag

KINDS = ("json_schema", "regex", "ebnf", "structural_tag")


def find(body: Part, budget: Budget) -> Found | None:
    """The constraint of a request to SGLang."""
    for place in (body.get("sampling_params"), body.get("extra_body"), body):
        named = [part for name in KINDS if place and (part := place.get(name)) and _is_meant(part, place)]
        if len(named) > 1:
            raise named[1].error(f"stands beside {named[0].pointer}: SGLang takes one constraint")
        if named:
            return _of_kind(named[0].pointer.rpartition("/")[2], named[0], budget)
    return None


def _is_meant(part: Part, place: Part) -> bool:
    """A schema is JSON text here; as an object outside `sampling_params` it is meant for llama.cpp."""
    return isinstance(part.value, str) or place.pointer == "/sampling_params" or part.pointer.endswith("structural_tag")


def _of_kind(kind: str, part: Part, budget: Budget) -> Found:
    if kind == "json_schema":
        return of_schema("sglang", part.schema(budget))
    if kind == "structural_tag":
        return of_tag("sglang", part, budget)
    return Found("sglang", part.pointer, Regex(part) if kind == "regex" else GrammarText(part, "gbnf"))
