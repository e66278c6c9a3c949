"""Digits that spell the numbers of a set, as terms.

Read from the most significant digit: once no bound is near, any digits may follow. Terms stay flat however long a bound
is: only every `CHUNK` digits does one nest in another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, byte_range, byte_set
from engine.grammar.json_schema.numbers.spans import EVERYTHING, Cells, Spans, clipped, holds, mirrored, united, window

CHUNK = 24


class Digits:
    """Terms for digits, in one arena."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.digit = arena.bytes(byte_range(0x30, 0x39))
        self.nonzero = arena.bytes(byte_range(0x31, 0x39))
        self.any = arena.star(self.digit)
        self.zeros = arena.star(arena.literal(b"0"))
        self.point = arena.literal(b".")
        self.e = arena.bytes(byte_set(b"eE"))

    def some(self, term: Term) -> Term:
        """Once or more."""
        return self.arena.repeat(term, 1, None)

    def optional(self, term: Term) -> Term:
        """Once or not at all."""
        return self.arena.repeat(term, 0, 1)

    def natural(self) -> Term:
        """Any integer from 0, without leading zeros."""
        return self.arena.alt([self.arena.literal(b"0"), self.arena.seq(self.nonzero, self.any)])

    def naturals(self, spans: Spans) -> Term:
        """The integers of a set, which has none below 0, without leading zeros."""
        arena = self.arena
        longest = max((len(str(end if end is not None else first)) for first, end in spans), default=0)
        members = [arena.literal(b"0")] if holds(spans, 0) else []
        free: list[tuple[int | None, int | None]] = []
        for length in range(1, longest + 1):
            least, beyond = 10 ** (length - 1), 10**length
            cells = window(clipped(spans, least, beyond), 0, beyond)
            if cells == ((least, beyond),):
                free.append((length, length + 1))
            elif cells:
                members.append(self._block(length, cells, 1, self._exactly, False))
        if spans and spans[-1][1] is None:
            free.append((longest + 1, None))
        for shortest, end in united(free):
            assert shortest is not None
            rest = arena.repeat(self.digit, shortest - 1, None if end is None else end - 2)
            members.append(arena.seq(self.nonzero, rest))
        return arena.alt(members)

    def decimals(self, cells: Spans, scale: int) -> Term:
        """The numbers of a set of cells, none below 0; a fraction may end in zeros."""
        unit = 2 * 10**scale
        whole = self.arena.seq(
            self.naturals(_covered(cells, unit)), self.optional(self.arena.seq(self.point, self.some(self.digit)))
        )
        return self._with_cut(whole, cells, unit, lambda inside: self._block(scale, inside, 2, self._any, False))

    def multiples(self, cells: Spans, scale: int) -> Term:
        """Likewise, but only the points of the scale."""
        points: Spans = tuple((first and first // 2, end and end // 2) for first, end in cells)
        unit = 10**scale
        fraction = self.arena.seq(self.point, self._grid(scale, False))
        whole = self.arena.seq(self.naturals(_covered(points, unit)), self.optional(fraction))
        return self._with_cut(whole, points, unit, lambda inside: self._block(scale, inside, 1, self._grid, False))

    def exponents(self, spans: Spans) -> Term:
        """The integers of a set, with any sign and any leading zeros that do not change them."""
        arena = self.arena
        if spans == EVERYTHING:
            return arena.seq(self.optional(arena.bytes(byte_set(b"+-"))), self.some(self.digit))
        upward, downward = clipped(spans, 0, None), clipped(mirrored(spans), 0, None)
        signs = (self.optional(arena.literal(b"+")), upward), (arena.literal(b"-"), downward)
        return arena.alt(arena.concat([sign, self.zeros, self.naturals(part)]) for sign, part in signs)

    def _with_cut(self, whole: Term, cells: Spans, unit: int, fraction: Callable[[Cells], Term]) -> Term:
        """`whole`, or an integer part after which the set is cut, with the fractions that belong to the set."""
        arena = self.arena
        cut: dict[Cells, list[int]] = {}
        ends = {bound // unit for span in cells for bound in span if bound is not None and bound % unit}
        for integer in sorted(ends):
            inside = window(cells, integer * unit, (integer + 1) * unit)
            cut.setdefault(inside, []).append(integer)
        members = [whole]
        for inside, integers in cut.items():
            fractions = arena.seq(self.point, fraction(inside))
            after = self.optional(fractions) if inside[0][0] == 0 else fractions
            members.append(arena.seq(self.naturals(united((i, i + 1) for i in integers)), after))
        return arena.alt(members)

    def _block(self, width: int, cells: Cells, size: int, full: Callable[[int, bool], Term], started: bool) -> Term:
        """Digits whose number belongs to a set of cells, `size` of them for every number of `width` digits.

        `full(width, started)`: all digits that may follow where the whole block belongs to the set. `started`: whether
        there is a digit before, so that a fraction may end.
        """
        arena = self.arena
        members: list[Term] = []
        prefix = b""
        while True:
            lead = arena.literal(prefix)
            if cells == ((0, size * 10**width),):
                members.append(arena.seq(lead, full(width, started)))
                break
            if width == 0:
                members.append(arena.seq(lead, self._point_or_gap(cells, started)))
                break
            if started and full != self._exactly and cells[0][0] == 0:
                members.append(lead)
            width -= 1
            unit = size * 10**width
            blocks = [(digit, window(cells, digit * unit, (digit + 1) * unit)) for digit in range(10)]
            free = byte_set(0x30 + digit for digit, inside in blocks if inside == ((0, unit),))
            members.append(arena.concat([lead, arena.bytes(free), full(width, True)]))
            cut = [(digit, inside) for digit, inside in blocks if inside and inside != ((0, unit),)]
            started = True
            if len(cut) == 1 and len(prefix) < CHUNK:
                prefix += b"%d" % cut[0][0]
                cells = cut[0][1]
                continue
            for digit, inside in cut:
                members.append(
                    arena.seq(arena.literal(prefix + b"%d" % digit), self._block(width, inside, size, full, True))
                )
            break
        return arena.alt(members)

    def _exactly(self, width: int, started: bool) -> Term:
        return self.arena.repeat(self.digit, width, width)

    def _any(self, width: int, started: bool) -> Term:
        return self.any if started else self.some(self.digit)

    def _grid(self, width: int, started: bool) -> Term:
        """Digits up to the scale, then zeros."""
        if width == 0 and not started:
            return self.some(self.arena.literal(b"0"))
        return self.arena.seq(self.arena.repeat(self.digit, 0 if started else 1, width), self.zeros)

    def _point_or_gap(self, cells: Cells, started: bool) -> Term:
        """Digits beyond the scale: none but zeros, or not only zeros."""
        if cells == ((0, 1),):
            return self.zeros if started else self.some(self.arena.literal(b"0"))
        return self.arena.concat([self.zeros, self.nonzero, self.any])


def _covered(cells: Spans, unit: int) -> Spans:
    """The integers all of whose cells, `unit` for each, belong to a set."""
    parts: Iterable[tuple[int | None, int | None]] = (
        (None if first is None else -(-first // unit), None if end is None else end // unit) for first, end in cells
    )
    return tuple((first, end) for first, end in parts if first is None or end is None or first < end)
