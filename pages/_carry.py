"""Carrying a run away, and bringing one: link, trace file, offline report, table, program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import streamlit as st

from engine.decoding.errors import TraceError
from engine.decoding.records import Trace
from engine.decoding.trace import MAX_PACKED, load_trace, save_trace
from pages import _link
from pages._session import Visit
from visualizations.carry import report, reproduces, snippet, steps_csv

if TYPE_CHECKING:
    from engine.model.model import Model


def carry(visit: Visit, trace: Trace, model: Model | None) -> None:
    """Draws what the run shown can be carried away as; only once it is asked for, as this is in every redraw."""
    share = st.popover("Share", icon=":material/ios_share:", type="tertiary", key="share", on_change="rerun")
    if not share.open:
        return
    with share:
        _link_to(visit, trace)
        for label, make, ending, mime, said in _files(trace, model):
            st.download_button(
                label, make, f"maskscope-{trace.run_id}.{ending}", mime, key=f"save_{ending}", on_click="ignore"
            )
            st.caption(said)
        _bring(visit)


File = tuple[str, Callable[[], str | bytes], str, str, str]


def _files(trace: Trace, model: Model | None) -> Iterator[File]:
    """Label, what makes it, ending, type, and what it is good for."""
    opens = "Every step as it was; open it here again below, or with `python -m engine show`."
    yield "Trace", lambda: save_trace(trace), "json.gz", "application/gzip", opens
    yield "Report", lambda: report(trace), "html", "text/html", "One page that replays the run without a server."
    yield "Table of steps", lambda: steps_csv(trace), "csv", "text/csv", "One row a step, for a spreadsheet."
    if model is not None and model.name == trace.model:
        ends = tuple(sorted(model.vocabulary.end_ids))
        does = "Reproduces this run, which is greedy, with `generate` of transformers."
        if not reproduces(trace):
            does = "Replays the recorded tokens: `generate` reproduces plain greedy runs only."
        yield "Python", lambda: snippet(trace, ends), "py", "text/x-python", does


def _link_to(visit: Visit, trace: Trace) -> None:
    parameter = _link.pack(trace.spec, visit.position)
    if len(parameter) > _link.MAX_PACKED:
        st.caption("This run is too large for a link; save its trace instead.")
        return
    st.caption("Opens this run at this step on any Maskscope with this model.")
    base = (st.context.url or "").partition("?")[0]
    st.code(f"{base}?{_link.PARAMETER}={parameter}", language=None, wrap_lines=True)


def _bring(visit: Visit) -> None:
    def opened() -> None:
        file = st.session_state["bring_trace"]
        if file is None:
            return
        try:
            if file.size > MAX_PACKED:
                raise TraceError(f"The trace is larger than {MAX_PACKED >> 20} MiB.")
            trace = load_trace(file.getvalue())
            if not trace.steps:
                raise TraceError("This trace has no steps.")
        except TraceError as error:
            visit.problem = str(error)
            return
        visit.show_saved(file.name, trace)

    st.file_uploader(
        "Open a saved trace", type=["gz"], key="bring_trace", on_change=opened, max_upload_size=MAX_PACKED >> 20
    )
