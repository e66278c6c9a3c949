"""The recorded series: there, whole, and what their ways of asking promise."""

import pytest

from engine.analysis.experiments import BRANCHES, CLOSED, FORMS, PASSAGES, PERSON
from engine.analysis.methods import METHODS
from engine.analysis.tasks import KINDS
from engine.analysis.trials import Wanted
from engine.recorded import LIMITS, PER_METHOD, RECORDS, SAMPLES, TASKS, Series, main, recorded, saved

SIZES = {
    "asking": SAMPLES,
    "order": len(FORMS) * len(KINDS) * TASKS,
    "guarantee": len(BRANCHES) * len(PASSAGES),
    "truncation": 2 * len(LIMITS),
    "methods": len(METHODS) * PER_METHOD,
}


@pytest.mark.parametrize("name", RECORDS)
def test_every_series_is_whole(name: str) -> None:
    series = recorded(name)
    assert len(series.outcomes) == SIZES[name]
    assert series.model
    assert all(outcome.answer.passes > 0 for outcome in series.outcomes)
    assert len(saved(series)) < 50_000


@pytest.mark.parametrize("name", ["asking", "methods"])
def test_verdicts_are_those_that_would_be_given_now(name: str) -> None:
    wanted = Wanted(PERSON.schema, PERSON.known)
    assert all(wanted.judge(outcome.answer.text) == outcome.verdict for outcome in recorded(name).outcomes)


def test_what_is_masked_has_its_form() -> None:
    enforced = list(recorded("methods").group("constrained decoding"))
    enforced += recorded("guarantee").outcomes + recorded("truncation").group(CLOSED)
    assert all(outcome.verdict.satisfies for outcome in enforced)


def test_a_series_as_a_file_is_the_same_each_time() -> None:
    series = recorded("asking")
    assert saved(series) == saved(Series(series.model, series.outcomes))


def test_an_unknown_series_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])
