"""Serves the app, with Streamlit's options: `python serve.py --server.port 8501`.

A visitor's script gives up Python's lock many times. While another's compiles a large schema, it gets the lock back
after a tenth of the usual 5 ms.

Python's collector looks for cycles less often than it would: what compiling leaves behind is kept, and each look at all
of it would hold every visitor up for a tenth of a second.

Until an app has said what its pages are, Streamlit takes every script in `pages/` for one. Here that is said before the
server starts, so that its first visitor may come by a link to any page.
"""

import gc
import sys

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main

sys.setswitchinterval(0.0005)
gc.set_threshold(100_000, 20, 100)
PagesManager.uses_pages_directory = False
sys.argv[:1] = ["streamlit", "run", "app.py"]
main()
