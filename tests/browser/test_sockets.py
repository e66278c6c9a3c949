"""The server talks to the browser on this machine and to nobody else, at start and during a run."""

from __future__ import annotations

import contextlib
import ipaddress
import threading
from typing import Any

import psutil
import pytest

from tests.browser.conftest import AppServer
from tests.browser.test_step_through import badge, press, ready

pytestmark = [pytest.mark.browser, pytest.mark.model]


class Watch:
    """Looks at a process's sockets all the time and keeps what points off the machine."""

    def __init__(self, pid: int) -> None:
        self.seen: set[str] = set()
        self.looks = 0
        self._process = psutil.Process(pid)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.03):
            with contextlib.suppress(psutil.NoSuchProcess):  # a child that has just ended
                for process in [self._process, *self._process.children(recursive=True)]:
                    self.seen |= {c.raddr.ip for c in process.net_connections("inet") if c.raddr and away(c.raddr.ip)}
                self.looks += 1


def away(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    return not found.is_loopback


def test_no_connection_leaves_the_machine(browser: Any) -> None:
    starting = AppServer()
    with Watch(starting.server.process.pid) as watch, starting as server:
        page = browser.new_page()
        page.goto(f"{server.url}/step_through")
        ready(page)
        press(page, "start")
        badge(page, "Live").wait_for(timeout=60_000)
        press(page, "to_end")
        badge(page, "Complete").wait_for(timeout=60_000)
        page.close()
    assert watch.looks > 100
    assert not watch.seen
