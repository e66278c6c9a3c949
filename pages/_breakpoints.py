"""Where a run stops by itself: at a part of the source, where little mass is left, where the mask decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from engine.decoding.records import Step

KINDS = {
    "part": "A part of the constraint speaks",
    "z": "The allowed mass Z falls below",
    "masked": "The model's first choice is masked",
    "forced": "A forced run begins",
}


def breakpoint(here: Step, parts: Iterable[str]) -> Callable[[Step], bool]:
    """Draws the choice of a breakpoint and gives what it stops at. `here`: the step one goes on from; `parts`: pointers
    of the source's parts."""
    kind = st.radio("Stop where", list(KINDS), format_func=KINDS.get, key="stop_at", persist_state="session")
    if kind == "part":
        part = st.selectbox(
            "Part",
            sorted(set(parts)),
            format_func=lambda pointer: pointer or "the root",
            key="stop_part",
            placeholder="The source has no parts",
            persist_state="session",
        )
        return lambda step: any(part in (o.pointer, f"{o.pointer}/{o.keyword}") for o in step.origins)
    if kind == "z":
        below = st.slider("Z below", 0.0, 1.0, 0.1, 0.01, key="stop_z", persist_state="session")
        return lambda step: step.z < below
    return (lambda step: step.argmax_masked) if kind == "masked" else forced_run(here)


def forced_run(here: Step) -> Callable[[Step], bool]:
    """Stops at the first of several steps that the mask decides. Asked of the steps after `here`, in their order."""
    before = decided(here)

    def begins(step: Step) -> bool:
        nonlocal before
        after, before = before, decided(step)
        return before and not after

    return begins


def decided(step: Step) -> bool:
    """The mask left one token, or the bytes were forced."""
    return step.allowed_count == 1 or step.kind == "jumped"
