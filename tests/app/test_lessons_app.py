"""Learn without a browser: every lesson opens; the start page's doors; modes; a bad file; lessons 2 and 6 played."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import pages._lessons.page as page_module
from pages import _link
from pages._lessons.page import FOLDER, lesson_of
from pages._lessons.progress import Progress, code_of
from pages._lessons.reader import Lesson, lesson_paths, slug_of
from tests.app.conftest import APP, lesson, notices, opened, sent, wait_for
from visualizations.charts import LARGE

SLUGS = [slug_of(path) for path in lesson_paths(FOLDER)]


def written(at: AppTest) -> str:
    """All of a page's Markdown."""
    return "\n".join(str(element.value) for kind in ("markdown", "caption", "title") for element in at.get(kind))


def titled(slug: str) -> str:
    found = next(lesson_of(path) for path in lesson_paths(FOLDER) if slug_of(path) == slug)
    assert isinstance(found, Lesson)
    return found.title


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.usefixtures("no_model")
def test_opens_without_a_model(slug: str) -> None:
    """Before the prediction and after it, with what is recorded."""
    at = lesson(slug, revealed=False)
    assert not at.exception
    assert titled(slug) in written(at)
    assert "What was seen" not in [element.value for element in at.subheader]
    at.button(key=f"{slug}_prediction_skip").click().run()
    assert not at.exception
    assert "What was seen" in [element.value for element in at.subheader]
    assert "{{" not in written(at)


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.usefixtures("fake_model")
def test_hints_come_one_at_a_time_and_nothing_is_solved_yet(slug: str) -> None:
    at = lesson(slug)
    assert not at.exception
    found = next(lesson_of(path) for path in lesson_paths(FOLDER) if slug_of(path) == slug)
    assert isinstance(found, Lesson)
    assert found.hints
    for shown in range(1, len(found.hints) + 1):
        at.button(key=f"{slug}_exercise_hint").click().run()
        assert f"*Hint {shown}.*" in written(at)
        assert f"*Hint {shown + 1}.*" not in written(at)
    assert f"{slug}_exercise_hint" not in [button.key for button in at.button]
    at.button(key=f"{slug}_exercise_check").click().run()
    assert not at.exception
    assert "Right" not in notices(at)
    assert "_progress" not in at.session_state or not at.session_state["_progress"].solved


@pytest.mark.usefixtures("no_model")
def test_a_prediction_is_compared_with_what_came_out() -> None:
    at = lesson("renormalisation", revealed=False)
    assert at.button(key="renormalisation_prediction_commit").disabled
    at.number_input(key="renormalisation_prediction_given").set_value(70).run()
    at.button(key="renormalisation_prediction_commit").click().run()
    assert "As predicted" in written(at)
    assert "The answer: 70 %" in written(at)
    assert at.session_state["_progress"].predicted == {6}


@pytest.mark.usefixtures("no_model")
def test_a_wrong_prediction_is_said_to_be_one() -> None:
    slug = "the-one-place-to-intervene"
    at = lesson(slug, revealed=False)
    at.radio(key=f"{slug}_prediction_given").set_value("Another seed, tried often enough").run()
    at.button(key=f"{slug}_prediction_commit").click().run()
    assert "Not as predicted" in written(at)


@pytest.mark.usefixtures("no_model")
def test_lesson_six_is_failed_and_solved() -> None:
    at = lesson("renormalisation")
    assert "70 % of the mass moves" in written(at)
    at.button(key="renormalisation_exercise_check").click().run()
    assert "The price is 1.20 nats" in notices(at)
    at.slider(key="renormalisation_hand_likes").set_value(0.37).run()
    at.button(key="renormalisation_exercise_check").click().run()
    assert "✓ Right" in notices(at)
    assert at.session_state["_progress"].solved == {6}
    assert "exercise solved" in written(at.run())


@pytest.mark.usefixtures("no_model")
def test_everything_allowed_costs_nothing_and_nothing_allowed_is_told() -> None:
    at = lesson("renormalisation")
    pills = at.button_group(key="renormalisation_hand_allowed")
    pills.set_value(["Sure", "{", "newline", "everything else"]).run()
    assert [metric.value for metric in at.metric][:3] == ["1.00", "0%", "0.00 nats"]
    at.button_group(key="renormalisation_hand_allowed").set_value([]).run()
    assert not at.exception
    assert "no distribution left" in notices(at)


@pytest.mark.usefixtures("fake_model")
def test_the_small_grammar_is_computed_on_demand() -> None:
    at = lesson("renormalisation")
    assert "Masking is not conditioning" not in written(at)
    assert "forward passes" in written(at)
    at.button(key="renormalisation_small_ask").click().run()
    wait_for(lambda: "Masking is not conditioning" in written(at.run()))
    assert not at.exception
    assert "Of the 17 texts" in written(at)
    other = lesson("renormalisation")  # somebody else in the room
    assert "Masking is not conditioning" in written(other)


@pytest.mark.usefixtures("no_model")
def test_lesson_two_is_failed_and_solved() -> None:
    slug = "the-one-place-to-intervene"
    at = lesson(slug)
    text = written(at)
    assert "400 draws took a masked token 0 times" in text
    at.button(key=f"{slug}_exercise_check").click().run()
    assert "as greedy decoding does" in notices(at)
    at.slider(key=f"{slug}_sampler_seed").set_value(1).run()
    at.button(key=f"{slug}_exercise_check").click().run()
    assert "✓ Right" in notices(at)


