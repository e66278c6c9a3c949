"""A real server and a real browser: the app as a visitor meets it, with the bundled model.

Chromium is `$CHROME`, `chromium` or `google-chrome`. Where there is none these tests skip, except in CI. Screenshots
go to tests/artefacts/.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "tests" / "artefacts"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
PATIENCE = 60_000  # ms; what a page may take on a slow machine
QUIET = 150  # ms; a script that begins anew is still for less, and components are drawn a frame after it has ended

SETTLED = """([asked, quiet]) => {
  const works = [...document.querySelectorAll("[data-testid=stCaptionContainer]")]
    .some(c => ["Working …", "Asking the model …"].includes(c.textContent.trim()))
  const still = !works && !document.querySelector("[data-testid=stProgress], [data-stale=true]")
    && document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning"
  if (!still || window.settling?.asked !== asked) window.settling = { asked, since: performance.now() }
  return still && performance.now() - window.settling.since >= quiet
}"""
"""No script is running, nothing from before it is left, no work is under way; for some time."""


@dataclass(frozen=True)
class Server:
    """A running app: its address and its process."""

    url: str
    process: subprocess.Popen[bytes]


def chromium() -> str | None:
    """The browser's path."""
    named = os.environ.get("CHROME")
    found = [shutil.which(name) for name in ([named] if named else []) + ["chromium", "google-chrome"]]
    return next((path for path in found if path), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Chromium, started once."""
    path = chromium()
    if path is None:
        reason = "no Chromium: install chromium or google-chrome, or name one in $CHROME"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A fresh tab at the desktop's size. Fails the test on a script error or a request that leaves the machine."""
    width, height = SIZES["desktop"]
    page = browser.new_page(viewport={"width": width, "height": height})
    broken: list[str] = []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.on("request", lambda request: broken.append(request.url) if leaves(request.url) else None)
    yield page
    page.close()
    assert not broken


def settled(page: Any) -> None:
    """Until the page is drawn to its end, and nothing is under way that would draw it anew.

    What is drawn arrives piece by piece: of a redraw that has begun to show, the rest may still be what was there
    before, and a click on a part that is replaced meanwhile is lost.
    """
    page.wait_for_function(SETTLED, arg=[time.monotonic(), QUIET], timeout=PATIENCE)


class Runs:
    """The runs of the script that a page hears of; for what they leave no trace of on it."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._socket: Any = None
        page.on("websocket", self._opened)

    def _opened(self, socket: Any) -> None:
        self._socket = socket

    @contextmanager
    def another(self) -> Iterator[None]:
        """On a page that is settled: until the run that the block leads to has ended."""
        settled(self._page)
        begun = False

        def ended(frame: bytes) -> bool:
            nonlocal begun
            message = ForwardMsg.FromString(frame)
            begun |= message.WhichOneof("type") == "new_session"
            kind, again = message.WhichOneof("type"), ForwardMsg.FINISHED_EARLY_FOR_RERUN
            return begun and kind == "script_finished" and message.script_finished != again

        with self._socket.expect_event("framereceived", ended, timeout=PATIENCE):
            yield
        settled(self._page)


def leaves(url: str) -> bool:
    """Whether a request goes to another machine."""
    return not url.startswith(("http://localhost", "ws://localhost", "data:", "blob:"))


@pytest.fixture(scope="session")
def server(browser: object) -> Iterator[Server]:
    """The app on a free port, started once."""
    with AppServer() as running:
        yield running


class AppServer:
    """`streamlit run` on a free port, with the project's own configuration; ended when the block is left."""

    def __init__(self, script: str = "app.py", **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("localhost", 0))
            port = free.getsockname()[1]
        start = ["serve.py"] if script == "app.py" else ["-m", "streamlit", "run", script]
        command = [sys.executable, *start, "--server.port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL)
        self.server = Server(f"http://localhost:{port}", process)

    def __enter__(self) -> Server:
        until = time.monotonic() + 180  # it is there within seconds, on a machine that is not starved
        while time.monotonic() < until and self.server.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.server.url}/_stcore/health", timeout=1):
                    return self.server
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        raise RuntimeError("the server did not start")

    def __exit__(self, *_: object) -> None:
        self.server.process.terminate()
        self.server.process.wait(20)
