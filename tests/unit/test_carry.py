"""What a run is carried away as: hostile text stays text, a snippet says what it does, a report needs nobody."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from dataclasses import replace

import pytest

from engine.decoding.records import Sampler, Trace
from engine.shipped import SHIPPED, shipped_trace
from visualizations.carry import report, reproduces, snippet, steps_csv

HOSTILE = '</script><img src=x onerror=alert(1)> \u2028 """ \' \\'


@pytest.fixture
def trace() -> Trace:
    return shipped_trace(SHIPPED[0])


def hostile(trace: Trace) -> Trace:
    assert trace.spec.constraint is not None
    constraint = replace(trace.spec.constraint, text=HOSTILE)
    return replace(trace, spec=replace(trace.spec, prompt=HOSTILE, constraint=constraint))


def test_the_table_has_a_row_a_step_and_no_formulas(trace: Trace) -> None:
    risky = replace(trace.steps[0], token=b"=1+1")
    rows = list(csv.DictReader(io.StringIO(steps_csv(replace(trace, steps=(risky, *trace.steps[1:]))))))
    assert len(rows) == len(trace.steps)
    assert rows[0]["token"] == "'=1+1"
    assert [float(row["z"]) for row in rows] == [step.z for step in trace.steps]
    assert float(rows[-1]["running_cost"]) == pytest.approx(trace.cost)


def test_the_report_holds_the_run_and_asks_nobody(trace: Trace) -> None:
    page = report(hostile(trace))
    assert HOSTILE not in page
    assert page.count("</script>") == 2
    data = json.loads(re.search(r'id="run">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert (data["prompt"], data["constraint"]["text"]) == (HOSTILE, HOSTILE)
    assert len(data["steps"]) == len(trace.steps)
    assert not re.search(r"https?:|//[a-z]", page.replace("http-equiv", "").replace("// Replays", ""))
    assert "default-src 'none'" in page


def test_a_snippet_says_what_it_does(trace: Trace) -> None:
    assert reproduces(trace)
    assert "Reproduces the run" in snippet(trace, (2,))
    warm = replace(trace, spec=replace(trace.spec, sampler=Sampler(temperature=1.0)))
    by_hand = replace(trace, spec=replace(trace.spec, choices=((0, 1),)))
    jumped = replace(trace, spec=replace(trace.spec, jump_forward="safe"))
    for other in (warm, by_hand, jumped):
        assert not reproduces(other)
        assert "Replays the recorded tokens" in snippet(other, (2,))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_user_text_in_a_snippet_is_a_literal(trace: Trace, temperature: float) -> None:
    spec = hostile(trace).spec
    tree = ast.parse(snippet(replace(trace, spec=replace(spec, sampler=Sampler(temperature))), (2,)))
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert (HOSTILE in literals) == (temperature == 0)
