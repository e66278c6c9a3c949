"""A visitor finds out in Chromium why an output fails: with the mouse alone, and with files of their own."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ARTEFACTS, SIZES, Server, settled
from tests.unit.test_replay import tokenizer_json

pytestmark = [pytest.mark.browser, pytest.mark.model]

WAIT = 60_000  # ms
LIMIT = 120  # seconds a newcomer may take

VALUES: list[tuple[dict[str, Any], Any]] = [
    ({"type": "string", "maxLength": 60}, "Some words about this record, but no more than a few"),
    ({"type": "integer", "minimum": 0}, 41),
    ({"enum": ["low", "medium", "high"]}, "medium"),
    ({"type": "array", "items": {"type": "number"}, "maxItems": 5}, [1.5, 2.25, 3]),
    ({"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}, {"x": 0.5}),
]
NAMES = [f"measured_quantity_{i:02d}" for i in range(40)]
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {name: VALUES[i % 5][0] for i, name in enumerate(NAMES)},
        "required": NAMES,
        "additionalProperties": False,
    },
    indent=2,
)
GOOD = json.dumps({name: VALUES[i % 5][1] for i, name in enumerate(NAMES)}, indent=2)
OUTPUT = GOOD.replace('"measured_quantity_27": "medium"', '"measured_quantity_27": "middling"')
ILLEGAL = OUTPUT.index("middling") + 1  # m may begin medium, i may not follow it


@pytest.fixture
def page(tab: Any, server: Server) -> Any:
    """A fresh tab on the Schema debugger."""
    tab.goto(server.url)
    tab.get_by_role("button", name="Debug").click()
    tab.get_by_role("menuitem", name="Schema debugger").click()
    tab.locator(".card.illegal").wait_for(timeout=WAIT)
    settled(tab)
    return tab


def paste(page: Any, label: str, text: str) -> None:
    field = page.get_by_label(label)
    field.click()
    field.fill(text)


def keep(page: Any, name: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=str(ARTEFACTS / f"{name}.png"))


def test_a_newcomer_finds_the_first_illegal_byte(page: Any) -> None:
    """A 2 KB output against a schema of 40 properties, with the mouse alone."""
    assert len(OUTPUT) > 2000
    started = time.monotonic()
    paste(page, "Schema, regex, grammar or provider request", SCHEMA)
    paste(page, "Text to replay", OUTPUT)
    page.get_by_text(f"First illegal byte: {ILLEGAL:,}").wait_for(timeout=WAIT)
    assert time.monotonic() - started < LIMIT
    settled(page)
    card = page.locator(".card.illegal")
    expect(card.locator(".f-expected code")).to_have_text(["'\\'", "'e'"])
    card.locator("button.rule", has_text="measured_quantity_27").first.click()
    page.locator(".legend", has_text="selected").wait_for(timeout=WAIT)
    page.locator(".m.selected", has_text="enum").first.wait_for(timeout=WAIT)
    settled(page)
    keep(page, "debugger-first-illegal-byte")

    page.get_by_title("Back by a token").click()
    page.locator(".card:not(.illegal)").wait_for(timeout=WAIT)
    settled(page)
    page.get_by_title("To where it stops").click()
    page.locator(".card.illegal").wait_for(timeout=WAIT)


def test_a_finding_selects_its_place(page: Any) -> None:
    page.get_by_role("radio", name="Report").click()
    page.locator("button.row", has_text="/properties/items").first.click(timeout=WAIT)
    page.locator("button.row.selected").first.wait_for(timeout=WAIT)
    page.locator(".line", has_text='"items"').locator(".m.selected").first.wait_for(timeout=WAIT)
    keep(page, "debugger-report")


def test_a_repair_is_applied(page: Any) -> None:
    page.get_by_role("button", name="Apply and go on").click()
    page.get_by_text("Accepted: every byte is legal").wait_for(timeout=WAIT)


def test_many_texts_from_a_file(page: Any, tmp_path: Path) -> None:
    lines = tmp_path / "outputs.jsonl"
    lines.write_text(json.dumps(json.loads(GOOD)) + "\n" + json.dumps(OUTPUT) + "\n{broken\n", encoding="utf-8")
    paste(page, "Schema, regex, grammar or provider request", SCHEMA)
    page.get_by_role("radio", name="Many texts").click()
    page.locator(".st-key-debug_lines input[type=file]").set_input_files(str(lines))
    page.get_by_text("3 of 3 texts: 1 accepted, 0 incomplete, 2 rejected").wait_for(timeout=WAIT)
    settled(page)
    with page.expect_download(timeout=WAIT) as download:
        page.get_by_role("button", name="Table as CSV").click()
    assert download.value.suggested_filename == "replayed.csv"
    keep(page, "debugger-many")


def test_another_vocabulary_is_uploaded(page: Any, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(tokenizer_json())
    page.get_by_text("Vocabulary", exact=True).click()
    page.locator(".st-key-debug_tokenizer input[type=file]").set_input_files(str(file))
    page.get_by_text("In use: tokenizer.json, 258 tokens").wait_for(timeout=WAIT)
    page.get_by_text("tokens of tokenizer.json, as its tokenizer splits it").wait_for(timeout=WAIT)
    page.locator(".chip.masked").first.wait_for(timeout=WAIT)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_looks(browser: Any, server: Server, scheme: str, size: str) -> None:
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    page.goto(f"{server.url}/step_through")
    page.locator(".strip .chip.current").first.wait_for(timeout=WAIT)
    page.goto(f"{server.url}/schema_debugger")
    page.locator(".card.illegal").wait_for(timeout=WAIT)
    settled(page)
    keep(page, f"debugger-{scheme}-{size}")
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.close()
    assert overflow <= 0
