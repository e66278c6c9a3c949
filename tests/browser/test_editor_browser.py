"""The editor in Chromium: nothing that is typed is ever lost, and everything in it has a place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ROOT, SIZES, AppServer, Server, settled
from tests.browser.editor_page import EXAMPLE, FIRST

pytestmark = pytest.mark.browser

WAIT = 20_000  # ms


@pytest.fixture(scope="module")
def apart(browser: Any) -> Iterator[Server]:
    """The small app around the editor."""
    with AppServer("tests/browser/editor_page.py", PYTHONPATH=str(ROOT)) as running:
        yield running


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    """A visitor with an empty storage."""
    width, height = SIZES["desktop"]
    context = browser.new_context(viewport={"width": width, "height": height})
    yield context
    context.close()


@pytest.fixture
def page(context: Any, apart: Server) -> Iterator[Any]:
    """The app, opened. Fails the test on a script error."""
    page = context.new_page()
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    opened(page, apart)
    yield page
    assert not broken


def opened(page: Any, server: Server, query: str = "") -> None:
    page.goto(f"{server.url}/{query}")
    field(page).wait_for(timeout=WAIT)
    settled(page)


def field(page: Any) -> Any:
    return page.get_by_role("textbox", name="Schema")


def shown(page: Any) -> str:
    text: str = field(page).input_value()
    return text


def python_has(page: Any, text: str) -> None:
    """Until Python has this text."""
    page.wait_for_function(
        """([text, length]) => {
          const all = selector => [...document.querySelectorAll(selector)].map(e => e.innerText)
          const codes = all(".stCode code")
          return codes.length === 1 && codes[0] === text && all("[data-testid=stText]").includes(`length: ${length}`)
        }""",
        arg=[text, len(text)],
        timeout=WAIT,
    )
    settled(page)


def shows(page: Any, text: str) -> None:
    """Until the field holds this text, which Python or a draft has put there."""
    expect(field(page)).to_have_value(text)


def replaced(page: Any, text: str) -> None:
    """Everything selected and typed over, key by key."""
    field(page).click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def test_what_is_typed_arrives_without_a_button(page: Any) -> None:
    replaced(page, '{"type": "null"}')
    python_has(page, '{"type": "null"}')


def test_typing_through_reruns_loses_nothing(page: Any, apart: Server) -> None:
    opened(page, apart, "?slow=0.15")
    field(page).click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    typed = ""
    for word in ["[", *(f'"word {i}",' for i in range(12)), "1]"]:
        page.keyboard.type(word, delay=15)
        page.wait_for_timeout(430 if len(typed) % 2 else 250)  # about as long as the pause: reruns come amid the keys
        typed += word
    assert shown(page) == typed
    python_has(page, typed)
    assert shown(page) == typed
    page.keyboard.type(" ")
    assert shown(page) == typed + " "  # the caret never moved


def test_letters_are_not_the_pages_shortcuts(page: Any) -> None:
    replaced(page, "")
    page.keyboard.type("nnn")
    python_has(page, "nnn")
    page.get_by_text("counted: 0", exact=True).wait_for(timeout=WAIT)


def test_undo_is_the_browsers(page: Any) -> None:
    replaced(page, "{")
    page.keyboard.press("Enter")
    page.keyboard.type('"a": 1')
    assert shown(page) == '{\n  "a": 1'
    for _ in range(10):
        page.keyboard.press("ControlOrMeta+z")
    assert shown(page) == FIRST


def test_tab_leaves_the_field(page: Any) -> None:
    field(page).click()
    page.keyboard.press("Tab")
    assert shown(page) == FIRST
    assert not page.evaluate("() => document.activeElement.shadowRoot?.activeElement?.matches('textarea')")


def test_a_reload_restores_what_was_typed_at_once(page: Any, apart: Server) -> None:
    replaced(page, '{"const": 1}')
    page.reload()
    field(page).wait_for(timeout=WAIT)
    python_has(page, '{"const": 1}')
    shows(page, '{"const": 1}')


def test_another_page_and_back_restores(page: Any) -> None:
    replaced(page, '{"const": "é😨"}')
    page.get_by_role("link", name="Other").click()
    page.get_by_text("the other page").wait_for(timeout=WAIT)
    settled(page)
    page.get_by_role("link", name="Edit").click()
    python_has(page, '{"const": "é😨"}')
    shows(page, '{"const": "é😨"}')


def test_a_new_tab_begins_with_the_draft(page: Any, context: Any, apart: Server) -> None:
    replaced(page, '{"const": 2}')
    python_has(page, '{"const": 2}')
    other = context.new_page()
    opened(other, apart)
    python_has(other, '{"const": 2}')
    shows(other, '{"const": 2}')


def test_an_example_replaces_and_what_was_typed_comes_back(page: Any) -> None:
    replaced(page, '{"const": 3}')
    page.get_by_role("button", name="Load the example").click()
    python_has(page, EXAMPLE)
    shows(page, EXAMPLE)
    page.get_by_role("button", name="Bring it back").click()
    python_has(page, '{"const": 3}')
    page.get_by_role("button", name="Load the example").click()
    python_has(page, EXAMPLE)
    page.reload()
    field(page).wait_for(timeout=WAIT)
    python_has(page, FIRST)


def test_a_link_beats_the_draft_but_a_reload_of_it_does_not(page: Any, apart: Server) -> None:
    replaced(page, '{"const": 4}')
    python_has(page, '{"const": 4}')
    opened(page, apart, "?text=[1]")
    python_has(page, "[1]")
    shows(page, "[1]")
    replaced(page, "[1, 2]")
    page.reload()
    field(page).wait_for(timeout=WAIT)
    python_has(page, "[1, 2]")
    opened(page, apart, "?text=[1]&again=1")
    python_has(page, "[1]")


def test_a_link_that_replaced_the_draft_offers_it(page: Any, apart: Server) -> None:
    replaced(page, '{"const": 5}')
    python_has(page, '{"const": 5}')
    opened(page, apart, "?text=[1]")
    page.get_by_role("button", name="Bring it back").click()
    python_has(page, '{"const": 5}')


def test_another_tabs_text_never_comes_into_a_session_under_way(page: Any, context: Any, apart: Server) -> None:
    other = context.new_page()
    opened(other, apart)
    replaced(other, '{"const": 6}')
    python_has(other, '{"const": 6}')
    page.get_by_role("link", name="Other").click()
    page.get_by_text("the other page").wait_for(timeout=WAIT)
    settled(page)
    page.get_by_role("link", name="Edit").click()
    python_has(page, FIRST)
    page.wait_for_timeout(500)
    assert shown(page) == FIRST


def test_typing_selects_nothing(page: Any) -> None:
    field(page).focus()
    page.keyboard.type(" ")
    python_has(page, " " + FIRST)
    page.get_by_text("selected: None", exact=True).wait_for(timeout=WAIT)


def test_long_lines_are_broken_up_on_demand(page: Any) -> None:
    value = {
        "type": "object",
        "properties": {f"p{i}": {"enum": ["a, b: {", i * 1.5]} for i in range(5)},
        "required": [],
    }
    replaced(page, json.dumps(value, separators=(",", ":")))
    page.get_by_role("button", name="Format").click()
    page.get_by_role("button", name="Format").wait_for(state="hidden", timeout=WAIT)
    assert json.loads(shown(page)) == value
    assert '\n    "p1": {\n      "enum": ["a, b: {", 1.5]\n    },\n' in shown(page)
    python_has(page, shown(page))


def test_a_click_reports_the_part(page: Any) -> None:
    field(page).click(position=place(page, "age"))
    page.get_by_text("selected: /properties/age", exact=True).wait_for(timeout=WAIT)
    page.keyboard.press("ArrowUp")
    page.get_by_text("selected: /properties/name", exact=True).wait_for(timeout=WAIT)
    settled(page)
    marked = page.locator(".layer .m.selected")
    assert "".join(marked.all_inner_texts()) == '"name": {"type": "string"}'
    expect(page.locator(".hint")).to_have_text("The part that is selected")


def place(page: Any, text: str) -> dict[str, float]:
    """Where the first piece with this text is, from the corner of the field."""
    box, corner = page.locator(".layer span", has_text=text).first.bounding_box(), field(page).bounding_box()
    return {"x": box["x"] - corner["x"] + box["width"] / 2, "y": box["y"] - corner["y"] + box["height"] / 2}


def test_an_error_stands_in_its_place(page: Any) -> None:
    replaced(page, '{"a": 1,\n "b" 2}')
    button = page.get_by_role("button", name="line 2, column 6")
    button.wait_for(timeout=WAIT)
    settled(page)
    expect(page.locator(".m.error")).to_have_text("2")
    expect(field(page)).to_have_attribute("aria-invalid", "true")
    described = page.evaluate(
        "() => { const a = [...document.querySelectorAll('*')].map(e => e.shadowRoot?.querySelector('textarea'))"
        ".find(Boolean); return a.getRootNode().getElementById(a.getAttribute('aria-describedby')).innerText }"
    )
    assert "A colon is missing before this." in described
    button.click()
    page.keyboard.type(": ")
    python_has(page, '{"a": 1,\n "b" : 2}')
    page.locator(".m.error").wait_for(state="detached", timeout=WAIT)
    expect(field(page)).to_have_attribute("aria-invalid", "false")


def test_the_marks_move_with_what_is_typed(page: Any) -> None:
    replaced(page, '{"a": 1,\n "b" 2}')
    page.locator(".m.error").wait_for(timeout=WAIT)
    page.keyboard.press("ControlOrMeta+Home")
    page.keyboard.type("\n\n")
    assert page.locator(".m.error").inner_text() == "2"


def test_the_layer_lies_exactly_behind(page: Any) -> None:
    long = json.dumps(
        {"text": "word " * 100, "wide": "漢字" * 60, "tab": "\t", "hidden": "a\u202eb"}, ensure_ascii=False
    )
    replaced(page, long.replace('", "', '",\n\t"'))
    text, behind = page.evaluate(
        "() => { const a = [...document.querySelectorAll('*')].map(e => e.shadowRoot?.querySelector('textarea'))"
        ".find(Boolean); a.style.height = 0; return [a.scrollHeight - 12, a.previousSibling.offsetHeight] }"
    )
    assert text == behind
    assert page.locator(".layer .hidden").get_attribute("title") == "U+202E"


def test_too_long_a_text_stays_and_says_so(page: Any) -> None:
    field(page).fill(long := "[" + "1," * 500_000 + "1]")
    page.get_by_text("refused: The text has 1,000,003 characters; 1,000,000 are the limit.").wait_for(timeout=WAIT)
    page.get_by_role("status").get_by_text("It stays here").wait_for(timeout=WAIT)
    assert len(shown(page)) == len(long)
    field(page).fill("[1]")
    python_has(page, "[1]")
    page.get_by_text("refused:", exact=True).wait_for(timeout=WAIT)
