"""A visitor plays with Step-through in Chromium."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from playwright.sync_api import expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from engine.examples import example
from pages._link import PARAMETER, pack
from tests.browser.conftest import ARTEFACTS, SIZES, Server, settled

pytestmark = [pytest.mark.browser, pytest.mark.model]

EXAMPLE = "Person record"
WAIT = 60_000  # ms; the first run compiles and prefills


@pytest.fixture
def page(tab: Any, server: Server) -> Any:
    """A fresh tab at the desktop's size."""
    tab.goto(f"{server.url}/step_through")
    tab.locator(".strip .chip.current").wait_for(timeout=WAIT)
    return tab


def ready(page: Any) -> None:
    """Until the model is there and the page has settled; skips where no model can be had, except in CI."""
    start, refused = page.locator(".st-key-start button:enabled"), page.get_by_text("No model:")
    start.or_(refused).first.wait_for(timeout=WAIT)
    if refused.count():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(refused.first.inner_text())
    settled(page)


def badge(page: Any, text: str) -> Any:
    """The badge beside the run's name."""
    return page.locator(".stMarkdownBadge", has_text=text).first


def completed(page: Any) -> None:
    """Until the run is at its end, in the badge, in the strip and in all else: each is drawn as it arrives."""
    badge(page, "Complete").wait_for(timeout=WAIT)
    page.locator(".strip .chip.end.current").wait_for(timeout=WAIT)
    settled(page)


def press(page: Any, name: str) -> None:
    page.locator(f".st-key-{name} button").click()


def shows_step(page: Any, index: int) -> None:
    """Until that step is shown, in the strip, which comes early in a redraw, and in all that comes after it."""
    page.wait_for_function(f"index => ({CURRENT})() === index", arg=index, timeout=WAIT)
    settled(page)


CURRENT = """() => {
  const hosts = [...document.querySelectorAll("*")].filter(e => e.shadowRoot)
  const strip = hosts.map(h => h.shadowRoot.querySelector(".strip")).find(Boolean)
  return strip && [...strip.querySelectorAll(".chip")].findIndex(c => c.classList.contains("current"))
}"""
"""The index of the step shown."""

OUTPUT = """() => {
  const hosts = [...document.querySelectorAll('*')].filter(e => e.shadowRoot)
  const strip = hosts.map(h => h.shadowRoot.querySelector('.strip')).find(Boolean)
  const chips = [...strip?.querySelectorAll('.chip:not(.end)') ?? []].map(c => c.textContent)
  return chips.join('').replaceAll('␣', ' ').replaceAll('⏎', String.fromCharCode(10))
}"""
"""The output as the strip shows it, white space as it is."""


def output(page: Any) -> str:
    text: str = page.evaluate(OUTPUT)
    return text


def keep(page: Any, name: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=str(ARTEFACTS / f"{name}.png"))


def test_something_real_is_on_screen_before_the_model(page: Any) -> None:
    badge(page, "Recorded trace").wait_for(timeout=WAIT)
    page.locator("tr.masked").first.wait_for(timeout=WAIT)
    keep(page, "opening")


def test_plays_a_run_to_a_valid_object(page: Any) -> None:
    ready(page)
    page.get_by_role("combobox", name="Example").click()
    page.get_by_role("option", name=EXAMPLE, exact=True).click()
    press(page, "start")
    badge(page, "Live").wait_for(timeout=WAIT)
    for index in range(1, 6):
        press(page, "step")
        shows_step(page, index)
    press(page, "back")
    shows_step(page, 4)
    keep(page, "back-at-step-4")
    press(page, "to_end")
    completed(page)
    jsonschema.validate(json.loads(output(page)), json.loads(example(EXAMPLE).constraint.text))
    first = output(page)

    page.locator(".strip .chip").nth(4).click()
    shows_step(page, 4)
    page.locator(".st-key-distribution tr.row:not(.masked):not(.taken)").first.click()
    page.get_by_role("button", name="Take it here").click()
    page.locator(".strip .chip.current.chosen").wait_for(timeout=WAIT)
    shows_step(page, 4)
    press(page, "to_end")
    completed(page)
    branch = output(page)
    assert branch != first
    jsonschema.validate(json.loads(branch), json.loads(example(EXAMPLE).constraint.text))
    keep(page, "branch-complete")

    page.get_by_role("combobox", name="Runs").click()
    page.get_by_role("option").filter(has_text="greedy").first.click()
    page.wait_for_function(f"first => ({OUTPUT})() === first", arg=first, timeout=WAIT)


