"""A visitor asks why, with the mouse alone: the verdict, the walk, the rule in the schema's text, what is near."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Server, settled
from tests.browser.test_step_through import WAIT, badge, keep, press, ready, shows_step

pytestmark = [pytest.mark.browser, pytest.mark.model]

AFTER_AGE = 12  # the step behind `"age":` in the recorded run that opens


@pytest.fixture
def page(tab: Any, server: Server) -> Any:
    """A fresh tab, the model there."""
    tab.goto(f"{server.url}/step_through")
    tab.locator(".verdict").wait_for(timeout=WAIT)
    ready(tab)
    tab.locator(".often").wait_for(timeout=WAIT)
    settled(tab)
    return tab


def verdict(page: Any, token: str, said: str) -> None:
    """Until the walk shows that token and says so, and what is drawn after it follows."""
    found = page.locator(".verdict", has_text=said)
    found.locator("code.token", has_text=token).wait_for(timeout=WAIT)
    settled(page)


def test_why_a_quote_is_masked_where_an_integer_is_due(page: Any) -> None:
    page.locator(".strip .chip").nth(AFTER_AGE).click()
    shows_step(page, AFTER_AGE)
    page.locator(".often button[aria-label='\", masked']").click()
    verdict(page, '"', "Masked")
    expect(page.locator("p.said")).to_contain_text("Byte 1 of 1 cannot be read here. Expected here: '␣', '-' or [0-9].")
    expect(page.locator("p.said .place")).to_have_text("/properties/age (type)")
    expect(page.locator("tr.dies")).to_contain_text("✕ dies here")
    page.locator(".m.masks", has_text='"age"').first.wait_for(timeout=WAIT)  # the rule, in the schema's text
    keep(page, "why-a-quote-is-masked")

    page.locator(".near button").first.click()
    verdict(page, "␣", "Allowed")
    page.locator("tr.row", has_text='␣"').first.click()
    verdict(page, '␣"', "Masked")
    expect(page.locator("tr.row.selected button")).to_have_text('␣"')
    expect(page.locator(".hops tbody tr")).to_have_count(2)
    page.locator("button.scale").click()
    expect(page.locator("button.scale")).to_have_attribute("aria-pressed", "true")


def test_any_token_is_looked_up_and_taken(page: Any) -> None:
    page.locator(".strip .chip").nth(AFTER_AGE).click()
    shows_step(page, AFTER_AGE)
    page.get_by_role("textbox", name="Why is a token").fill("9")
    page.keyboard.press("Enter")
    page.locator("li button", has_text="9").first.wait_for(timeout=WAIT)
    settled(page)
    page.locator("li button", has_text="9").first.click()
    verdict(page, "9", "Allowed")
    page.get_by_role("button", name="Take it here").click()
    badge(page, "Live").wait_for(timeout=WAIT)
    page.locator(".strip .chip.current.chosen", has_text="9").wait_for(timeout=WAIT)
    press(page, "step")
    shows_step(page, AFTER_AGE + 1)


def test_the_model_says_what_it_would_have_written(page: Any) -> None:
    page.locator(".st-key-freely_ask button:visible").click()
    page.locator("ol .chip").first.wait_for(timeout=WAIT)
    settled(page)
    expect(page.locator("ol .chip")).to_have_count(10)
    page.locator(".st-key-canonical_ask button:visible").click()
    page.locator(".summary", has_text="as the tokenizer cuts it").wait_for(timeout=WAIT)
    keep(page, "inside-a-step")
