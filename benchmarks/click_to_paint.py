"""How long a visitor waits: from a click to the repainted page, and from the server's start to a usable page.

    python -m benchmarks.click_to_paint

Runs the app and Chromium on this machine. Back, Step on known tokens and clicks on chips are timed (nothing is computed
for them, so the forward pass is left out), from the event in the page to the frame that shows the new step.
Bars: 150 ms at the median, 5 s.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from tests.browser.conftest import ARGUMENTS, SIZES, AppServer, chromium

CLICKS = 40

TIMED_CLICK = """([selector, index]) => new Promise(done => {
  const strip = () => {
    for (const host of document.querySelectorAll('*')) {
      const found = host.shadowRoot?.querySelector('.strip')
      if (found) return found
    }
  }
  const current = () => [...(strip()?.querySelectorAll('.chip') ?? [])].findIndex(c => c.classList.contains('current'))
  const marked = () => {
    for (const host of document.querySelectorAll('*')) {
      const row = host.shadowRoot?.querySelector('tr.row.current td')
      if (row) return Number(row.textContent)
    }
  }
  const start = performance.now()
  document.querySelector(selector).click()
  const look = () => current() === index && marked() === index
    ? requestAnimationFrame(() => done(performance.now() - start))
    : performance.now() - start > 10000 ? done(-1) : requestAnimationFrame(look)
  requestAnimationFrame(look)
})"""


def first_page(browser: Any) -> tuple[float, float]:
    """Seconds from the server's start until a page shows a step, and until a run can be started."""
    started = time.perf_counter()
    with AppServer() as server:
        page = open_page(browser, server.url)
        usable = time.perf_counter() - started
        page.locator(".st-key-start button:enabled").wait_for(timeout=60_000)
        return usable, time.perf_counter() - started


def clicks(browser: Any) -> list[float]:
    """Milliseconds from click to paint, over a known run to and fro."""
    with AppServer() as server:
        page = open_page(browser, server.url)
        page.locator(".st-key-start button:enabled").wait_for(timeout=60_000)
        page.locator(".st-key-first button").click()
        page.locator(".strip .chip.current").first.wait_for()
        page.wait_for_timeout(1000)
        taken = []
        for k in range(CLICKS):
            turn = k % 10  # five steps on, five back
            name, index = ("step", turn + 1) if turn < 5 else ("back", 9 - turn)
            taken.append(page.evaluate(TIMED_CLICK, [f".st-key-{name} button", index]))
            page.wait_for_timeout(150)
        return taken


def open_page(browser: Any, url: str) -> Any:
    width, height = SIZES["desktop"]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(url)
    page.locator(".strip .chip.current").wait_for(timeout=60_000)
    page.locator(".frame g.s.current").wait_for(timeout=60_000)
    return page


def main() -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        usable, live = first_page(browser)
        taken = sorted(clicks(browser))
        browser.close()
    print(f"server start to usable page: {usable:.1f} s (bar 5), to live model: {live:.1f} s")
    print(
        f"click to paint, {len(taken)} clicks: median {statistics.median(taken):.0f} ms (bar 150), "
        f"90 %: {taken[int(0.9 * len(taken))]:.0f} ms, worst {taken[-1]:.0f} ms"
    )


if __name__ == "__main__":
    main()
