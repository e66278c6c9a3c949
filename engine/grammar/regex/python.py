"""Regexes as Python's `re` reads them.

The parser is Python's own (`re._parser`), so that what is read is what Python reads. It does not say where in the
pattern its items stand; a private copy of the module, with two definitions replaced, does. Meanings (flags, classes,
case) follow `re._compiler` and `_sre`.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import importlib.util
import re
from collections.abc import Callable
from functools import cache, lru_cache
from re import _casefix, _constants  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

from engine.errors import ConstraintError
from engine.grammar.charset import ALL, NONE, CharSet, Range
from engine.grammar.regex.ast import (
    EMPTY,
    Alternate,
    Chars,
    Concat,
    End,
    Look,
    Node,
    Repeat,
    Span,
    Start,
    line_end,
    line_start,
    unhurried,
    word_boundary,
)
from engine.grammar.regex.properties import ASCII_DIGIT, ASCII_SPACE, ASCII_WORD, python_class

LINE_BREAK = CharSet.of("\n")
TYPE_FLAGS = re.ASCII | re.LOCALE | re.UNICODE
LOOK_BEHIND = re.compile(r"\(\?<[=!]")
BETWEEN_ITEMS = re.compile(r"(?:\(\?#[^)]*\)|\(\?[aimsux]+\))*")
VERBOSE_BETWEEN_ITEMS = re.compile(r"(?:\(\?#[^)]*\)|\(\?[aimsux]+\)|[ \t\n\r\v\f]|#[^\n]*\n)*")
POSIX_CLASS = re.compile(r"\[:\^?[a-z]+:\]")

# Python before 3.14 finds no \B in the empty text.
EMPTY_TEXT_HAS_NO_INSIDE = re.search(r"\B", "") is None

REFUSED = {
    _constants.GROUPREF: "a backreference",
    _constants.GROUPREF_EXISTS: "a conditional group",
    _constants.ATOMIC_GROUP: "an atomic group",
    _constants.POSSESSIVE_REPEAT: "a possessive quantifier",
}


class _Item(tuple[Any, Any]):
    """An item of Python's parser (operator, argument) that knows where it stands."""

    span: Span


def parse_python(pattern: str, check_time: Callable[[], None] = unhurried) -> Node:
    """The tree of a pattern. `check_time` is called at every item and may raise what ends the reading.

    Raises `ConstraintError` with the code point offset for a broken pattern, and for what no regular language can say.
    """
    try:
        parsed, flags = _parsed(pattern, check_time)
        return _Reader(pattern, check_time).sequence(parsed, flags)
    except re.error as error:
        at = error.pos if error.pos is not None else 0
        raise ConstraintError(f"The regex is broken at offset {at}: {error.msg}.", pointer=str(at)) from error
    except OverflowError as error:
        raise ConstraintError(f"The regex is broken: {error}.", pointer="0") from error
    except RecursionError as error:
        raise ConstraintError("The regex is nested too deeply.", pointer="0") from error


def _parsed(pattern: str, check_time: Callable[[], None]) -> tuple[Any, int]:
    parser = _placing_parser()
    source = parser.Tokenizer(pattern, check_time)
    state = parser.State()
    state.flags = 0
    state.str = pattern
    state.source = source
    parsed = parser._parse_sub(source, state, 0, 0)
    if source.next is not None or state.grouprefpos or LOOK_BEHIND.search(pattern):
        re.compile(pattern)  # what else may be wrong is found out only there
    return parsed, parser.fix_flags(pattern, state.flags)


