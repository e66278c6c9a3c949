"""Serves the app, with Streamlit's options: `python serve.py --server.port 8501`.

Until an app has said what its pages are, Streamlit takes every script in `pages/` for one. Here that is said before the
server starts, so that its first visitor may come by a link to any page.
"""

import sys

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main

PagesManager.uses_pages_directory = False
sys.argv[:1] = ["streamlit", "run", "app.py"]
main()
