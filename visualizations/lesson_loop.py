"""The decoding loop with its two extra boxes, filled with what one real step put into each."""

from __future__ import annotations

from typing import Any

from engine.decoding.records import Step, Trace
from visualizations.component import Callback, register
from visualizations.tokens import argmax_text, percent, prose, token_text, visible

_loop = register("lesson_loop")

BOXES = ("text", "model", "validator", "mask", "sampler", "draw")
"""In the order in which a step passes through them."""


def decoding_loop(trace: Trace, step: Step, current: str, *, key: str, on_pick: Callback) -> None:
    """Draws the loop, the box `current` marked. A click calls `on_pick`, the box's name in the component's `.pick`."""
    _loop(key=key, data={"boxes": boxes(trace, step), "current": current}, on_pick_change=on_pick)


def boxes(trace: Trace, step: Step) -> list[dict[str, Any]]:
    """Each box: its name, its title, what this step put into it, whether constrained decoding added it."""
    before = visible(trace.text_before(step.index)[-22:]) or "(nothing yet)"
    taken = token_text(step.token, step.token_id, step.end)
    masked = trace.vocabulary_size - step.allowed_count
    said = {
        "text": ("Text so far", before),
        "model": ("Model", f"{trace.vocabulary_size:,} logits; likes {argmax_text(step)} best"),
        "validator": ("Validator", f"wants {prose(step.before)}" if step.before else "anything goes"),
        "mask": ("Mask", f"{masked:,} logits become −∞, {step.allowed_count:,} stay"),
        "sampler": ("Softmax, sampler", f"{percent(step.z)} of the mass becomes all of it"),
        "draw": ("Draw", taken),
    }
    added = ("validator", "mask")
    return [{"name": name, "title": said[name][0], "text": said[name][1], "extra": name in added} for name in BOXES]
