"""Serves the app, with Streamlit's options: `python serve.py --server.port 8501`.

A visitor's script gives up Python's lock many times. While another's compiles a large schema, it gets the lock back
after 2 ms instead of 5. Not sooner: each who waits for the lock wakes up that often, and in a room thirty do.

Python's collector looks for cycles less often than it would: what compiling leaves behind is kept, and each look at all
of it would hold every visitor up for a second. Nor does it wait until there is much to look at: a look at 100,000 young
objects takes some 20 ms, and what was refused would stay in memory for hours.

Until an app has said what its pages are, Streamlit takes every script in `pages/` for one. Here that is said before the
server starts, so that its first visitor may come by a link to any page.

A redraw is some fifty messages, and what each costs, thirty visitors pay thirty times a second:
- What a component reports is read several times in each redraw, and each time Streamlit makes a class to present it: an
  eighth of a redraw. Here it is presented in one class made once.
- A component's data is searched for data frames, which ours never holds, and written out once more for its identity,
  which its key alone decides: all of ours have one.
- A message is known to the browser by a hash. It need only differ where the message does: Python's own costs less, and
  keeps Python's lock.
- Each message wakes the event loop, which takes Python's lock from the script that makes the next one. Here messages
  wait for each other, a moment at most.
- A component is found by its name without a lock, at which all of a room would meet twice for each, and not looked for
  in other servers of the process: there are none.
- To look up its own value, a field gathers the values of all.
- The theme is worked out once, and options are read without the configuration's lock, at which all would meet.
"""

import gc
import json
import sys
from collections import deque
from functools import cache
from typing import Any, Self

from streamlit import config
from streamlit.components import v2
from streamlit.components.v2.bidi_component import main as components
from streamlit.components.v2.component_registry import BidiComponentDefinition, BidiComponentRegistry
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import ScriptRunner, ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.web.cli import main

TOGETHER = 0.01
"""Seconds that a message may wait for others of its script run."""


class Reported(dict[str, Any]):
    """What a component reports, by name; None where it has reported nothing. As Streamlit's own it is never copied."""

    __getattr__ = dict.get

    def __deepcopy__(self, _: object) -> Self:
        return self


def presenter(events_id: str, *_: object) -> Any:
    """Like Streamlit's own, for reading: the component's events and its state in one mapping."""

    def present(state: object, session: SessionState) -> object:
        widgets = session._new_widget_state
        if not isinstance(state, dict) or events_id not in widgets.widget_metadata:
            return state
        events = widgets.get(events_id) or ()
        return Reported({event["event"]: event.get("value") for event in events} | state)

    return present


def unnamed(self: object, **_: object) -> dict[str, Any]:
    """What the identity of a component depends on, besides its key."""
    return {}


def write_out(data: object, message: BidiComponent) -> None:
    """Write a component's data into its message."""
    message.json = json.dumps(data)


def name_by_hash(message: ForwardMsg) -> None:
    """Give a message its hash. None is sent as a reference: `minCachedMessageSize` sees to it."""
    if not message.hash:
        message.hash = f"{hash(message.SerializeToString(deterministic=True)):x}"


def on_event(session: AppSession, runner: ScriptRunner | None, event: ScriptRunnerEvent, **details: Any) -> None:
    """Like Streamlit's own, for many messages at once: called in a script's thread, acts in the event loop's."""
    waiting = vars(session).setdefault("events_waiting", deque())
    waiting.append((runner, event, details))
    if event is not ScriptRunnerEvent.ENQUEUE_FORWARD_MSG:
        session._call_soon_on_event_loop(lambda: tell(session, waiting))
    elif len(waiting) == 1:
        loop = session._event_loop
        session._call_soon_on_event_loop(lambda: loop.call_later(TOGETHER, tell, session, waiting))


def tell(session: AppSession, waiting: deque[tuple[ScriptRunner | None, ScriptRunnerEvent, dict[str, Any]]]) -> None:
    """Let a session know of the events that wait, in their order. Its messages are for the browser as they are."""
    while waiting:
        runner, event, details = waiting.popleft()
        if event is not ScriptRunnerEvent.ENQUEUE_FORWARD_MSG:
            session._handle_scriptrunner_event_on_event_loop(runner, event, **details)
        elif runner is session._scriptrunner:
            session._browser_queue.enqueue(details["forward_msg"])
    session._message_enqueued_callback()


def populate_theme(message: CustomThemeConfig, section: str = "theme") -> None:
    """Write a section of the theme into a message; one that says nothing leaves none there."""
    if theme(section).ByteSize():
        message.MergeFrom(theme(section))


@cache
def theme(section: str) -> CustomThemeConfig:
    """A section of the theme as browsers are told of it."""
    populated = CustomThemeConfig()
    streamlits_own(populated, section)
    return populated


def option(key: str) -> Any:
    """The value of an option now."""
    return config.get_config_options()[key].value


def component(self: BidiComponentRegistry, name: str) -> BidiComponentDefinition | None:
    """A component by its name."""
    return self._components.get(name)


components.make_bidi_component_presenter = presenter
components.serialize_mixed_data = write_out
components.BidiComponentMixin._build_bidi_identity_kwargs = unnamed
script_run_context.populate_hash_if_needed = name_by_hash
AppSession._on_scriptrunner_event = on_event
streamlits_own, app_session._populate_theme_msg = app_session._populate_theme_msg, populate_theme
config.get_option = option
BidiComponentRegistry.get = component
v2._ensure_component_on_active_runtime = lambda *_: None
SafeSessionState.filtered_state = property(lambda self: self)
sys.setswitchinterval(0.002)
gc.set_threshold(10_000, 20, 100)
PagesManager.uses_pages_directory = False
sys.argv[:1] = ["streamlit", "run", "app.py"]
main()
