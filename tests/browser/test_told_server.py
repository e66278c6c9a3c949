"""The end of a run reaches a page that never asks for it: visitors who speak the browser's messages, without timers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from benchmarks.room import at, ended, long_run, query
from benchmarks.visitor import Visitor
from pages._link import PARAMETER, pack
from tests.browser.conftest import Server

pytestmark = [pytest.mark.browser, pytest.mark.model]


def done(play: Coroutine[object, object, None]) -> None:
    """In a thread of its own: the browser's loop may run in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, play).result()


async def opened(url: str, number: int) -> Visitor:
    visitor = Visitor(url, "step_through", query(long_run(number)))
    await visitor.open()
    await visitor.until(lambda page: page.enabled("start"))
    if "strip" not in visitor.page.widgets:  # the page came before the model
        await visitor.press("start", lambda page: at(page) == (0, 1))
    return visitor


def test_the_end_of_a_run_comes_by_itself_and_leaves_the_address(server: Server) -> None:
    async def play() -> None:
        visitor = await opened(server.url, 71)
        address, script = visitor.page.query, visitor.page.script
        await visitor.press("to_end", lambda page: "cancel" in page.widgets)
        assert not visitor._timers
        await visitor.until(ended)
        assert at(visitor.page) == (59, 60)
        assert (visitor.page.query, visitor.page.script) == (address, script)
        assert not visitor.page.exceptions
        await visitor.close()

    done(play())


def test_a_page_drawn_whole_while_work_is_under_way_is_looked_at_when_a_connection_comes_back(server: Server) -> None:
    """A browser that connects again draws its page anew where a part of it has a timer; else it waits for ever, as the
    end may have been told to the connection that was lost."""

    async def play() -> None:
        visitor = Visitor(server.url, "step_through", f"{PARAMETER}={pack(long_run(73), 50)}")
        await visitor.open()
        await visitor.until(lambda page: "cancel" in page.widgets)
        assert visitor._timers
        await visitor.until(lambda page: "strip" in page.widgets and at(page)[0] == 50)
        assert not visitor.page.exceptions
        await visitor.close()

    done(play())


def test_a_visitor_who_has_left_for_another_page_stays_there(server: Server) -> None:
    async def play() -> None:
        visitor = await opened(server.url, 72)
        await visitor.press("to_end", lambda page: "cancel" in page.widgets)
        runs = visitor.page.runs
        await visitor._send(BackMsg(), page_name="glossary", page_script_hash="")
        await visitor.until(lambda page: page.runs > runs and "to_end" not in page.widgets)
        left, runs = visitor.page.script, visitor.page.runs
        await asyncio.sleep(3)
        assert (visitor.page.script, visitor.page.runs) == (left, runs)
        await visitor.close()

    done(play())
