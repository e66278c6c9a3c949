"""From the text a user typed to a constraint, and from a place in the constraint back to the text."""

from __future__ import annotations

from typing import Any

from engine.budget import Budget
from engine.constraint import Constraint
from engine.decoding.records import ConstraintSource
from engine.errors import ConstraintError
from engine.grammar.json_schema import source as json_source
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.regex.compile import compile_regex


def compile_source(source: ConstraintSource, budget: Budget | None = None) -> Constraint:
    """Compile a source with its options. Raises `ConstraintError` as the `compile_*` functions do."""
    options: dict[str, Any] = dict(source.options)
    if budget is not None:
        options["budget"] = budget
    try:
        if source.kind == "regex":
            return compile_regex(source.text, **options)
        return compile_json_schema(source.text, **options)
    except TypeError as error:
        if "keyword argument" not in str(error):
            raise
        raise ConstraintError(f"Unknown option for {source.kind}: {error}.") from None


def spans(source: ConstraintSource) -> dict[str, tuple[int, int]]:
    """Where the parts that origins name stand in the text: pointer to (start, end) in code points.

    For a JSON Schema members stand with their name; for a regex the pointers are spans themselves, so this is empty.
    A text that is no JSON has no parts.
    """
    if source.kind != "json_schema":
        return {}
    try:
        json_source.parse(source.text, Budget())
    except ConstraintError:
        return {}
    return json_source.spans(source.text)
