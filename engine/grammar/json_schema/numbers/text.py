"""How JSON writes numbers: those that satisfy bounds, multiples and exclusions, exactly, and one given number.

Bounds are compared digit by digit, so they may be of any size. Without divisors other than a power of ten, a number
without exponent is a plain term (digits.py); others take remainders (positional.py), exponents their own rule
(scientific.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from engine.automaton.arena import Arena
from engine.automaton.terms import Term
from engine.errors import BudgetError, Origin
from engine.grammar.json_schema.numbers.digits import Digits
from engine.grammar.json_schema.numbers.multiples import Modulus, joined, left_over, multiples_in
from engine.grammar.json_schema.numbers.positional import Positional
from engine.grammar.json_schema.numbers.rule import Owner
from engine.grammar.json_schema.numbers.scientific import MOST_DIGITS, Scientific
from engine.grammar.json_schema.numbers.spans import Decades, Spans, clipped, holds, mirrored, on_grid

LONGEST_CONSTANT = 2_000
"""Digits of a constant or bound beyond which it is refused: 1e999999999 is a short way to ask for a gigabyte."""

INTEGER = Modulus(1, 0, True)
ALL_FROM_ZERO: Spans = ((0, None),)
ALL_ABOVE_ZERO: Spans = ((1, None),)

PLAIN_NOTES = (
    "Numbers are written without exponent, and where the type is integer without fraction: 100, not 1e2 or 100.0.",
    "A minus sign is offered only where there are numbers below 0.",
)
ANY_NOTES = (
    "Numbers with bounds (other than 0) or divisors: the mantissa before an exponent begins with a digit other than 0 "
    f"(no 0.5e1) and has at most {MOST_DIGITS} digits before its point.",
    f"Integers and multiples: such a mantissa also has at most {MOST_DIGITS} decimals, and zeros at the end of its "
    "integer part do not make up for a negative exponent (no 100e-2).",
)


@dataclass(frozen=True, slots=True)
class NumberFacts:
    """What the keywords of one branch ask of a number.

    `integer`: True for integers only (1.0 is one), False for others only, None for both. `low` and `high`: bounds.
    `multiples` and `not_multiples`: positive divisors of which the number must be a multiple of each, or of none.
    `excluded`: single numbers ruled out.
    """

    integer: bool | None = None
    low: Decimal | None = None
    low_exclusive: bool = False
    high: Decimal | None = None
    high_exclusive: bool = False
    multiples: tuple[Decimal, ...] = ()
    not_multiples: tuple[Decimal, ...] = ()
    excluded: tuple[Decimal, ...] = ()


@dataclass(frozen=True, slots=True)
class NumberSet:
    """The same as sets of cells of one scale (see spans.py): `above`, 0 included, and `below` with the sign changed.

    `moduli`: a wanted one first, at the scale, if there is one.
    """

    scale: int
    above: Spans
    below: Spans
    moduli: tuple[Modulus, ...]
    integer: bool

    @classmethod
    def of(cls, facts: NumberFacts, origin: Origin | None = None) -> NumberSet:
        """Raises `BudgetError` for a number of more than `LONGEST_CONSTANT` digits."""
        points = [value for value in (facts.low, facts.high, *facts.excluded) if value is not None]
        for value in (*points, *facts.multiples, *facts.not_multiples):
            check_length(value, origin.pointer if origin else "", origin.keyword if origin else "")
        wanted = joined([*map(_fraction_of, facts.multiples), *([(1, 0)] if facts.integer else [])])
        if wanted is not None and wanted.divisor.bit_length() > 4 * LONGEST_CONSTANT:
            raise BudgetError(f"The multiples of all divisors have more than {LONGEST_CONSTANT:,} digits.")
        ruled_out = {*map(_fraction_of, facts.not_multiples), *([(1, 0)] if facts.integer is False else [])}
        moduli = [Modulus.lowest(divisor, places, False) for divisor, places in sorted(ruled_out)]
        scales = [modulus.scale for modulus in (moduli if wanted is None else (*moduli, wanted))]
        scale = max([*map(_places, points), *scales], default=0)
        cells = _cells(facts, scale)
        above, below = clipped(cells, 0, None), clipped(mirrored(cells), 0, None)
        if wanted is None:
            return cls(scale, above, below, tuple(moduli), False)
        step = 10 ** (scale - wanted.scale)
        moduli = [wanted, *dict.fromkeys(left_over(wanted, modulus) for modulus in moduli)]
        return cls(wanted.scale, on_grid(above, step), on_grid(below, step), tuple(moduli), facts.integer is True)

    @property
    def zero(self) -> bool:
        """Whether 0 belongs to the set: it is a multiple of everything."""
        return holds(self.above, 0) and all(modulus.wanted for modulus in self.moduli)

    @property
    def below_zero(self) -> Spans:
        """`below` without 0."""
        return clipped(self.below, 1, None)

    def values(self, cells: Spans) -> Iterator[int] | None:
        """The numbers of a part of the set, ascending, times ten to the scale; None if they cannot be listed."""
        if self.moduli and self.moduli[0].wanted:
            return multiples_in(cells, self.moduli)
        points = [first for first, end in cells if first is not None and end == first + 1 and first % 2 == 0]
        if len(points) < len(cells):
            return None
        return (p // 2 for p in points if all(modulus.admits(p // 2, self.scale) for modulus in self.moduli))

    def has(self, cells: Spans) -> bool:
        """Whether any number of the set lies in a part of it."""
        values = self.values(cells)
        return values is None or next(values, None) is not None


class NumberText:
    """Terms for JSON numbers, in one arena; `notes` says which spellings are not offered."""

    def __init__(self, arena: Arena, spelling: Literal["plain", "any"]) -> None:
        self.arena = arena
        self.spelling = spelling
        self.digits = Digits(arena)
        self._terms: dict[tuple[NumberFacts, Owner], Term] = {}
        self.notes = PLAIN_NOTES if spelling == "plain" else ANY_NOTES

    def integer(self) -> Term:
        """Every integer."""
        return self.term(NumberFacts(integer=True))

    def number(self) -> Term:
        """Every number."""
        return self.term(NumberFacts())

    def term(self, facts: NumberFacts, origin: Origin | None = None, label: str = "") -> Term:
        """The numbers that satisfy the facts, owned by `origin` (a term with rules cannot be tagged afterwards).

        Empty if there are none. Raises `BudgetError` for a bound of more than `LONGEST_CONSTANT` digits.
        """
        owner = Owner(origin, label)
        known = self._terms.get((facts, owner))
        if known is None:
            unowned = self.arena.recall((NumberText, self.spelling, facts))
            known = self._numbers(facts, owner) if unowned is None else owner.of(self.arena, unowned)
            self._terms[facts, owner] = known
        return known

    def prepare(self) -> None:
        """Make the numbers that nearly every schema asks for, to be owned later: those that need no rule."""
        self.arena.keep((NumberText, self.spelling, NumberFacts()), self.number())
        if self.spelling == "plain":
            self.arena.keep((NumberText, self.spelling, NumberFacts(integer=True)), self.integer())

    def count_up_to(self, facts: NumberFacts, limit: int) -> list[Decimal] | None:
        """All values that satisfy the facts, ascending, if there are at most `limit`; else None."""
        numbers = NumberSet.of(facts)
        found: list[int] = []
        for cells, sign in ((numbers.below_zero, -1), (numbers.above, 1)):
            values = numbers.values(cells)
            if values is None:
                return None
            for value in values:
                found.append(sign * value)
                if len(found) > limit:
                    return None
        return [Decimal((value < 0, tuple(map(int, str(abs(value)))), -numbers.scale)) for value in sorted(found)]

    def exactly(self, value: Decimal, pointer: str) -> Term:
        """One number, in its spellings. Raises `BudgetError` if it is too long to write out."""
        if not value:
            value = Decimal(0)
        check_length(value, pointer, "const")
        text = plain_decimal(value)
        arena = self.arena
        if self.spelling == "plain":
            return arena.literal(text.encode())
        padded = self.digits.zeros if "." in text else self.digits.optional(self._zeros_after_point())
        spellings = [arena.seq(arena.literal(text.encode()), padded)]
        if value:
            spellings += [self._normalised(value, marker) for marker in (b"e", b"E")]
        else:
            spellings.append(arena.seq(arena.literal(b"-0"), padded))
        return arena.alt(spellings)

    def _numbers(self, facts: NumberFacts, owner: Owner) -> Term:
        numbers = NumberSet.of(facts, owner.origin)
        parts = []
        if numbers.has(numbers.above):
            parts.append(self._unsigned(numbers, numbers.above, owner))
        below = numbers.below
        if not numbers.has(numbers.below_zero):
            # Only -0 is left. Plainly written, a minus sign would be a trap.
            below = below if self.spelling == "any" and numbers.zero else ()
        if below:
            minus = self.arena.literal(b"-")
            if below == numbers.above:
                return self.arena.seq(owner.of(self.arena, self.digits.optional(minus)), parts[0])
            parts.append(self.arena.seq(owner.of(self.arena, minus), self._unsigned(numbers, below, owner)))
        return self.arena.alt(parts)

    def _unsigned(self, numbers: NumberSet, cells: Spans, owner: Owner) -> Term:
        """The numbers of a set of cells, none below 0."""
        if self.spelling == "plain":
            return self._positional(numbers, cells, owner)
        if not numbers.moduli and cells in (ALL_FROM_ZERO, ALL_ABOVE_ZERO):
            mantissa = self._mantissa() if cells == ALL_FROM_ZERO else self._positive_mantissa()
            exponent = self.digits.optional(self._exponent())
            return owner.of(self.arena, self.arena.seq(mantissa, exponent))
        parts = [self._positional(numbers, cells, owner)]
        if numbers.moduli == (INTEGER,) and cells == ALL_FROM_ZERO:
            natural = self.arena.seq(self.digits.natural(), self.digits.optional(self._zeros_after_point()))
            parts.append(owner.of(self.arena, self.arena.seq(natural, self._exponent(0))))
        if numbers.zero and holds(cells, 0):
            zero = self.arena.seq(self.arena.literal(b"0"), self.digits.optional(self._zeros_after_point()))
            parts.append(owner.of(self.arena, self.arena.seq(zero, self._exponent())))
        decades = Decades.of(cells, numbers.scale)
        if decades:
            parts.append(Scientific(self.digits, owner, numbers.moduli).start(decades))
        return self.arena.alt(parts)

    def _positional(self, numbers: NumberSet, cells: Spans, owner: Owner) -> Term:
        """Without exponent."""
        point = self.spelling == "any" or not numbers.integer
        if not numbers.moduli:
            return owner.of(self.arena, self.digits.decimals(cells, numbers.scale))
        if len(numbers.moduli) == 1 and numbers.moduli[0].wanted and numbers.moduli[0].divisor == 1:
            term = self.digits.multiples(cells, numbers.scale) if point else self.digits.naturals(_points(cells))
            return owner.of(self.arena, term)
        zero = numbers.zero and holds(cells, 0)
        rule = Positional(self.digits, owner, numbers.moduli, numbers.scale, point, zero)
        return rule.start(Decades.of(cells, numbers.scale))

    def _mantissa(self) -> Term:
        return self.arena.seq(self.digits.natural(), self.digits.optional(self._fraction()))

    def _positive_mantissa(self) -> Term:
        arena, digits = self.arena, self.digits
        from_one = arena.concat([digits.nonzero, digits.any, digits.optional(self._fraction())])
        below_one = arena.concat([arena.literal(b"0."), digits.zeros, digits.nonzero, digits.any])
        return arena.alt([from_one, below_one])

    def _exponent(self, least: int | None = None) -> Term:
        return self.arena.seq(self.digits.e, self.digits.exponents(((least, None),)))

    def _fraction(self) -> Term:
        return self.arena.seq(self.digits.point, self.digits.some(self.digits.digit))

    def _zeros_after_point(self) -> Term:
        return self.arena.seq(self.digits.point, self.digits.some(self.arena.literal(b"0")))

    def _normalised(self, value: Decimal, marker: bytes) -> Term:
        """One digit before the point, as serialisers write very large and very small numbers."""
        arena = self.arena
        sign, digits, _ = value.as_tuple()
        written = "".join(map(str, digits)).rstrip("0")
        head, rest = ("-" if sign else "") + written[0], written[1:]
        if rest:
            mantissa = arena.seq(arena.literal(f"{head}.{rest}".encode()), self.digits.zeros)
        else:
            mantissa = arena.seq(arena.literal(head.encode()), self.digits.optional(self._zeros_after_point()))
        exponent = value.adjusted()
        return arena.concat([mantissa, arena.literal(marker), self.digits.exponents(((exponent, exponent + 1),))])


def plain_decimal(value: Decimal) -> str:
    """A number without exponent and without zeros that say nothing."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def check_length(value: Decimal, pointer: str, keyword: str) -> None:
    """Raise `BudgetError` for a number of more than `LONGEST_CONSTANT` digits."""
    if max(abs(value.adjusted()), _places(value)) > LONGEST_CONSTANT:
        place = f" at {pointer}" if pointer else ""
        message = f"A number{place} has more than {LONGEST_CONSTANT:,} digits."
        raise BudgetError(message, pointer=pointer, keyword=keyword)


def _places(value: Decimal) -> int:
    """Digits after the point that say something."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if exponent >= 0 or not value:
        return 0
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return max(-exponent - zeros, 0)


def _scaled(value: Decimal, scale: int) -> int:
    """The number times ten to the scale, exactly."""
    numerator, denominator = value.as_integer_ratio()
    scaled: int = numerator * 10**scale // denominator
    return scaled


def _fraction_of(divisor: Decimal) -> tuple[int, int]:
    places = _places(divisor)
    return _scaled(divisor, places), places


def _cells(facts: NumberFacts, scale: int) -> Spans:
    """Bounds and excluded values as a set of cells."""
    holes = sorted({2 * _scaled(value, scale) for value in facts.excluded})
    parts = zip([None, *(hole + 1 for hole in holes)], [*holes, None], strict=True)
    low = None if facts.low is None else 2 * _scaled(facts.low, scale) + facts.low_exclusive
    high = None if facts.high is None else 2 * _scaled(facts.high, scale) + (not facts.high_exclusive)
    return clipped(tuple(parts), low, high)


def _points(cells: Spans) -> Spans:
    """The points of cells of which gaps do not matter."""
    return tuple((first and first // 2, end and end // 2) for first, end in cells)
