"""State counts of the families: by arithmetic, by exploring and by the textbook's automaton."""

from __future__ import annotations

import pytest

from engine import Budget, compile_regex
from engine.analysis.explosion import FAMILIES, count_states, growth, index_bytes, visited
from engine.masking.ladder import WorkCancelled

MEMBERS = [(name, n) for name in FAMILIES for n in (1, 2, 4, 7)]


@pytest.mark.parametrize(("name", "n"), MEMBERS)
def test_exploring_finds_what_arithmetic_says(name: str, n: int) -> None:
    family = FAMILIES[name]
    assert growth(family, n, most_classic=0).explored == family.states(n)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_textbooks_automaton_is_as_large(name: str) -> None:
    family = FAMILIES[name]
    assert growth(family, 3).classic == family.states(3)


def test_the_last_letters_double_with_every_n() -> None:
    counts = [growth(FAMILIES["the last letters"], n, most_classic=0).explored for n in range(1, 8)]
    assert counts == [4, 8, 16, 32, 64, 128, 256]


@pytest.mark.parametrize(("name", "n"), MEMBERS)
def test_a_text_of_a_family_is_accepted_and_visits_no_more_than_a_state_a_byte(name: str, n: int) -> None:
    family = FAMILIES[name]
    found = growth(family, n, most_states=0, most_classic=0)
    assert compile_regex(family.pattern(n)).check(family.text(n)).kind == "accepted"
    assert found.visited <= found.read + 1


def test_what_is_too_large_is_not_explored() -> None:
    found = growth(FAMILIES["the last letters"], 24)
    assert (found.explored, found.classic) == (None, None)
    assert found.visited == 2 * 24 + 1  # the alternation of a and b is remembered, then all of it slides out


def test_more_states_than_asked_for_are_not_counted() -> None:
    constraint = compile_regex("[ab]{0,9}")
    assert count_states(constraint, 10) == 10
    assert count_states(constraint, 9) is None


def test_a_budget_that_is_used_up_counts_as_too_many() -> None:
    assert count_states(compile_regex("[ab]{0,99}", budget=Budget(states=20)), 1_000) is None


def test_exploring_can_be_stopped() -> None:
    with pytest.raises(WorkCancelled):
        growth(FAMILIES["a counter"], 50, cancelled=lambda: True)


def test_a_text_that_leaves_the_language_is_refused() -> None:
    with pytest.raises(ValueError, match="Byte 1"):
        visited(compile_regex("ab"), b"ax")


def test_an_index_keeps_one_bit_for_each_state_and_token() -> None:
    assert index_bytes(8, 49_152) == 8 * 6_144
    assert index_bytes(1, 9) == 2
