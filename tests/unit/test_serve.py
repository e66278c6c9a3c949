"""What serve.py changes in Streamlit, with a session that only keeps what it is told.

serve.py changes Streamlit for its whole process, so this goes on in another.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SESSION = """
import asyncio, runpy
from collections import deque
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner import ScriptRunnerEvent as Event
from streamlit.web import cli

cli.main = lambda: None
serve = runpy.run_path("serve.py")

class Session:
    _create_exception_message = staticmethod(str)
    handle_backmsg_exception = AppSession.handle_backmsg_exception

    def __init__(self):
        self.told, self._scriptrunner, self._event_loop = [], "runner", asyncio.get_running_loop()
        self._browser_queue = self

    def _on_scriptrunner_event(self, *event, **details):
        AppSession._on_scriptrunner_event(self, *event, **details)

    def _call_soon_on_event_loop(self, callback):
        self._event_loop.call_soon_threadsafe(callback)

    def _handle_scriptrunner_event_on_event_loop(self, runner, event, **details):
        self.told.append(event.value)

    def _message_enqueued_callback(self):
        pass

    def _enqueue_forward_msg(self, message):
        self.told.append(message)

    def enqueue(self, message):
        self.told.append(message.hash)

def say(session, number, runner="runner"):
    message = ForwardMsg(hash=str(number))
    session._on_scriptrunner_event(runner, event=Event.ENQUEUE_FORWARD_MSG, forward_msg=message)

async def main():
    session = Session()
    {does}
    await asyncio.sleep(0.1)
    print(session.told, len(vars(session)["events_waiting"]))

asyncio.run(main())
"""


def told(does: str) -> str:
    """What a session was told, and how many events still wait."""
    command = [sys.executable, "-c", SESSION.replace("{does}", does)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_messages_come_in_their_order_and_only_from_the_run_that_is_on() -> None:
    does = "say(session, 1); say(session, 2, 'an earlier one'); say(session, 3)"
    does += "; session._on_scriptrunner_event('runner', event=Event.SCRIPT_STOPPED_WITH_SUCCESS); say(session, 4)"
    assert told(does) == "['1', '3', 'SCRIPT_STOPPED_WITH_SUCCESS', '4'] 0"


def test_a_browsers_message_that_cannot_be_handled_is_answered() -> None:
    ended = "'SCRIPT_STOPPED_WITH_SUCCESS'"
    expected = f"[{ended}, 'SCRIPT_STARTED', {ended}, 'broken'] 0"
    assert told("session.handle_backmsg_exception(ValueError('broken'))") == expected


CHANGED = """
import copy, runpy
from streamlit.components.v2.bidi_component import main as components
from streamlit.proto.BidiComponent_pb2 import BidiComponent
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.web import cli

cli.main = lambda: None
Reported = runpy.run_path("serve.py")["Reported"]

message = BidiComponent()
components.serialize_mixed_data({"rows": [1, "é"], "more": None}, message)
said = Reported(step=3)
state = SafeSessionState(SessionState(), lambda: None)
state["typed"] = None
fields = state.filtered_state
print(message.json, copy.deepcopy(said) is said, said.step, said.other)
print("typed" in fields and fields["typed"] is None, "other" in fields)
"""


def test_what_is_done_in_place_of_streamlits_own_does_the_same() -> None:
    command = [sys.executable, "-c", CHANGED]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ['{"rows": [1, "\\u00e9"], "more": null} True 3 None', "True False"]
