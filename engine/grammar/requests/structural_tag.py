"""Structural tags as xgrammar, vLLM and SGLang take them: free text in which tags hold what is constrained.

A tag stands in `response_format`, or is the request itself; vllm.py and sglang.py find those in their own fields.
"""

from __future__ import annotations

from engine.budget import Budget
from engine.grammar.requests.found import Found, Tags
from engine.grammar.requests.part import Part


def find(body: Part, budget: Budget) -> Found | None:
    """The structural tag of a request."""
    for part in (body.get("response_format"), body):
        kind = part.get("type") if part else None
        if part and kind and kind.value == "structural_tag":
            return Found("xgrammar", part.pointer, Tags(part))
    return None
