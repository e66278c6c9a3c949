"""Projector mode and the teacher's switch.

Projector mode may stand in a link (`?projector=1`). Teacher's notes never do: the switch is kept in the session alone,
so that no address copied from the browser can carry it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from visualizations.charts import LARGE

PROJECTOR = "projector"
_STYLE = """<style>
html { font-size: 21px; }
header[data-testid="stHeader"] { display: none; }
[data-testid="stBidiComponentRegular"], [data-testid="stBidiComponentIsolated"] { zoom: 1.4; }
[data-testid="stMainBlockContainer"] { padding-top: 1rem; }
.st-key-projector_bar { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
</style>
"""


def projector() -> bool:
    """Large type and nothing but the page. A link may ask for it; it stays on in this session until it is left."""
    if PROJECTOR in st.query_params:
        st.session_state[LARGE] = st.query_params[PROJECTOR] == "1"
    return bool(st.session_state.get(LARGE, False))


def set_projector(on: bool) -> None:
    """Switch it, here and in the address."""
    st.session_state[LARGE] = on
    if on:
        st.query_params[PROJECTOR] = "1"
    elif PROJECTOR in st.query_params:
        del st.query_params[PROJECTOR]


def teacher() -> bool:
    """The teacher's notes are shown."""
    return bool(st.session_state.get("_teacher", False))


def set_teacher(on: bool) -> None:
    st.session_state["_teacher"] = on


def address() -> str:
    """Where a browser reaches this page, without what a link may carry; "" where it is not known."""
    parts = urlsplit(st.context.url or "")
    return f"{parts.netloc}{parts.path.rstrip('/')}"


def projector_bar() -> None:
    """The line on top in projector mode: the address, large, and the way out."""
    st.html(_STYLE)
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="projector_bar"
    ):
        st.text(f"Maskscope · {address()}" if address() else "Maskscope")
        st.button("Leave projector mode", key="projector_off", type="tertiary", on_click=set_projector, args=(False,))
