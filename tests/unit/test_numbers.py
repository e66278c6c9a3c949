"""JSON numbers within bounds, of multiples, with exclusions: judged by exact arithmetic, both ways."""

from __future__ import annotations

import random
import re
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import pytest

from engine.automaton import explain
from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.budget import Budget
from engine.errors import BudgetError, Origin
from engine.grammar.json_schema.numbers.text import NumberFacts, NumberText

Spelling = Literal["plain", "any"]
SPELLINGS: tuple[Spelling, ...] = ("plain", "any")
PARTS = re.compile(r"(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")
DIVISORS = ["1", "2", "3", "5", "7", "8", "12", "30", "100", "1e2", "0.5", "0.01", "2.5", "0.25", "1.5", "0.3", "1e-8"]


class Numbers:
    """The automaton of some facts."""

    def __init__(self, facts: NumberFacts, spelling: Spelling, origin: Origin | None = None) -> None:
        self.arena = Arena(Budget())
        self.text = NumberText(self.arena, spelling)
        self.automaton = Automaton(self.arena, self.text.term(facts, origin, "<number>"))

    def accept(self, text: str) -> bool:
        state = self.automaton.advance(self.automaton.start, text.encode()) if self.automaton.start >= 0 else None
        return state is not None and self.automaton.is_accepting(state)


def accepted(facts: NumberFacts, spelling: Spelling, *texts: str) -> list[bool]:
    numbers = Numbers(facts, spelling)
    return [numbers.accept(text) for text in texts]


def assert_accepts(facts: NumberFacts, spelling: Spelling, good: str, bad: str) -> None:
    numbers = Numbers(facts, spelling)
    texts = [*good.split(), *bad.split()]
    assert [text for text in texts if numbers.accept(text)] == good.split()


def bounds(low: str | None = None, high: str | None = None, **more: object) -> NumberFacts:
    return NumberFacts(
        low=None if low is None else Decimal(low),
        high=None if high is None else Decimal(high),
        **more,  # type: ignore[arg-type]
    )


def satisfied(facts: NumberFacts, value: Fraction) -> bool:
    """The specification's words, in exact arithmetic."""
    integer = value.denominator == 1
    low = None if facts.low is None else Fraction(facts.low)
    high = None if facts.high is None else Fraction(facts.high)
    return (
        facts.integer in (None, integer)
        and (low is None or low < value or (low == value and not facts.low_exclusive))
        and (high is None or value < high or (value == high and not facts.high_exclusive))
        and all((value / Fraction(divisor)).denominator == 1 for divisor in facts.multiples)
        and all((value / Fraction(divisor)).denominator > 1 for divisor in facts.not_multiples)
        and value not in map(Fraction, facts.excluded)
    )


def offered(facts: NumberFacts, spelling: Spelling, text: str) -> bool | None:
    """Whether the spelling is promised, by the notes; None for those that may be left out."""
    parts = PARTS.fullmatch(text)
    assert parts is not None
    sign, whole, fraction, exponent = parts.groups()
    is_zero = not (whole + (fraction or "")).strip("0")
    if spelling == "plain":
        return None if sign and is_zero else exponent is None and not (facts.integer and fraction)
    if exponent is None or is_zero:
        return True
    of_multiples = facts.integer is not None or facts.multiples or facts.not_multiples
    decimals = (fraction or "").rstrip("0")
    if whole == "0" or len(whole) > 20 or (of_multiples and len(decimals) > 20):
        return None
    return None if of_multiples and whole.endswith("0") and not decimals and int(exponent) < 0 else True


def random_number(rng: random.Random) -> Decimal:
    digits, places = rng.choice([(0, 0), (120, 0), (1200, 1), (99_999, 3), (9, -4), (9, 5)])
    return Decimal((rng.randrange(2), tuple(map(int, str(rng.randint(0, digits)))), -places))


