"""The table of what other engines do, against verdicts recorded from them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from engine.grammar.requests.providers import keyword_findings

CORPORA = Path(os.environ.get("MASKSCOPE_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
VERDICTS = CORPORA / "engine_verdicts.json"

if not VERDICTS.exists():
    if os.environ.get("CI"):
        raise FileNotFoundError(VERDICTS)
    pytest.skip(f"no corpora at {CORPORA} (set MASKSCOPE_CORPORA)", allow_module_level=True)

ENGINES = {
    "xgrammar": "xgrammar",
    "llguidance": "llguidance",
    "outlines_core": "outlines",
    "lm_format_enforcer": "lm-format-enforcer",
}
OTHERWISE = {
    "another spelling, white space or key order": {
        *("ws", "enum unicode", "enum mixed", "optional order", "required order != properties", "const obj key"),
        *("xgr831 out of order key", "min/max int", "minLength esc", "uuid upper"),
    },
    "what a class of a regex means": {"\\d unicode", "\\S excl quote"},
    "no value satisfies it": {"unsat len", "empty enum", "unsat branch"},
    "how deeply any value may be nested": {"nested array of objects"},
}
"""Cases that no keyword explains, by reason."""


@pytest.mark.parametrize(("column", "engine"), ENGINES.items())
def test_wrong_verdicts_are_explained(column: str, engine: str) -> None:
    left_out = set().union(*OTHERWISE.values())
    rows = [row for row in json.loads(VERDICTS.read_text()) if row["spec"] in (True, False)]
    wrong = [row for row in rows if row[column] is not row["spec"] and row["case"] not in left_out]
    assert wrong
    assert [(row["case"], row["doc"]) for row in wrong if not keyword_findings(engine, row["schema"])] == []
