"""What lessons 7 to 9 recorded belongs to what their experiments ask for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pages._lessons.experiments import healing, jumping, misalignment
from pages._lessons.recorded import FOLDER, recorded_run

MODULES = {"misalignment": misalignment, "healing": healing, "jumping": jumping}


@pytest.mark.parametrize("experiment", MODULES)
def test_the_runs_are_those_that_are_asked_for(experiment: str) -> None:
    for name, spec in MODULES[experiment].RUNS.items():
        trace = recorded_run(experiment, name)
        assert trace.spec == replace(spec, model=trace.model)
        assert trace.finish in ("complete", "limit")
        assert all(step.seconds == {} for step in trace.steps), "times mean nothing elsewhere"


@pytest.mark.parametrize("experiment", MODULES)
def test_nothing_else_is_kept(experiment: str) -> None:
    files = {path.name for path in FOLDER.glob(f"{experiment}*.json.gz")}
    assert files == {f"{experiment}.json.gz", *(f"{experiment}-{name}.json.gz" for name in MODULES[experiment].RUNS)}
    assert sum((FOLDER / name).stat().st_size for name in files) < 400_000
