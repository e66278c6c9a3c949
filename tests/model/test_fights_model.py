"""The bundled model against a schema that forbids what it would write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import Masker, compile_source
from engine.analysis.attribution import who_pays
from engine.analysis.fights import fights
from engine.decoding.decoder import Decoder
from engine.decoding.records import Sampler
from engine.examples import example
from engine.model.model import Model

pytestmark = pytest.mark.model

SPEC = example("Against the model's wish").spec()


@pytest.fixture(scope="module")
def masker(model: Model) -> Masker:
    assert SPEC.constraint is not None
    return Masker(compile_source(SPEC.constraint), model.vocabulary)


def test_the_enum_pays_for_the_value_it_lacks(model: Model, masker: Masker) -> None:
    (*_, found) = fights(model, SPEC, masker, 3)  # greedy: one run
    dearest = found.parts[0]
    assert (dearest.pointer, dearest.keyword) == ("/properties/sentiment", "enum")
    moment = next(m for m in dearest.moments if m.before.endswith(b'"sentiment": "'))
    assert moment.wanted is not None
    assert moment.wanted.token.lower() == b"positive"


def test_sampled_runs_name_the_same_field(model: Model, masker: Masker) -> None:
    spec = replace(SPEC, sampler=Sampler(temperature=1.0), max_tokens=12)
    (*_, found) = fights(model, spec, masker, 2)
    assert found.parts[0].pointer == "/properties/sentiment"
    assert sum(part.cost for part in found.parts) == pytest.approx(found.cost)


def test_all_of_it_is_attributed_step_by_step(model: Model, masker: Masker) -> None:
    run = Decoder(model, SPEC, masker.constraint, masker)
    for _ in range(6):
        state, before = run.state, run.distributions_at(run.position)
        paid = who_pays(masker, state, before.raw, before.allowed)
        assert sum(part.share for part in paid) == pytest.approx(1)
        assert sum(part.mass for part in paid) == pytest.approx(1 - before.z)
        run.step()
