"""Completable, not correct: opened, its exercise failed and solved; with a model and without."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages._lessons.experiments import completable
from tests.app.conftest import PageModel, lesson, notices, sent, wait_for

SLUG = "completable-not-correct"


def check(at: AppTest, given: str) -> AppTest:
    at.text_input(key=f"{SLUG}_exercise_given").set_value(given).run()
    return at.button(key=f"{SLUG}_exercise_check").click().run()


def test_the_first_screen_judges_every_byte_before_the_prediction(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    (typed,) = sent(at, "lesson_typed")
    assert [cell["standing"] for cell in typed["cells"]] == ["open"] * 5
    assert "can still become valid" in typed["said"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ba", "lost at byte 1"),
        ("abcabcabc", "9 characters: too long"),
        ("abca", "alive: 'abcabc' completes it"),
        ("abcabca", "✓ Right."),
        ("abcabcab", "✓ Right."),
    ],
)
def test_the_exercise(no_model: None, given: str, said: str) -> None:
    at = check(lesson(SLUG), given)
    assert not at.exception
    assert said in notices(at)


def test_without_a_model_the_small_vocabulary_shows_that_nothing_is_generated(no_model: None) -> None:
    at = lesson(SLUG)
    facts = completable.facts()
    assert facts["validator_first"] == 0
    assert int(facts["mask_first"]) > 0
    headings = [data["heading"] for data in sent(at, "lesson_tokens")]
    assert headings[0].startswith("The validator allows 0 of")
    assert headings[1].startswith("The mask allows 1 of")  # after {"nam, an e


def test_with_a_model_its_tokens_are_counted_and_it_writes(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    for work in ("count", "run"):
        at.button(key=f"{SLUG}_masks_{work}_ask").click().run()
        cancel = f"{SLUG}_masks_{work}_cancel"
        wait_for(lambda cancel=cancel: cancel not in [button.key for button in at.run().button])
    assert not at.exception
    shown = "\n".join(element.value for element in at.markdown)
    assert "0 first tokens for the validator" in shown
    assert "the same model wrote" in shown


def test_more_room_brings_states_back_to_life(no_model: None) -> None:
    at = lesson(SLUG)
    before = sent(at, "lesson_backwards")[0]
    at.slider(key=f"{SLUG}_dead_most").set_value(6).run()
    after = sent(at, "lesson_backwards")[0]
    dead = [sum(node["kind"] == "dead" for node in data["nodes"]) for data in (before, after)]
    assert dead[0] == completable.facts()["dead"]
    assert len(after["nodes"]) > len(before["nodes"])


def test_a_pattern_that_does_not_compile_is_a_message(no_model: None) -> None:
    at = lesson(SLUG)
    at.text_input(key=f"{SLUG}_dead_pattern").set_value("(ab").run()
    assert not at.exception
    assert not sent(at, "lesson_backwards")
    assert notices(at)


def test_no_step_backwards_shows_only_the_ends(no_model: None) -> None:
    at = lesson(SLUG)
    rounds = completable.facts()["rounds"]
    at.slider(key=f"{SLUG}_dead_{rounds}_rounds").set_value(0).run()
    nodes = sent(at, "lesson_backwards")[0]["nodes"]
    assert {node["kind"] for node in nodes if node["accepting"]} == {"alive"}
    assert {node["kind"] for node in nodes if not node["accepting"]} == {"open"}


def test_an_answer_is_judged_as_it_is_when_check_is_clicked(no_model: None) -> None:
    at = check(lesson(SLUG), "ba")
    at.text_input(key=f"{SLUG}_exercise_given").set_value("abcabca")
    at.button(key=f"{SLUG}_exercise_check").click().run()  # before the page was drawn with the new answer
    assert "✓ Right." in notices(at)
