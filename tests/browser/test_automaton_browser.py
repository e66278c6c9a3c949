"""The automaton view in Chromium: picked with mouse and keyboard, moved, saved, read in light and dark."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import ARTEFACTS, ROOT, SIZES, AppServer, Server, leaves, settled

pytestmark = pytest.mark.browser

WAIT = 30_000  # ms

PAGE = """
import json
import streamlit as st
from engine.decoding.records import ConstraintSource
from engine.examples import example
from engine.grammar.sources import compile_source, spans
from visualizations.automaton import automaton_panel, classic_view

st.set_page_config(layout="wide")
asked = st.query_params
kinds = [{"type": "string", "maxLength": 20}, {"type": "integer"}, {"enum": ["<img src=x onerror=alert(1)>", "b"]}]
fields = {f"field_{i}": kinds[i % 3] for i in range(100)}
large = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
if "regex" in asked:
    source = ConstraintSource("regex", asked["regex"])
elif "large" in asked:
    source = ConstraintSource("json_schema", json.dumps(large))
else:
    source = example(asked["name"]).constraint

def select(what):
    st.session_state["selected"] = what

selected = st.session_state.get("selected", "")
constraint = compile_source(source) if "constraint" not in st.session_state else st.session_state["constraint"]
st.session_state["constraint"] = constraint
automaton_panel(
    constraint, asked.get("path", "").encode(), key="a", selected=selected, on_select=select, places=spans(source)
)
st.text(f"selected: {selected}")
if "regex" in asked:
    classic_view(asked["regex"], constraint, key="classic")
