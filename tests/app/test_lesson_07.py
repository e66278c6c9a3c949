"""Token misalignment: opened, its runs looked through, its exercise failed and solved; with a model and without."""

from __future__ import annotations

import pytest

from pages._lessons.experiments import misalignment
from tests.app.conftest import PageModel, lesson, notices, sent, wait_for

SLUG = "token-misalignment"


def test_what_is_recorded_is_what_the_lesson_says() -> None:
    """The options of the prediction are words: these are the texts that make the last one right."""
    facts = misalignment.facts()
    assert facts["wish"] == '":'
    assert '"name": ""' in str(facts["aligned_text"])
    assert '"name": "Marie Curie"' in str(facts["bridging_text"])
    assert float(facts["aligned_price"]) > 4 * float(facts["bridging_price"])
    assert facts["follow"] == '␣"'
    assert float(facts["follow_joined"]) > float(facts["follow_split"])


def test_the_cuts_are_all_there_are() -> None:
    """Of `age` there are four with the vocabulary's `age`, `ag`, `ge`; with `":` in one or in two each."""
    cuts = {way.tokens for way in misalignment._recorded_ways()}
    words = [[b"age"], [b"ag", b"e"], [b"a", b"ge"], [b"a", b"g", b"e"]]
    assert cuts == {(b'"', *word, *end) for word in words for end in ([b'":'], [b'"', b":"])}


def test_opened(no_model: None) -> None:
    at = lesson(SLUG)
    assert not at.exception
    (drawn,) = sent(at, "lesson_paths")
    assert drawn["current"] == misalignment.facts()["wish_step"]
    assert sum(one["differs"] for one in drawn["stretches"]) == misalignment.facts()["aligned_places"]
    seen = " ".join(block.value for block in at.markdown)
    assert "A record in which the name is empty" in seen
    assert "376,604 times less probable" in seen


def test_the_other_masks(no_model: None) -> None:
    at = lesson(SLUG)
    at.segmented_control(key=f"{SLUG}_runs_policy").set_value("bridging").run()
    assert not at.exception
    (drawn,) = sent(at, "lesson_paths")
    assert any(piece["crosses"] for one in drawn["stretches"] for piece in one["upper"])
    at.segmented_control(key=f"{SLUG}_runs_policy").set_value("canonical").run()
    assert not at.exception
    assert not any("the policy left no token" in caption.value for caption in at.caption)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('"|age|":', "crosses the boundary"),
        ('"|a|ge|"|:', "a more probable cut"),
        ('"a|ge|"|:', "Not all of these are tokens"),
        ('"|name|"|:', "not '\"age\":'"),
    ],
)
def test_the_exercise_failed(no_model: None, given: str, said: str) -> None:
    at = lesson(SLUG)
    at.text_input(key=f"{SLUG}_exercise_given").set_value(given).run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert said in notices(at)


def test_the_exercise_solved(no_model: None) -> None:
    at = lesson(SLUG)
    for _ in range(3):
        at.button(key=f"{SLUG}_exercise_hint").click().run()
    at.text_input(key=f"{SLUG}_exercise_given").set_value('"|age|"|:').run()
    at.button(key=f"{SLUG}_exercise_check").click().run()
    assert "✓ Right." in notices(at)


def test_a_prompt_of_ones_own(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.text_input(key=f"{SLUG}_own_prompt").set_value("Extract Ada as JSON").run()
    at.button(key=f"{SLUG}_own_ask").click().run()
    wait_for(lambda: (at.run(), f"{SLUG}_own_cancel" not in [b.key for b in at.button])[1])
    assert not at.exception
    assert any("Live run" in caption.value for caption in at.caption)


def test_a_text_of_ones_own(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.text_input(key=f"{SLUG}_ways_text").set_value('"}').run()
    at.button(key=f"{SLUG}_ways_ask").click().run()
    wait_for(lambda: (at.run(), f"{SLUG}_ways_cancel" not in [b.key for b in at.button])[1])
    assert not at.exception
    assert '▸  "}' in " ".join(code.value for code in at.code)
