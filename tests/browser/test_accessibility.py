"""axe on every page, light and dark: nothing serious, nothing critical."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import SIZES, Server, settled

pytestmark = [pytest.mark.browser, pytest.mark.model]

READY = {"step_through": ".st-key-start button:enabled", "schema_debugger": ".card.illegal"}
"""What a page shows last, once the model is there."""

WAIT = 60_000  # ms


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", READY)
def test_no_serious_finding(browser: Any, server: Server, path: str, scheme: str) -> None:
    width, height = SIZES["desktop"]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(f"{server.url}/{path}")
    page.locator(READY[path]).first.wait_for(timeout=WAIT)
    settled(page)
    found = Axe().run(page).response["violations"]
    page.close()
    serious = [
        f"{violation['id']}: {node['target']} {node['html'][:160]}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
    assert not serious, "\n".join(serious)
