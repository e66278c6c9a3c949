"""The JSON-Schema-Test-Suite, required part: nothing wrong, little refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from corpora import CORPORA, require_corpora
from tally import Tally

require_corpora()

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
MOST_REFUSED = 0.08


@pytest.mark.parametrize("draft", ["draft2020-12", "draft7"])
def test_required_part(draft: str) -> None:
    tally = Tally()
    for path in sorted((CORPORA / "jsts" / "tests" / draft).glob("*.json")):
        for group in json.loads(path.read_text()):
            schema: Any = group["schema"]
            if draft == "draft7" and isinstance(schema, dict):
                schema = {"$schema": DRAFT_7, **schema}
            tally.add(f"{path.name}: {group['description']}", schema, group["tests"], formats="annotate")
    print(f"{draft}: {tally}")
    assert tally.accepted_invalid == []
    assert tally.rejected_valid == []
    assert tally.tests > 900
    assert tally.refused <= MOST_REFUSED * tally.tests