"""


class PanelServer(AppServer):
    """The panel alone on a free port."""

    def __init__(self, script: Path) -> None:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        self.server = Server(f"http://localhost:{port}", process)


@pytest.fixture(scope="module")
def panel(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("panel") / "panel.py"
    script.write_text(PAGE, encoding="utf-8")
    with PanelServer(script) as running:
        yield running.url


@pytest.fixture
def opened(browser: Any, panel: str) -> Iterator[Any]:
    """Opens the panel with a query; fails the test on a script error or a request that leaves the machine."""
    pages: list[Any] = []
    broken: list[str] = []

    def opener(query: dict[str, str], size: str = "desktop", scheme: str = "light", **more: Any) -> Any:
        width, height = SIZES[size]
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        pages.append(page)
        page.on("pageerror", lambda error: broken.append(str(error)))
        page.on("dialog", lambda dialog: broken.append("a script ran"))
        page.on("request", lambda request: broken.append(request.url) if leaves(request.url) else None)
        page.goto(f"{panel}/?{urlencode(query)}")
        page.locator(".frame .s.current").first.wait_for(timeout=WAIT)
        settled(page)
        return page

    yield opener
    for page in pages:
        page.close()
    assert not broken


def selected(page: Any, what: str) -> None:
    """Until that is selected, in all that is drawn."""
    page.get_by_text(f"selected: {what}", exact=True).wait_for(timeout=WAIT)
    settled(page)


def shows(page: Any, text: str) -> None:
    """Until that is on the page, and the page drawn to its end."""
    page.get_by_text(text).wait_for(timeout=WAIT)
    settled(page)


def scale(page: Any) -> float:
    transform = page.locator(".frame > svg > g").first.get_attribute("transform")
    return float(transform.partition("scale(")[2].rstrip(")"))


def test_a_click_selects_a_state_an_edge_and_nothing(opened: Any) -> None:
    page = opened({"regex": "(ab|cd)e", "path": "ab"})
    state = page.locator(".frame").first.locator(".s.current")
    number = state.locator("text").first.text_content()
    state.click()
    selected(page, f"s{number}")
    expect(page.locator(".frame").first.locator(".s.sel")).to_have_count(1)
    state.click()
    selected(page, "")
    page.locator(".frame").first.locator(".e.allowed text").click()
    shows(page, f"selected: e{number}-")
    expect(page.locator(".detail").first).to_contain_text("allowed now")


def test_hover_and_focus_show_details(opened: Any) -> None:
    page = opened({"regex": "(ab|cd)e", "path": "ab"})
    detail = page.locator(".detail").first
    expect(detail).to_contain_text("you are here")
    page.locator(".frame").first.locator(".e.path text").hover()
    expect(detail).to_contain_text("path taken")
    page.mouse.move(0, 0)
    expect(detail).to_contain_text("you are here")
    page.locator(".frame > svg").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("selected: e").wait_for(timeout=WAIT)


def test_wheel_buttons_and_keys_zoom(opened: Any) -> None:
    page = opened({"name": "Person record", "path": '{"name": "M'})
    svg, layer = page.locator(".frame > svg").first, page.locator(".frame > svg > g").first
    before = scale(page)
    svg.hover()
    page.mouse.wheel(0, 200)  # scrolls the page
    page.locator(".hint.on").first.wait_for(timeout=WAIT)
    assert scale(page) == before
    at = layer.get_attribute("transform")
    svg.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    expect(layer).not_to_have_attribute("transform", at)
    page.keyboard.up("Control")
    assert scale(page) > before
    page.get_by_role("button", name="Show all of it (0)").click()
    whole = scale(page)
    assert whole < before
    svg.focus()
    page.keyboard.press("+")
    assert scale(page) == pytest.approx(1.25 * whole)
    page.keyboard.press("0")
    assert scale(page) == pytest.approx(whole)
    page.get_by_role("button", name="Back to the current state (.)").click()
    assert scale(page) == pytest.approx(before)
    at = layer.get_attribute("transform")
    page.keyboard.press("Escape")
    svg.focus()
    page.keyboard.press("Shift+ArrowRight")
    assert layer.get_attribute("transform") != at


def test_a_drag_pans_and_selects_nothing(opened: Any) -> None:
    page = opened({"name": "Person record", "path": '{"name": "M'})
    box = page.locator(".frame > svg").first.bounding_box()
    at = page.locator(".frame > svg > g").first.get_attribute("transform")
    page.mouse.move(box["x"] + 200, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 40, steps=5)
    page.mouse.up()
    assert page.locator(".frame > svg > g").first.get_attribute("transform") != at
    page.wait_for_timeout(500)  # in which a selection would come
    selected(page, "")


def test_two_fingers_zoom(opened: Any) -> None:
    page = opened({"name": "Person record", "path": '{"name": "M'}, "phone", has_touch=True)
    before = scale(page)
    page.locator(".frame > svg").first.evaluate(
        """svg => {
          const at = svg.getBoundingClientRect()
          svg.setPointerCapture = () => {}
          const send = (type, id, x) => svg.dispatchEvent(new PointerEvent(type, {
            pointerId: id, pointerType: "touch", clientX: at.x + x, clientY: at.y + 80, bubbles: true }))
          send("pointerdown", 1, 100); send("pointerdown", 2, 150)
          send("pointermove", 2, 200); send("pointermove", 2, 250)
          send("pointerup", 1, 100); send("pointerup", 2, 250)
        }"""
    )
    assert scale(page) == pytest.approx(3 * before) or scale(page) == 3


@pytest.mark.parametrize(("label", "begins"), [("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("DOT", b"digraph")])
def test_pictures_are_saved(opened: Any, label: str, begins: bytes) -> None:
    page = opened({"name": "Person record", "path": '{"name": "M'})
    with page.expect_download() as download:
        page.get_by_role("button", name=f"Save as {label}").first.click()
    content = Path(download.value.path()).read_bytes()
    assert download.value.suggested_filename == f"automaton.{label.lower()}"
    assert content.startswith(begins)
    assert len(content) > 1_000


def test_rules_are_opened_and_the_stack_leads_back(opened: Any) -> None:
    page = opened({"name": "Arithmetic (grammar)", "path": "(1+"})
    page.locator(".e.rule text", has_text="product").first.click()
    shows(page, "Rule product, one of")
    page.locator(".crumb", has_text="atom").first.click()
    shows(page, "Rule atom, one of")
    expect(page.locator(".frame .s.waiting")).to_have_count(1)
    page.locator(".crumbs li").last.locator("button").click()
    shows(page, "Rule sum, one of")
    page.locator(".rules select").select_option(label="NUMBER (terminal)")
    shows(page, "Rule NUMBER, one of")


def test_a_large_schema_is_walked_through(opened: Any) -> None:
    page = opened({"large": "1", "path": '{"field_0":"a'})
    assert page.locator(".frame .s").count() <= 30
    page.locator("tr.row", has_text="field_2").first.click()
    selected(page, "p/properties/field_2")
    page.locator(".frame .b text", has_text="field_2").wait_for(timeout=WAIT)
    page.get_by_text("Table of states").click()
    page.get_by_placeholder("number, part or what remains").fill("field_4")
    table = page.get_by_role("region", name="Table of states")
    expect(table.locator("tr.row", has_not_text="field_4")).to_have_count(0)
    settled(page)
    row = table.locator("tr.row", has_text="/properties/field_4").last
    number = row.locator("button").inner_text()
    row.click()
    selected(page, f"s{number}")
    page.locator(f".frame .s.sel text:text-is('{number}')").wait_for(timeout=WAIT)
    cell = page.locator(".cell").first
    first = cell.locator(".state").inner_text()
    assert first != number
    cell.click()
    selected(page, f"s{first}")
    page.locator(f".frame .s.sel text:text-is('{first}')").wait_for(timeout=WAIT)


def test_hostile_labels_are_text(opened: Any) -> None:
    page = opened({"large": "1", "path": '{"field_0":"a","field_1":1,"field_2":"'})
    images = """() => [document, ...[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)]
                       .flatMap(root => [...root.querySelectorAll('img')]).length"""
    assert page.evaluate(images) == 0
    expect(page.locator(".frame .e text", has_text="<img").first).to_be_attached()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks(opened: Any, size: str, scheme: str) -> None:
    ARTEFACTS.mkdir(exist_ok=True)
    for name, query in {
        "small": {"name": "Person record", "path": '{"name": "Marie'},
        "rules": {"name": "SQL (grammar)", "path": "SELECT a FROM t WHERE ((x"},
        "large": {"large": "1", "path": '{"field_0":"ab'},
        "classic": {"regex": "(é|[😀-🙏])+!", "path": "é"},
    }.items():
        page = opened(query, size, scheme)
        width = page.evaluate("[document.scrollingElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1], "the page scrolls sideways"
        page.screenshot(path=str(ARTEFACTS / f"automaton-{name}-{scheme}-{size}.png"), full_page=True)
