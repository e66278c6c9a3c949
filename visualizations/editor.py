"""A text one edits while it is being read: line numbers, errors in place, highlights, clicks that report their place.

The browser owns the field. What is typed comes here after a short pause, and whatever this sends back, the field keeps
what is in it, unless `version` is newer than the one it shows: count it up to load something on purpose (an example, a
link). The browser keeps what was typed as well; it comes back when the page is opened anew, before a text of version 0
and, on a reload, before a loaded text it descends from. Every offset counts code points.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from engine.errors import ConstraintError
from engine.grammar.locate import Fault, Located, fault
from visualizations.component import register

Language = Literal["json", "regex", "lark", "gbnf", "text"]
Kind = Literal["speaks", "masks", "selected", "read", "heat", "error", "warning", "info"]

LIMIT = 1_000_000  # characters that come here; the field itself holds more
_MOST = 2_000  # highlights drawn; nobody tells more apart
_editor = register("editor", "editor_text", "editor_draft", "editor_layer")


@dataclass(frozen=True, slots=True)
class Highlight:
    """A stretch of the text that is marked. `message` is said where the caret or the mouse is on it.

    `value` (0 to 1) and `label` (the same in words, say "2.3 nats") are those of a part of the heat map.
    """

    start: int
    end: int
    kind: Kind
    message: str = ""
    value: float = 0.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What makes the text unusable, said under it and marked in it; `start` -1 where it has no place."""

    message: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Edited:
    """What the field holds.

    `caret`: where the caret was when this was sent. `clicked`: the place of a click or of a move with the keys, once,
    in the run it caused. `refused`: why what was typed last did not come through; `text` is then the one before.
    """

    text: str
    caret: int = 0
    clicked: int | None = None
    refused: str = ""


@dataclass
class _Field:
    """What is known of one field, for the session: it outlives the page that shows it."""

    session: str
    version: int
    text: str
    edit: int = 0
    caret: int = 0
    clicks: int = 0
    clicked: int | None = None
    refused: str = ""

    def take(self, sent: object) -> None:
        """What the browser says, if it is about the text shown now. It may say anything."""
        if not isinstance(sent, Mapping) or (sent.get("session"), sent.get("version")) != (self.session, self.version):
            return
        edit, clicks, caret = (_count(sent.get(name)) for name in ("edit", "clicks", "caret"))
        if edit < self.edit:
            return
        self._take_text(edit, sent.get("text"), _count(sent.get("size")))
        self.caret = min(caret, len(self.text))
        if clicks > self.clicks:
            self.clicks, self.clicked = clicks, None if self.refused else self.caret

    def _take_text(self, edit: int, text: object, size: int) -> None:
        if isinstance(text, str) and len(text) <= LIMIT:
            self.text, self.edit, self.refused = text.replace("\r\n", "\n").replace("\r", "\n"), edit, ""
        elif edit > self.edit:
            self.edit = edit
            self.refused = f"The text has {size:,} characters; {LIMIT:,} are the limit. Keep the part that matters."


def edited(text: str, *, key: str, version: int = 0) -> Edited:
    """What the field `key` holds, before it is drawn: for the errors and highlights that depend on it.

    `text`: what it begins with, and what it holds whenever `version` is another one.
    """
    field = _field(text, key, version)
    return Edited(field.text, field.caret, field.clicked, field.refused)


def editor(
    text: str,
    *,
    key: str,
    label: str,
    language: Language = "json",
    version: int = 0,
    errors: Sequence[Problem] = (),
    highlights: Sequence[Highlight] = (),
    legend: Mapping[Kind, str] | None = None,
    height: int = 260,
    readonly: bool = False,
) -> Edited:
    """Draws the field and returns what it holds.

    `errors` and `highlights` belong to the text that `edited` gives. Where JSON is broken, that is the error.
    `legend`: what a kind of highlight means here, where it isn't what it usually is. `height` in pixels: of a field, or
    at most of a text that is `readonly`, which always shows `text`.
    """
    field = _field(text, key, version)
    if readonly:
        field.text = text
    broken = fault(field.text) if language == "json" and not readonly and field.text.strip() else None
    problems = [broken_json(broken)] if broken else list(errors)
    data = {
        "key": key,
        "label": label,
        "language": language,
        "readonly": readonly,
        "height": height,
        "limit": LIMIT,
        "session": field.session,
        "version": field.version,
        "edit": field.edit,
        "text": field.text,
        "marks": [*_marks_of(problems, field.text), *(_mark(h, field.text) for h in highlights[:_MOST])],
        "problems": [{"message": p.message, "place": _place(field.text, p)} for p in problems],
        "legend": dict(legend or {}),
    }
    _editor(key=key, data=data, on_edit_change=lambda: field.take(st.session_state[key].edit))
    now = Edited(field.text, field.caret, field.clicked, field.refused)
    field.clicked = None
    return now


def broken_json(broken: Fault) -> Problem:
    """Where a text stops being JSON."""
    return Problem(broken.message, broken.start, broken.end)


def problem_of(error: ConstraintError, located: Located) -> Problem:
    """Why a constraint doesn't compile, at the part it names."""
    start, end = (located.span(error.pointer) if error.pointer else None) or (-1, -1)
    return Problem(str(error), start, end)


def _field(text: str, key: str, version: int) -> _Field:
    name = f"{key}, its text"
    field = st.session_state.get(name)
    if field is None:
        field = st.session_state[name] = _Field(secrets.token_hex(8), version, _plain(text))
    elif field.version != version:
        field = st.session_state[name] = _Field(field.session, version, _plain(text))
    return field


def _plain(text: str) -> str:
    """Line ends as a browser's field has them, or offsets would drift."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _marks_of(problems: Sequence[Problem], text: str) -> list[dict[str, Any]]:
    return [_mark(Highlight(p.start, p.end, "error", p.message), text) for p in problems if p.start >= 0]


def _mark(highlight: Highlight, text: str) -> dict[str, Any]:
    start = min(max(0, highlight.start), len(text))
    return {
        "start": start,
        "end": min(max(start, highlight.end), len(text)),
        "kind": highlight.kind,
        "message": highlight.message,
        "value": min(1.0, max(0.0, highlight.value)),
        "label": highlight.label,
    }


def _place(text: str, problem: Problem) -> str:
    """What leads to a problem: its line and column, unless its message names them."""
    start = problem.start
    if start < 0:
        return ""
    place = f"line {text.count(chr(10), 0, start) + 1}, column {start - text.rfind(chr(10), 0, start)}"
    return "Show" if place in problem.message.lower() else place


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
