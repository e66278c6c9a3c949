"""Keywords that do nothing: misspelled, of another draft, not enforced, or beside a reference that hides them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from engine.analysis.lint.subject import Subject
from engine.constraint import Unenforced
from engine.findings import Finding, Severity
from engine.grammar.json_schema.document import Subschema
from engine.grammar.json_schema.formats import FORMATS
from engine.grammar.json_schema.keywords import ANNOTATIONS, CHECKS, KNOWN
from engine.grammar.json_schema.source import escape
from engine.grammar.requests.providers import keyword_findings

ALIKE = 0.85
"""Similarity (difflib's ratio) from which an unknown keyword is taken for a misspelled one."""

WHY = "The specification lets what it does not know pass without a word, so the constraint is wider than it looks."


def ignored_findings(subject: Subject) -> Iterator[Finding]:
    """Keywords that the report lists as not enforced, with what may have been meant, and those that a $ref hides."""
    for left_out in subject.constraint.report.not_enforced:
        severity, message = _about(subject, left_out)
        yield Finding(_place(left_out.pointer, left_out.keyword), severity, left_out.keyword, message, WHY)
    for schema in subject.document.reachable:
        if subject.document.ignores_siblings(schema):
            yield from _hidden(subject, schema)


def provider_findings(subject: Subject, providers: Sequence[str]) -> Iterator[Finding]:
    """What the named providers refuse, ignore or do differently. Raises `ConstraintError` for an unknown one."""
    for provider in providers:
        yield from keyword_findings(provider, subject.raw(subject.source.at), subject.source.at)


def _about(subject: Subject, left_out: Unenforced) -> tuple[Severity, str]:
    keyword, draft = left_out.keyword, subject.document.draft
    plain = f"{keyword!r} is not enforced: {left_out.reason}."
    if keyword == "format":
        return _about_format(subject.raw(_place(left_out.pointer, keyword)), plain)
    if keyword in KNOWN[draft]:
        return "warning", plain
    if keyword in CHECKS:
        drafts = " and ".join(name for name, known in KNOWN.items() if keyword in known)
        return "warning", f"{keyword!r} is a keyword of {drafts} and ignored in {draft}. Name that draft in $schema."
    if keyword == "nullable":
        return "warning", "'nullable' is a keyword of OpenAPI and ignored here. Add \"null\" to type."
    meant = _closest(keyword, KNOWN[draft] | ANNOTATIONS)
    if meant in KNOWN[draft] and keyword[:1].isalpha():  # an underscore before a keyword is meant to disable it
        return "warning", f"{keyword!r} is no keyword and ignored. Did you mean {meant!r}?"
    return "warning" if keyword.startswith("$") else "info", plain


def _about_format(name: object, plain: str) -> tuple[Severity, str]:
    if name in FORMATS:
        return "info", f"{plain} Use formats='enforce', or say it with pattern."
    meant = _closest(str(name).lower().replace("_", "-"), FORMATS)
    if meant:
        return "warning", f"{name!r} is no registered format and ignored. Did you mean {meant!r}?"
    return "warning", f"{plain} Say it with pattern."


def _closest(name: str, known: Iterable[str]) -> str:
    """The name that is most like another; short ones are like too many."""
    return next(iter(get_close_matches(name, [one for one in known if len(one) > 3], n=1, cutoff=ALIKE)), "")


def _hidden(subject: Subject, schema: Subschema) -> Iterator[Finding]:
    draft = subject.document.draft
    for keyword in subject.raw(schema.pointer):
        if keyword != "$ref" and keyword in KNOWN[draft]:
            message = f"{keyword!r} stands beside $ref, which {draft} then reads alone. Put the $ref into an allOf."
            yield Finding(_place(schema.pointer, keyword), "warning", keyword, message, WHY)


def _place(pointer: str, keyword: str) -> str:
    return f"{pointer}/{escape(keyword)}"
