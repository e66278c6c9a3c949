"""`compile_json_schema`: from a schema to a constraint."""

from __future__ import annotations

import time
from functools import cache
from typing import Any, Literal

from engine.automaton.automaton import Automaton
from engine.budget import Budget
from engine.constraint import Constraint, Report
from engine.errors import BudgetError
from engine.grammar.json_schema import source
from engine.grammar.json_schema.blame import unsatisfiable
from engine.grammar.json_schema.conjunction import conjunction
from engine.grammar.json_schema.document import Document
from engine.grammar.json_schema.formats import NOTES
from engine.grammar.json_schema.lexicon import arena_for
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.relation import SchemaSource
from engine.grammar.json_schema.values import Values

DEFAULT_BUDGET = Budget()

CLOSING = frozenset(
    ("additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "not")
)
"""Keywords under which false is no mistake."""


MULTIPLYING = frozenset(("oneOf", "not", "if", "allOf"))
"""Keywords whose alternatives multiply."""

TOO_DEEP = "The schema's references are nested too deeply."


def compile_json_schema(
    schema: dict[str, Any] | bool | str,
    *,
    key_order: Literal["schema", "any"] = "schema",
    whitespace: Literal["compact", "spaced", "any"] = "spaced",
    spelling: Literal["plain", "any"] = "plain",
    objects: Literal["open", "closed"] = "open",
    formats: Literal["enforce", "annotate"] = "enforce",
    on_unsupported: Literal["error", "report"] = "error",
    max_whitespace: int = 64,
    at: str = "",
    budget: Budget = DEFAULT_BUDGET,
) -> Constraint:
    """The constraint whose texts are the JSON values that satisfy a schema.

    `schema` is a dict, a bool or JSON text; the options are those of `Options`, `at` is the pointer of the part
    to begin with. Raises `ConstraintError` with a JSON Pointer for a schema that is malformed, uses a keyword that is
    not enforced, or is unsatisfiable as a whole; `BudgetError` for one beyond the budget.
    """
    options = Options(key_order, whitespace, spelling, objects, formats, on_unsupported, max_whitespace)
    started = time.monotonic()
    value = source.parse(schema, budget) if isinstance(schema, str) else source.from_python(schema, budget)
    arena = arena_for(options, budget)
    arena.clock.start()
    with arena.lifetime:
        document = Document(value, options, at)
        values = Values(document, options, arena)
        try:
            root = conjunction(document.root)
            _meet_alternatives(document, values)
            space = values.layout.space
            automaton = Automaton(arena, arena.concat([space, values.of(root, ""), space]))
            if automaton.start < 0:
                raise unsatisfiable(values, root)
        except RecursionError as error:
            raise BudgetError(TOO_DEEP) from error
    arena.clock.stop()
    report = Report(
        "json_schema",
        time.monotonic() - started,
        len(arena),
        not_enforced=tuple(document.unenforced),
        notes=_notes(document, values),
        find_unsatisfiable=cache(lambda: _unsatisfiable(document, values, automaton)),
    )
    return Constraint("json_schema", automaton, report, SchemaSource(value, at, options, budget))


def _notes(document: Document, values: Values) -> tuple[str, ...]:
    """What is a restriction of the spelling and not of the values, where the schema speaks of such values."""
    values_said = [schema.value for schema in document.reachable if not isinstance(schema.value, bool)]
    named = {value["format"] for value in values_said if "format" in value}
    formats = [f"{name}: {NOTES[name]}" for name in sorted(named & NOTES.keys()) if document.enforces_format(name)]
    return (*values.numbers.notes, *formats)


def _unsatisfiable(document: Document, values: Values, automaton: Automaton) -> tuple[str, ...]:
    """The parts that no value satisfies by themselves; a false that only closes an object or array is meant so."""
    with automaton.lock, values.arena.clock.running():
        try:
            dead = [s for s in document.reachable if not values.liveness.alive(values.of(conjunction(s), s.pointer))]
        except RecursionError as error:
            raise BudgetError(TOO_DEEP) from error
    return tuple(s.pointer for s in dead if not (s.value is False and s.pointer.rpartition("/")[2] in CLOSING))


def _meet_alternatives(document: Document, values: Values) -> None:
    """Every schema whose alternatives multiply, so that one that has too many is refused when compiling."""
    if MULTIPLYING.isdisjoint(document.said):
        return
    for schema in document.reachable:
        if not isinstance(schema.value, bool) and not MULTIPLYING.isdisjoint(schema.value):
            values.branches.of(conjunction(schema))
