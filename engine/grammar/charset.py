"""Sets of characters, and how UTF-8 spells one character of a set.

A character is a Unicode scalar value: surrogates are no characters and belong to no set, not even to a complement.
Sets are sorted disjoint ranges, so `\\p{L}` (some 650 ranges) costs as much as 650 letters would, not 130,000.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, byte_range, byte_set

LAST = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CharSet:
    """An immutable set of characters: sorted, disjoint, non-adjacent ranges of code points, both ends included.

    Use `CharSet.of` or `CharSet.from_ranges`, which bring any ranges to this form.
    """

    ranges: tuple[Range, ...]

    @classmethod
    def of(cls, characters: str) -> CharSet:
        """The set of the characters of a text."""
        return cls.from_ranges((ord(character), ord(character)) for character in characters)

    @classmethod
    def from_ranges(cls, ranges: Iterable[Range]) -> CharSet:
        """The union of ranges of code points (both ends included, in any order), surrogates left out."""
        split = [part for low, high in ranges for part in _without_surrogates(low, high)]
        united: list[Range] = []
        for low, high in sorted(split):
            if united and low <= united[-1][1] + 1:
                united[-1] = (united[-1][0], max(united[-1][1], high))
            else:
                united.append((low, high))
        return cls(tuple(united))

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.from_ranges(self.ranges + other.ranges)

    def __and__(self, other: CharSet) -> CharSet:
        common = []
        mine, theirs = iter(self.ranges), iter(other.ranges)
        left, right = next(mine, None), next(theirs, None)
        while left and right:
            low, high = max(left[0], right[0]), min(left[1], right[1])
            if low <= high:
                common.append((low, high))
            if left[1] < right[1]:
                left = next(mine, None)
            else:
                right = next(theirs, None)
        return CharSet(tuple(common))

    def __invert__(self) -> CharSet:
        starts = [0, *(high + 1 for _, high in self.ranges)]
        ends = [*(low - 1 for low, _ in self.ranges), LAST]
        return CharSet.from_ranges((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)

    def __sub__(self, other: CharSet) -> CharSet:
        return self & ~other

    def __contains__(self, character: str | int) -> bool:
        code = ord(character) if isinstance(character, str) else character
        index = bisect_right(self.ranges, (code, LAST)) - 1
        return index >= 0 and code <= self.ranges[index][1]

    def __iter__(self) -> Iterator[str]:
        return (chr(code) for low, high in self.ranges for code in range(low, high + 1))

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __str__(self) -> str:
        return "".join(_show(low) if low == high else f"{_show(low)}-{_show(high)}" for low, high in self.ranges)


def _without_surrogates(low: int, high: int) -> Iterator[Range]:
    first, last = SURROGATES
    if low < first:
        yield low, min(high, first - 1)
    if high > last:
        yield max(low, last + 1), high


def _show(code: int) -> str:
    return chr(code) if chr(code).isprintable() else f"\\u{{{code:X}}}"


NONE = CharSet(())
ALL = CharSet.from_ranges([(0, LAST)])
ASCII = CharSet.from_ranges([(0, 0x7F)])


ADDED_FOLDINGS = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}
"""Simple foldings that came with Unicode 15.1, whatever version Python's tables have."""


def fold_case(members: CharSet) -> CharSet:
    """The set with every character that equals one of its members under Unicode simple case folding."""
    added = [(code, code) for code, others in _case_variants().items() if code in members for code in others]
    return CharSet.from_ranges([*members.ranges, *added]) if added else members


@cache
def _case_variants() -> dict[int, tuple[int, ...]]:
    """Each character that has them: all the characters with the same simple case folding."""
    by_folding: dict[int, list[int]] = {}
    for character in ALL:
        if (folding := _simple_folding(character)) != character:
            by_folding.setdefault(ord(folding), [ord(folding)]).append(ord(character))
    return {code: tuple(group) for group in by_folding.values() for code in group}


def _simple_folding(character: str) -> str:
    """One character in the place of one (statuses C and S of Unicode's CaseFolding.txt).

    `str.casefold` is the full folding, which differs where it gives several characters. There the simple folding is the
    lower case if that is one character (`ẞ` to `ß`), and else there is none.
    """
    if character in ADDED_FOLDINGS:
        return ADDED_FOLDINGS[character]
    folded = character.casefold()
    if len(folded) == 1:
        return folded
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character


def utf8(arena: Arena, members: CharSet) -> Term:
    """One character of the set, as the bytes of its UTF-8 form; `arena.empty` for the empty set."""
    key = (utf8, members)
    return arena.recall(key) or arena.keep(key, _utf8(arena, members))


# First and last code point by number of bytes, with the bits that mark the lead byte.
_LENGTHS = ((0x00, 0x7F, 0x00), (0x80, 0x7FF, 0xC0), (0x800, 0xFFFF, 0xE0), (0x10000, LAST, 0xF0))


def _utf8(arena: Arena, members: CharSet) -> Term:
    if len(members) == 1:
        return arena.literal(next(iter(members)).encode())
    options = []
    for continuations, (first, last, mark) in enumerate(_LENGTHS):
        ranges = (members & CharSet.from_ranges([(first, last)])).ranges
        options.append(_digits(arena, ranges, mark, continuations))
    return arena.alt(options)


def _digits(arena: Arena, ranges: tuple[Range, ...], mark: int, after: int) -> Term:
    """Numbers of `after` + 1 digits in base 64 within some ranges.

    The first byte is `mark` + digit, the others are 0x80 + digit. First digits that may be followed by the same digits
    share one byte set.
    """
    if after == 0:
        members = 0
        for low, high in ranges:
            members |= byte_range(mark + low, mark + high)
        return arena.bytes(members)
    unit = 64**after
    rests: dict[int, list[Range]] = {}
    for low, high in ranges:
        for digit in range(low // unit, high // unit + 1):
            start = digit * unit
            rests.setdefault(digit, []).append((max(low, start) - start, min(high, start + unit - 1) - start))
    by_rest: dict[tuple[Range, ...], list[int]] = {}
    for digit, rest in rests.items():
        by_rest.setdefault(tuple(rest), []).append(digit)
    return arena.alt(
        arena.seq(arena.bytes(byte_set(mark + digit for digit in digits)), _digits(arena, rest, 0x80, after - 1))
        for rest, digits in by_rest.items()
    )
