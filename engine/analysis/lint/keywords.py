"""Keywords that do nothing: misspelled, of another draft, not enforced, or beside a reference that hides them."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from engine.analysis.lint.subject import Subject
from engine.findings import Finding
from engine.grammar.json_schema.document import Subschema
from engine.grammar.json_schema.formats import FORMATS, REFUSED
from engine.grammar.json_schema.keywords import ANNOTATIONS, CHECKS, KNOWN
from engine.grammar.json_schema.source import escape
from engine.grammar.requests.providers import keyword_findings

ALIKE = 0.8
"""Similarity (difflib's ratio) from which an unknown keyword is taken for a misspelled one."""

NOT_SAID = "The specification lets unknown keywords pass without a word: the constraint is wider than it looks."


def keyword_findings_of(subject: Subject) -> Iterator[Finding]:
    """Of every schema that takes part in validation: keywords that change nothing."""
    told = set()
    for left_out in subject.constraint.report.not_enforced:
        place = f"{left_out.pointer}/{escape(left_out.keyword)}"
        message = f"{left_out.keyword!r} is not enforced: {left_out.reason}."
        told.add(place)
        yield Finding(place, "warning", left_out.keyword, message, "The model can write what it forbids.")
    for schema in subject.document.reachable:
        raw = subject.raw(schema.pointer)
        if isinstance(raw, dict):
            yield from _ignored(subject, schema, raw)
            yield from (finding for finding in _format(subject, schema) if finding.pointer not in told)


def provider_findings(subject: Subject, providers: tuple[str, ...]) -> Iterator[Finding]:
    """What the named providers refuse, ignore or do differently."""
    for provider in providers:
        yield from keyword_findings(provider, subject.raw(subject.source.at), subject.source.at)


def _ignored(subject: Subject, schema: Subschema, raw: dict[str, Any]) -> Iterator[Finding]:
    draft = subject.document.draft
    for keyword in raw:
        message = ""
        if keyword in KNOWN[draft]:
            if keyword != "$ref" and subject.document.ignores_siblings(schema):
                message = f"{keyword!r} stands beside $ref, which {draft} then reads alone. Put the $ref into an allOf."
        elif keyword in CHECKS:
            drafts = " and ".join(name for name, known in KNOWN.items() if keyword in known)
            message = f"{keyword!r} is a keyword of {drafts} and ignored in {draft}. Name that draft in $schema."
        elif keyword == "nullable":
            message = "'nullable' is a keyword of OpenAPI and ignored here. Add \"null\" to type."
        elif keyword not in ANNOTATIONS and (meant := _meant(keyword, draft)):
            message = f"{keyword!r} is no keyword and ignored. Did you mean {meant!r}?"
        if message:
            yield Finding(f"{schema.pointer}/{escape(keyword)}", "warning", keyword, message, NOT_SAID)


def _meant(keyword: str, draft: str) -> str:
    """The enforced keyword that a name is likely to stand for, "" if there is none."""
    close = get_close_matches(keyword, KNOWN[draft] | ANNOTATIONS, n=1, cutoff=ALIKE)
    return close[0] if close and close[0] in KNOWN[draft] else ""


def _format(subject: Subject, schema: Subschema) -> Iterator[Finding]:
    name = schema.get("format")
    if not isinstance(name, str) or subject.document.enforces_format(name):
        return
    place = f"{schema.pointer}/format"
    if name in FORMATS or name in REFUSED:
        message = f"The format {name!r} is not enforced. Use formats='enforce', or say it with pattern."
        yield Finding(place, "info", "format", message, "With formats='annotate' a format only describes the value.")
        return
    close = get_close_matches(name.lower().replace("_", "-"), FORMATS, n=1, cutoff=ALIKE)
    meant = f" Did you mean {close[0]!r}?" if close else " Say it with pattern."
    yield Finding(place, "warning", "format", f"{name!r} is no registered format and ignored.{meant}", NOT_SAID)
