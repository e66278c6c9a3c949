"""Jump-forward with the bundled model: the tokens of the slow reference on every example."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from engine import compile_source
from engine.decoding.decoder import Decoder
from engine.examples import EXAMPLES, example
from tests.unit.slow_jump import slow_jump

if TYPE_CHECKING:
    from engine.model.model import Model

pytestmark = pytest.mark.model
LIMIT = 32


@pytest.mark.parametrize("name", [entry.name for entry in EXAMPLES if entry.spec().constraint])
def test_every_example(model: Model, name: str) -> None:
    spec = replace(example(name).spec(), jump_forward="safe")
    spec = replace(spec, max_tokens=min(spec.max_tokens, LIMIT))
    assert spec.constraint is not None
    run = Decoder(model, spec)
    steps = list(run.run())
    expected = slow_jump(model, spec, compile_source(spec.constraint))
    taken = [step.token_id for step in steps]
    parted = next((n for n, (one, other) in enumerate(zip(taken, expected, strict=False)) if one != other), None)
    if parted is not None:  # passes of several tokens and of one differ in the last bits of a float
        assert min(steps[parted].top2_gap, steps[parted].draw_distance) < 1e-3
    else:
        assert taken == expected
    jumped = sum(step.kind == "jumped" for step in steps)
    assert run.trace.passes == len(steps) - jumped + (steps[-1].kind == "jumped")
