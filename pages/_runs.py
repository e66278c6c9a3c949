"""The visitor's runs: a tree of branches, and any two of them side by side."""

from __future__ import annotations

import streamlit as st

from pages._session import Run, Visit
from visualizations.runs import RunRow, parting, runs_tree
from visualizations.tokens import token_strip


def runs(visit: Visit) -> None:
    """Draws the tree once there is more than one run, and the run beside the one shown."""
    if len(visit.runs) < 2:
        return
    rows = [RunRow(run.number, run.title, depth, run.trace) for depth, run in visit.tree]

    def pick() -> None:
        picked = st.session_state["runs"]
        if isinstance(picked.show, int) and not isinstance(picked.show, bool):
            visit.show(picked.show)
        if isinstance(picked.compare, int) and not isinstance(picked.compare, bool):
            visit.compare(picked.compare)

    with st.expander(f"Runs ({len(rows)})", expanded=visit.compared != 0):
        runs_tree(rows, visit.shown, visit.compared or None, key="runs", on_pick=pick)
    other = next((run for run in visit.runs if run.number == visit.compared), None)
    if other is not None and visit.run is not None:
        _beside(visit.run, other)


def _beside(run: Run, other: Run) -> None:
    st.text(parting(run.trace, other.trace))
    for column, one in zip(st.columns(2), (run, other), strict=True):
        with column:
            trace = one.trace
            st.caption(f"Run {one.number}: {len(trace.steps)} tokens in {trace.passes} passes, -ln Z {trace.cost:.2f}")
            token_strip(trace, len(trace.steps) - 1, key=f"beside_{one.number}", on_step=_nothing)
            st.code(trace.text.decode(errors="replace"), language=None, wrap_lines=True)


def _nothing() -> None:
    """Steps of runs that stand side by side lead nowhere."""
