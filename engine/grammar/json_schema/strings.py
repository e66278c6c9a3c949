"""How JSON writes strings: characters, literals and whole strings as terms.

With spelling "plain" every character has one spelling (the one that Python's `json.dumps(ensure_ascii=False)` and
JavaScript's `JSON.stringify` choose); with "any" every escape that JSON knows is read too. Surrogates stand for a
character only in pairs; a lone one is no character and is not offered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, byte_set
from engine.errors import Origin
from engine.grammar.charset import ALL, CharSet, utf8

SHORT_ESCAPES = {0x08: b"b", 0x09: b"t", 0x0A: b"n", 0x0C: b"f", 0x0D: b"r", 0x22: b'"', 0x5C: b"\\"}
NEEDS_ESCAPE = CharSet.from_ranges([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)])
ASTRAL = CharSet.from_ranges([(0x10000, 0x10FFFF)])
BASIC = ALL - ASTRAL

Ranges = tuple[tuple[int, int], ...]


class JsonText:
    """Terms for the inside of JSON strings, in one arena."""

    def __init__(self, arena: Arena, spelling: Literal["plain", "any"]) -> None:
        self.arena = arena
        self.spelling = spelling
        self.character = self.one_of(ALL)

    def one_of(self, characters: CharSet) -> Term:
        """One character of a set, in every spelling on offer."""
        key = (self.spelling, characters)
        return self.arena.recall(key) or self.arena.keep(key, self._make_one_of(characters))

    def _make_one_of(self, characters: CharSet) -> Term:
        raw = utf8(self.arena, characters - NEEDS_ESCAPE)
        escapes = self._every_escape(characters) if self.spelling == "any" else self._minimal_escapes(characters)
        return self.arena.alt([raw, escapes])

    def literal(self, text: str) -> Term:
        """A fixed text, without quotes, in every spelling on offer."""
        if self.spelling == "plain" or not text:
            return self.arena.literal(spelled(text))
        key = (JsonText, text)
        return self.arena.recall(key) or self.arena.keep(key, self.arena.concat([*map(self._one, text)]))

    def literals(self, texts: Iterable[str]) -> Term:
        """One of several texts, without quotes."""
        if self.spelling == "plain":
            return self.arena.words(spelled(text) for text in texts)
        return self.arena.alt(self.literal(text) for text in texts)

    def name(self, text: str, origin: Origin) -> tuple[Term, ...]:
        """A fixed text between quotation marks, part by part, owned and called what it is."""
        quote = self.arena.literal(b'"')
        if self.spelling == "plain":
            # Two parts: what follows the first quotation mark is told in the order in which names are declared.
            parts = [quote, self.arena.literal(spelled(text) + b'"')]
        else:
            parts = [quote, *map(self._one, text), quote]
        return tuple(self.arena.tag(origin, part, f'"{text}"') for part in parts)

    def quoted(self, body: Term) -> Term:
        """A body between quotation marks."""
        quote = self.arena.literal(b'"')
        return self.arena.seq(quote, self.arena.seq(body, quote))

    def _one(self, character: str) -> Term:
        key = (self.spelling, character)
        return self.arena.recall(key) or self.arena.keep(key, self._make_one(character))

    def _make_one(self, character: str) -> Term:
        if 0xD800 <= ord(character) <= 0xDFFF:  # lone, in a constant: only an escape can write it
            return self.arena.seq(self.arena.literal(b"\\"), self._hexadecimal(((ord(character), ord(character)),)))
        return self.one_of(CharSet.of(character))

    def _minimal_escapes(self, characters: CharSet) -> Term:
        return self.arena.words(spelled(character) for character in characters & NEEDS_ESCAPE)

    def _every_escape(self, characters: CharSet) -> Term:
        arena = self.arena
        short = b"".join(letter for code, letter in SHORT_ESCAPES.items() if code in characters)
        if "/" in characters:
            short += b"/"
        escapes = [arena.bytes(byte_set(short)), self._hexadecimal((characters & BASIC).ranges)]
        pairs = [self._pairs(low - 0x10000, high - 0x10000) for low, high in (characters & ASTRAL).ranges]
        return arena.alt([arena.seq(arena.literal(b"\\"), arena.alt(escapes)), *pairs])

    def _hexadecimal(self, ranges: Ranges) -> Term:
        r"""`\uXXXX` without its backslash."""
        return self.arena.seq(self.arena.literal(b"u"), self._digits(ranges, 3))

    def _digits(self, ranges: Ranges, after: int) -> Term:
        """Numbers of `after` + 1 hexadecimal digits within ranges; first digits with equal rests share a byte set."""
        if not ranges:
            return self.arena.empty
        unit = 16**after
        rests: dict[int, list[tuple[int, int]]] = {}
        for low, high in ranges:
            for digit in range(low // unit, high // unit + 1):
                start = digit * unit
                rests.setdefault(digit, []).append((max(low, start) - start, min(high, start + unit - 1) - start))
        by_rest: dict[Ranges, bytes] = {}
        for digit, rest in rests.items():
            key = tuple(rest) if after else ()
            by_rest[key] = by_rest.get(key, b"") + f"{digit:x}{digit:X}".encode()
        return self.arena.alt(
            self.arena.seq(
                self.arena.bytes(byte_set(digits)), self._digits(rest, after - 1) if after else self.arena.epsilon
            )
            for rest, digits in by_rest.items()
        )

    def _pairs(self, low: int, high: int) -> Term:
        r"""`\uD8xx\uDCxx` for the code points 0x10000 + `low` to 0x10000 + `high`."""
        arena = self.arena
        options = []
        first, last = low >> 10, high >> 10
        # The first and the last high surrogate may have only part of the low ones; those between have all.
        blocks = {(first, first), (last, last), (first + 1, last - 1)}
        for start, end in blocks:
            if start > end:
                continue
            from_low = low & 0x3FF if start == first else 0
            to_low = high & 0x3FF if end == last else 0x3FF
            leading = self._hexadecimal(((0xD800 + start, 0xD800 + end),))
            trailing = self._hexadecimal(((0xDC00 + from_low, 0xDC00 + to_low),))
            escape = arena.literal(b"\\")
            options.append(arena.concat([escape, leading, escape, trailing]))
        return arena.alt(options)


def spelled(text: str) -> bytes:
    """The inside of the JSON string with minimal escapes, as UTF-8; a lone surrogate is escaped."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text.encode()
    return json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace")


def unspelled(body: bytes) -> str:
    """The text that the inside of a JSON string stands for."""
    value: str = json.loads(b'"' + body + b'"')
    return value