@pytest.mark.parametrize("kind", ["Greedy", "Temperature", "Top-k", "Top-p", "Min-p"])
@pytest.mark.usefixtures("no_model")
def test_no_sampler_draws_a_masked_token(kind: str) -> None:
    slug = "the-one-place-to-intervene"
    at = lesson(slug)
    at.segmented_control(key=f"{slug}_sampler_kind").set_value(kind).run()
    assert not at.exception
    assert at.metric[0].value == "0"
    assert int(at.metric[1].value) > 300


@pytest.mark.usefixtures("no_model")
def test_the_boxes_of_the_loop_are_walked() -> None:
    slug = "the-one-place-to-intervene"
    at = lesson(slug)
    seen = []
    for _ in range(6):
        seen.append(sent(at, "lesson_loop")[0]["current"])
        at.button(key=f"{slug}_loop_next").click().run()
        assert not at.exception
    assert seen == ["mask", "sampler", "draw", "text", "model", "validator"]
    assert [box["name"] for box in sent(at, "lesson_loop")[0]["boxes"] if box["extra"]] == ["validator", "mask"]


@pytest.mark.usefixtures("no_model")
def test_teachers_notes_are_never_in_a_link() -> None:
    at = lesson("renormalisation", revealed=False)
    assert "Points worth stopping at" not in written(at)
    at.toggle(key="teacher_switch").set_value(True).run()
    assert "Points worth stopping at" in written(at)
    assert not at.query_params
    guessed = AppTest.from_file(APP, default_timeout=30).run()
    guessed._page_hash = at._page_hash or at._finished_page_script_hash
    for name in ("teacher", "teacher_switch", "_teacher", "notes"):
        guessed.query_params[name] = "1"
    assert "Points worth stopping at" not in written(guessed.run())


@pytest.mark.usefixtures("no_model")
def test_projector_mode_comes_with_a_link_and_goes_with_a_button() -> None:
    at = lesson("renormalisation", revealed=False)
    assert "projector_off" not in [button.key for button in at.button]
    at.query_params["projector"] = "1"
    at.run()
    assert "projector_off" in [button.key for button in at.button]
    at.button(key="projector_off").click().run()
    assert "projector_off" not in [button.key for button in at.button]
    assert "projector" not in at.query_params


@pytest.mark.usefixtures("no_model")
def test_the_start_page_has_a_door_for_each() -> None:
    at = opened("pages/start.py")
    assert not at.exception
    labels = [link.proto.label for link in at.get("page_link")]
    assert any(label.startswith("Begin with lesson") for label in labels)
    assert "Open the Schema debugger" in labels
    at.button(key="teach").click().run()
    assert at.session_state["_teacher"]
    assert at.session_state[LARGE]


@pytest.mark.usefixtures("no_model")
def test_a_progress_code_is_taken_and_a_wrong_one_told() -> None:
    at = opened("pages/start.py")
    code = code_of(Progress(frozenset({1, 2}), frozenset({2})))
    at.text_input(key="progress_code").set_value(code[:-1] + ("0" if code[-1] != "0" else "1")).run()
    assert "wrong" in notices(at)
    at.text_input(key="progress_code").set_value(code.lower()).run()
    assert at.session_state["_progress"] == Progress(frozenset({1, 2}), frozenset({2}))
    assert code in [element.value for element in at.code]


@pytest.mark.usefixtures("no_model")
def test_an_old_link_to_a_run_still_opens_step_through() -> None:
    spec = opened().session_state["visit"].run.trace.spec
    at = AppTest.from_file(APP, default_timeout=30)
    at.query_params[_link.PARAMETER] = _link.pack(spec, 2)
    at.run()
    assert "visit" in at.session_state
    assert at.session_state["linked"] == (spec, 2)


@pytest.mark.usefixtures("no_model")
def test_the_glossary_names_the_lessons() -> None:
    at = opened("pages/glossary.py")
    assert not at.exception
    assert "mask" in [element.value for element in at.subheader]
    assert any("Renormalisation" in link.proto.label for link in at.get("page_link"))


@pytest.mark.usefixtures("no_model")
def test_a_bad_lesson_says_its_line_and_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in [*lesson_paths(FOLDER), FOLDER / "glossary.md"]:
        (tmp_path / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    bad = "---\ntitle: <b>Bad</b>\nminutes: never\n---\n"
    (tmp_path / "13-a-bad-one.md").write_text(bad, encoding="utf-8")
    monkeypatch.setattr(page_module, "FOLDER", tmp_path)
    monkeypatch.setattr(page_module, "GLOSSARY", tmp_path / "glossary.md")
    at = opened("pages/start.py")
    assert not at.exception
    assert "13-a-bad-one.md, line 3: `minutes`" in notices(at)
    st.cache_resource.clear()
    at = AppTest.from_file(APP, default_timeout=30).run()
    at._page_hash = next(h for h, page in at._registered_pages.items() if page["url_pathname"] == "a-bad-one")
    at.run()
    assert not at.exception
    assert "line 3" in notices(at)
