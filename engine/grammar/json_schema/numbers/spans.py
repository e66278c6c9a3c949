"""Sets of numbers, exactly: the number line cut into cells, and numbers sorted by their first digit's place.

At scale s the line is cut at every multiple of 10^-s: cell 2v is the point v * 10^-s, cell 2v + 1 the open gap behind
it. Bounds and excluded values are points of a fine enough scale, so a set of numbers is a set of cells: what is true of
one number in a gap is true of all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

Spans = tuple[tuple[int | None, int | None], ...]
"""A set of integers: disjoint ranges (first, end) in ascending order, the end not included; None is infinity."""

Cells = tuple[tuple[int, int], ...]
"""A bounded set of integers, likewise."""

EVERYTHING: Spans = ((None, None),)


def clipped(spans: Spans, low: int | None, high: int | None) -> Spans:
    """The part of a set from `low` up to but not including `high`."""
    parts: list[tuple[int | None, int | None]] = []
    for first, end in spans:
        start = low if first is None else first if low is None else max(first, low)
        stop = high if end is None else end if high is None else min(end, high)
        if start is None or stop is None or start < stop:
            parts.append((start, stop))
    return tuple(parts)


def window(spans: Spans | Cells, low: int, high: int) -> Cells:
    """The part of a set from `low` up to but not including `high`, counted from `low`."""
    parts = []
    for index in range(bisect_right(spans, (False, low), key=_end), len(spans)):
        first, end = spans[index]
        start = 0 if first is None else max(first - low, 0)
        stop = high - low if end is None else min(end, high) - low
        if start >= stop:
            break
        parts.append((start, stop))
    return tuple(parts)


def _end(span: tuple[int | None, int | None]) -> tuple[bool, int]:
    return span[1] is None, span[1] or 0


def shifted(spans: Spans, by: int) -> Spans:
    """Every member of a set, `by` greater."""
    return tuple((None if first is None else first + by, None if end is None else end + by) for first, end in spans)


def mirrored(spans: Spans) -> Spans:
    """Every member of a set with its sign changed."""
    return tuple(
        (None if end is None else 1 - end, None if first is None else 1 - first) for first, end in reversed(spans)
    )


def united(parts: Iterable[tuple[int | None, int | None]]) -> Spans:
    """The union of ranges that may touch or overlap."""
    merged: list[tuple[int | None, int | None]] = []
    for first, end in sorted(parts, key=lambda part: (part[0] is not None, part[0] or 0)):
        if merged and (merged[-1][1] is None or (first is not None and first <= merged[-1][1]) or first is None):
            last_first, last_end = merged[-1]
            merged[-1] = (last_first, None if last_end is None or end is None else max(last_end, end))
        else:
            merged.append((first, end))
    return tuple(merged)


def holds(spans: Spans, member: int) -> bool:
    """Whether an integer belongs to a set."""
    return any((first is None or first <= member) and (end is None or member < end) for first, end in spans)


def on_grid(cells: Spans, step: int) -> Spans:
    """Cells of a scale `step` times coarser whose points belong to a set; gaps, which do not matter then, join in."""
    parts: list[tuple[int | None, int | None]] = []
    for first, end in cells:
        start = None if first is None else -(-first // (2 * step))
        stop = None if end is None else -(-end // (2 * step))
        if start is None or stop is None or start < stop:
            parts.append((None if start is None else 2 * start, None if stop is None else 2 * stop))
    return united(parts)


@dataclass(frozen=True, slots=True)
class Decades:
    """Numbers above zero with some first digits in common, by the place of the first: decade e is d.ddd * 10^e.

    `full`: decades in which every such number belongs to the set. `partial`: (decade, digits left up to the scale, the
    cells of what is left) where only some do. Decades of which none does are left out.
    """

    full: Spans
    partial: tuple[tuple[int, int, Cells], ...]

    @classmethod
    def of(cls, cells: Spans, scale: int) -> Decades:
        """The numbers above zero in a set of cells, before their first digit."""
        full: list[tuple[int | None, int | None]] = []
        cut: dict[int, None] = {}
        for first, end in cells:
            for cell in (first, end):
                if cell is not None and cell >= 2:
                    place = _place(cell)
                    if cell != 2 * 10**place:
                        cut[place - scale] = None
            if end is not None and end <= 1:
                continue
            # The first decade that starts inside, and the first that does not end inside.
            start = None if first is None or first < 2 else len(str(first - 1 >> 1)) - scale if first > 2 else -scale
            stop = None if end is None else _place(end) - scale
            if start is None or stop is None or start < stop:
                full.append((start, stop))
        partial = []
        for decade in sorted(cut):
            width = decade + scale + 1
            inside = clipped(cells, 2 * 10 ** (width - 1), 2 * 10**width)
            if inside:
                partial.append((decade, width, window(inside, 0, 2 * 10**width)))
        return cls(tuple(full), tuple(partial))

    def __bool__(self) -> bool:
        return bool(self.full or self.partial)

    def refined(self, digit: int) -> Decades:
        """After one more digit."""
        if not self.partial:
            return self
        full: list[int] = []
        partial = []
        for decade, width, cells in self.partial:
            if width == 0:  # the point itself, or the gap behind it
                inside = cells if digit == 0 else ((0, 2),) if cells[-1][1] == 2 else ()
                left = 0
            else:
                left = width - 1
                unit = 2 * 10**left
                inside = window(cells, digit * unit, (digit + 1) * unit)
            if inside == ((0, 2 * 10**left),):
                full.append(decade)
            elif inside:
                partial.append((decade, left, inside))
        spans = united([*self.full, *((decade, decade + 1) for decade in full)]) if full else self.full
        return Decades(spans, tuple(partial))

    def moved(self, by: int) -> Decades:
        """Every decade counted from another place."""
        return Decades(
            shifted(self.full, by), tuple((decade + by, width, cells) for decade, width, cells in self.partial)
        )

    def within(self, low: int | None, high: int | None) -> Decades:
        """Only the decades from `low` up to but not including `high`."""
        inside = tuple(
            part for part in self.partial if (low is None or low <= part[0]) and (high is None or part[0] < high)
        )
        return Decades(clipped(self.full, low, high), inside)

    def ended(self) -> Spans:
        """The decades to which a number belongs that has no further digit."""
        points = [(decade, decade + 1) for decade, _, cells in self.partial if cells[0][0] == 0]
        return united([*self.full, *points]) if points else self.full


def _place(cell: int) -> int:
    """The place of the first digit of the point at, or left of, a cell."""
    return len(str(cell // 2)) - 1
