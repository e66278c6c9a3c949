"""`compile_request`: from the body of a request to a constraint."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Literal

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.budget import Budget
from engine.constraint import Constraint, Report
from engine.errors import ConstraintError, Origin
from engine.findings import Finding
from engine.grammar.choices import compile_choices
from engine.grammar.ebnf.gbnf import compile_gbnf
from engine.grammar.ebnf.lark import compile_lark
from engine.grammar.free_text import free_text
from engine.grammar.json_schema import source
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.json_schema.options import Options
from engine.grammar.regex.compile import compile_regex
from engine.grammar.requests import schemas
from engine.grammar.requests.found import (
    AnyCall,
    AnyText,
    Choices,
    Found,
    GrammarText,
    JsonValue,
    Regex,
    Tags,
    Wanted,
)
from engine.grammar.requests.part import Part, inside
from engine.grammar.requests.providers import PROVIDERS
from engine.grammar.requests.registry import FAMILIES
from engine.grammar.requests.tags import compile_tags

DEFAULT_BUDGET = Budget()


def compile_request(
    body: dict[str, Any] | str,
    *,
    key_order: Literal["schema", "any"] = "schema",
    whitespace: Literal["compact", "spaced", "any"] = "spaced",
    spelling: Literal["plain", "any"] = "plain",
    objects: Literal["open", "closed"] | None = None,
    formats: Literal["enforce", "annotate"] = "enforce",
    on_unsupported: Literal["error", "report"] = "error",
    max_whitespace: int = 64,
    budget: Budget = DEFAULT_BUDGET,
) -> Constraint:
    """The constraint that the body of a request to a provider asks for; a dict or JSON text.

    The report says which provider's shape it is, where the constraint was found, and what that provider would refuse or
    do differently; pointers of origins, findings and errors are pointers into the request. Where nothing constrains the
    text, every text is accepted and the report says so. The options are those of `compile_json_schema`, for the schemas
    of the request; `objects` None is "closed" for providers that close objects, else "open".

    Raises `ConstraintError` for a request in which no constraint is found; with a pointer for what is malformed, and as
    the `compile_*` functions do.
    """
    value = source.parse(body, budget) if isinstance(body, str) else source.from_python(body, budget)
    found = _found(Part(value).object(), budget)
    closes = PROVIDERS[found.provider].closes
    shut: Literal["open", "closed"] = objects or ("closed" if closes else "open")
    options = Options(key_order, whitespace, spelling, shut, formats, on_unsupported, max_whitespace)
    constraint = _compiled(found.wanted, options, budget)
    notes = [*found.notes]
    if objects is None and closes and any(finding.keyword == "additionalProperties" for finding in found.findings):
        label = PROVIDERS[found.provider].label
        notes.append(f"Where additionalProperties is absent, objects admit no undeclared members, as with {label}.")
    report = replace(
        constraint.report,
        notes=(*notes, *constraint.report.notes),
        provider=found.provider,
        found_at=found.pointer,
        findings=found.findings,
    )
    return replace(constraint, report=report)


def _found(body: Part, budget: Budget) -> Found:
    """The constraint of the first family that finds one, with a finding for each other."""
    everything = [found for find in FAMILIES.values() if (found := find(body, budget)) is not None]
    if not everything:
        known = "; ".join(FAMILIES)
        raise ConstraintError(f"There is no constraint in this request. These keys were looked for: {known}.")
    first, *others = sorted(everything, key=lambda found: isinstance(found.wanted, AnyText))
    message = f"The constraint here is left out: {first.pointer} comes first."
    left_out = tuple(
        Finding(found.pointer, "warning", "", message, "A provider may read the one or the other.")
        for found in others
        if not isinstance(found.wanted, AnyText) and found.pointer != first.pointer
    )
    return replace(first, findings=(*first.findings, *left_out))


def _compiled(wanted: Wanted, options: Options, budget: Budget) -> Constraint:
    if isinstance(wanted, AnyText):
        return _any_text(budget)
    if isinstance(wanted, JsonValue):
        return _json(schemas.document([wanted.schema]), wanted.schema.pointer, wanted.schema, options, budget)
    if isinstance(wanted, AnyCall):
        return _json(schemas.calls(wanted), wanted.pointer, wanted.calls[0].schema, options, budget)
    if isinstance(wanted, Tags):
        return compile_tags(wanted.format, options, budget)
    if isinstance(wanted, Choices):
        choices = wanted.choices.texts()
        return _within(wanted.choices, lambda: compile_choices(choices, budget=budget))
    if isinstance(wanted, Regex):
        pattern = wanted.pattern.text()
        return _within(wanted.pattern, lambda: compile_regex(pattern, budget=budget))
    assert isinstance(wanted, GrammarText)
    compile_grammar = compile_lark if wanted.syntax == "lark" else compile_gbnf
    text = wanted.grammar.text()
    return _within(wanted.grammar, lambda: compile_grammar(text, budget=budget))


def _json(document: dict[str, Any], at: str, first: Part, options: Options, budget: Budget) -> Constraint:
    given = {field.name: getattr(options, field.name) for field in fields(options)}
    try:
        return compile_json_schema(document, at=at, budget=budget, **given)
    except ConstraintError as error:
        raise schemas.at_request(first, error) from None


def _within(part: Part, compile_text: Callable[[], Constraint]) -> Constraint:
    try:
        return compile_text()
    except ConstraintError as error:
        raise inside(part, error) from None


def _any_text(budget: Budget) -> Constraint:
    started = time.monotonic()
    arena = Arena(budget)
    text = arena.tag(Origin(""), free_text(arena), "<text>")
    return Constraint("text", Automaton(arena, text), Report("text", time.monotonic() - started, len(arena)))