def test_the_keyboard_steps(page: Any) -> None:
    ready(page)
    for key, index in [("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1)]:
        page.keyboard.press(key)
        shows_step(page, index)
    page.locator(".st-key-prompt textarea").focus()
    page.keyboard.press("ArrowRight")  # moves the caret, not the step
    page.wait_for_timeout(500)
    shows_step(page, 1)


def test_no_key_is_lost_however_fast(page: Any) -> None:
    ready(page)
    page.keyboard.press("Home")
    shows_step(page, 0)
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(150)
    shows_step(page, 6)


def test_the_slider_is_dragged_and_has_keys(page: Any) -> None:
    ready(page)
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("Home")
    shows_step(page, 0)
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    shows_step(page, 3)
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^step 3 of "))


def test_keys_during_a_run_leave_a_valid_object(page: Any) -> None:
    ready(page)
    press(page, "start")
    badge(page, "Live").wait_for(timeout=WAIT)
    for key in ("e", "ArrowRight", "e", "n", "ArrowRight"):
        page.keyboard.press(key)
        page.wait_for_timeout(30)
    completed(page)
    jsonschema.validate(json.loads(output(page)), json.loads(example(EXAMPLE).constraint.text))


def test_no_message_refers_to_one_that_a_fast_visitor_may_have_dropped(browser: Any, server: Server) -> None:
    page = browser.new_page()
    received: list[str] = []

    def keep_kind(frame: bytes) -> None:
        message = ForwardMsg()
        message.ParseFromString(frame)
        received.append(message.WhichOneof("type"))

    page.on("websocket", lambda socket: socket.on("framereceived", keep_kind))
    page.goto(f"{server.url}/step_through")
    page.locator(".strip .chip.current").wait_for(timeout=WAIT)
    ready(page)
    page.keyboard.press("Home")
    shows_step(page, 0)
    page.keyboard.press("ArrowRight")
    shows_step(page, 1)
    page.close()
    assert "delta" in received
    assert "ref_hash" not in received


def test_a_run_is_cancelled_in_the_browser(page: Any, server: Server) -> None:
    spec = replace(example("A tree without end").spec(), prompt="A folder that no other visitor has asked for.")
    spec = replace(spec, max_tokens=1024)  # it must still be under way when the button has come and is clicked
    page.goto(f"{server.url}/step_through?{PARAMETER}={pack(spec, 0)}")  # a run that is known is at its end at once
    badge(page, "Live").wait_for(timeout=WAIT)
    press(page, "to_end")
    press(page, "cancel")
    badge(page, "Cancelled").wait_for(timeout=WAIT)


def test_states_are_selected_in_the_picture(page: Any) -> None:
    ready(page)
    page.locator(".frame g.s.current").click()
    page.get_by_text("what remains is").filter(visible=True).first.wait_for(timeout=WAIT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_looks(browser: Any, server: Server, scheme: str, size: str) -> None:
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(f"{server.url}/step_through")
    page.locator(".strip .chip.current").wait_for(timeout=WAIT)
    page.locator(".frame g.s.current").wait_for(timeout=WAIT)
    settled(page)
    keep(page, f"step-through-{scheme}-{size}")
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.close()
    assert overflow <= 0


def test_a_step_sends_what_is_drawn_and_no_scripts(browser: Any, server: Server) -> None:
    page = browser.new_page()
    sent: list[bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: sent.append(frame)))
    page.goto(f"{server.url}/step_through")
    page.locator(".strip .chip.current").wait_for(timeout=WAIT)
    ready(page)
    sent.clear()
    shown = page.evaluate(CURRENT)
    press(page, "step")
    shows_step(page, shown + 1)
    messages = [ForwardMsg.FromString(raw) for raw in sent]
    components = [
        m.delta.new_element.bidi_component for m in messages if m.delta.new_element.HasField("bidi_component")
    ]
    page.close()
    assert len(components) > 10
    assert all(component.js_source_path and not component.js_content for component in components)
    assert 10_000 < sum(map(len, sent)) < 100_000  # a room of 30 shares one wireless network
