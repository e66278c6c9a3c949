"""Asking nicely: opened, its exercise failed and solved; asked live; with a model and without."""

from __future__ import annotations

from pages._lessons.experiments import asking
from tests.app.conftest import PageModel, lesson, notices, wait_for

SLUG = "asking-nicely"


def answered(given: float) -> str:
    at = lesson(SLUG)
    at.number_input(key=f"{SLUG}_exercise_given").set_value(given).run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert not at.exception
    return notices(at)


def test_before_the_prediction_the_prompt_shows_and_no_count(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    assert any("Marie Curie" in code.value for code in at.code)
    assert not at.get("plotly_chart")


def test_the_recorded_series_shows_without_a_model(no_model: None) -> None:
    at = lesson(SLUG)
    assert not at.exception
    assert any(f"Recorded: {asking.facts()['n']} answers" in caption.value for caption in at.caption)
    text = "\n".join(element.value for element in at.markdown)
    assert "1.053 calls per success" in text
    assert "8,000" in text


def test_the_facts_are_the_arithmetic() -> None:
    facts = asking.facts()
    assert (facts["one_in"], facts["at_edge"], facts["above_edge"]) == (8000, 1, 2)
    assert facts["edge"] == 0.95
    assert 0.2 ** int(facts["exercise_tries"]) <= 1e-4 < 0.2 ** (int(facts["exercise_tries"]) - 1)
    counted = int(facts["parses"]) + int(facts["inside"]) + int(facts["broken"])
    assert counted == facts["n"]


def test_the_exercise_failed(no_model: None) -> None:
    assert "Too small." in answered(5)
    assert "Too large." in answered(9)


def test_the_exercise_solved(no_model: None) -> None:
    assert "Right: 6 calls" in answered(6)


def test_retries_follow_their_sliders(no_model: None) -> None:
    at = lesson(SLUG)
    at.slider(key=f"{SLUG}_retries_rate").set_value(50).run()
    at.slider(key=f"{SLUG}_retries_tries").set_value(2).run()
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown["Requests left without an answer"] == "1 in 4"
    assert shown["Calls per success"] == "2.000"


def test_a_schema_that_does_not_compile_is_said(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.text_area(key=f"{SLUG}_many_schema").set_value('{"type": "strin"}').run()
    assert not at.exception
    assert "strin" in notices(at)
    assert f"{SLUG}_many_live_ask" not in [button.key for button in at.button]


def test_asked_live_the_answers_are_the_model_s(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.slider(key=f"{SLUG}_many_n").set_value(5).run()
    assert any("forward passes" in caption.value for caption in at.caption)
    at.button(key=f"{SLUG}_many_live_ask").click().run()
    wait_for(lambda: f"{SLUG}_many_live_cancel" not in [button.key for button in at.run().button])
    assert not at.exception
    assert any("Live: 5 answers of fake" in caption.value for caption in at.caption)
