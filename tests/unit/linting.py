"""What the tests of the lint share: small schemas, and findings picked by their words."""

from __future__ import annotations

from typing import Any

from engine.analysis.lint import lint
from engine.findings import Finding

WORD = {"type": "string", "maxLength": 9}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def closed(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """An object without other members."""
    own = {"type": "object", "properties": properties, "required": required or [], "additionalProperties": False}
    return own | more


def said(schema: Any, words: str, **options: Any) -> list[Finding]:
    """The findings whose message has some words."""
    return [finding for finding in lint(schema, **options) if words in finding.message]


def pointers(schema: Any, words: str, **options: Any) -> list[str]:
    return [finding.pointer for finding in said(schema, words, **options)]
