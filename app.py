"""Maskscope: constrained decoding of a real language model, seen from inside. Page config and navigation only."""

import streamlit as st

from pages._lessons.modes import projector, projector_bar
from pages._lessons.page import lesson_pages
from visualizations.theme import ICON, LOGO, PAGE_STYLE

st.set_page_config(page_title="Maskscope", page_icon=ICON, layout="wide")
st.logo(LOGO, icon_image=ICON, size="large")
st.html(PAGE_STYLE)
pages = {
    "": [st.Page("pages/start.py", title="Start", icon=":material/home:", default=True)],
    "Explore": [st.Page("pages/step_through.py", title="Step-through", icon=":material/steps:")],
    "Debug": [st.Page("pages/schema_debugger.py", title="Schema debugger", icon=":material/bug_report:")],
    "Learn": [*lesson_pages(), st.Page("pages/glossary.py", title="Glossary", icon=":material/dictionary:")],
}
page = st.navigation(pages, position="hidden" if projector() else "top")
if projector():
    projector_bar()
page.run()
