"""Serves the app, with Streamlit's options: `python serve.py --server.port 8501`.

A visitor's script gives up Python's lock many times. While another's compiles a large schema, it gets the lock back
after a tenth of the usual 5 ms.

Python's collector looks for cycles less often than it would: what compiling leaves behind is kept, and each look at all
of it would hold every visitor up for a second. Nor does it wait until there is much to look at: a look at 100,000 young
objects takes some 20 ms, and what was refused would stay in memory for hours.

Until an app has said what its pages are, Streamlit takes every script in `pages/` for one. Here that is said before the
server starts, so that its first visitor may come by a link to any page.

What a component reports is read several times in each redraw, and each time Streamlit makes a class to present it: an
eighth of a redraw. Here it is presented in one class made once. The theme is looked up once. Each message of each
redraw asks for an option, and all would wait for each other at the configuration's lock: here it is read without one.
"""

import gc
import sys
from functools import cache
from typing import Any

from streamlit import config
from streamlit.components.v2.bidi_component import main as components
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.state.session_state import SessionState
from streamlit.web.cli import main


class Reported(dict[str, Any]):
    """What a component reports, by name; None where it has reported nothing."""

    __getattr__ = dict.get


def presenter(events_id: str, *_: object) -> Any:
    """Like Streamlit's own, for reading: the component's events and its state in one mapping."""

    def present(state: object, session: SessionState) -> object:
        widgets = session._new_widget_state
        if not isinstance(state, dict) or events_id not in widgets.widget_metadata:
            return state
        events = widgets.get(events_id) or ()
        return Reported({event["event"]: event.get("value") for event in events} | state)

    return present


def option(key: str) -> Any:
    """The value of an option now."""
    return config.get_config_options()[key].value


components.make_bidi_component_presenter = presenter
config.get_options_for_section = cache(config.get_options_for_section)
config.get_option = option
sys.setswitchinterval(0.0005)
gc.set_threshold(10_000, 20, 100)
PagesManager.uses_pages_directory = False
sys.argv[:1] = ["streamlit", "run", "app.py"]
main()
