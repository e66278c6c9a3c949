"""Tokens as a person can read them, and the token strip: the output so far, one chip per token.

A token is bytes and comes from anywhere, so nothing here trusts it: white space becomes visible, bytes that are not
UTF-8 become `<F0>`, control and direction characters become `<U+202E>`.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any

from engine.decoding.records import Candidate, Step, Trace
from visualizations.component import Callback, register

_VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
_KINDS = {
    "sampled": "drawn from several allowed tokens",
    "forced": "the only token allowed",
    "chosen": "taken by hand",
    "healed": "spells the end of the prompt again",
    "jumped": "forced by the constraint, written without a pass of its own",
}

_strip = register("strip")


def visible(text: bytes | str) -> str:
    """`text` with white space, stray bytes and invisible characters made visible; one line, safe as plain text."""
    if isinstance(text, bytes):
        return _decode(text)
    if text.isprintable():  # most of what is drawn: nothing in it is to be replaced but spaces
        return text.replace(" ", _VISIBLE[" "])
    return "".join(_character(c) for c in text)


def prose(text: str) -> str:
    """`text` for a sentence: spaces stay, everything else that cannot be seen is shown as `visible` does."""
    if text.isprintable():
        return text
    return "".join(c if c == " " else _character(c) for c in text)


@lru_cache(maxsize=4096)  # each redraw of each visitor shows every token of a run several times
def token_text(token: bytes, token_id: int, end: bool = False) -> str:
    """How a token is shown: its bytes made visible, or a name in angle brackets where it spells none."""
    if end:
        return "⟨end⟩"
    return visible(token) if token else f"⟨special {token_id}⟩"


def percent(p: float) -> str:
    """A probability in at most six characters: `31 %`, `0.4 %`, `<0.01 %`."""
    if p <= 0:
        return "0 %"
    if p < 1e-4:
        return "<0.01 %"
    return f"{100 * p:.2g} %" if p < 0.0995 else f"{100 * p:.0f} %"


def token_strip(trace: Trace, position: int, *, key: str, on_step: Callback) -> None:
    """Draws the output of `trace`, the token of step `position` marked.

    A click calls `on_step`, the step's index in the component's `.step`.
    """
    _strip(key=key, data={"tokens": [_chip(s) for s in trace.steps], "current": position}, on_step_change=on_step)


def argmax_text(step: Step) -> str:
    """The model's favourite at `step`, masked or not, as it is shown."""
    favourite = next((c for c in step.candidates if c.token_id == step.argmax_id), None)
    return candidate_text(favourite) if favourite else token_text(step.argmax, step.argmax_id)


def _chip(step: Step) -> dict[str, Any]:
    end = "the end token, " if step.end else ""
    title = f"step {step.index}: {end}{_KINDS[step.kind]}, model gave it {percent(step.raw)}"
    if step.argmax_masked:
        title += f"; its first choice {argmax_text(step)} was masked"
    return {
        "text": token_text(step.token, step.token_id, step.end),
        "kind": "end" if step.end else step.kind,
        "masked": step.argmax_masked,
        "breaks": b"\n" in step.token,
        "title": title,
    }


def candidate_text(candidate: Candidate) -> str:
    """A candidate as the strip would show it."""
    if not candidate.token and candidate.name and not candidate.end:
        return f"⟨{visible(candidate.name)}⟩"
    return token_text(candidate.token, candidate.token_id, candidate.end)


def _decode(data: bytes) -> str:
    shown = []
    while data:
        try:
            shown.append(visible(data.decode("utf-8")))
            break
        except UnicodeDecodeError as error:
            shown.append(visible(data[: error.start].decode("utf-8")))
            shown.extend(f"<{byte:02X}>" for byte in data[error.start : error.end])
            data = data[error.end :]
    return "".join(shown)


def _character(c: str) -> str:
    if c in _VISIBLE:
        return _VISIBLE[c]
    return f"<U+{ord(c):04X}>" if unicodedata.category(c) in _HIDDEN else c