@cache
def _placing_parser() -> ModuleType:
    """A copy of `re._parser` that looks at a clock; its items are `_Item`s, alternatives stay as written."""
    spec = importlib.util.find_spec("re._parser")
    assert spec is not None
    assert spec.loader is not None
    parser = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(parser)

    class Tokenizer(parser.Tokenizer):  # type: ignore[name-defined, misc]
        def __init__(self, pattern: str, check_time: Callable[[], None]) -> None:
            super().__init__(pattern)
            self._check_time = check_time

        def get(self) -> str | None:
            self._check_time()
            return super().get()  # type: ignore[no-any-return]

    class SubPattern(parser.SubPattern):  # type: ignore[name-defined, misc]
        def __init__(self, state: Any, data: Any = None) -> None:
            super().__init__(state, data)
            self.start = state.source.tell()

        def append(self, code: tuple[Any, Any]) -> None:
            start = self.data[-1].span[1] if self.data else self.start
            super().append(self._placed(code, start))

        def __setitem__(self, index: Any, code: Any) -> None:
            if not isinstance(index, slice):
                code = self._placed(code, self.data[index].span[0])
            super().__setitem__(index, code)

        def _placed(self, code: tuple[Any, Any], start: int) -> _Item:
            item = _Item(code)
            item.span = (start, self.state.source.tell())
            return item

    def parse_sub(source: Any, state: Any, verbose: int, nested: int) -> SubPattern:
        start = source.tell()
        options = [parser._parse(source, state, verbose, nested + 1, not nested)]
        while source.match("|"):
            if not nested:
                verbose = state.flags & re.VERBOSE
            options.append(parser._parse(source, state, verbose, nested + 1, False))
        if len(options) == 1:
            return options[0]  # type: ignore[no-any-return]
        result = SubPattern(state)
        result.start = start
        result.append((_constants.BRANCH, (None, options)))
        return result

    parser.Tokenizer = Tokenizer  # type: ignore[attr-defined]
    parser.SubPattern = SubPattern  # type: ignore[attr-defined]
    parser._parse_sub = parse_sub  # type: ignore[attr-defined]
    return parser


class _Reader:
    """Turns the parser's items into nodes."""

    def __init__(self, pattern: str, check_time: Callable[[], None]) -> None:
        self.pattern = pattern
        self._check_time = check_time

    def sequence(self, items: Any, flags: int) -> Node:
        parts = [self.item(item, flags) for item in items]
        return (
            parts[0] if len(parts) == 1 else Concat(tuple(parts), (items.start, parts[-1].span[1])) if parts else EMPTY
        )

    def item(self, item: _Item, flags: int) -> Node:
        self._check_time()
        operator, argument = item
        span = self._trimmed(item.span, flags)
        if operator in REFUSED:
            message = (
                f"{REFUSED[operator].capitalize()} at offset {span[0]} is not supported: rewrite the regex without it."
            )
            raise ConstraintError(message, pointer=str(span[0]), keyword=REFUSED[operator].split(" ", 1)[1])
        if operator in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            low, high, body = argument
            bound = None if high is _constants.MAXREPEAT else int(high)
            return Repeat(self.sequence(body, flags), int(low), bound, span)
        if operator is _constants.SUBPATTERN:
            _, added, removed, body = argument
            kept = flags & ~TYPE_FLAGS if added & TYPE_FLAGS else flags
            return self.sequence(body, (kept | added) & ~removed)
        if operator is _constants.BRANCH:
            return Alternate(tuple(self.sequence(option, flags) for option in argument[1]), span)
        if operator in (_constants.ASSERT, _constants.ASSERT_NOT):
            direction, body = argument
            negated = operator is _constants.ASSERT_NOT
            return Look(self.sequence(body, flags), ahead=direction > 0, negated=negated, span=span)
        if operator is _constants.AT:
            return _position(argument, flags, span)
        return Chars(self._members(operator, argument, flags, span), span)

    def _trimmed(self, span: Span, flags: int) -> Span:
        """The span without the comments and flags that may stand before an item."""
        between = VERBOSE_BETWEEN_ITEMS if flags & re.VERBOSE else BETWEEN_ITEMS
        skipped = between.match(self.pattern, *span)
        return (skipped.end() if skipped else span[0]), span[1]

    def _members(self, operator: Any, argument: Any, flags: int, span: Span) -> CharSet:
        if operator is _constants.ANY:
            return ALL if flags & re.DOTALL else ALL - LINE_BREAK
        if operator is _constants.IN:
            self._refuse_posix(span)
            return _class(argument, flags)
        if operator in (_constants.LITERAL, _constants.NOT_LITERAL):
            members = _class([(_constants.LITERAL, argument)], flags)
            return members if operator is _constants.LITERAL else ~members
        name = str(operator).lower().replace("_", " ")
        raise ConstraintError(f"{name!r} at offset {span[0]} is not supported.", pointer=str(span[0]), keyword=name)

    def _refuse_posix(self, span: Span) -> None:
        if found := POSIX_CLASS.search(self.pattern, *span):
            at = found.start()
            message = (
                f"{found[0]} at offset {at} is no character class in Python: it stands for its own letters. Write the "
                "characters, such as a-z, or escape the inner bracket."
            )
            raise ConstraintError(message, pointer=str(at), keyword="POSIX class")


