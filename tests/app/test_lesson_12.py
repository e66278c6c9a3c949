"""Which method when: opened, its exercise failed and solved; the table live; the decision."""

from __future__ import annotations

import pytest

from engine.analysis.methods import METHODS
from pages._lessons.experiments import methods
from tests.app.conftest import PageModel, lesson, notices, wait_for

SLUG = "which-method-when"


@pytest.mark.parametrize(
    ("given", "said"), [("generate, then convert", "Right."), ("constrained decoding", "Not this one.")]
)
def test_the_exercise(no_model: None, given: str, said: str) -> None:
    at = lesson(SLUG)
    at.radio(key=f"{SLUG}_exercise_given").set_value(given).run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert not at.exception
    assert said in notices(at)


def test_before_the_prediction_the_task_shows(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    assert at.radio(key=f"{SLUG}_prediction_given").options == [method.name for method in METHODS]
    assert not at.get("plotly_chart")


def test_every_method_stands_in_the_table(no_model: None) -> None:
    at = lesson(SLUG)
    assert not at.exception
    (rows,) = [table.value for table in at.dataframe if "method" in table.value]
    assert list(rows["method"]) == [method.name for method in METHODS]


def test_the_recorded_constrained_answers_are_all_valid() -> None:
    facts = methods.facts()
    assert facts["constrained_valid"] == facts["each"]
    assert int(facts["clashing"]) > 0
    assert facts["clash_taken"] != facts["clash_masked"]


def test_the_decision_follows_its_switches(no_model: None) -> None:
    at = lesson(SLUG)
    shown = [code.value for code in at.code]
    assert "constrained decoding" in shown
    at.toggle(key=f"{SLUG}_decision_thought").set_value(True).run()
    assert "generate, then convert" in [code.value for code in at.code]


def test_two_methods_are_asked_live(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.button_group(key=f"{SLUG}_table_methods").set_value(["prompt only", "constrained decoding"]).run()
    at.slider(key=f"{SLUG}_table_n").set_value(1).run()
    at.button(key=f"{SLUG}_table_live_ask").click().run()
    wait_for(lambda: f"{SLUG}_table_live_cancel" not in [button.key for button in at.run().button], 60)
    assert not at.exception
    assert any("Live: 2 answers of fake" in caption.value for caption in at.caption), notices(at)
