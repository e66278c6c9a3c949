"""How JSON writes numbers: integers, any numbers, and one given number."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, byte_range, byte_set
from engine.errors import BudgetError

LONGEST_CONSTANT = 2_000
"""Digits of a constant beyond which it is refused: 1e999999999 is a short way to ask for a gigabyte."""


class NumberText:
    """Terms for JSON numbers, in one arena.

    Plain: integers without fraction or exponent, decimals without exponent. Any: also 1.0 where 1 is meant, and
    exponents. For integers with exponents that is: no fraction but zeros and an exponent of 0 or more, or the floating
    point form that Python and JavaScript give to large ones (at most 16 decimals, an exponent of 16 or more).
    """

    def __init__(self, arena: Arena, spelling: Literal["plain", "any"]) -> None:
        self.arena = arena
        self.spelling = spelling
        self.digit = arena.bytes(byte_range(0x30, 0x39))
        self.nonzero = arena.bytes(byte_range(0x31, 0x39))
        self.e = arena.bytes(byte_set(b"eE"))
        self.minus = self._optional(arena.literal(b"-"))

    def integer(self) -> Term:
        """Every integer."""
        arena = self.arena
        if self.spelling == "plain":
            return arena.seq(self.minus, self._natural())
        zeros = self._optional(arena.seq(arena.literal(b"."), arena.repeat(arena.literal(b"0"), 1, None)))
        exponent = self._optional(arena.concat([self.e, self._optional(arena.literal(b"+")), self._digits(1)]))
        # An exponent of 16 or more, leading zeros aside, makes an integer of up to 16 decimals.
        two = arena.alt(
            [
                arena.seq(arena.literal(b"1"), arena.bytes(byte_range(0x36, 0x39))),
                arena.seq(arena.bytes(byte_range(0x32, 0x39)), self.digit),
                arena.concat([self.nonzero, self.digit, self._digits(1)]),
            ]
        )
        large = arena.concat([self.e, self._optional(arena.literal(b"+")), arena.star(arena.literal(b"0")), two])
        decimals = arena.seq(arena.literal(b"."), arena.repeat(self.digit, 1, 16))
        after = arena.alt([arena.seq(zeros, exponent), arena.seq(decimals, large)])
        return arena.concat([self.minus, self._natural(), after])

    def number(self) -> Term:
        """Every number."""
        arena = self.arena
        fraction = self._optional(arena.seq(arena.literal(b"."), self._digits(1)))
        plain = arena.concat([self.minus, self._natural(), fraction])
        if self.spelling == "plain":
            return plain
        sign = self._optional(arena.bytes(byte_set(b"+-")))
        return arena.seq(plain, self._optional(arena.concat([self.e, sign, self._digits(1)])))

    def exactly(self, value: Decimal, pointer: str) -> Term:
        """One number, in its spellings. Raises `BudgetError` if it is too long to write out."""
        if not value:
            value = Decimal(0)
        if abs(value.adjusted()) > LONGEST_CONSTANT:
            raise BudgetError(
                f"The number at {pointer} has more than {LONGEST_CONSTANT:,} digits.", pointer=pointer, keyword="const"
            )
        text = plain_decimal(value)
        if self.spelling == "plain":
            return self.arena.literal(text.encode())
        arena = self.arena
        zeros = arena.star(arena.literal(b"0"))
        dot_zeros = arena.seq(arena.literal(b"."), arena.repeat(arena.literal(b"0"), 1, None))
        padded = zeros if "." in text else self._optional(dot_zeros)
        spellings = [arena.seq(arena.literal(text.encode()), padded)]
        if value:
            spellings += [self._scientific(value, marker) for marker in (b"e", b"E")]
        else:
            spellings.append(arena.seq(arena.literal(b"-0"), padded))
        return arena.alt(spellings)

    def _scientific(self, value: Decimal, marker: bytes) -> Term:
        """One digit before the point, as serialisers write very large and very small numbers."""
        arena = self.arena
        sign, digits, _ = value.normalize().as_tuple()
        head = ("-" if sign else "") + str(digits[0])
        rest = "".join(map(str, digits[1:]))
        zeros = arena.star(arena.literal(b"0"))
        if rest:
            mantissa = arena.seq(arena.literal(f"{head}.{rest}".encode()), zeros)
        else:
            dot_zeros = arena.seq(arena.literal(b"."), arena.repeat(arena.literal(b"0"), 1, None))
            mantissa = arena.seq(arena.literal(head.encode()), self._optional(dot_zeros))
        exponent = value.adjusted()
        signs = arena.literal(b"-") if exponent < 0 else self._optional(arena.literal(b"+"))
        return arena.concat([mantissa, arena.literal(marker), signs, zeros, arena.literal(str(abs(exponent)).encode())])

    def _natural(self) -> Term:
        return self.arena.alt([self.arena.literal(b"0"), self.arena.seq(self.nonzero, self._digits(0))])

    def _digits(self, least: int) -> Term:
        return self.arena.repeat(self.digit, least, None)

    def _optional(self, term: Term) -> Term:
        return self.arena.repeat(term, 0, 1)


def plain_decimal(value: Decimal) -> str:
    """A number without exponent and without zeros that say nothing."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


from dataclasses import dataclass
@dataclass(frozen=True, slots=True)
class NumberFacts:
    integer: bool | None
    low: Decimal | None
    low_exclusive: bool
    high: Decimal | None
    high_exclusive: bool
    multiples: tuple
    not_multiples: tuple
    excluded: tuple
    def admits(self, v): 
        if self.integer is not None and (v==v.to_integral_value())!=self.integer: return False
        if self.low is not None and (v<self.low or (v==self.low and self.low_exclusive)): return False
        if self.high is not None and (v>self.high or (v==self.high and self.high_exclusive)): return False
        return v not in self.excluded
def _term(self, f):
    if f.low is not None or f.high is not None or f.multiples or f.not_multiples: raise NotImplementedError("bounds")
    t = self.number() if f.integer is None else self.integer() if f.integer else self.arena.both([self.number(), self.arena.complement(self.integer())])
    ex=[self.exactly(v,"") for v in f.excluded]
    return self.arena.both([t, self.arena.complement(self.arena.alt(ex))]) if ex else t
NumberText.term=_term
NumberText.count_up_to=lambda self,f,l: None
