"""Token healing: opened, prompts and sliders moved, its exercise failed and solved; with a model and without."""

from __future__ import annotations

import pytest

from pages._lessons.experiments import healing
from pages._lessons.recorded import recorded_run
from tests.app.conftest import PageModel, lesson, notices, sent, wait_for

SLUG = "token-healing"


def test_the_first_screen_asks_and_does_not_tell(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    assert not sent(at, "lesson_paths")


def test_what_is_recorded_is_what_the_lesson_says() -> None:
    facts = healing.facts()
    assert facts["before_first"] not in ("Paris", "␣Paris", "the")  # the other options of the prediction
    assert facts["after_first"] == "␣Paris"
    assert facts["address_healed"] == "://"
    assert facts["quote_healed"] == '␣"'
    assert float(facts["bonus_kept"]) < 1


@pytest.mark.parametrize("name", healing.PROMPTS)
def test_the_prompts_bytes_are_preserved(name: str) -> None:
    """Prompt and output as bytes begin with the prompt, however many tokens were taken back."""
    for back in range(healing.MOST + 1):
        trace = recorded_run("healing", f"{name}-{back}")
        read = b"".join(token for _, token in trace.prompt_tokens)
        written = b"".join(step.token for step in trace.steps if not step.end)
        assert (read + written).startswith(healing.PROMPTS[name].encode())


def test_opened(no_model: None) -> None:
    at = lesson(SLUG)
    assert not at.exception
    (drawn,) = sent(at, "lesson_paths")
    assert drawn["names"] == ["healed", "as it is"]
    assert any("every byte of the prompt is preserved" in caption.value for caption in at.caption)
    assert any(metric.value == "17,827 of 49,135" for metric in at.metric)


@pytest.mark.parametrize("name", healing.PROMPTS)
def test_every_prompt_with_every_number_of_tokens(no_model: None, name: str) -> None:
    at = lesson(SLUG)
    at.segmented_control(key=f"{SLUG}_runs_prompt").set_value(name).run()
    for back in (0, healing.MOST):
        at.slider(key=f"{SLUG}_runs_back").set_value(back).run()
        assert not at.exception
        assert any("Automatic healing takes" in caption.value for caption in at.caption)


def test_the_bonus(no_model: None) -> None:
    at = lesson(SLUG)
    at.slider(key=f"{SLUG}_bonus_size").set_value(0.0).run()
    z = recorded_run("healing", "word-1").steps[0].z
    assert any(metric.value == f"{z:.4%}" for metric in at.metric)


@pytest.mark.parametrize(
    ("given", "said"),
    [("x", "nothing to heal"), ("t", "one token back is enough"), ("", "Type the end"), ("na", "✓ Right.")],
)
def test_the_exercise(fake_model: PageModel, given: str, said: str) -> None:
    """The fake vocabulary has `name`, but no `na`; `true` goes on from t, nothing from x."""
    at = lesson(SLUG)
    if given:
        at.text_input(key=f"{SLUG}_exercise_given").set_value(given).run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert said in notices(at)


def test_the_exercise_waits_for_the_model(no_model: None) -> None:
    at = lesson(SLUG)
    at.text_input(key=f"{SLUG}_exercise_given").set_value("na").run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert "not there yet" in notices(at)


def test_an_end_and_a_prompt_of_ones_own(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.text_input(key=f"{SLUG}_vocabulary_end").set_value("na").run()
    assert any("automatic healing takes 2 back" in caption.value for caption in at.caption)
    at.text_input(key=f"{SLUG}_runs_own_prompt").set_value("Two words ").run()
    at.button(key=f"{SLUG}_runs_own_ask").click().run()
    wait_for(lambda: (at.run(), f"{SLUG}_runs_own_cancel" not in [b.key for b in at.button])[1])
    assert not at.exception
    assert any("Live runs" in caption.value for caption in at.caption)
