"""Where the parts of a source stand in its text, while the text is being typed: broken and doubled parts included.

A schema under one's hands is rarely valid JSON, and still every part that can be seen in it should be found by its JSON
Pointer, and its pointer by a place. So this reads brackets, names and commas only, and is content with what is there;
whether it is JSON at all is `fault`'s business. `engine.grammar.sources.spans` is the strict one, for what compiled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.decoding.records import ConstraintSource
from engine.grammar.json_schema.source import escape
from engine.grammar.sources import spans as spans_of_source

Span = tuple[int, int]

DEEPEST = 256
"""Levels that get parts of their own; what is deeper belongs to the part around it, or pointers would grow as n²."""

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_LINE_COLUMN = re.compile(r"line (\d+), column (\d+)")
_OFFSETS = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a text stops being JSON. `start`, `end`: the token to blame, in code points; both equal at the end."""

    message: str
    start: int
    end: int
    line: int
    column: int

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}: {self.message}"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a source and its place in code points, members with their name."""

    pointer: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Located:
    """The parts of one text, in the order of the text, each before those inside it."""

    text: str
    parts: tuple[Part, ...]
    _spans: Mapping[str, Span] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_spans", {part.pointer: (part.start, part.end) for part in self.parts})

    def at(self, offset: int) -> str | None:
        """The pointer of the innermost part at a caret between two characters, None outside of all."""
        return next((p.pointer for p in reversed(self.parts) if p.start <= offset <= p.end), None)

    def span(self, place: str) -> Span | None:
        """Where a place stands, or the nearest part around it that is there.

        A place is what an `Origin`, a `Finding` or a `ConstraintError` names: a JSON Pointer, a rule of a grammar, one
        or two code point offsets, or "line L, column C". Of two members with one name the later counts, as in parsers.
        """
        if place in self._spans:
            return self._spans[place]
        if place.startswith("/"):
            return self.span(place.rpartition("/")[0])
        if match := _LINE_COLUMN.fullmatch(place):
            start = self._offset(int(match[1]), int(match[2]))
            return start, _end_of_token(self.text, start)
        if match := _OFFSETS.fullmatch(place):
            start = min(int(match[1]), len(self.text))
            end = start + 1 if match[2] is None else max(start, int(match[2]))
            return start, min(end, len(self.text))
        return self._spans.get("")

    def _offset(self, line: int, column: int) -> int:
        starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(self.text)) if line else 0


def locate(source: ConstraintSource) -> Located:
    """The parts of a source: of JSON by their pointers, of a grammar its rules; a regex has none with a name."""
    if source.kind in ("json_schema", "request"):
        return locate_json(source.text)
    return Located(source.text, tuple(Part(name, *span) for name, span in spans_of_source(source).items()))


def locate_json(text: str) -> Located:
    """The parts of a JSON text, as far as it is one."""
    return Located(text, _Reader(text).parts())


_MESSAGES = {
    "Expecting ',' delimiter": "A comma or a closing bracket is missing before this.",
    "Expecting ':' delimiter": "A colon is missing before this.",
    "Expecting property name enclosed in double quotes": "A name in double quotes should stand here.",
    "Expecting value": "A value should stand here.",
    "Extra data": "The JSON ends before this; nothing may follow it.",
    "Unterminated string starting at": "This string has no closing quote.",
    "Invalid control character at": "A line end or control character must be escaped in a string.",
    "Invalid \\escape": "JSON has no such escape.",
    "Invalid \\uXXXX escape": "Four hexadecimal digits must follow \\u.",
}
"""What Python's reader says, in the words of one who fixes it."""


def fault(text: str) -> Fault | None:
    """Where `text` stops being JSON (RFC 8259), None if it is JSON."""
    try:
        json.loads(text, parse_int=_nothing, parse_float=_nothing, parse_constant=_refuse)
    except _NotJSON as error:
        return _constant(text, str(error))
    except json.JSONDecodeError as error:
        return _broken(text, error)
    except RecursionError:
        return None  # too deep is too much, not wrong: the budget says so
    return None


