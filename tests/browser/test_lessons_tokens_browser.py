"""A learner plays lessons 7, 8 and 9, on tokens, in Chromium, with the bundled model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import SIZES, Runs, Server, settled
from tests.browser.test_lessons_browser import WAIT, keep, press, says
from tests.browser.test_lessons_browser import page as page  # the fixtures
from tests.browser.test_lessons_browser import runs as runs

pytestmark = [pytest.mark.browser, pytest.mark.model]

MISALIGNED, HEALED, JUMPED = "token-misalignment", "token-healing", "jump-forward"
LONG = 3 * WAIT  # ms; some runs of the model, perhaps beside other tests


def fill(page: Any, key: str, text: str) -> None:
    field = page.locator(f".st-key-{key} input").first
    field.fill(text, timeout=LONG)
    field.press("Enter")


def answer(page: Any, runs: Runs, lesson: str, text: str) -> None:
    """The exercise is answered and checked; the check goes by what the script has last seen."""
    with runs.another():
        fill(page, f"{lesson}_exercise_given", text)
    press(page, f"{lesson}_exercise_check")


def waits_for_the_model(page: Any) -> None:
    page.get_by_text("Until then: what was recorded").wait_for(state="hidden", timeout=LONG)


def test_lesson_seven_is_played(page: Any, server: Server, runs: Runs) -> None:
    page.goto(f"{server.url}/{MISALIGNED}")
    page.get_by_text("A record in which the name is empty").click(timeout=WAIT)
    press(page, f"{MISALIGNED}_prediction_commit")
    says(page, "As predicted")
    settled(page)
    page.locator(".stretch.differs button.chip").first.click(timeout=WAIT)
    says(page, "Step 0")
    page.get_by_role("radio", name="any token may cross").or_(
        page.get_by_role("button", name="any token may cross", exact=True)
    ).first.click()
    page.locator(".chip.crosses").first.wait_for(timeout=WAIT)
    waits_for_the_model(page)
    page.get_by_text("A text of your own").click()
    fill(page, f"{MISALIGNED}_ways_text", '"}')
    press(page, f"{MISALIGNED}_ways_ask")
    page.locator("code", has_text='▸  "}').first.wait_for(timeout=LONG)
    answer(page, runs, MISALIGNED, '"|age|":')
    says(page, "crosses the boundary")
    answer(page, runs, MISALIGNED, '"|age|"|:')
    says(page, "✓ Right.")
    keep(page, "lesson-7")


def test_lesson_eight_is_played(page: Any, server: Server, runs: Runs) -> None:
    page.goto(f"{server.url}/{HEALED}")
    page.locator(".st-key-token-healing_prediction_given").get_by_text("the", exact=True).click(timeout=WAIT)
    press(page, f"{HEALED}_prediction_commit")
    says(page, "Not as predicted")
    says(page, "every byte of the prompt is preserved")
    page.locator(f".st-key-{HEALED}_runs_back").get_by_role("slider").press("ArrowRight")
    says(page, "2 taken back")
    page.locator(f".st-key-{HEALED}_runs_prompt").get_by_text("a part of an address").click()
    page.locator(".chip.crosses", has_text="http").first.wait_for(timeout=WAIT)
    waits_for_the_model(page)
    fill(page, f"{HEALED}_vocabulary_end", "htt")
    says(page, "automatic healing takes 2 back")
    for given, said in ((" the", "one token back is enough"), ("neuroscien", "✓ Right.")):
        answer(page, runs, HEALED, given)
        says(page, said)
    keep(page, "lesson-8")


def test_lesson_nine_is_played(page: Any, server: Server, runs: Runs) -> None:
    page.goto(f"{server.url}/{JUMPED}")
    fill(page, f"{JUMPED}_prediction_given", "20")
    press(page, f"{JUMPED}_prediction_commit")
    says(page, "As predicted")
    page.get_by_text("naive jumps", exact=True).first.click()
    page.locator(".chip.jumped").first.wait_for(timeout=WAIT)
    waits_for_the_model(page)
    press(page, f"{JUMPED}_times_ask")
    page.get_by_text("Saved by safe jumps").wait_for(timeout=LONG)
    says(page, "On this machine the passes of the plain run took")
    for given, said in (("unit: me", "and so is what comes next"), ("unit: metr", "✓ Right.")):
        answer(page, runs, JUMPED, given)
        says(page, said)
    keep(page, "lesson-9")


@pytest.mark.parametrize("slug", [MISALIGNED, HEALED, JUMPED])
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
