"""What it can't guarantee: opened, its exercise failed and solved; a text of one's own; token limits."""

from __future__ import annotations

import pytest

from pages._lessons.experiments import guarantee
from tests.app.conftest import PageModel, lesson, notices, wait_for

SLUG = "what-it-cannot-guarantee"
SOLUTION = """{"type": "object", "properties": {"employer": {"anyOf": [{"type": "string", "minLength": 1},
{"type": "null"}]}}, "required": ["employer"], "additionalProperties": false}"""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (SOLUTION, "Right"),
        (SOLUTION.replace(', "minLength": 1', ""), "should not accept"),
        (SOLUTION.replace('"required": ["employer"], ', ""), "should not accept"),
        ('{"type": "string"}', "should accept"),
        ('{"type": "strin"}', "does not compile"),
    ],
)
def test_the_exercise(no_model: None, given: str, said: str) -> None:
    at = lesson(SLUG)
    at.text_area(key=f"{SLUG}_exercise_given").set_value(given).run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert not at.exception
    assert said in notices(at)


def test_before_the_prediction_the_texts_show(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    assert any("Grace went to the market." in code.value for code in at.code)
    assert not at.get("plotly_chart")


def test_a_required_field_is_always_filled() -> None:
    facts = guarantee.facts()
    assert facts["required_invented"] == facts["silent"]
    assert facts["satisfy"] == facts["answers"]
    assert (facts["fourth"], facts["seventh"], facts["polite"], facts["more"]) == ("rejected",) * 4
    assert (facts["polite_at"], facts["ways_on"]) == (1, 0)
    assert facts["closed_json"] == facts["limits"]


def test_recorded_limits_can_be_chosen(no_model: None) -> None:
    at = lesson(SLUG)
    assert not at.exception
    slider = at.select_slider(key=f"{SLUG}_cut_chosen")
    slider.set_value(slider.options[0]).run()
    assert not at.exception
    assert any("cut off by the limit: no JSON" in caption.value for caption in at.caption)
    assert any("closing in time: JSON" in caption.value for caption in at.caption)


def test_a_text_of_one_s_own(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.button(key=f"{SLUG}_extract_live_ask").click().run()
    wait_for(lambda: f"{SLUG}_extract_live_cancel" not in [button.key for button in at.run().button], 60)
    assert not at.exception
    assert any("Live: 4 answers of fake" in caption.value for caption in at.caption), notices(at)


def test_a_limit_of_one_s_own(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.slider(key=f"{SLUG}_cut_limit").set_value(40).run()
    at.button(key=f"{SLUG}_cut_live_ask").click().run()
    wait_for(lambda: f"{SLUG}_cut_live_cancel" not in [button.key for button in at.run().button], 60)
    assert not at.exception
    assert any("Live: 2 answers of fake" in caption.value for caption in at.caption), notices(at)
