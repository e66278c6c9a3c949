"""Counting the verdicts of constraints on labelled instances."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import ConstraintError
from engine.grammar.json_schema.compile import compile_json_schema

AS_VALUES = {"key_order": "any", "whitespace": "any", "spelling": "any"}
"""Options under which a text is judged by its value alone."""


@dataclass
class Tally:
    """`accepted_invalid` and `rejected_valid` name the cases; `refused` counts tests without a verdict."""

    tests: int = 0
    schemas: int = 0
    refused: int = 0
    refused_schemas: int = 0
    accepted_invalid: list[str] = field(default_factory=list)
    rejected_valid: list[str] = field(default_factory=list)

    def add(self, name: str, schema: Any, tests: Iterable[Mapping[str, Any]], **options: Any) -> None:
        """Judge the labelled instances of one schema."""
        listed = list(tests)
        self.schemas += 1
        self.tests += len(listed)
        constraint = None
        try:
            constraint = compile_json_schema(schema, **AS_VALUES, **options)
        except ConstraintError as error:
            if not error.unsatisfiable:
                self.refused += len(listed)
                self.refused_schemas += 1
                return
        for number, test in enumerate(listed):
            text = json.dumps(test["data"], ensure_ascii=False)
            try:
                accepted = constraint is not None and constraint.check(text).kind == "accepted"
            except ConstraintError:  # what the text needs is over the budget
                self.refused += 1
                continue
            if accepted and not test["valid"]:
                self.accepted_invalid.append(f"{name} #{number}")
            if test["valid"] and not accepted:
                self.rejected_valid.append(f"{name} #{number}")

    def __str__(self) -> str:
        wrong = len(self.accepted_invalid) + len(self.rejected_valid)
        return (
            f"{self.tests} tests of {self.schemas} schemas: {wrong} wrong, {self.refused} refused "
            f"({self.refused / self.tests:.1%} of the tests, {self.refused_schemas / self.schemas:.1%} of the schemas)"
        )
