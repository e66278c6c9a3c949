"""The editor's Python side: what it sends to the browser, and what it takes from one that may say anything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from engine.errors import ConstraintError
from engine.grammar.locate import locate_json
from tests.app.conftest import sent
from visualizations.editor import LIMIT, Problem, _Field, problem_of


def page(given):  # type: ignore[no-untyped-def]  # its source is run as a script of its own, without this module's names
    import streamlit as st

    from visualizations.editor import Highlight, Problem, edited, editor

    asked = {"text": "{}", "version": 0, **given, **st.session_state.get("asked", {})}
    before = edited(asked["text"], key="field", version=asked["version"])
    now = editor(
        asked["text"],
        key="field",
        label="Schema",
        version=asked["version"],
        errors=[Problem(*error) for error in asked.get("errors", [])],
        highlights=[Highlight(*mark) for mark in asked.get("marks", [])],
        readonly=asked.get("readonly", False),
    )
    assert before == now or asked.get("readonly")
    st.text(now.text)


def shown(**given: Any) -> tuple[AppTest, dict[str, Any]]:
    at = AppTest.from_function(page, args=(given,)).run()
    assert not at.exception
    return at, sent(at, "editor")[0]


def asked_again(at: AppTest, **given: Any) -> dict[str, Any]:
    at.session_state["asked"] = given
    at.run()
    assert not at.exception
    data: dict[str, Any] = sent(at, "editor")[0]
    return data


def test_it_begins_with_the_text_given() -> None:
    at, data = shown(text='{"a": 1}')
    assert (data["text"], data["version"], data["edit"], data["problems"]) == ('{"a": 1}', 0, 0, [])
    assert at.text[0].value == '{"a": 1}'


def test_another_default_does_not_replace_the_text_but_another_version_does() -> None:
    at, data = shown(text="[1]")
    again = asked_again(at, text="[2]")
    assert (again["text"], again["session"]) == ("[1]", data["session"])
    again = asked_again(at, text="[2]", version=1)
    assert (again["text"], again["session"], again["version"]) == ("[2]", data["session"], 1)


def test_a_readonly_text_is_always_the_one_given() -> None:
    at, data = shown(text="[1]", readonly=True)
    assert data["readonly"]
    assert asked_again(at, text="[2]", readonly=True)["text"] == "[2]"


def test_every_visitor_has_a_session_of_their_own() -> None:
    assert shown()[1]["session"] != shown()[1]["session"]


def test_broken_json_is_the_error() -> None:
    _, data = shown(text='{"a": 1,\n "b" 2}', errors=[("The schema is empty.", 0, 1)])
    assert data["problems"] == [{"message": "A colon is missing before this.", "place": "line 2, column 6"}]
    assert [(m["start"], m["end"], m["kind"]) for m in data["marks"]] == [(14, 15, "error")]


def test_errors_lead_to_their_place() -> None:
    _, data = shown(
        text='{"a": 1}', errors=[("Nobody can be /a.", 1, 7), ("Line 1, column 2: no.", 1, 7), ("Too large.", -1, -1)]
    )
    assert [p["place"] for p in data["problems"]] == ["line 1, column 2", "Show", ""]
    assert [(m["start"], m["end"]) for m in data["marks"]] == [(1, 7), (1, 7)]


def test_marks_stay_within_the_text() -> None:
    _, data = shown(text="[1]", marks=[(-5, 99, "heat", "", 7.0, "7 nats"), (50, 2, "selected")])
    assert [(m["start"], m["end"], m["value"]) for m in data["marks"]] == [(0, 3, 1.0), (3, 3, 0.0)]


def test_line_ends_are_the_browsers() -> None:
    assert shown(text="[1,\r\n2,\r3]")[1]["text"] == "[1,\n2,\n3]"


def said(**changed: Any) -> dict[str, Any]:
    return {"session": "s", "version": 2, "edit": 1, "clicks": 0, "caret": 1, "size": 3, "text": "[2]"} | changed


def field() -> _Field:
    return _Field("s", 2, "[1]")


def test_what_is_typed_is_taken() -> None:
    mine = field()
    mine.take(said())
    assert (mine.text, mine.caret, mine.clicked, mine.refused) == ("[2]", 1, None, "")
    mine.take(said(edit=2, text="[2, 3]", clicks=7, caret=4))
    assert (mine.text, mine.clicked) == ("[2, 3]", 4)


@pytest.mark.parametrize("late", [{"session": "t"}, {"version": 1}, {"version": 3}, {"edit": 0}], ids=str)
def test_what_is_about_another_text_is_not(late: dict[str, Any]) -> None:
    mine = field()
    mine.take(said(text="[5]"))
    mine.take(said(text="[6]") | late)
    assert mine.text == "[5]"


@pytest.mark.parametrize("long", [{"text": "x" * (LIMIT + 1)}, {"text": None}], ids=["sent", "kept back"])
def test_too_long_a_text_is_refused_until_it_is_shorter(long: dict[str, Any]) -> None:
    mine = field()
    mine.take(said(size=LIMIT + 1, clicks=1) | long)
    assert (mine.text, mine.clicked) == ("[1]", None)
    assert "1,000,001 characters; 1,000,000 are the limit" in mine.refused
    mine.take(said(edit=2))
    assert (mine.text, mine.refused) == ("[2]", "")


ANYTHING = some.none() | some.integers() | some.text(max_size=9) | some.floats() | some.lists(some.none(), max_size=2)


@given(some.dictionaries(some.sampled_from(sorted(said())), ANYTHING) | ANYTHING)
def test_a_browser_may_say_anything(value: Any) -> None:
    mine = field()
    mine.take(said() | value if isinstance(value, dict) else value)
    assert isinstance(mine.text, str)
    assert 0 <= mine.caret <= len(mine.text)
    assert mine.clicked is None or 0 <= mine.clicked <= len(mine.text)


def test_an_error_of_the_compiler_stands_at_its_part() -> None:
    located = locate_json('{"a": {"type": "strin"}}')
    assert problem_of(ConstraintError("No.", pointer="/a/type"), located) == Problem("No.", 7, 22)
    assert problem_of(ConstraintError("No."), located) == Problem("No.")
