"""Examples and the traces that come with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.decoding.records import Trace
from engine.decoding.spec import spec_from_dict, spec_to_dict
from engine.examples import EXAMPLES, Example, example
from engine.grammar.sources import compile_source
from engine.shipped import FOLDER, SHIPPED, TOLERANCE, differences, shipped_names, shipped_trace


@pytest.fixture
def trace() -> Trace:
    return shipped_trace(SHIPPED[0])


@pytest.mark.parametrize("entry", EXAMPLES, ids=lambda entry: entry.name)
def test_every_example_compiles(entry: Example) -> None:
    if entry.constraint:
        constraint = compile_source(entry.constraint)
        assert constraint.check(constraint.shortest(constraint.start)).kind == "accepted"
        assert constraint.report.unsatisfiable == ()
    assert spec_from_dict(spec_to_dict(entry.spec())) == entry.spec()
    assert entry.reason.endswith(".")


def test_the_menu() -> None:
    assert len({entry.name for entry in EXAMPLES}) == len(EXAMPLES) >= 8
    assert any(entry.constraint is None for entry in EXAMPLES)


def test_every_shipped_trace_is_there_and_belongs_to_its_example() -> None:
    assert shipped_names() == SHIPPED
    for name in SHIPPED:
        trace = shipped_trace(name)
        assert replace(trace.spec, model="") == example(name).spec()
        assert trace.finish == "complete"
        constraint = compile_source(trace.spec.constraint) if trace.spec.constraint else None
        assert constraint is None or constraint.check(trace.text).kind == "accepted"
    assert len(list(FOLDER.glob("*.json.gz"))) == len(SHIPPED)
    assert sum(file.stat().st_size for file in FOLDER.glob("*.json.gz")) < 300_000


def test_a_trace_is_the_same_as_itself(trace: Trace) -> None:
    assert differences(trace, trace) == []


def test_float_noise_is_no_difference(trace: Trace) -> None:
    noisy = tuple(replace(step, z=step.z + TOLERANCE / 10) for step in trace.steps)
    assert differences(trace, replace(trace, steps=noisy)) == []


def test_another_mass_is_a_difference(trace: Trace) -> None:
    steps = (*trace.steps[:2], replace(trace.steps[2], z=trace.steps[2].z / 2), *trace.steps[3:])
    assert differences(trace, replace(trace, steps=steps)) == ["step 2: z differs"]


def test_another_token_is_excused_only_where_it_was_close(trace: Trace) -> None:
    other = replace(trace.steps[3], token_id=trace.steps[3].token_id + 1)
    assert len(differences(trace, replace(trace, steps=(*trace.steps[:3], other)))) == 1
    for close in ({"top2_gap": 1e-6, "draw_distance": 1.0}, {"draw_distance": 1e-6}):
        unsure = replace(trace, steps=(*trace.steps[:3], replace(trace.steps[3], **close), *trace.steps[4:]))
        assert differences(unsure, replace(trace, steps=(*trace.steps[:3], other))) == []


def test_a_shorter_run_is_a_difference(trace: Trace) -> None:
    assert "ended after" in differences(trace, replace(trace, steps=trace.steps[:-1], finish="limit"))[0]
