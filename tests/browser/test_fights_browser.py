"""A visitor finds in Chromium, with the mouse alone, the field that costs an example schema most probability."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ARTEFACTS, Server, settled

pytestmark = [pytest.mark.browser, pytest.mark.model]

WAIT = 60_000  # ms
LIMIT = 120  # seconds a newcomer may take, the loading of the model left out
TAB = "Where it fights the model"
EXAMPLE = "Against the model's wish"


@pytest.fixture
def page(tab: Any, server: Server) -> Any:
    """A fresh tab on the Schema debugger, with the model there."""
    tab.goto(server.url)
    tab.get_by_role("button", name="Debug").click()
    tab.get_by_role("menuitem", name="Schema debugger").click()
    tab.get_by_text(TAB, exact=True).click(timeout=WAIT)
    tab.locator(".st-key-fights_start button:enabled").wait_for(timeout=WAIT)
    tab.get_by_text("Report", exact=True).click()
    tab.locator(".st-key-fights_start").wait_for(state="detached", timeout=WAIT)
    settled(tab)
    return tab


def test_a_newcomer_finds_the_dearest_field(page: Any) -> None:
    started = time.monotonic()
    page.locator(".st-key-debug_example input").click()
    page.get_by_role("option", name=EXAMPLE).click()
    page.get_by_text(TAB, exact=True).click()
    page.locator(".st-key-fights_start button:enabled").click(timeout=WAIT)
    page.locator(".st-key-fights_cancel").wait_for(timeout=WAIT)
    page.locator(".st-key-fights_start button:enabled").wait_for(timeout=1000 * LIMIT)
    settled(page)
    rows = page.locator("tr.row")
    expect(rows.first.locator("button")).to_have_text("/properties/sentiment")
    assert time.monotonic() - started < LIMIT
    page.get_by_text("/properties/sentiment").first.wait_for()
    page.get_by_text("What to try").first.wait_for()
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=str(ARTEFACTS / "fights-desktop.png"), full_page=True)
    rows.nth(1).locator("button").click()
    page.locator("tr.row.selected button", has_text="the root").wait_for(timeout=WAIT)
    expect(rows.first.locator("button")).to_have_attribute("aria-pressed", "false")
