"""One visitor without a browser: speaks Streamlit's messages over its websocket as the page in a browser does.

It keeps what is on the page by widget key, sends clicks with every widget's state, follows the timers of fragments, and
keeps the large messages that the server may refer to.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

PATIENCE = 300.0  # seconds for anything asked of the page


@dataclass(frozen=True)
class Widget:
    """A widget on the page: its id, the fragment that drew it and in which run, and its message."""

    id: str
    fragment: str
    run: int
    message: Any

    @property
    def data(self) -> dict[str, Any]:
        """What a component shows."""
        found: dict[str, Any] = json.loads(self.message.json)
        return found


@dataclass
class Page:
    """What is on the page now, as far as messages say. `runs` counts finished script runs."""

    widgets: dict[str, Widget] = field(default_factory=dict)
    script: str = ""
    query: str = ""
    runs: int = 0
    exceptions: list[str] = field(default_factory=list)

    def enabled(self, key: str) -> bool:
        """The button is there and can be pressed."""
        widget = self.widgets.get(key)
        return widget is not None and not widget.message.disabled


class Visitor:
    """A page in one tab. Everything asked returns the seconds from the message sent to the script's end message."""

    def __init__(self, url: str, page: str, query: str = "") -> None:
        self.page = Page(query=query)
        self.session = ""
        self.lost = 0
        self.received = 0
        self._url = url.replace("http", "ws", 1) + "/_stcore/stream"
        self._name = page
        self._states: dict[str, WidgetState] = {}
        self._cached: dict[str, ForwardMsg] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._run = 0
        self._redrawn: set[str] = set()
        self._changed = asyncio.Condition()
        self._socket: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None

    async def open(self) -> float:
        """Connect and wait until the page is drawn."""
        started = time.perf_counter()
        self._socket = await connect(self._url, subprotocols=["streamlit"], max_size=None, ping_interval=None)  # type: ignore[list-item]
        self._reader = asyncio.create_task(self._read(self._socket))
        await self._send(BackMsg(), page_name=self._name)
        await self.until(lambda page: page.runs > 0)
        return time.perf_counter() - started

    async def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            await self._socket.close()

    async def press(self, key: str, until: Callable[[Page], bool]) -> float:
        """Click the button and wait for the end of a script run after which the page is as it should be."""
        widget = self.page.widgets[key]
        return await self._act(widget, WidgetState(id=widget.id, trigger_value=True), until)

    async def trigger(self, key: str, event: str, value: Any, until: Callable[[Page], bool]) -> float:
        """What a component reports once."""
        widget = self.page.widgets[key]
        said = json.dumps([{"event": event, "value": value}])
        state = WidgetState(id=f"$$STREAMLIT_INTERNAL_KEY_{widget.id}__events", json_trigger_value=said)
        return await self._act(widget, state, until)

    async def report(self, key: str, name: str, value: Any, until: Callable[[Page], bool]) -> float:
        """What a component holds from now on."""
        widget = self.page.widgets[key]
        state = self._states[widget.id] = WidgetState(id=widget.id, json_value=json.dumps({name: value}))
        return await self._act(widget, state, until)

    def hold(self, key: str, **value: Any) -> None:
        """A field's value, which goes with the next message."""
        widget = self.page.widgets[key]
        self._states[widget.id] = WidgetState(id=widget.id, **value)

    async def until(self, holds: Callable[[Page], bool]) -> None:
        """Wait until `holds` at the end of a script run. Raises TimeoutError, ConnectionError if the page is lost."""
        async with asyncio.timeout(PATIENCE), self._changed:
            while not holds(self.page):
                if self.lost:
                    raise ConnectionError("the server closed the connection")
                await self._changed.wait()

    async def _act(self, widget: Widget, state: WidgetState, until: Callable[[Page], bool]) -> float:
        before, started = self.page.runs, time.perf_counter()
        await self._send(BackMsg(), state, fragment_id=widget.fragment)
        await self.until(lambda page: page.runs > before and until(page))
        return time.perf_counter() - started

    async def _send(self, message: BackMsg, *triggers: WidgetState, **more: Any) -> None:
        assert self._socket is not None
        run = message.rerun_script
        run.query_string = self.page.query
        run.page_script_hash = self.page.script
        run.cached_message_hashes.extend(self._cached)
        run.context_info.timezone = "UTC"
        kept = {**self._states, **{state.id: state for state in triggers}}
        run.widget_states.widgets.extend(kept.values())
        for name, value in more.items():
            setattr(run, name, value)
        await self._socket.send(message.SerializeToString())

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for raw in socket:
                assert isinstance(raw, bytes)
                self.received += len(raw)
                message = ForwardMsg.FromString(raw)
                if self._take(message):
                    async with self._changed:
                        self._changed.notify_all()
        except ConnectionClosed:
            pass
        self.lost += 1
        async with self._changed:
            self._changed.notify_all()

    def _take(self, message: ForwardMsg) -> bool:
        """Put a message into the page; True when a script run has ended."""
        kind = message.WhichOneof("type")
        if kind == "ref_hash":
            known = self._cached[message.ref_hash]
            self._draw(known.delta)
        elif kind == "delta":
            if message.metadata.cacheable:
                self._cached[message.hash] = message
            self._draw(message.delta)
        elif kind == "new_session":
            self._begin(message)
        elif kind == "navigation":
            self.page.script = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.page.query = message.page_info_changed.query_string
        elif kind == "auto_rerun":
            self._follow(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self._unfollow(fragment)
        elif kind == "script_finished":
            if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self._sweep()
            self.page.runs += 1
            return True
        return False

    def _begin(self, message: ForwardMsg) -> None:
        session = message.new_session.initialize.session_id
        if self.session and session and session != self.session:
            self.lost += 1
        self.session = session or self.session
        self._run += 1
        self._redrawn = set(message.metadata.run.fragment_ids)
        if not self._redrawn:  # the whole page is drawn anew
            for fragment in list(self._timers):
                self._unfollow(fragment)

    def _sweep(self) -> None:
        """Take away what the run that has ended should have drawn and did not."""
        for key, widget in list(self.page.widgets.items()):
            if widget.run != self._run and (not self._redrawn or widget.fragment in self._redrawn):
                del self.page.widgets[key]

    def _draw(self, delta: Any) -> None:
        if delta.WhichOneof("type") != "new_element":
            return
        kind = delta.new_element.WhichOneof("type")
        element = getattr(delta.new_element, kind)
        if kind == "exception":
            self.page.exceptions.append(f"{element.type}: {element.message}")
        if (id := getattr(element, "id", "")) and id.count("-") > 1:
            key = id.split("-", 2)[2]
            self.page.widgets[key] = Widget(id, delta.fragment_id, self._run, element)

    def _follow(self, fragment: str, interval: float) -> None:
        self._unfollow(fragment)

        async def tick() -> None:
            while not self.lost:
                await asyncio.sleep(interval)
                await self._send(BackMsg(), fragment_id=fragment, is_auto_rerun=True)

        self._timers[fragment] = asyncio.create_task(tick())

    def _unfollow(self, fragment: str) -> None:
        if (timer := self._timers.pop(fragment, None)) is not None:
            timer.cancel()
