"""The runs of a visit as a tree: a branch hangs under the run it left, and says where it left it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.decoding.records import Trace
from visualizations.component import Callback, register
from visualizations.tokens import prose, token_text

_tree = register("runs")
SHOWN_TEXT = 60


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run of the tree. `depth`: branches between it and the run at the root; `title`: how it is called."""

    number: int
    title: str
    depth: int
    trace: Trace


def runs_tree(rows: Sequence[RunRow], shown: int, compared: int | None, *, key: str, on_pick: Callback) -> None:
    """Draws the runs, the `shown` one marked; a click gives a run's number in the component's `.show`, its second
    button one to stand beside the shown one in `.compare`."""
    data = {"rows": [_row(row) for row in rows], "shown": shown, "compared": compared}
    _tree(key=key, data=data, on_show_change=on_pick, on_compare_change=on_pick)


def parting(left: Trace, right: Trace) -> str:
    """Where two runs part, in words."""
    for one, other in zip(left.steps, right.steps, strict=False):
        if one.token_id != other.token_id:
            taken = (token_text(step.token, step.token_id, step.end) for step in (one, other))
            return "They part at step {}: {} here, {} there.".format(one.index, *taken)
    if len(left.steps) == len(right.steps):
        return "They took the same tokens."
    return f"They took the same tokens for {min(len(left.steps), len(right.steps))} steps; one goes on."


def _row(row: RunRow) -> dict[str, object]:
    trace = row.trace
    text = trace.text.decode(errors="replace")
    return {
        "number": row.number,
        "title": row.title,
        "depth": row.depth,
        "text": prose(text[:SHOWN_TEXT]) + ("…" if len(text) > SHOWN_TEXT else ""),
        "steps": len(trace.steps),
        "passes": trace.passes,
        "cost": round(trace.cost, 2),
        "finish": trace.finish or "going on",
    }
