"""From schema to automaton to index: opened, states clicked, its exercise failed and solved."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages._lessons.experiments import index
from tests.app.conftest import PageModel, lesson, notices, sent, wait_for

SLUG = "from-schema-to-automaton-to-index"


def check(at: AppTest, given: str) -> AppTest:
    at.text_area(key=f"{SLUG}_exercise_given").set_value(given).run()
    return at.button(key=f"{SLUG}_exercise_check").click().run()


def test_the_first_screen_has_the_automaton_and_not_the_answer(no_model: None) -> None:
    at = lesson(SLUG, revealed=False)
    assert not at.exception
    (picture,) = sent(at, "automaton")
    assert len(picture["states"]) == 23  # of the regex, counted by hand


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (r"\[(\[\])*\]", "It should accept"),
        (r"\[(\[\](,\[\])*)?\]", "It should not accept"),
        ("(", "does not compile"),
        (r"\[(\[\](,\[\])?)?\]", "✓ Right"),
    ],
)
def test_the_exercise(no_model: None, given: str, said: str) -> None:
    at = check(lesson(SLUG), given)
    assert not at.exception
    assert said in notices(at)


def test_the_state_looked_at_first_has_a_comma_and_a_brace(no_model: None) -> None:
    at = lesson(SLUG)
    (shown,) = sent(at, "lesson_tokens")
    assert shown["heading"].startswith('After {"ok":true: 3 of')
    assert {chip["text"] for chip in shown["chips"]} >= {",", "}", ',"'}


def test_a_state_that_is_clicked_shows_its_tokens(no_model: None) -> None:
    at = lesson(SLUG)
    start = next(state["id"] for state in sent(at, "automaton")[0]["states"] if state["start"])
    at.session_state[f"{SLUG}_to_state"] = str(start)
    at.run()
    assert {chip["text"] for chip in sent(at, "lesson_tokens")[0]["chips"]} == {"{", '{"'}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{", "can't be followed"),
        ('{"type": "number"}', "not among those"),
        ('{"enum": 5}', "can't be followed"),
        ('{"$ref": 5}', "can't be followed"),
        ('{"type": "array", "maxItems": "a"}', "can't be followed"),
        ('{"type": "object", "properties": [1], "additionalProperties": false}', "can't be followed"),
        ('{"$ref": "#"}', "can't be followed"),
        ("[1]", "can't be followed"),
        (json.dumps(index.NESTED), "greater depth"),
        ('{"type": "string", "maxLength": 400}', "states"),
    ],
)
def test_a_schema_that_is_too_much_is_a_message(no_model: None, schema: str, said: str) -> None:
    at = lesson(SLUG)
    at.text_area(key=f"{SLUG}_to_schema").set_value(schema).run()
    assert not at.exception
    assert said in notices(at)


def test_the_models_tokens_are_indexed(fake_model: PageModel) -> None:
    at = lesson(SLUG)
    at.button(key=f"{SLUG}_to_index_model_ask").click().run()
    wait_for(lambda: f"{SLUG}_to_index_model_cancel" not in [button.key for button in at.run().button])
    assert not at.exception
    assert f"of {fake_model.vocabulary.size} tokens" in sent(at, "lesson_tokens")[0]["heading"]


def test_one_level_more_refuses_a_deeper_text(no_model: None) -> None:
    at = lesson(SLUG)
    refused = [code.value for code in at.code if code.value.startswith("[[") and code.value != index.NESTED_TEXT]
    at.slider(key=f"{SLUG}_nested_depth").set_value(index.DEPTH + 1).run()
    deeper = [code.value for code in at.code if code.value.startswith("[[") and code.value != index.NESTED_TEXT]
    assert not at.exception
    assert max(map(len, deeper)) > max(map(len, refused))


def test_the_stack_has_a_frame_for_each_open_list(no_model: None) -> None:
    at = lesson(SLUG)
    (stack,) = sent(at, "automaton_stack")
    assert len(stack["frames"]) == 3
    at.slider(key=f"{SLUG}_nested_stack_read").set_value(1).run()
    assert len(sent(at, "automaton_stack")[0]["frames"]) == 1


def test_an_explosion_is_explored_when_asked_for(no_model: None) -> None:
    at = lesson(SLUG)
    cancel = f"{SLUG}_grow_6_cancel"
    at.button(key=f"{SLUG}_grow_6_ask").click().run()
    wait_for(lambda: cancel not in [button.key for button in at.run().button])
    assert not at.exception
    assert "Explored: 128 states. The textbook's automaton has 128 too." in [caption.value for caption in at.caption]
    at.slider(key=f"{SLUG}_grow_exponential_n").set_value(20).run()
    assert not at.exception
    assert "2,097,152" in [metric.value for metric in at.metric]