def _position(code: Any, flags: int, span: Span) -> Node:
    """`^`, `$`, `\\A`, `\\Z`, `\\b` and `\\B`."""
    if code is _constants.AT_BEGINNING:
        return line_start(LINE_BREAK, span) if flags & re.MULTILINE else Start(span)
    if code is _constants.AT_BEGINNING_STRING:
        return Start(span)
    if code is _constants.AT_END_STRING:
        return End(span)
    if code is _constants.AT_END:
        if flags & re.MULTILINE:
            return line_end(LINE_BREAK, span)
        last_line = Concat((Repeat(Chars(LINE_BREAK, span), 0, 1, span), End(span)), span)
        return Look(last_line, ahead=True, negated=False, span=span)
    word = ASCII_WORD if flags & re.ASCII else python_class(r"\w")
    if code is _constants.AT_BOUNDARY:
        return word_boundary(word, inside=False, span=span)
    inside = word_boundary(word, inside=True, span=span)
    if not EMPTY_TEXT_HAS_NO_INSIDE:
        return inside
    anything = Chars(ALL, span)
    beside = tuple(Look(anything, ahead=ahead, negated=False, span=span) for ahead in (True, False))
    return Concat((Alternate(beside, span), inside), span)


def _class(items: list[tuple[Any, Any]], flags: int) -> CharSet:
    """The characters of a class, as the flags `i` and `a` make it."""
    ranges: list[Range] = []
    categories = NONE
    negated = False
    for operator, argument in items:
        if operator is _constants.NEGATE:
            negated = True
        elif operator is _constants.CATEGORY:
            categories |= _category(argument, flags)
        else:
            low, high = argument if operator is _constants.RANGE else (argument, argument)
            ranges.append((low, high))
    literals = CharSet.from_ranges(ranges)
    members = literals | categories
    if flags & re.IGNORECASE:
        members = _any_case(literals, categories, bool(flags & re.ASCII))
    return ~members if negated else members


def _category(code: Any, flags: int) -> CharSet:
    name = str(code).removeprefix("CATEGORY_")
    kind = name.removeprefix("NOT_")
    if flags & re.ASCII:
        members = {"DIGIT": ASCII_DIGIT, "SPACE": ASCII_SPACE, "WORD": ASCII_WORD}[kind]
    else:
        members = python_class({"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[kind])
    return ~members if name.startswith("NOT_") else members


@lru_cache(maxsize=4096)
def _any_case(literals: CharSet, categories: CharSet, ascii_only: bool) -> CharSet:
    """Characters whose lower case is that of a literal (or one that Python holds equal to it) or in a category."""
    lower = _lower_cases(ascii_only)
    lowered = {lower[code] for code in lower if code in literals}
    wanted = literals | CharSet.from_ranges((code, code) for code in lowered)
    if not ascii_only:
        extra = (twin for code, twins in _casefix._EXTRA_CASES.items() if code in wanted for twin in twins)
        wanted |= CharSet.from_ranges((code, code) for code in extra)
    wanted |= categories
    upper = CharSet.from_ranges((code, code) for code in lower)
    return (wanted - upper) | CharSet.from_ranges((code, code) for code in lower if lower[code] in wanted)


@cache
def _lower_cases(ascii_only: bool) -> dict[int, int]:
    """Each character whose lower case, as `re` has it, is another one."""
    to_lower = _sre.ascii_tolower if ascii_only else _sre.unicode_tolower
    return {
        code: lower for low, high in ALL.ranges for code in range(low, high + 1) if (lower := to_lower(code)) != code
    }
