"""Numbers that must, or must not, be multiples of others: what is left to reach once some digits are written.

Only remainders are kept of the digits before, and what completes them is found by arithmetic, so nothing here grows
with the size of a divisor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from math import gcd, lcm

from engine.grammar.json_schema.numbers.spans import Cells, Spans


@dataclass(frozen=True, slots=True)
class Modulus:
    """Multiples of `divisor` * 10^-`scale`, which are asked for (`wanted`) or ruled out."""

    divisor: int
    scale: int
    wanted: bool

    @classmethod
    def lowest(cls, divisor: int, scale: int, wanted: bool) -> Modulus:
        """With the smallest scale that says the same."""
        while scale > 0 and divisor % 10 == 0:
            divisor, scale = divisor // 10, scale - 1
        return cls(divisor, scale, wanted)

    def admits(self, value: int, scale: int) -> bool:
        """Whether `value` * 10^-`scale` is as this asks."""
        left: int = value * 10**self.scale % (self.divisor * 10**scale)
        return (left == 0) == self.wanted


def joined(divisors: Iterable[tuple[int, int]]) -> Modulus | None:
    """What all (divisor, scale) pairs together ask for, None if there are none."""
    listed = list(divisors)
    if not listed:
        return None
    scale = max(scale for _, scale in listed)
    return Modulus.lowest(lcm(*(divisor * 10 ** (scale - own) for divisor, own in listed)), scale, True)


def left_over(wanted: Modulus, excluded: Modulus) -> Modulus:
    """What is ruled out, in terms of the scale of what is wanted."""
    divisor = excluded.divisor * 10**wanted.scale
    return Modulus.lowest(divisor // gcd(divisor, 10**excluded.scale), wanted.scale, False)


@lru_cache(maxsize=10_000)
def most_zeros(divisor: int) -> int:
    """How many zeros at the end of a number can matter: as many as 10^n needs to be divided by the 2s and 5s."""
    return max((divisor & -divisor).bit_length() - 1, next(n for n in count() if divisor % 5 ** (n + 1)))


@lru_cache(maxsize=10_000)
def zeros_needed(remainder: int, divisor: int) -> int | None:
    """How many zeros make a number with this remainder a multiple; None if none do."""
    for zeros in range(most_zeros(divisor) + 1):
        if remainder * 10**zeros % divisor == 0:
            return zeros
    return None


Residue = tuple[int, int, bool]
"""(remainder, modulus, whether a number must or must not have it)"""


def residue(modulus: Modulus, remainder: int, length: int, places: int) -> Residue | None:
    """What the next `length` digits must be, read as a number x, after digits of a known remainder.

    The last of them stands `places` before the end of the modulus' scale (after it, if negative). None if no digits
    will do. Digits beyond the scale must not end in 0: fewer digits say the same.
    """
    if places < 0:
        return None if modulus.wanted else (0, 10, False)
    reduced = modulus.divisor // gcd(modulus.divisor, 10**places)
    return (-remainder * pow(10, length, reduced) % reduced, reduced, modulus.wanted)


def first_digits(length: int, block: tuple[int, Cells] | None, residues: Sequence[Residue]) -> int | None:
    """The smallest number of `length` digits with all residues whose cell belongs to a block; None if there is none.

    `block`: digits up to the scale and cells; None admits every number.
    """
    wanted = [(remainder, modulus) for remainder, modulus, needed in residues if needed]
    ruled_out = [(remainder, modulus) for remainder, modulus, needed in residues if not needed]
    start, step = wanted[0] if wanted else (0, 1)
    if any(step % modulus == 0 and (start - remainder) % modulus == 0 for remainder, modulus in ruled_out):
        return None
    ranges = ((0, 10**length),) if block is None else tuple(_numbers(length, *block))
    for first, end in ranges:
        number = first + (start - first) % step
        while number < end:
            if all((number - remainder) % modulus for remainder, modulus in ruled_out):
                return number
            number += step
    return None


def _numbers(length: int, width: int, cells: Cells) -> Iterator[tuple[int, int]]:
    """The numbers of `length` digits that stand for cells of a block of `width` digits, as ranges."""
    for first, end in cells:
        if length <= width:
            unit = 2 * 10 ** (width - length)
            yield -(-first // unit), -(-end // unit)
        else:
            unit = 10 ** (length - width)
            yield first // 2 * unit + first % 2, end // 2 * unit + end % 2


def multiples_in(cells: Spans, moduli: Sequence[Modulus]) -> Iterator[int]:
    """The points of a set of cells, none below 0, that all moduli admit, ascending.

    The first modulus is wanted, and the cells are those of its scale.
    """
    step, scale = moduli[0].divisor, moduli[0].scale
    if not all(modulus.admits(step, scale) for modulus in moduli[1:]):
        return  # every multiple of the first is one of an excluded divisor
    for first, end in cells:
        assert first is not None
        point = -(-first // (2 * step)) * step
        while end is None or 2 * point < end:
            if all(modulus.admits(point, scale) for modulus in moduli[1:]):
                yield point
            point += step
