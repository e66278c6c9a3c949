"""Several bytes at once against byte by byte: the same term, the very object, in the same arena."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import Budget, ConstraintError, compile_gbnf, compile_json_schema, compile_lark, compile_regex
from engine.automaton.arena import Arena
from engine.automaton.reading import after
from engine.automaton.terms import LONGEST_LITERAL, Literal, Term, byte_range, fixed_text
from engine.constraint import Constraint
from engine.errors import Origin
from tests.unit.random_schemas import schemas
from tests.unit.test_mask_properties import OPTIONS, TOKENS

EXAMPLES = int(os.environ.get("MASKSCOPE_EXAMPLES", "60"))
BUDGET = Budget(seconds=5, terms=300_000, states=20_000)
LETTER = byte_range(ord("a"), ord("z"))


def by_bytes(arena: Arena, term: Term, data: bytes) -> Term:
    for byte in data:
        moves = arena.moves(term, 1 << byte)
        term = moves[0][1] if moves else arena.empty
    return term


def assert_same(arena: Arena, term: Term, data: bytes) -> None:
    # At once first: what it makes may not depend on terms that byte by byte leaves behind, nor the other way round.
    at_once = after(arena, term, data)
    assert at_once is by_bytes(arena, term, data), data
    for cut in range(1, len(data)):
        assert after(arena, after(arena, term, data[:cut]), data[cut:]) is at_once, (data, cut)


def follow(constraint: Constraint, random: Random, steps: int) -> None:
    """Read a random text token by token, trying other tokens from where it stands."""
    automaton = constraint.automaton
    state = constraint.start
    for _ in range(steps):
        term = automaton.term(state)
        shortest = constraint.shortest(state)
        tried = [*random.sample(TOKENS, 12), shortest, shortest[:3], shortest[:-1] + b"x", b"aaaaaaaaaa", b"a, b-c\xc3"]
        for form in (term, automaton.mask_term(state, 9)):
            for data in tried:
                assert_same(automaton.arena, form, data)
        onward = [after for data in [*TOKENS, shortest[:2]] if (after := automaton.advance(state, data)) is not None]
        if not onward:
            break
        state = random.choice(onward)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="MASKSCOPE_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
@given(schemas(depth=2), st.sampled_from(OPTIONS), st.integers(0, 2**32))
def test_random_schemas(schema: Any, options: dict[str, str], seed: int) -> None:
    try:
        constraint = compile_json_schema(schema, **options, budget=BUDGET)  # type: ignore[arg-type]
        follow(constraint, Random(seed), 5)
    except ConstraintError:
        return


SCHEMAS: dict[str, Any] = {
    "declared and undeclared names": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "ab": {"type": "string", "maxLength": 5}, "abc": {"enum": ["a", "ab"]}},
        "additionalProperties": {"type": "array", "items": {"type": "integer"}},
    },
    "lengths": {"type": "array", "items": {"type": "string", "minLength": 3, "maxLength": 7}},
    "pattern": {"type": "object", "patternProperties": {"^a+b": {"type": "string", "pattern": "^[ab]{2,5}c*$"}}},
}


@pytest.mark.parametrize("whitespace", ["compact", "spaced", "any"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas(name: str, whitespace: Any) -> None:
    constraint = compile_json_schema(SCHEMAS[name], whitespace=whitespace)
    for seed in range(3):
        follow(constraint, Random(seed), 8)


GRAMMARS = [
    lambda: compile_gbnf('root ::= ("a" | "ab" | "aba"){2,4} [a-c]* "c"'),
    lambda: compile_gbnf('root ::= "(" root? ")" | "[" root "]" | [a-z]{1,3}'),
    lambda: compile_lark('start: WORD (", " WORD)* "."\nWORD: /[a-z]+/\n%ignore " "'),
    lambda: compile_regex("(a|b|ab)*a{2,5}b{0,3}[ab]{3}"),
    lambda: compile_regex("([a-c]{2}){1,3}[a-c]{0,2}(aa|bb)?"),
]


@pytest.mark.parametrize("place", range(len(GRAMMARS)))
def test_grammars(place: int) -> None:
    constraint = GRAMMARS[place]()
    random = Random(place)
    for _ in range(150):
        data = bytes(random.choice(b"aaabbbc([]), .") for _ in range(random.randint(1, 9)))
        assert_same(constraint.automaton.arena, constraint.automaton.root, data)


def random_term(arena: Arena, random: Random, depth: int) -> Term:
    """A term of letters, with every kind of head that is read at once, tagged or not."""
    kind = random.randrange(9) if depth else random.randrange(3)
    parts = [random_term(arena, random, depth - 1) for _ in range(random.randint(2, 3))] if kind > 2 else []
    low = random.randrange(4)
    if kind == 0:
        return arena.bytes(random.choice([LETTER, byte_range(97, 98), byte_range(98, 99), 1 << 97]))
    if kind == 1:
        return arena.literal(bytes(random.choice(b"aab") for _ in range(random.randint(1, 4))))
    if kind == 2:
        return arena.words(bytes(random.choice(b"ab") for _ in range(random.randint(1, 3))) for _ in range(3))
    if kind in (3, 4):
        return arena.concat(parts)
    if kind == 5:
        return arena.alt(parts)
    if kind == 6:
        return arena.repeat(parts[0], low, random.choice([None, low + random.randint(1, 3)]))
    if kind == 7:
        return arena.tag(Origin(random.choice(["/a", "/b"])), parts[0], random.choice(["", "x", "rest of x"]))
    out = arena.complement(arena.words([b"a", b"ab", b"abba"]))
    return arena.tag(Origin("/c"), arena.both([out, arena.repeat(arena.bytes(LETTER), low, None)]))


@pytest.mark.parametrize("seed", range(20))
def test_random_terms(seed: int) -> None:
    random = Random(seed)
    for _ in range(40):
        base = Arena(BUDGET)
        given = random_term(base, random, 2)
        arena = Arena(BUDGET, base.close())
        term = arena.concat([arena.tag(Origin("/given"), given, "x"), random_term(arena, random, 4)])
        for _ in range(6):
            assert_same(arena, term, bytes(random.choice(b"aaabbc") for _ in range(random.randint(1, 8))))


@pytest.fixture
def arena() -> Arena:
    return Arena(BUDGET)


def test_a_fixed_text_leaves_no_terms_between(arena: Arena) -> None:
    term = arena.tag(Origin("/a"), arena.literal(b"abcdefgh"), "x")
    before = len(arena)
    rest = after(arena, term, b"abcdef")
    assert rest is arena.tag(Origin("/a"), arena.literal(b"gh"), "rest of x")
    assert len(arena) == before + 2, "the rest and its owner"
    assert after(arena, term, b"abx") is arena.empty
    assert after(arena, term, b"abcdefghi") is arena.empty


LONG = bytes(97 + place * place % 26 for place in range(3 * LONGEST_LITERAL + 100))


def test_what_remains_of_a_long_text_is_one_term_however_it_came_about(arena: Arena) -> None:
    term = arena.literal(LONG)
    for read in (1, 99, 100, 101, LONGEST_LITERAL, 2 * LONGEST_LITERAL + 100, len(LONG) - 1):
        rest = after(arena, term, LONG[:read])
        assert rest is arena.literal(LONG[read:])
        assert rest is by_bytes(arena, term, LONG[:read])
    assert after(arena, term, LONG) is arena.epsilon
    assert after(arena, term, LONG[:700] + b"!") is arena.empty


def test_a_long_text_is_not_two_that_follow_each_other(arena: Arena) -> None:
    one, two = LONG[:700], LONG[700:1300]
    assert fixed_text(arena.literal(one)) == one
    assert arena.literal(one + two) is not arena.seq(arena.literal(one), arena.literal(two))
    assert fixed_text(arena.seq(arena.literal(one), arena.literal(two))) is None


def test_characters_at_the_end_of_a_piece_are_described_whole() -> None:
    for size in range(LONGEST_LITERAL, LONGEST_LITERAL + 4):
        assert compile_regex("é" * size).describe(0).startswith("ééé")
        assert compile_regex("zé" * size).describe(0).startswith("zézé")


def test_the_states_along_a_long_text_hold_a_piece_of_it_each() -> None:
    text = bytes(LONG[place % len(LONG)] for place in range(200_000)).decode()
    constraint = compile_json_schema({"const": text})
    state, held = constraint.start, []
    for byte in f'"{text[:1000]}'.encode():
        following = constraint.advance(state, bytes([byte]))
        assert following is not None
        state = following
        held.append(len(constraint.automaton.arena))
    fixed = [term.data for term in constraint.automaton.arena if isinstance(term, Literal)]
    assert sum(map(len, fixed)) < len(text) + 1000 * LONGEST_LITERAL
    assert held[-1] - held[2] <= 3 * 1000, "a rest, its owner and what follows for each byte"
    assert constraint.shortest(state) == text[1000:].encode() + b'"'


def test_a_run_is_counted_off(arena: Arena) -> None:
    term = arena.concat([arena.repeat(arena.bytes(LETTER), 2, 50), arena.literal(b"!")])
    before = len(arena)
    rest = arena.concat([arena.repeat(arena.bytes(LETTER), 0, 10), arena.literal(b"!")])
    assert after(arena, term, b"a" * 40) is rest
    assert len(arena) <= before + 4
    assert after(arena, term, b"a" * 50) is arena.literal(b"!")
    assert after(arena, term, b"a" * 51) is arena.empty
    assert after(arena, term, b"a!") is arena.empty
    assert after(arena, term, b"aa!") is arena.epsilon


def test_a_run_that_may_be_what_follows_is_read_both_ways(arena: Arena) -> None:
    term = arena.seq(arena.star(arena.bytes(LETTER)), arena.tag(Origin("/a"), arena.literal(b"ab")))
    assert_same(arena, term, b"xabab")
    assert after(arena, term, b"ab").nullable
    assert not after(arena, term, b"abx").nullable


def test_uncertain_stays_uncertain(arena: Arena) -> None:
    assert after(arena, arena.seq(arena.literal(b"a"), arena.uncertain), b"abc") is arena.uncertain