def _broken(text: str, error: json.JSONDecodeError) -> Fault:
    before = text[: error.pos].rstrip()
    if "trailing comma" in error.msg or (before.endswith(",") and text[error.pos : error.pos + 1] in ("}", "]")):
        comma = error.pos if text[error.pos : error.pos + 1] == "," else len(before) - 1
        return _fault(text, comma, "There is a comma too many: nothing follows it.")
    if error.pos >= len(text.rstrip()):
        return _fault(text, len(text.rstrip()), "The text ends too early: a bracket, a quote or a value is missing.")
    return _fault(text, error.pos, next((m for said, m in _MESSAGES.items() if error.msg.startswith(said)), error.msg))


def _fault(text: str, position: int, message: str) -> Fault:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return Fault(message, position, _end_of_token(text, position), line, column)


class _NotJSON(ValueError):
    """NaN and its like, which Python reads."""


def _nothing(_: str) -> None:
    return None


def _refuse(name: str) -> Any:
    raise _NotJSON(name)


def _constant(text: str, name: str) -> Fault:
    found = next((m for m in _TOKEN.finditer(text) if m[0] == name), None)
    return _fault(text, found.start() if found else 0, f"{name} is not a JSON value.")


def _end_of_token(text: str, start: int) -> int:
    match = _TOKEN.match(text, start)
    return match.end() if match else start


@dataclass(slots=True)
class _Open:
    """An object or array that is being read; `name`, `start`, `colon`: the member begun in it."""

    closer: str
    part: int
    pointer: str
    count: int = 0
    name: str | None = None
    start: int = 0
    colon: bool = False


class _Reader:
    """One pass over the tokens with a stack of its own: hostile texts nest deeper than Python's."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[tuple[str, int, int]] = []
        self._stack: list[_Open] = []
        self._below = 0  # brackets open beyond the deepest level

    def parts(self) -> tuple[Part, ...]:
        end = 0
        for match in _TOKEN.finditer(self._text):
            token, start, end = match[0], match.start(), match.end()
            if self._below:
                self._below += (token in "{[") - (token in "}]")
            elif token in "{[":
                self._begin(token, start, end)
            elif token in "}]":
                self._close(token, end)
            elif token in ",:":
                self._separate(token)
            else:
                self._word(token, start, end)
        while self._stack:
            self._end(end)
        return tuple(Part(*found) for found in self._found)

    def _begin(self, token: str, start: int, end: int) -> None:
        pointer, start = self._value(start)
        if len(self._stack) == DEEPEST:
            self._below = 1
            return
        self._stack.append(_Open("}" if token == "{" else "]", len(self._found), pointer))
        self._found.append((pointer, start, end))

    def _close(self, token: str, end: int) -> None:
        if any(frame.closer == token for frame in self._stack):  # one too many closes nothing
            while self._stack[-1].closer != token:
                self._end(end - 1)
            self._end(end)

    def _end(self, end: int) -> None:
        frame = self._stack.pop()
        pointer, start, _ = self._found[frame.part]
        self._found[frame.part] = (pointer, start, end)

    def _separate(self, token: str) -> None:
        if self._stack:
            frame = self._stack[-1]
            frame.colon = token == ":"
            frame.name = frame.name if frame.colon else None

    def _word(self, token: str, start: int, end: int) -> None:
        frame = self._stack[-1] if self._stack else None
        if frame is None or frame.closer == "]" or (frame.name is not None and frame.colon):
            pointer, start = self._value(start)
        else:  # a name, even where its value is still missing
            frame.name, frame.start, frame.colon = _name(token), start, False
            pointer = f"{frame.pointer}/{escape(frame.name)}"
        if self._found and self._found[-1][:2] == (pointer, start):
            self._found[-1] = (pointer, start, end)
        else:
            self._found.append((pointer, start, end))

    def _value(self, start: int) -> tuple[str, int]:
        """The pointer of a value that begins at `start`, and where its part does."""
        if not self._stack:
            return "", start
        frame = self._stack[-1]
        if frame.closer == "]":
            frame.count += 1
            return f"{frame.pointer}/{frame.count - 1}", start
        name, frame.name = frame.name, None
        if name is None:  # a bracket where a name should be
            return frame.pointer, start
        if self._found[-1][1] == frame.start:  # the name alone was a part until now
            self._found.pop()
        return f"{frame.pointer}/{escape(name)}", frame.start


def _name(token: str) -> str:
    try:
        read = json.loads(token, strict=False)
    except ValueError:
        return token.strip("\"'")
    return read if isinstance(read, str) else token
