"""Remembers a learner's progress code in the browser's tab: a page that is loaded again begins where it was."""

from __future__ import annotations

from visualizations.component import Callback, register

_memory = register("lesson_memory")


def remember(code: str, *, key: str, on_recall: Callback) -> None:
    """Keeps `code`; what a former load of the page kept calls `on_recall` once, in the component's `.recall`. Draws
    nothing."""
    _memory(key=key, data={"code": code}, on_recall_change=on_recall)
