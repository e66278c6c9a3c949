"""Cases on which the peers differ from the specification and from each other: each time the specification's verdict."""

from __future__ import annotations

import json

import pytest
from corpora import CORPORA, require_corpora
from tally import AS_VALUES

from engine.errors import ConstraintError
from engine.grammar.json_schema.compile import compile_json_schema

require_corpora()

# The corpus asked Python's `re`, for which \d means every digit of Unicode; in ECMA-262 it means 0 to 9.
MISJUDGED = {"\\d unicode"}

# A list of `items` is no schema of draft 2020-12, so there was no verdict: it is refused with its pointer.
MALFORMED = {"items 2019 array form"}

ROWS = [row for row in json.loads((CORPORA / "engine_verdicts.json").read_text()) if row["case"] not in MISJUDGED]


@pytest.mark.parametrize("row", ROWS, ids=[f"{number}-{row['case']}" for number, row in enumerate(ROWS)])
def test_the_verdict_is_that_of_the_specification(row: dict[str, object]) -> None:
    """`spec` is True, False, or "not JSON" for a text that must not be accepted either."""
    try:
        constraint = compile_json_schema(row["schema"], **AS_VALUES)  # type: ignore[arg-type]
    except ConstraintError as error:
        refused = error
    else:
        verdict = constraint.check(str(row["doc"]))
        assert (verdict.kind == "accepted") == (row["spec"] is True), str(verdict)
        return
    assert refused.unsatisfiable or (row["case"] in MALFORMED and refused.pointer == "/items")
    assert row["spec"] is not True
