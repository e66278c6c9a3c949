"""How many texts a constraint has: against arithmetic and against listing them by hand."""

from __future__ import annotations

import json
import re
from itertools import product
from math import comb, factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import BudgetError, compile_choices, compile_json_schema, compile_regex
from engine.analysis.language import COUNTED, LanguageError, UncountedError, count_texts, list_texts
from engine.budget import Budget


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("", 1),
        ("[a-z]{3}", 26**3),
        ("[01]{1,9}", 2**10 - 2),
        ("(yes|no|maybe)( please| thanks)?!?", 3 * 3 * 2),
        ("a?a?a?a?", 5),
        ("00000|1[01]{4}", 17),
        ("[0-9]{18}", COUNTED),
        ("[0-9]{400}", COUNTED),
        ("[а-я]{2}", 32**2),
    ],
)
def test_counted_without_listing(pattern: str, number: int) -> None:
    assert count_texts(compile_regex(pattern)) == number


def test_texts_of_a_schema() -> None:
    """Permutations of every length of four values; a space after a comma is free, and so counts."""
    constraint = compile_json_schema({"type": "array", "items": {"enum": [1, 2, 3, 4]}, "uniqueItems": True})
    number = sum(comb(4, n) * factorial(n) * 2 ** max(0, n - 1) for n in range(5))
    texts = list_texts(constraint, 1000)
    assert len(texts) == len(set(texts)) == count_texts(constraint) == number
    values = [json.loads(text) for text in texts]
    assert all(len(set(value)) == len(value) for value in values)


@given(st.sets(st.text("abц", max_size=6), min_size=1, max_size=30))
def test_choices_are_their_texts(choices: set[str]) -> None:
    constraint = compile_choices(sorted(choices))
    assert list_texts(constraint, 30) == sorted((text.encode() for text in choices), key=lambda t: (len(t), t))
    assert count_texts(constraint) == len(choices)


@pytest.mark.parametrize("pattern", ["(a|ab)(c|bcd)?", "(aa|a){2,3}b?", "(?:a|b){0,3}(?:ab|b)"])
def test_an_ambiguous_pattern_has_each_text_once(pattern: str) -> None:
    words = ("".join(word) for length in range(8) for word in product("abcd", repeat=length))
    expected = [word.encode() for word in words if re.fullmatch(pattern, word)]
    constraint = compile_regex(pattern)
    assert list_texts(constraint, 1000) == expected
    assert count_texts(constraint) == len(expected)


def test_a_language_without_end_says_where() -> None:
    with pytest.raises(LanguageError, match=r"infinitely many texts.*without a bound \(4-6 \(literal\)\). Give it one"):
        count_texts(compile_regex("x(?:ab)*y"))
    with pytest.raises(LanguageError, match="infinitely many"):
        list_texts(compile_json_schema({"type": "integer"}), 1000)


def test_more_texts_than_wanted_are_counted() -> None:
    assert len(list_texts(compile_regex("[a-z]{2}"), 676)) == 676
    with pytest.raises(LanguageError, match="has 676 texts; 675 are the limit"):
        list_texts(compile_regex("[a-z]{2}"), 675)
    with pytest.raises(LanguageError, match=r"has 10\^18 or more texts"):
        list_texts(compile_regex("[a-z]{20}"), 1000)


def test_what_cannot_be_counted_is_more_than_the_limit() -> None:
    constraint = compile_json_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    with pytest.raises(UncountedError, match="more than 50 terms"):
        count_texts(constraint, most_terms=50)
    with pytest.raises(LanguageError, match="has more than 50 texts"):
        list_texts(constraint, 50)


def test_no_states_are_used_up() -> None:
    constraint = compile_regex("[a-z]{1,30}", budget=Budget(states=20))
    with pytest.raises(LanguageError, match="or more texts"):
        list_texts(constraint, 1000)
    assert len(constraint.automaton) == 1


def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(BudgetError, match="longer than"):
        list_texts(compile_regex("a{400000}", budget=Budget(seconds=0.2)), 10)
