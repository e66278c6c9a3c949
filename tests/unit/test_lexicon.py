"""Arenas that begin with the terms of all JSON texts share those and nothing else."""

from __future__ import annotations

from typing import Literal

import pytest

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.explain import origins
from engine.automaton.terms import Term
from engine.budget import Budget
from engine.errors import Origin
from engine.grammar.charset import ALL
from engine.grammar.json_schema.compile import compile_json_schema
from engine.grammar.json_schema.lexicon import arena_for
from engine.grammar.json_schema.numbers.text import NumberFacts, NumberText
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.strings import JsonText

OPTIONS = Options(whitespace="any", spelling="any")


def following(term: Term) -> set[Term]:
    """A term and all that is reached from it, as far as that is known."""
    found, pending = {term}, [term]
    while pending:
        moves = pending.pop().cached_moves
        assert moves is not None
        new = {rest for _, rest in moves} - found
        found |= new
        pending += new
    return found


def test_a_character_is_one_term() -> None:
    one, other = (arena_for(OPTIONS, Budget()) for _ in range(2))
    assert JsonText(one, "any").one_of(ALL) is JsonText(other, "any").one_of(ALL)
    assert len(one) == len(other) == 0


def test_what_one_makes_is_not_the_others() -> None:
    one, other = (arena_for(OPTIONS, Budget()) for _ in range(2))
    made = one.literal(b"made here")
    assert other.literal(b"made there").id == made.id
    assert len(one) == 1
    assert other.literal(b"made here") is not made


def test_shared_terms_never_change() -> None:
    character = JsonText(arena_for(OPTIONS, Budget()), "any").character
    before = following(character)
    constraint = compile_json_schema({"type": "string"}, whitespace="any", spelling="any")
    automaton: Automaton = constraint.automaton
    assert constraint.check('"a\\u00e9é"').kind == "accepted"
    automaton.moves(automaton.start)
    assert following(character) == before


@pytest.mark.parametrize("spelling", ["plain", "any"])
@pytest.mark.parametrize("facts", [NumberFacts(), NumberFacts(integer=True)])
def test_numbers_of_the_lexicon_are_owned_as_those_made_anew(
    spelling: Literal["plain", "any"], facts: NumberFacts
) -> None:
    origin = Origin("/a", "type")
    given = arena_for(Options(spelling=spelling), Budget())
    ready = Automaton(given, NumberText(given, spelling).term(facts, origin, "<number>"))
    bare = Arena(Budget())
    anew = Automaton(bare, NumberText(bare, spelling).term(facts, origin, "<number>"))
    for text in (b"0", b"-0", b"-12", b"1.50", b"1e5", b"100e-2", b"01", b"1.", b"-", b"12e", b"0.5E+1"):
        one, other = ready.advance(ready.start, text), anew.advance(anew.start, text)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert ready.is_accepting(one) == anew.is_accepting(other)
            assert origins(given, ready.term(one)) == origins(bare, anew.term(other))
