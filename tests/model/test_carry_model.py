"""The programs a run is carried away as, run."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from engine.decoding.decoder import Decoder
from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from visualizations.carry import reproduces, snippet

if TYPE_CHECKING:
    from engine.model.model import Model

pytestmark = pytest.mark.model
SPEC = RunSpec("A capital of Europe:", ConstraintSource("regex", "Paris|Rome|Berlin [a-z]+"), max_tokens=8)


@pytest.mark.parametrize("sampler", [Sampler(), Sampler(temperature=1.0, seed=3)])
def test_the_program_runs(model: Model, sampler: Sampler) -> None:
    run = Decoder(model, replace(SPEC, sampler=sampler))
    list(run.run())
    program = snippet(run.trace, tuple(sorted(model.vocabulary.end_ids)))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(program, {})
    assert reproduces(run.trace) == (sampler.temperature == 0)
    if reproduces(run.trace):
        assert printed.getvalue().strip().endswith(run.trace.text.decode())
    else:
        assert len(printed.getvalue().strip().splitlines()) == len(run.trace.steps)
