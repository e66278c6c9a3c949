"""Beginnings of a text, judged one by one; what the lessons on automata draw of them."""

from __future__ import annotations

import pytest

from engine import compile_json_schema, compile_regex
from engine.analysis.prefixes import prefixes
from engine.vocabulary.small import small_vocabulary
from visualizations.lesson_automata import duration, memory


def standings(pattern: str, text: bytes) -> list[str]:
    return [prefix.standing for prefix in prefixes(compile_regex(pattern), text)]


def test_a_text_is_open_then_accepted_then_lost() -> None:
    assert standings("ab|abcd", b"abcx!") == ["open", "accepted", "open", "dead", "unread"]


def test_nothing_has_no_beginnings() -> None:
    assert prefixes(compile_regex("a*"), b"") == ()


def test_a_character_of_several_bytes_is_judged_byte_by_byte() -> None:
    assert standings("é", "é".encode()) == ["open", "accepted"]


def test_where_a_text_is_lost_it_is_said_what_was_expected() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    read = prefixes(compile_json_schema(schema, whitespace="compact"), b'{"name":}')
    assert [prefix.standing for prefix in read] == ["open"] * 8 + ["dead"]
    assert read[-1].remains == "'\"'"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(1_603.0, "1,603 s"), (572.0, "572 s"), (0.0941, "94.1 ms"), (6.88e-6, "6.88 µs"), (2e-7, "0.2 µs")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(("size", "shown"), [(12, "12 B"), (1_730, "1.73 KB"), (262_144_000, "262 MB")])
def test_memory(size: int, shown: str) -> None:
    assert memory(size) == shown


def test_the_small_vocabulary_spells_everything_and_straddles() -> None:
    vocabulary = small_vocabulary()
    assert vocabulary.one_byte == frozenset(range(256))
    assert len(set(vocabulary.tokens)) == vocabulary.size
    assert vocabulary.end_ids == {vocabulary.size - 1}
    assert {b'{"', b'":', b'",', b'"}', b',"'} <= set(vocabulary.tokens)
