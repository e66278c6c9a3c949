"""Structural tags as xgrammar, vLLM and SGLang take them: free text in which tags hold what is constrained.

A tag stands in `response_format`, or is the request itself; vllm.py and sglang.py find those in their own fields.
tags.py compiles them.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.budget import Budget
from engine.findings import Finding
from engine.grammar.requests.found import Found, Tags
from engine.grammar.requests.part import Part
from engine.grammar.requests.providers import keyword_findings


def find(body: Part, budget: Budget) -> Found | None:
    """The structural tag of a request."""
    for part in (body.get("response_format"), body):
        kind = part.get("type") if part else None
        if part and kind and kind.value == "structural_tag":
            return of_tag("xgrammar", part, budget)
    return None


def of_tag(provider: str, part: Part, budget: Budget, *more: Finding) -> Found:
    """A structural tag, or JSON text of one, that a provider enforces."""
    tag = part.parsed(budget).object()
    findings = [
        finding
        for schema in schemas_of(tag, budget)
        for finding in keyword_findings(provider, schema.value, schema.pointer)
    ]
    return Found(provider, tag.pointer, Tags(tag), (*more, *findings))


def schemas_of(part: Part, budget: Budget) -> Iterator[Part]:
    """All schemas of a structural tag, or of a format within one."""
    kind = part.get("type")
    if kind and kind.value == "json_schema":
        yield part.need("json_schema").schema(budget)
    for name in ("structures", "tags", "elements"):
        listed = part.get(name)
        for item in listed.items() if listed else ():
            yield from schemas_of(item, budget)
            if name == "structures":
                yield item.need("schema").schema(budget)
    for name in ("content", "format"):
        below = part.get(name)
        if below:
            yield from schemas_of(below, budget)
