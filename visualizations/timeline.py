"""A run over its steps: a slider, the mass Z the mask kept at each, the running -ln Z, a table with a row per step.

They report where a visitor wants to go and hold no value of their own: a value that a browser sends late, with the next
key, would undo the step that was taken in between.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from engine.decoding.records import Step, Trace
from visualizations.component import Callback, register
from visualizations.tokens import argmax_text, prose, token_text

_chart = register("timeline")
_slider = register("slider")
_table = register("steps")


def step_slider(trace: Trace, position: int, *, key: str, on_step: Callback) -> None:
    """A slider over the steps of `trace`; where it is moved to is the step in the component's `.step`."""
    _slider(key=key, data={"last": len(trace.steps) - 1, "current": position}, on_step_change=on_step)


def timeline(trace: Trace, position: int, *, key: str, on_step: Callback) -> None:
    """Bars of Z (0 to 1) over the running -ln Z in nats; a click gives the step in the component's `.step`."""
    totals = accumulate(step.cost for step in trace.steps)
    points = [{"z": s.z, "total": t, "masked": s.argmax_masked} for s, t in zip(trace.steps, totals, strict=True)]
    _chart(key=key, data={"points": points, "current": position}, on_step_change=on_step)


def steps_table(trace: Trace, position: int, *, key: str, on_step: Callback) -> None:
    """One row per step, the row of `position` marked; a click gives the step in the component's `.step`."""
    totals = accumulate(step.cost for step in trace.steps)
    rows = [_row(step, total) for step, total in zip(trace.steps, totals, strict=True)]
    _table(key=key, data={"rows": rows, "current": position}, on_step_change=on_step)


def _row(step: Step, total: float) -> dict[str, Any]:
    return {
        "token": token_text(step.token, step.token_id, step.end),
        "kind": step.kind,
        "allowed": step.allowed_count,
        "z": step.z,
        "total": total,
        "wanted": argmax_text(step) if step.argmax_masked else "",
        "place": ", ".join(prose(str(origin)) for origin in step.origins[:2]) + (" …" if len(step.origins) > 2 else ""),
    }
