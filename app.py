"""Maskscope: constrained decoding of a real language model, seen from inside. Page config and navigation only."""

import streamlit as st

from visualizations.theme import ICON, LOGO, PAGE_STYLE

st.set_page_config(page_title="Maskscope", page_icon=ICON, layout="wide")
st.logo(LOGO, icon_image=ICON, size="large")
st.html(PAGE_STYLE)
pages = {"Explore": [st.Page("pages/step_through.py", title="Step-through", icon=":material/steps:", default=True)]}
pages["Debug"] = [st.Page("pages/schema_debugger.py", title="Schema debugger", icon=":material/bug_report:")]
st.navigation(pages, position="top").run()