def random_facts(rng: random.Random) -> NumberFacts:
    low = random_number(rng) if rng.random() < 0.6 else None
    high = random_number(rng) if rng.random() < 0.6 else None
    if low is not None and high is not None and low > high and rng.random() < 0.9:
        low, high = high, low
    some = [tuple(map(Decimal, rng.sample(DIVISORS, rng.choice([1, 1, 2])))) for _ in range(2)]
    return NumberFacts(
        rng.choice([True, True, None, None, False]),
        low,
        rng.random() < 0.5,
        high,
        rng.random() < 0.5,
        some[0] if rng.random() < 0.4 else (),
        some[1] if rng.random() < 0.25 else (),
        tuple(random_number(rng) for _ in range(rng.choice([0, 0, 1, 3]))),
    )


def random_texts(rng: random.Random) -> list[str]:
    """Integers, decimals of up to three places, exponents of every form, and what serialisers make of floats."""
    texts = {str(number) for number in rng.sample(range(-120, 121), 60)}
    for _ in range(60):
        sign, places = rng.choice(["", "", "-"]), rng.randint(1, 3)
        texts.add(f"{sign}{rng.choice([0, rng.randint(0, 120)])}.{rng.randrange(10**places):0{places}d}")
        mantissa = rng.choice(["0", "0.0", f"{rng.randint(1, 9)}", f"{rng.randint(0, 12)}.{rng.randint(0, 1500)}"])
        texts.add(f"{sign}{mantissa}{rng.choice('eE')}{rng.choice(['', '+', '-', '0', '-00'])}{rng.randint(0, 5)}")
    for _ in range(15):
        number = rng.uniform(-1, 1) * 10 ** rng.randint(-12, 25)
        texts.update([repr(number), javascript(number), repr(float(int(number))), javascript(float(int(number)))])
    return sorted(texts | {"-0", "-0.0", "0e0", "0.00", "-1e400", "1e-400"})


