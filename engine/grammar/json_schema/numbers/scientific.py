"""Numbers with an exponent, as a rule.

A mantissa begins with a digit other than 0. What its digits leave open are the exponents: bounds, multiples and
excluded values all come down to a set of those (a larger exponent only ever makes more multiples), which is spelled as
any set of integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, byte_set
from engine.grammar.json_schema.numbers.digits import Digits
from engine.grammar.json_schema.numbers.multiples import (
    Modulus,
    Residue,
    first_digits,
    most_zeros,
    residue,
    zeros_needed,
)
from engine.grammar.json_schema.numbers.rule import NumberRule, Owner, Phase, Prefix
from engine.grammar.json_schema.numbers.spans import Cells, Decades, Spans, clipped

MOST_DIGITS = 20
"""Digits of a mantissa before its point and, where multiples matter, from its point to its last digit other than 0."""


@dataclass(frozen=True, slots=True)
class Mantissa(Prefix):
    """`whole`: digits before the point, while they are written; `decades` count from the last of these.

    The rest is only kept where multiples matter. `places`: digits after the point up to the last that is not 0.
    `pending`: zeros after that one. `remainders`: of the digits without the pending ones. `round`: the integer part
    ends in 0 and no other digit follows.
    """

    whole: int = 0
    places: int = 0
    pending: int = 0
    round: bool = False


class Scientific(NumberRule[Mantissa]):
    """The rule for unsigned numbers with an exponent, 0 aside. `moduli` have their lowest scale."""

    def __init__(self, digits: Digits, owner: Owner, moduli: tuple[Modulus, ...]) -> None:
        super().__init__(f"{owner.label} with exponent", b"+-.0123456789Ee", digits, owner, moduli)

    def start(self, decades: Decades) -> Term:
        """All numbers whose decades these are."""
        return self.digits.arena.call(self, Mantissa(Phase.START, decades, (0,) * len(self.moduli)))

    def nullable(self, args: Mantissa) -> bool:
        """There is always an exponent to come."""
        return False

    def body(self, arena: Arena, args: Mantissa) -> Term:
        """The next digit, the point or the exponent."""
        following: dict[Mantissa, list[int]] = {}
        for digit in range(10):
            after = self._digit(args, digit)
            if after is not None and self._text(after) is not None:
                following.setdefault(after, []).append(0x30 + digit)
        if args.phase is Phase.WHOLE:
            pointed = self._pointed(args)
            if self._text(pointed) is not None:
                following[pointed] = [0x2E]
        options = [
            arena.seq(self.owner.of(arena, arena.bytes(byte_set(read))), arena.call(self, rest))
            for rest, read in following.items()
        ]
        exponents = self.digits.exponents(self._exponents(args))
        options.append(self.owner.of(arena, arena.seq(self.digits.e, exponents)))
        return arena.alt(options)

    def _digit(self, args: Mantissa, digit: int) -> Mantissa | None:
        """After one more digit, None if it cannot stand here."""
        if args.phase is Phase.START and digit == 0:
            return None
        in_whole = args.phase in (Phase.START, Phase.WHOLE)
        decades = args.decades.moved(-1) if args.phase is Phase.WHOLE else args.decades
        decades = decades.refined(digit)
        whole = args.whole + 1 if in_whole else 0
        if not decades or whole > MOST_DIGITS:
            return None
        if not self.moduli:
            return Mantissa(Phase.WHOLE if in_whole else Phase.FRACTION, decades, (), whole)
        if in_whole:
            return Mantissa(Phase.WHOLE, decades, self._appended(args, 1, digit), whole, round=digit == 0)
        places = args.places + args.pending + 1
        if digit == 0:
            pending = min(args.pending + 1, MOST_DIGITS - args.places)
            return Mantissa(Phase.FRACTION, decades, args.remainders, 0, args.places, pending, args.round)
        if places > MOST_DIGITS:
            return None
        return Mantissa(Phase.FRACTION, decades, self._appended(args, args.pending + 1, digit), 0, places)

    def _appended(self, args: Mantissa, count: int, number: int) -> tuple[int, ...]:
        pairs = zip(args.remainders, self.moduli, strict=True)
        return tuple((remainder * 10**count + number) % modulus.divisor for remainder, modulus in pairs)

    def _pointed(self, args: Mantissa) -> Mantissa:
        return Mantissa(Phase.POINT, args.decades, args.remainders, round=args.round)

    def _exponents(self, args: Mantissa) -> Spans:
        """The exponents that make the mantissa a number of the language."""
        if args.phase in (Phase.START, Phase.POINT):
            return ()
        spans = args.decades.ended()
        for remainder, modulus in zip(args.remainders, self.moduli, strict=True):
            end_of_scale = args.places - modulus.scale
            zeros = zeros_needed(remainder, modulus.divisor)
            enough = None if zeros is None else end_of_scale + zeros
            if modulus.wanted:
                spans = () if enough is None else clipped(spans, enough, None)
            else:
                # Zeros at the end of the integer part might make up for an exponent below the scale.
                spans = clipped(spans, end_of_scale if args.round else None, enough)
        return spans

    def _found(self, args: Mantissa) -> str | None:
        if args.phase in (Phase.START, Phase.POINT):
            following = [(str(digit), self._digit(args, digit)) for digit in range(10)]
            texts = [read + text for read, after in following if after and (text := self._text(after)) is not None]
            return min(texts, key=len, default=None)
        exponent = _shortest_exponent(self._exponents(args))
        best = None if exponent is None else f"e{exponent}"
        for count in range(1, self._most_digits(args) + 1):
            if best is not None and count + 2 >= len(best):
                break
            text = self._with_digits(args, count)
            if text is not None and (best is None or len(text) < len(best)):
                best = text
        return best

    def _most_digits(self, args: Mantissa) -> int:
        """Digits to add to the mantissa among which there are some that do, if any do."""
        if self.moduli:
            return MOST_DIGITS - args.places - args.pending
        return max((width for _, width, _ in args.decades.partial), default=0) + 1

    def _with_digits(self, args: Mantissa, count: int) -> str | None:
        """A shortest text of that many digits of the mantissa and an exponent."""
        point = args.phase is Phase.WHOLE and args.whole + count > MOST_DIGITS
        moved = count if args.phase is Phase.WHOLE and not point else 0
        best: str | None = None
        for decade, block in self._places(args, count):
            text = f"e{decade - moved}"
            if best is not None and len(text) + count + point >= len(best):
                continue
            residues = self._residues(args, count, decade)
            number = None if residues is None else first_digits(count, block, residues)
            if number is not None:
                best = f"{'.' if point else ''}{number:0{count}d}{text}"
        return best

    def _places(self, args: Mantissa, count: int) -> Iterator[tuple[int, tuple[int, Cells] | None]]:
        """Decades to try, each with its block: where every number belongs to the set, one of each kind will do."""
        for decade, width, cells in args.decades.partial:
            yield decade, (width, cells)
        kinds = {0, count}  # either may be the shortest exponent
        places = args.places + args.pending + count
        for modulus in self.moduli:
            end_of_scale = places - modulus.scale
            kinds.update(range(end_of_scale - 1, end_of_scale + most_zeros(modulus.divisor) + 1))
        for first, end in args.decades.full:
            for decade in sorted({_nearest(kind, first, end) for kind in kinds}):
                yield decade, None

    def _residues(self, args: Mantissa, count: int, decade: int) -> list[Residue] | None:
        residues = []
        for remainder, modulus in zip(args.remainders, self.moduli, strict=True):
            left = decade + modulus.scale - args.places - args.pending - count
            found = residue(modulus, remainder * 10**args.pending, count, left)
            if found is None:
                return None
            residues.append(found)
        return residues


def _shortest_exponent(spans: Spans) -> int | None:
    """The exponent of a set that is shortest to write."""
    nearest = [_nearest(0, first, end) for first, end in spans]
    return min(nearest, key=lambda exponent: len(str(exponent)), default=None)


def _nearest(to: int, first: int | None, end: int | None) -> int:
    """The member of a range that is nearest to an integer."""
    if first is not None and to < first:
        return first
    return to if end is None or to < end else end - 1
