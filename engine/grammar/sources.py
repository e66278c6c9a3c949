"""From the text a user typed to a constraint, and from a place in the constraint back to the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from engine.budget import Budget
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource, SourceKind
from engine.errors import ConstraintError
from engine.grammar.ebnf.gbnf import compile_gbnf
from engine.grammar.ebnf.lark import compile_lark
from engine.grammar.free_text import after_delimiter
from engine.grammar.json_schema import source as json_source
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex
from engine.grammar.requests.compile import compile_request

RULES: dict[SourceKind, re.Pattern[str]] = {
    "lark": re.compile(r"^[?!]*(\w+)(?:\.-?\d+)?[ \t]*:", re.MULTILINE),
    "gbnf": re.compile(r"^([\w-]+)[ \t]*::=", re.MULTILINE),
}
"""How the definition of a rule begins, by kind of grammar."""


def compile_source(source: ConstraintSource, budget: Budget | None = None) -> Constraint:
    """Compile a source with its options. Raises `ConstraintError` as the `compile_*` functions do."""
    if "budget" in dict(source.options):
        raise ConstraintError(f"Unknown option for {source.kind}: a budget is not part of a source.")
    options: dict[str, Any] = {name: int(v) if v.isdecimal() else v for name, v in source.options}
    if budget is not None:
        options["budget"] = budget
    compilers: dict[SourceKind, Callable[..., Constraint]] = {
        "json_schema": compile_json_schema,
        "regex": compile_regex,
        "gbnf": compile_gbnf,
        "lark": compile_lark,
        "request": compile_request,
    }
    try:
        constraint = compilers[source.kind](source.text, **options)
    except TypeError as error:
        if "keyword argument" not in str(error):
            raise
        raise ConstraintError(f"Unknown option for {source.kind}: {error}.") from None
    return after_delimiter(constraint, source.after, free_after=source.free_after) if source.after else constraint


def spans(source: ConstraintSource) -> dict[str, tuple[int, int]]:
    """Where the parts that origins name stand in the text: pointer to (start, end) in code points.

    For a JSON Schema and for a request, members stand with their name; for a grammar, rules do. The pointers of a regex
    are spans themselves: for it this is empty, as for a text that is no JSON.
    """
    if source.kind in RULES:
        starts = [(match[1], match.start()) for match in RULES[source.kind].finditer(source.text)]
        ends = [*(start for _, start in starts[1:]), len(source.text)]
        return {
            name: (start, start + len(source.text[start:end].rstrip()))
            for (name, start), end in zip(starts, ends, strict=True)
        }
    if source.kind not in ("json_schema", "request"):
        return {}
    try:
        json_source.parse(source.text, Budget())
    except ConstraintError:
        return {}
    return json_source.spans(source.text)