def javascript(number: float) -> str:
    """Number::toString of ECMA-262: positional from 1e-6 to below 1e21."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    if number == 0:
        return "0"
    written, point = "".join(map(str, digits)), len(digits) + exponent
    if 0 < point <= 21:
        text = written.ljust(point, "0") if exponent >= 0 else f"{written[:point]}.{written[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + written
    else:
        text = f"{written[0]}{'.' * (len(written) > 1)}{written[1:]}e{point - 1:+d}"
    return "-" * sign + text


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("seed", range(30))
def test_accepts_the_numbers_that_satisfy_the_facts_and_no_others(seed: int, spelling: Spelling) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng)
    numbers = Numbers(facts, spelling)
    for text in random_texts(rng):
        satisfying, promised = satisfied(facts, Fraction(Decimal(text))), offered(facts, spelling, text)
        if not satisfying or promised is False:
            assert not numbers.accept(text), (facts, text)
        elif promised:
            assert numbers.accept(text), (facts, text)


@pytest.mark.parametrize("seed", range(20))
def test_every_state_has_a_shortest_way_out_and_no_way_into_nothing(seed: int) -> None:
    rng = random.Random(seed)
    facts = random_facts(rng)
    numbers = Numbers(facts, rng.choice(SPELLINGS))
    automaton = numbers.automaton
    state, text = automaton.start, b""
    if state < 0:
        assert numbers.text.count_up_to(facts, 0) == []
        return
    for _ in range(6):
        assert len(numbers.arena.moves(automaton.term(state))) == len(automaton.moves(state))
        rest = automaton.shortest(state)
        assert satisfied(facts, Fraction(Decimal((text + rest).decode())))
        distance = steps_to_acceptance(automaton, state, 4)
        assert distance == len(rest) or (distance is None and len(rest) > 4)
        if not automaton.moves(state):
            return
        members, following = rng.choice(automaton.moves(state))
        text += bytes([rng.choice([byte for byte in range(256) if members >> byte & 1])])
        state = following


def steps_to_acceptance(automaton: Automaton, start: int, most: int) -> int | None:
    seen, queue = {start}, deque([(start, 0)])
    while queue:
        state, steps = queue.popleft()
        if automaton.is_accepting(state):
            return steps
        for _, following in automaton.moves(state) if steps < most else ():
            if following not in seen:
                seen.add(following)
                queue.append((following, steps + 1))
    return None


@pytest.mark.parametrize(
    ("facts", "good", "bad"),
    [
        # Reports: bounds and multipleOf ignored (outlines-core#261, #147), float ranges (xgrammar#662, #667), leading
        # zeros (llama.cpp PR#7797).
        (bounds("18", integer=True), "18 19 99 100 12345678901234567890", "17 1 0 -18 018 1.8e1 18.0"),
        (bounds(integer=True, multiples=(Decimal(5),)), "0 5 -5 10 1234567890", "7 1 -4 5.0 05"),
        (bounds("-4", "4"), "-4 4 -0.5 0 0.1 3.999 -4.000 -0.0", "-4.0001 4.1 5 -10 -.5"),
        (bounds("0", low_exclusive=True), "0.1 0.000000001 1 10.50", "0 -1 0.0 -0 -0.1"),
        (bounds("3", integer=True), "3 10", "01 2 -3 03"),
        # Decimals are exact: 0.3 is not 0.30000000000000004.
        (bounds("0.1", "0.3"), "0.1 0.10 0.1000 0.2 0.3 0.300", "0.0999999 0.30000000000000004 0.4 1 0"),
        (bounds("1.5", "1.5"), "1.5 1.500", "1 1.51 1.4 2"),
        (bounds("1.25", "1.75", low_exclusive=True, high_exclusive=True), "1.26 1.2501 1.7 1.3", "1.25 1.2500 1.75 1"),
        (bounds("9.99", "1000.5"), "9.99 9.991 10 99 999.9 1000.5 1000.49", "9.98 9 1000.51 1001 2000"),
        (bounds("1.5", "3.5", integer=True), "2 3", "1 4 2.0"),
        (bounds("-100", "-1", integer=True), "-1 -99 -100", "0 -0 1 -101 -"),
        (bounds(multiples=(Decimal("0.01"),)), "0.01 19.99 19.990 5 0 -0.10", "0.075 0.001 19.999"),
        (bounds(multiples=(Decimal("1e-8"),)), "0.00000001 1.5 0.12345678 3", "0.000000001 0.123456789"),
        (bounds(multiples=(Decimal("1.5"),)), "0 1.5 3 4.50 -6.0", "1 2.5 4 1.50001"),
        (bounds(multiples=(Decimal(1),)), "1 1.0 -7.00", "1.5 0.1"),
        (bounds(multiples=(Decimal(4), Decimal(6)), integer=True), "12 0 -24 120", "4 6 8 18"),
        (bounds("1", "100", integer=True, multiples=(Decimal(7),)), "7 98 14", "0 105 -7 99"),
        (bounds(integer=False), "0.5 -1.01 10.10", "1 1.0 0 -3.00"),
        (bounds(integer=True, not_multiples=(Decimal(2),)), "1 -7 13", "0 2 -8"),
        (bounds("0", "1", integer=True, excluded=(Decimal(1),)), "0", "1 -0 2"),
        (bounds(excluded=(Decimal("0.5"), Decimal(2))), "0.51 0.05 2.1 20 0", "0.5 0.500 2 2.0"),
    ],
)
def test_named_cases(facts: NumberFacts, good: str, bad: str) -> None:
    assert_accepts(facts, "plain", good, bad)


@pytest.mark.parametrize(
    ("facts", "good", "bad"),
    [
        (bounds("0", low_exclusive=True), "1e-9 0.5e-3 1e-05 1e999999999 0.1e+1", "0e0 0e9 -1e-9 0.0"),
        (bounds("0"), "0e0 -0.0 -0 1e-9 1E+2", "-1e-9 -0.1"),
        (bounds("-4", "4"), "4e0 -4.0e+00 12e-1 -1e-300", "4.1e0 41e-1 1e1"),
        (bounds("150", "2500"), "1.5e2 2.5E3 1.50e+02 999e0 9.99e2 2500.0 15e1", "1.49e2 2.501e3 1e2 1e4 1e0002"),
        (bounds("1e-7", "1e21"), "1e-7 1e-07 1e+21 5e20 1.0E+21", "9e-8 1.1e21 1e22 9.99e-08"),
        (bounds(integer=True), "1e2 1E+2 1.5e+16 1.5e3 100.0 -0.0 0e0 1e+21 1.0e0 12e05", "1.5e0 1e-1 1.25e1 1.5"),
        (bounds("0", "100", integer=True), "1e2 1.0e+02 5e1 1.5e1 7.0 -0.0", "1.01e2 1e3 -1 1.05e1"),
        (bounds(multiples=(Decimal("0.01"),)), "1e-2 1.5e-1 1e16 19.99 1.999e1", "1e-3 7.5e-2 1.9999e1"),
        (bounds(multiples=(Decimal("1e-8"),)), "1e-08 1.5e-07 12391239123 1e308", "1e-09 1.5e-08"),
        (bounds(integer=True, multiples=(Decimal("0.5"),)), "1e308 3.0", "0.5 5e-1"),
        (bounds(integer=True, multiples=(Decimal("0.123456789"),)), "123456789 1.23456789e+8", "1e308 1.23456788e+8"),
        (bounds(integer=True, multiples=(Decimal(3),)), "3e16 1.2e+17 2.1e1", "1e16 1.3e+17 2.2e1"),
        (bounds(integer=False), "1e-05 1.5e0 2.50e-1 15e-1", "1e16 1.5e1 5e0 1.0e0 10e-1"),
        (bounds(excluded=(Decimal(150),)), "1.5e1 1.51e2 15e2", "1.5e2 150.0 15e1 1.50E+02 1500e-1"),
    ],
)
def test_named_cases_with_exponents(facts: NumberFacts, good: str, bad: str) -> None:
    assert_accepts(facts, "any", good, bad)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_bounds_of_hundreds_of_digits(spelling: Spelling) -> None:
    low = int("1" + "23" * 150)
    texts = [str(low), str(low - 1), str(low + 1), "9" * 301, "9" * 300]
    assert accepted(bounds(str(low), integer=True), spelling, *texts) == [True, False, True, True, False]
    high = low + 10**200
    texts = [str(high), str(high + 1), str(low + 7**200)]
    assert accepted(bounds(str(low), str(high), integer=True), spelling, *texts) == [True, False, True]
    multiple = (low // 97 + 1) * 97
    facts = bounds(str(low), integer=True, multiples=(Decimal(97),))
    assert accepted(facts, spelling, str(multiple), str(multiple - 97), str(multiple + 1)) == [True, False, False]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_fractions_of_hundreds_of_digits(spelling: Spelling) -> None:
    bound = "0." + "37" * 150
    texts = [bound, bound + "00", bound + "0001", bound[:-1], bound[:-1] + "8", bound[:-1] + "68"]
    assert accepted(bounds(bound), spelling, *texts) == [True, True, True, False, True, False]
    assert accepted(bounds(None, bound), spelling, *texts) == [True, True, False, True, False, True]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_large_divisor_costs_nothing_up_front(spelling: Spelling) -> None:
    facts = bounds("1e20", "1e25", integer=True, multiples=(Decimal(1_000_003),))
    numbers = Numbers(facts, spelling)
    assert numbers.accept(str(1_000_003 * 10**15))
    assert not numbers.accept(str(1_000_003 * 10**15 + 1))
    assert len(numbers.automaton.shortest(numbers.automaton.start)) <= 21
    assert len(numbers.arena) < 3_000


def test_a_bound_too_long_is_refused_with_its_place() -> None:
    with pytest.raises(BudgetError) as caught:
        Numbers(bounds("1e999999999"), "plain", Origin("/age", "minimum"))
    assert (caught.value.pointer, caught.value.keyword) == ("/age", "minimum")


def test_a_minus_sign_is_no_trap() -> None:
    for facts in (bounds("0"), bounds("-0.5", integer=True), bounds("-3", integer=True, multiples=(Decimal(5),))):
        assert accepted(facts, "plain", "0", "-0") == [True, False]
        assert accepted(facts, "any", "0", "-0", "-0.0") == [True, True, True]
    assert accepted(bounds("-1"), "plain", "-0", "-0.0") == [True, True]


def test_facts_without_bounds_are_integer_and_number() -> None:
    arena = Arena(Budget())
    for spelling in SPELLINGS:
        numbers = NumberText(arena, spelling)
        assert numbers.term(NumberFacts(integer=True)) is numbers.integer()
        assert numbers.term(NumberFacts()) is numbers.number()
        assert numbers.notes


@pytest.mark.parametrize(
    ("facts", "values"),
    [
        (bounds("1", "4", integer=True), "1 2 3 4"),
        (bounds("-1.5", "1.5", integer=True), "-1 0 1"),
        (bounds("0", "1", multiples=(Decimal("0.25"),)), "0 0.25 0.5 0.75 1"),
        (bounds("0", "1", multiples=(Decimal("0.25"),), integer=False), "0.25 0.5 0.75"),
        (bounds("2.5", "2.5"), "2.5"),
        (bounds("2.5", "2.5", integer=True), ""),
        (bounds("2", "1"), ""),
        (bounds("1", "1", low_exclusive=True), ""),
        (bounds(integer=True, not_multiples=(Decimal("0.5"),)), ""),
        (bounds("1", "3", integer=True, excluded=(Decimal(2),)), "1 3"),
        (bounds("0", "5", integer=True), None),
        (bounds("0", "1"), None),
        (bounds("0", integer=True), None),
        (bounds(not_multiples=(Decimal(1),)), None),
    ],
)
def test_few_values_are_listed(facts: NumberFacts, values: str | None) -> None:
    numbers = Numbers(facts, "plain")
    listed = numbers.text.count_up_to(facts, 5)
    assert listed == (None if values is None else [Decimal(value) for value in values.split()])
    assert (numbers.automaton.start < 0) == (listed == [])


def test_the_alphabet_is_that_of_the_spellings() -> None:
    cases: list[tuple[NumberFacts, Spelling, bytes]] = [
        (bounds("3", "9", integer=True), "plain", b"3456789"),
        (bounds("0", integer=True, multiples=(Decimal(7),)), "plain", b"0123456789"),
        (bounds(multiples=(Decimal("0.25"),)), "plain", b"-.0123456789"),
        (bounds("3", "9"), "any", b"+-.0123456789Ee"),
    ]
    for facts, spelling, alphabet in cases:
        assert Numbers(facts, spelling).automaton.alphabet() == frozenset(alphabet)


def test_every_state_names_its_owner() -> None:
    origin = Origin("/price", "multipleOf")
    for facts in (bounds("10", "20"), bounds(multiples=(Decimal("0.25"),)), bounds("3", integer=True)):
        for spelling in SPELLINGS:
            automaton = Numbers(facts, spelling, origin).automaton
            state: int | None = automaton.start
            for byte in b"12":
                assert state is not None
                assert explain.origins(automaton.arena, automaton.term(state)) == (origin,)
                assert "<number>" in explain.describe(automaton.term(state))
                state = automaton.advance(state, bytes([byte]))


def test_a_long_constant_is_not_rounded() -> None:
    arena = Arena(Budget())
    value = Decimal("1234567890123456789012345678901234567891")
    automaton = Automaton(arena, NumberText(arena, "any").exactly(value, "/const"))
    for text, good in [
        (str(value), True),
        ("1.234567890123456789012345678901234567891e39", True),
        ("1.234567890123456789012345679e39", False),
    ]:
        state = automaton.advance(automaton.start, text.encode())
        assert (state is not None and automaton.is_accepting(state)) == good
