"""Order and thought: opened, its exercise failed and solved; new tasks; the arithmetic of its intervals."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from engine.analysis.intervals import wilson
from pages._lessons.experiments import order
from tests.app.conftest import PageModel, lesson, notices, wait_for

SLUG = "order-and-thought"


def check(at: AppTest, given: float) -> str:
    at.number_input(key=f"{SLUG}_exercise_given").set_value(given).run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert not at.exception
    return notices(at)


def test_before_the_prediction_only_the_tasks_show(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    assert not at.get("plotly_chart")
    assert any("What is" in code.value for code in at.code)


def test_the_recorded_series_and_the_count_of_one_kind(no_model: None) -> None:
    at = lesson(SLUG)
    assert not at.exception
    assert any("Recorded:" in caption.value for caption in at.caption)
    at.button_group(key=f"{SLUG}_False_count").set_value(["Counting"]).run()
    assert not at.exception


def test_the_exercise(no_model: None) -> None:
    right = int(order.facts()["needed"])
    at = lesson(SLUG)
    assert "Too small." in check(at, right - 1)
    assert "Right:" in check(at, right)


def test_what_is_needed_is_the_first_count_whose_interval_clears_the_other() -> None:
    assert order.needed(wilson(0, 12)) == 6
    assert wilson(6, 12).low > wilson(0, 12).high > wilson(5, 12).low
    assert order.needed(wilson(12, 12)) == 12


def test_facts_count_every_task_once_in_each_form() -> None:
    facts = order.facts()
    assert facts["tasks"] == 6 * int(facts["kinds"])
    assert int(facts["lost"]) <= int(facts["draft"])
    assert facts["best"] in {*order.FORMS, order.NO_DIFFERENCE}


def test_new_tasks_are_asked_live(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.slider(key=f"{SLUG}_n").set_value(2).run()
    at.button(key=f"{SLUG}_live_ask").click().run()
    wait_for(lambda: f"{SLUG}_live_cancel" not in [button.key for button in at.run().button], 60)
    assert not at.exception
    assert any("Live: 8 answers of fake" in caption.value for caption in at.caption), notices(at)
