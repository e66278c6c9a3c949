"""A learner plays lessons 2 and 6 in Chromium, with the bundled model; a reload, a projector, a phone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.conftest import ARTEFACTS, SIZES, Runs, Server, settled

pytestmark = [pytest.mark.browser, pytest.mark.model]

WAIT = 60_000  # ms; the model may still be loading
LOOP, PRICE = "the-one-place-to-intervene", "renormalisation"
SAMPLERS = {
    "Top-k": "temperature 1,␣top-k 2",
    "Top-p": "temperature 1,␣top-p 0.9",
    "Min-p": "temperature 1,␣min-p 0.1",
    "Greedy": "greedy",
    "Temperature": "temperature 1",
}
"""What the samplers that are picked are called, as they are set at first."""


@pytest.fixture
def page(tab: Any) -> Any:
    """A fresh tab, on no page yet."""
    return tab


@pytest.fixture
def runs(tab: Any) -> Runs:
    """The runs of the script that the tab hears of."""
    return Runs(tab)


def press(page: Any, key: str) -> None:
    page.locator(f".st-key-{key} button").first.click(timeout=WAIT)


def says(page: Any, text: str | re.Pattern[str]) -> None:
    page.get_by_text(text).first.wait_for(timeout=WAIT)


def keep(page: Any, name: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=str(ARTEFACTS / f"{name}.png"), full_page=True)


def test_lesson_six_is_played(page: Any, server: Server) -> None:
    page.goto(f"{server.url}/{PRICE}")
    field = page.locator(f".st-key-{PRICE}_prediction_given input")
    field.fill("70", timeout=WAIT)
    field.press("Enter")
    press(page, f"{PRICE}_prediction_commit")
    says(page, "As predicted")
    says(page, "70 % of the mass moves")
    press(page, f"{PRICE}_small_ask")
    says(page, "Masking is not conditioning")
    says(page, re.compile(r"Of the 17 texts, the one of zeros has the exact conditional probability"))
    press(page, f"{PRICE}_exercise_check")
    says(page, "The price is 1.20 nats now")
    slider = page.locator(f".st-key-{PRICE}_hand_likes").get_by_role("slider")
    for _ in range(7):
        slider.press("ArrowRight")
    kept = page.get_by_test_id("stMetric").filter(has_text="Z, the mass that is kept")
    kept.get_by_text("0.37").wait_for(timeout=WAIT)
    settled(page)
    press(page, f"{PRICE}_exercise_check")
    says(page, "✓ Right.")
    settled(page)
    keep(page, "lesson-6")
    page.reload()
    says(page, "exercise solved")  # a new session: the tab has kept the progress


def test_lesson_two_is_played(page: Any, server: Server, runs: Runs) -> None:
    page.goto(f"{server.url}/{LOOP}")
    page.get_by_text("A very high temperature").click(timeout=WAIT)
    press(page, f"{LOOP}_prediction_commit")
    says(page, "Not as predicted")
    settled(page)
    page.locator("button.box.validator").click(timeout=WAIT)
    says(page, "The automaton of the constraint")
    settled(page)
    page.locator("button.box.sampler").click()
    says(page, "Softmax of what is left")
    for kind, sampler in SAMPLERS.items():
        page.get_by_role("radio", name=kind).or_(page.get_by_role("button", name=kind, exact=True)).first.click()
        says(page, f"With your sampler ({sampler}), 400 draws took a masked token 0 times")
    press(page, f"{LOOP}_beam_ask")
    says(page, "Beam search works behind the mask")
    seed = page.locator(f".st-key-{LOOP}_sampler_seed").get_by_role("slider")
    for _ in range(12):
        with runs.another():
            seed.press("ArrowRight")
        with runs.another():
            press(page, f"{LOOP}_exercise_check")
        if page.get_by_text("✓ Right.").count():
            break
    says(page, "✓ Right.")
    keep(page, "lesson-2")


def test_a_term_leads_to_the_glossary_and_a_door_to_the_step(page: Any, server: Server, browser: Any) -> None:
    page.goto(f"{server.url}/{PRICE}")
    press(page, f"{PRICE}_prediction_skip")
    target = page.locator("a", has_text="The dearest step of the recorded run").get_attribute("href", timeout=WAIT)
    term = page.locator("a[href^='glossary#']").first.get_attribute("href")
    assert term == "glossary#mask"
    page.goto(f"{server.url}/{target}")
    page.locator(".strip .chip.current", has_text="negative").wait_for(timeout=WAIT)
    page.goto(f"{server.url}/{term}")
    says(page, "The set of tokens that may come next")


def test_a_projector_shows_the_address_and_no_chrome(page: Any, server: Server) -> None:
    page.goto(f"{server.url}/{PRICE}?projector=1")
    says(page, f"{server.url.removeprefix('http://')}/{PRICE}")
    page.get_by_test_id("stHeader").wait_for(state="hidden", timeout=WAIT)
    page.wait_for_function("parseFloat(getComputedStyle(document.documentElement).fontSize) >= 20", timeout=WAIT)
    keep(page, "lesson-projector")
    page.get_by_role("button", name="Leave projector mode").click()
    page.get_by_test_id("stHeader").wait_for(state="visible", timeout=WAIT)


@pytest.mark.parametrize("slug", [LOOP, PRICE])
def test_fits_a_phone_in_the_dark(browser: Any, server: Server, slug: str) -> None:
    width, height = SIZES["phone"]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="dark")
    page.goto(f"{server.url}/{slug}")
    press(page, f"{slug}_prediction_skip")
    says(page, "What was seen")
    settled(page)
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    keep(page, f"lesson-phone-{slug}")
    page.close()
    assert overflow <= 0
