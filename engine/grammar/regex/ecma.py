"""Regexes as ECMA-262 reads them with the flag `u`, as JSON Schema recommends.

What only the older grammar (annex B) allows is read as it says where it contradicts nothing: escaped punctuation
(`\\-`, `\\@`), a brace or bracket that begins no quantifier or class, a class as the end of a range (`[\\w-.]`). An
escaped letter without meaning is refused: annex B takes it as the letter, and nobody who writes `\\A` means "A".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.errors import ConstraintError
from engine.grammar.charset import ALL, CharSet, Range, fold_case
from engine.grammar.regex.ast import (
    EMPTY,
    Alternate,
    Chars,
    Concat,
    End,
    Look,
    Node,
    Repeat,
    Start,
    line_end,
    line_start,
    unhurried,
    word_boundary,
)
from engine.grammar.regex.properties import ASCII_DIGIT, ASCII_WORD, ECMA_SPACE, named

LINE_BREAKS = CharSet.of("\n\r\u2028\u2029")
CONTROL = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "0": "\0"}
LOOKS = ("?=", "?!", "?<=", "?<!")
MAX_DEPTH = 100

QUANTIFIER = re.compile(r"(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??", re.ASCII)
UNBOUNDED_BELOW = re.compile(r"\{,(\d+)\}", re.ASCII)
GROUP_NAME = re.compile(r"\?<([\w$]+)>")
MODIFIERS = re.compile(r"\?([ims]*)(-[ims]*)?:")
POSIX_CLASS = re.compile(r"\[:\^?[a-z]+:\]")
HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}")
TRAIL = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
PROPERTY = re.compile(r"[pP]\{(\w+)(?:=(\w+))?\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Flags:
    """The flags that `(?ims-ims:...)` switches."""

    i: bool = False
    m: bool = False
    s: bool = False


def parse_ecma(pattern: str, check_time: Callable[[], None] = unhurried) -> Node:
    """The tree of a pattern. `check_time` is called at every item and may raise what ends the reading.

    Raises `ConstraintError` with the code point offset for a broken pattern, and for what no regular language can say.
    """
    return _Parser(pattern, check_time).whole()


class _Parser:
    """Reads a pattern from left to right; `at` is the offset of what comes next."""

    def __init__(self, pattern: str, check_time: Callable[[], None]) -> None:
        self.pattern = pattern
        self._check_time = check_time
        self.at = 0
        self.depth = 0

    def whole(self) -> Node:
        node = self.alternatives(_Flags())
        if self.at < len(self.pattern):
            raise self.error("unmatched parenthesis", self.at)
        return node

    # Small steps.

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def match(self, expected: re.Pattern[str]) -> re.Match[str] | None:
        found = expected.match(self.pattern, self.at)
        self.at = found.end() if found else self.at
        return found

    def error(self, what: str, at: int) -> ConstraintError:
        return ConstraintError(f"The regex is broken at offset {at}: {what}.", pointer=str(at))

    def refused(self, what: str, keyword: str, at: int, advice: str) -> ConstraintError:
        return ConstraintError(f"{what} at offset {at} is not supported: {advice}.", pointer=str(at), keyword=keyword)

    # From the whole to its parts.

    def alternatives(self, flags: _Flags) -> Node:
        start = self.at
        options = [self.sequence(flags)]
        while self.take("|"):
            options.append(self.sequence(flags))
        return options[0] if len(options) == 1 else Alternate(tuple(options), (start, self.at))

    def sequence(self, flags: _Flags) -> Node:
        start = self.at
        parts: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.quantified(flags))
        if not parts:
            return replace(EMPTY, span=(start, start))
        return parts[0] if len(parts) == 1 else Concat(tuple(parts), (start, self.at))

    def quantified(self, flags: _Flags) -> Node:
        self._check_time()
        start = self.at
        if QUANTIFIER.match(self.pattern, start):
            raise self.error("nothing to repeat", start)
        node = self.atom(flags)
        if found := UNBOUNDED_BELOW.match(self.pattern, self.at):
            advice = f"it is a text in JavaScript and a quantifier elsewhere; write {{0,{found[1]}}}"
            raise self.refused(found[0], "quantifier", self.at, advice)
        found = self.match(QUANTIFIER)
        if found is None:
            return node
        if self.pattern.startswith(("^", "$", "\\b", "\\B"), start):
            raise self.error("nothing to repeat", found.start())
        low, high = self.bounds(found)
        return Repeat(node, low, high, (start, self.at))

    def bounds(self, found: re.Match[str]) -> tuple[int, int | None]:
        sign = found[0][0]
        if sign != "{":
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        low = int(found[1])
        high = low if not found[2] else int(found[3]) if found[3] else None
        if high is not None and high < low:
            raise self.error("the numbers of the quantifier are out of order", found.start())
        return low, high

    def atom(self, flags: _Flags) -> Node:
        start = self.at
        character = self.peek()
        self.at += 1
        if character == "(":
            return self.group(start, flags)
        if character == "[":
            return Chars(self.bracket(start, flags), (start, self.at))
        if character == "\\":
            return self.escape(start, flags)
        span = (start, self.at)
        if character == "^":
            return line_start(LINE_BREAKS, span) if flags.m else Start(span)
        if character == "$":
            return line_end(LINE_BREAKS, span) if flags.m else End(span)
        if character == ".":
            return Chars(ALL if flags.s else ALL - LINE_BREAKS, span)
        return Chars(_cased(CharSet.of(character), flags), span)

    def group(self, start: int, flags: _Flags) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ConstraintError(f"The regex nests more than {MAX_DEPTH} groups.", pointer=str(start))
        look = next((kind for kind in LOOKS if self.take(kind)), None)
        if look is None:
            flags = self.group_kind(start, flags)
        node = self.alternatives(flags)
        if not self.take(")"):
            raise self.error("this group is not closed", start)
        self.depth -= 1
        return Look(node, "<" not in look, "!" in look, (start, self.at)) if look else node

    def group_kind(self, start: int, flags: _Flags) -> _Flags:
        """Read what stands after the parenthesis of a group that is no condition; the flags inside."""
        if self.peek() != "?" or self.take("?:") or self.match(GROUP_NAME):
            return flags
        modifiers = self.match(MODIFIERS)
        if modifiers is None:
            raise self.error("this kind of group is unknown in ECMA-262 (flags are written (?i:...))", start)
        on, off = modifiers[1], (modifiers[2] or "").removeprefix("-")
        if len(set(on + off)) != len(on + off) or modifiers[0] == "?-:":
            raise self.error("a flag is given twice, or none is", start)
        return replace(flags, **dict.fromkeys(on, True), **dict.fromkeys(off, False))

    # Escapes.

    def escape(self, start: int, flags: _Flags) -> Node:
        """An escape outside a class; the backslash is read."""
        character = self.peek()
        if character in ("b", "B"):
            self.at += 1
            word = fold_case(ASCII_WORD) if flags.i else ASCII_WORD
            return word_boundary(word, inside=character == "B", span=(start, self.at))
        if (character and character in "123456789") or (character == "k" and self.peek_after("<")):
            raise self.refused("A backreference", "backreference", start, "rewrite the regex without it")
        return Chars(_cased(_set(self.class_escape(start, flags)), flags), (start, self.at))

    def peek_after(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at + 1)

    def class_escape(self, start: int, flags: _Flags) -> str | CharSet:
        """An escape that stands for a character or a set of them; the backslash is read."""
        if self.at == len(self.pattern):
            raise self.error("a backslash at the end", start)
        if prop := self.match(PROPERTY):
            members = named(prop[1], prop[2], start)
            return ~members if prop[0][0] == "P" else members
        character = self.peek()
        if character in "dDsSwW":
            self.at += 1
            word = fold_case(ASCII_WORD) if flags.i else ASCII_WORD
            members = {"d": ASCII_DIGIT, "s": ECMA_SPACE, "w": word}[character.lower()]
            return ~members if character.isupper() else members
        return self.character_escape(start)

    def character_escape(self, start: int) -> str:
        if code := self.match(HEX):
            return self.hexadecimal(code, start)
        character = self.peek()
        self.at += 1
        if character == "c" and self.peek().isascii() and self.peek().isalpha():
            self.at += 1
            return chr(ord(self.pattern[self.at - 1]) % 32)
        if character == "0" and self.peek().isdigit():
            raise self.error("octal escapes do not exist with the flag u; write \\xHH", start)
        if character in CONTROL:
            return CONTROL[character]
        if (character.isalnum() and character.isascii()) or character == "":
            raise self.error(f"\\{character} has no meaning in ECMA-262", start)
        return character

    def hexadecimal(self, found: re.Match[str], start: int) -> str:
        code = int(found[1] or found[2] or found[3], 16)
        if code > 0x10FFFF:
            raise self.error("there is no such code point", start)
        if found[2] and 0xD800 <= code < 0xDC00 and (trail := self.match(TRAIL)):
            code = 0x10000 + (code - 0xD800) * 0x400 + int(trail[1], 16) - 0xDC00
        return chr(code)

    # Classes.

    def bracket(self, start: int, flags: _Flags) -> CharSet:
        """A class; its opening bracket is read."""
        negated = self.take("^")
        ranges: list[Range] = []
        while not self.take("]"):
            self._check_time()
            ranges += self.range(start, flags).ranges
        members = _cased(CharSet.from_ranges(ranges), flags)
        return ~members if negated else members

    def range(self, start: int, flags: _Flags) -> CharSet:
        """One character, set or range of a class."""
        at = self.at
        low = self.member(start, flags)
        if self.peek() != "-" or self.peek_after("]"):
            return _set(low)
        self.at += 1
        high = self.member(start, flags)
        if isinstance(low, CharSet) or isinstance(high, CharSet):
            return _set(low) | _set(high) | CharSet.of("-")
        if high < low:
            raise self.error("the range is out of order", at)
        return CharSet.from_ranges([(ord(low), ord(high))])

    def member(self, start: int, flags: _Flags) -> str | CharSet:
        at = self.at
        if found := POSIX_CLASS.match(self.pattern, at):
            advice = "there are none in ECMA-262; write the characters, such as a-z, or \\p{L}"
            raise self.refused(f"The POSIX class {found[0]}", "POSIX class", at, advice)
        character = self.peek()
        self.at += 1
        if character == "":
            raise self.error("this class is not closed", start)
        if character != "\\":
            return character
        return "\b" if self.take("b") else self.class_escape(at, flags)


def _set(found: str | CharSet) -> CharSet:
    return CharSet.of(found) if isinstance(found, str) else found


def _cased(members: CharSet, flags: _Flags) -> CharSet:
    return fold_case(members) if flags.i else members
