"""Making it fast: opened, measured, its exercise failed and solved; with a model and without."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from engine.vocabulary.small import small_vocabulary
from pages._debug_work import Progress
from pages._lessons.experiments import fast
from tests.app.conftest import PageModel, lesson, notices, sent, wait_for

SLUG = "making-it-fast"


def check(at: AppTest, given: float) -> AppTest:
    at.number_input(key=f"{SLUG}_exercise_given").set_value(given).run()
    return at.button(key=f"{SLUG}_exercise_check").click().run()


def asked(at: AppTest, key: str) -> AppTest:
    """Ask for something that takes a while, and wait for it."""
    at.button(key=f"{key}_ask").click().run()
    wait_for(lambda: f"{key}_cancel" not in [button.key for button in at.run().button])
    return at


def test_the_first_screen_multiplies(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    assert at.metric[0].value == "64,000,000"


@pytest.mark.parametrize(("given", "said"), [(1280.0, "Too large"), (16.0, "Too small"), (160.0, "✓ Right")])
def test_the_exercise(no_model: None, given: float, said: str) -> None:
    at = check(lesson(SLUG), given)
    assert not at.exception
    assert said in notices(at)


def test_all_methods_give_the_same_mask_at_every_place() -> None:
    for length in range(0, len(fast.TEXT) + 1, 4):
        found = fast.measured(small_vocabulary(), fast.TEXT[:length].encode())
        assert all(rung.same for rung in found.rungs)
        assert found.rungs[0].checks == small_vocabulary().size
        assert found.rungs[2].bytes_read <= found.rungs[0].bytes_read


def test_measuring_can_be_stopped() -> None:
    with pytest.raises(fast.WorkCancelled):
        fast.measured(small_vocabulary(), b"", Progress(lambda: True))


def test_another_place_is_measured_at_once_on_the_small_vocabulary(no_model: None) -> None:
    at = lesson(SLUG)
    at.slider(key=f"{SLUG}_ladder_length").set_value(0).run()
    assert not at.exception
    (shown,) = sent(at, "lesson_ladder")
    assert [row["same"] for row in shown["rows"]] == [True] * 5


def test_only_tokens_that_leave_the_string_need_the_stack(no_model: None) -> None:
    at = lesson(SLUG)
    (shown,) = sent(at, "lesson_tokens")
    assert shown["chips"]
    assert all('"' in chip["text"] for chip in shown["chips"])


def test_with_a_model_everything_is_measured_on_its_tokens(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    for key in (f"{SLUG}_ladder_{fast.PLACE}", f"{SLUG}_stack_model", f"{SLUG}_hidden_run"):
        asked(at, key)
        assert not at.exception
    shown = "\n".join(element.value for element in at.markdown)
    assert f"vocabulary of {fake_model.vocabulary.size} tokens" in shown
    assert "Of the model's tokens only" in shown
    assert "steps a forward pass took" in shown


def test_a_prediction_that_was_taken_back_is_not_committed(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    field, commit = f"{SLUG}_prediction_given", f"{SLUG}_prediction_commit"
    at.number_input(key=field).set_value(40.0).run()
    at.number_input(key=field).set_value(None)
    at.button(key=commit).click().run()  # both in one redraw: who clicks leaves the field
    assert at.button(key=commit).disabled
    at.number_input(key=field).set_value(41.0).run()
    at.button(key=commit).click().run()
    assert "You said 41 %." in [element.value for element in at.markdown]
