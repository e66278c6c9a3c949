"""Numbers without exponent that must, or must not, be multiples of others, as a rule.

A state keeps what is still cut by a bound and the remainders of the digits so far (`Written`); what completes it is
found by arithmetic, not by looking at all remainders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, byte_set
from engine.grammar.json_schema.numbers.digits import Digits
from engine.grammar.json_schema.numbers.multiples import Modulus, first_digits, residue
from engine.grammar.json_schema.numbers.rule import NumberRule, Owner, Phase, Prefix
from engine.grammar.json_schema.numbers.spans import Decades, holds, united


@dataclass(frozen=True, slots=True)
class Written(Prefix):
    """`zero`: all digits so far are 0. `places`: digits after the point, up to the scale.

    `decades` count from the last digit of the integer part, and from the last digit of all while these are 0.
    `remainders` are kept as far as digits to come can tell them apart; from the end of a modulus' scale on, 0 is a
    multiple and 1 is none.
    """

    zero: bool = False
    places: int = 0


class Positional(NumberRule[Written]):
    """The rule for unsigned numbers without exponent.

    `scale`: of the cells of which the decades are made. `point`: whether a fraction may be written at all. `zero`:
    whether 0 is one of the numbers.
    """

    def __init__(
        self, digits: Digits, owner: Owner, moduli: tuple[Modulus, ...], scale: int, point: bool, zero: bool
    ) -> None:
        alphabet = b".0123456789" if point else b"0123456789"
        super().__init__(f"{owner.label} without exponent", alphabet, digits, owner, moduli)
        self.scale = scale
        self.point = point
        self.zero = zero
        self.dense = not any(modulus.wanted for modulus in moduli)

    def start(self, decades: Decades) -> Term:
        """All numbers whose decades these are, and 0 where that is one."""
        return self.digits.arena.call(self, Written(Phase.START, decades, (0,) * len(self.moduli)))

    def nullable(self, args: Written) -> bool:
        """Whether the digits so far are a whole number of the language."""
        return args.phase in (Phase.WHOLE, Phase.FRACTION) and self._point_fits(args)

    def body(self, arena: Arena, args: Written) -> Term:
        """The next digit or the point, or the end."""
        following: dict[Term, list[int]] = {}
        for byte, rest in self._next(arena, args):
            following.setdefault(rest, []).append(byte)
        options = [
            arena.seq(self.owner.of(arena, arena.bytes(byte_set(read))), rest) for rest, read in following.items()
        ]
        if self.nullable(args):
            options.append(arena.epsilon)
        return arena.alt(options)

    def _next(self, arena: Arena, args: Written) -> Iterator[tuple[int, Term]]:
        for digit in range(10):
            after = self._digit(args, digit)
            if after is not None and self._text(after) is not None:
                yield 0x30 + digit, self._rest(arena, after)
        if args.phase is Phase.WHOLE and self.point:
            after = self._pointed(args)
            if self._text(after) is not None:
                yield 0x2E, self._rest(arena, after)

    def _rest(self, arena: Arena, args: Written) -> Term:
        """What follows some digits: beyond the scale only whether there are zeros matters."""
        if not self._at_end_of_scale(args):
            return arena.call(self, args)
        options = []
        if self._point_fits(args):
            options.append(arena.repeat(arena.literal(b"0"), 0 if args.phase is Phase.FRACTION else 1, None))
        if self._gap_fits(args):
            options.append(arena.concat([self.digits.zeros, self.digits.nonzero, self.digits.any]))
        return self.owner.of(arena, arena.alt(options))

    def _at_end_of_scale(self, args: Written) -> bool:
        return args.after_point and args.places == self.scale

    def _digit(self, args: Written, digit: int) -> Written | None:
        """After one more digit, None if it cannot stand here."""
        if args.phase is Phase.START and digit == 0:
            return Written(Phase.WHOLE, args.decades.within(None, 0), args.remainders, zero=True)
        if args.phase is Phase.WHOLE and args.zero:
            return None
        places = args.places
        if args.phase in (Phase.START, Phase.WHOLE):
            phase, decades = Phase.WHOLE, args.decades
            if args.phase is Phase.WHOLE:
                decades = decades.moved(-1)
            decades = decades.within(0, None).refined(digit)
        else:
            phase = Phase.FRACTION
            places = min(places + 1, self.scale)
            decades = args.decades.moved(1) if args.zero else args.decades
            if args.zero and digit == 0:
                return Written(phase, decades.within(None, 0), args.remainders, True, places)
            decades = decades.within(0, 1).refined(digit)
        if not decades:
            return None
        return Written(phase, decades, self._remainders(args, digit, phase, places), False, places)

    def _pointed(self, args: Written) -> Written:
        remainders = tuple(
            min(remainder, 1) if modulus.scale == 0 else remainder
            for remainder, modulus in zip(args.remainders, self.moduli, strict=True)
        )
        decades = args.decades if args.zero else args.decades.within(0, 1)
        return Written(Phase.POINT, decades, remainders, args.zero)

    def _remainders(self, args: Written, digit: int, phase: Phase, places: int) -> tuple[int, ...]:
        remainders = []
        for remainder, modulus in zip(args.remainders, self.moduli, strict=True):
            if phase is Phase.FRACTION and args.places >= modulus.scale:
                remainders.append(1 if digit else remainder)
                continue
            left = modulus.scale - places
            remainder = (10 * remainder + digit) % (modulus.divisor // gcd(modulus.divisor, 10**left))
            remainders.append(min(remainder, 1) if left == 0 and phase is Phase.FRACTION else remainder)
        return tuple(remainders)

    def _point_fits(self, args: Written) -> bool:
        """Whether the number written so far belongs to the language."""
        if args.zero:
            return self.zero
        if not holds(args.decades.ended(), 0):
            return False
        for remainder, modulus in zip(args.remainders, self.moduli, strict=True):
            left = 0 if args.phase is Phase.FRACTION and args.places >= modulus.scale else modulus.scale - args.places
            multiple = remainder == 0 if left == 0 else remainder * 10**left % modulus.divisor == 0
            if multiple != modulus.wanted:
                return False
        return True

    def _gap_fits(self, args: Written) -> bool:
        """Whether a number just above the one written so far belongs to the language, at the end of the scale."""
        if not self.dense:
            return False
        if args.zero:
            return bool(args.decades.within(None, 0))
        return holds(args.decades.full, 0) or any(cells[-1][1] == 2 for _, _, cells in args.decades.partial)

    def _found(self, args: Written) -> str | None:
        if self.nullable(args):
            return ""
        if self._at_end_of_scale(args):
            if args.phase is Phase.POINT and self._point_fits(args):
                return "0"
            return "1" if self._gap_fits(args) else None
        if args.phase is Phase.START or args.zero:
            return self._stepwise(args)
        if args.phase is Phase.WHOLE:
            return self._digits_and_fraction(args)
        for count in range(1, self._most_places(args) + 1):
            number = self._number(args, 0, count, count)
            if number is not None:
                return f"{number:0{count}d}"
        return None

    def _stepwise(self, args: Written) -> str | None:
        """By looking one step ahead, from the last of the zeros that may follow backwards."""
        zeros = [args]
        while zeros[-1].after_point and zeros[-1].places < self.scale:
            after = self._digit(zeros[-1], 0)
            if after is None:
                break
            zeros.append(after)
        for state in reversed(zeros):
            following = [(str(digit), self._digit(state, digit)) for digit in range(10)]
            if state.phase is Phase.WHOLE and self.point:
                following.append((".", self._pointed(state)))
            texts = [read + text for read, after in following if after and (text := self._text(after)) is not None]
            self._shortest[state] = "" if self.nullable(state) else min(texts, key=len, default=None)
        return self._shortest[args]

    def _digits_and_fraction(self, args: Written) -> str | None:
        """More digits of the integer part, then perhaps a fraction, whichever is shortest together."""
        best: str | None = None
        most = self._most_places(args) if self.point else 0
        for whole in self._more_digits(args.decades):
            if best is not None and whole >= len(best):
                break
            for places in range(most + 1):
                if best is not None and whole + places + bool(places) >= len(best):
                    break
                number = self._number(args, whole, whole + places, places) if whole + places else None
                if number is not None:
                    text = f"{number:0{whole + places}d}"
                    best = text[:whole] + ("." + text[whole:] if places else "")
        return best

    def _more_digits(self, decades: Decades) -> Iterator[int]:
        """How many more digits the integer part may have, ascending; where any number may, as many as can matter."""
        enough = sum(modulus.divisor.bit_length() // 3 + 1 for modulus in self.moduli) + 1
        spans = united([*decades.full, *((decade, decade + 1) for decade, _, _ in decades.partial)])
        for first, end in spans:
            assert first is not None
            yield from range(first, first + enough if end is None else end)

    def _most_places(self, args: Written) -> int:
        """Digits of a fraction among which there is a number of the language, if there is one."""
        return self.scale - args.places + self.dense

    def _number(self, args: Written, decade: int, count: int, places: int) -> int | None:
        """The smallest number whose `count` digits may end the text, the last `places` of them after the point."""
        residues = []
        for remainder, modulus in zip(args.remainders, self.moduli, strict=True):
            settled = args.after_point and args.places >= modulus.scale
            if settled and remainder:
                continue
            found = residue(modulus, remainder, count, modulus.scale - args.places - places)
            if found is None:
                return None
            residues.append(found)
        if holds(args.decades.full, decade):
            return first_digits(count, None, residues)
        blocks = [(width, cells) for place, width, cells in args.decades.partial if place == decade]
        return first_digits(count, blocks[0], residues) if blocks else None
