"""Shortest texts as values: a long one shares its parts with those of all that remains of it."""

from __future__ import annotations

import sys
import tracemalloc

import pytest

from engine import compile_gbnf, compile_json_schema, compile_regex
from engine.automaton import planned
from engine.automaton.planned import (
    ENDLESS,
    LONGEST_TEXT,
    SHORT,
    Long,
    Text,
    drafted,
    first_byte,
    is_draft,
    joined,
    length,
    preferred,
    spelled,
    times,
)

LETTERS = b"abc" * SHORT
DRAFT = drafted(b"z")


def chained(*texts: Text) -> Text:
    """One after the other, joined from the end as the parts of a sequence are."""
    whole: Text = b""
    for text in reversed(texts):
        whole = joined(text, whole)
    return whole


def said(text: Text) -> bytes:
    assert isinstance(text, (bytes, Long))
    return spelled(text)


@pytest.mark.parametrize("count", [1, SHORT // 3, SHORT, 1000])
def test_a_text_so_many_times(count: int) -> None:
    text = times(b"abc", count)
    assert (said(text), length(text)) == (b"abc" * count, 3 * count)
    assert said(times(chained(text, b"d", text), 2)) == (b"abc" * count + b"d" + b"abc" * count) * 2


def test_empty_parts_are_left_out() -> None:
    assert chained(b"", LETTERS, *[b""] * 1000) is LETTERS
    assert is_draft(joined(drafted(b""), LETTERS))


def test_texts_one_after_the_other() -> None:
    long = chained(b"x", LETTERS, b"", LETTERS)
    assert said(chained(long, b"y", long)) == b"x" + LETTERS * 2 + b"yx" + LETTERS * 2
    assert chained(b"", b"ab", b"c") == b"abc"
    assert joined(long, None) is joined(None, long) is None


def test_short_parts_that_meet_become_one() -> None:
    assert chained(b"a", b"b", b"c") == b"abc"
    text = chained(*[b"a"] * SHORT, LETTERS)
    assert isinstance(text, Long)
    assert text.parts == (b"a" * SHORT, LETTERS)
    assert said(joined(b"b", text)) == b"b" + b"a" * SHORT + LETTERS


@pytest.mark.parametrize("deep", [10_000, 100_000])
def test_deep_texts_are_spelled_compared_and_freed(deep: int) -> None:
    assert deep > sys.getrecursionlimit()
    texts: list[Text] = [LETTERS, bytes(bytearray(LETTERS))]
    for _ in range(deep):
        texts = [joined(b"[" * SHORT, joined(text, b"]")) for text in texts]
    one, other = texts
    assert said(one) == b"[" * SHORT * deep + LETTERS + b"]" * deep
    assert one == other
    assert first_byte(joined(b"", one)) == b"["  # type: ignore[arg-type]
    del one, texts
    assert length(other) == len(LETTERS) + (SHORT + 1) * deep


def test_what_is_too_long_is_not_spelled() -> None:
    most = times(b"a", LONGEST_TEXT)
    assert length(most) == LONGEST_TEXT
    assert times(b"a", LONGEST_TEXT + 1) is ENDLESS
    assert joined(most, b"a") is ENDLESS
    assert times(ENDLESS, 3) is joined(ENDLESS, b"a") is drafted(ENDLESS) is ENDLESS
    assert times(None, 3) is drafted(None) is None


def test_the_shortest_is_preferred_then_the_first_by_its_bytes_then_what_is_no_draft() -> None:
    one, other = times(b"ab", SHORT), chained(b"a", times(b"ba", SHORT - 1), b"b")
    assert said(one) == said(other)
    assert preferred([one, other]) is one
    assert preferred([other, one]) is other
    later = joined(said(one)[:-1], b"c")
    assert preferred([later, one]) is preferred([one, later]) is one
    assert preferred([LETTERS, None, b"z", DRAFT, ENDLESS]) == b"z"
    assert preferred([DRAFT, b"z"]) == b"z"
    assert preferred([DRAFT, b"y", b"z"]) == b"y"
    assert preferred([drafted(one), other]) is other
    assert preferred([None, ENDLESS, ENDLESS]) is ENDLESS
    assert preferred([None]) is preferred([]) is None


@pytest.mark.parametrize("count", [SHORT, 5000, LONGEST_TEXT // 2 - 1])
def test_what_is_repeated_is_preferred_by_its_bytes(count: int) -> None:
    one, other = times(b"ab", count), joined(b"a", times(b"ba", count - 1))
    for last in (b"a", b"b", b"c"):
        texts = [one, joined(other, last)]
        assert preferred(texts) is texts[last < b"b"]


def test_choices_in_a_row_are_compared_up_to_where_they_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 500
    rules = [f'r{row} ::= "x" r{row + 1} | "y" r{row + 1}' for row in range(rows)]
    constraint = compile_gbnf("\n".join(["root ::= r0", *rules, f'r{rows} ::= "{"z" * 70}"']))
    opened = []
    shut = planned._opened
    monkeypatch.setattr(planned, "_opened", lambda text: opened.append(text) or shut(text))
    assert constraint.shortest(constraint.start) == b"x" * rows + b"z" * 70
    assert len(opened) < 20 * rows  # some 500 times as many if each text were spelled


def test_what_holds_a_draft_is_one() -> None:
    assert is_draft(joined(b"a", DRAFT))
    assert is_draft(times(joined(LETTERS, DRAFT), 2))
    assert is_draft(joined(drafted(joined(LETTERS, b"b")), b"c"))
    assert not is_draft(joined(LETTERS, b"b"))


def test_texts_of_the_same_bytes_are_equal_whatever_their_parts() -> None:
    text = joined(LETTERS, times(b"a", 100))
    assert text == chained(LETTERS, times(b"a", 50), times(b"aa", 25))
    assert text != chained(LETTERS, times(b"a", 99), b"b")
    assert text != joined(LETTERS, times(b"a", 101))
    assert text != drafted(text)
    assert DRAFT != b"z"
    assert drafted(chained(b"a", b"z")) == joined(b"a", DRAFT)
    assert times(LETTERS, 2) == joined(LETTERS, LETTERS)
    assert times(LETTERS, 2) != times(LETTERS, 3)


def test_what_remains_of_a_long_text_takes_no_memory_of_its_own() -> None:
    items = [{"type": "string", "minLength": 20_000 + place} for place in range(300)]
    constraint = compile_json_schema({"type": "array", "prefixItems": items, "minItems": 300})
    tracemalloc.start()
    try:
        text = constraint.shortest(constraint.start)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    strings = sum(20_002 + place for place in range(300))
    assert len(text) == strings + len("[]") + 299 * len(",")
    assert most < 6 * len(text)  # 150 times as much if all that remains were spelled


@pytest.mark.parametrize("pattern", ["[ab][bc]" * 1000, "".join(f"{letter}{{70}}" for letter in "xy" * 100)])
def test_what_remains_of_many_parts_shares_them(pattern: str) -> None:
    automaton = compile_regex(pattern).automaton
    text = automaton.shortest(automaton.start)
    remaining = [automaton.start]
    for byte in text:
        remaining.append(automaton.advance(remaining[-1], bytes([byte])))
    tracemalloc.start()
    try:
        fewest = [automaton.fewest_bytes(state) for state in remaining]
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert fewest == list(range(len(text), -1, -1))
    assert held < 400 * len(text)  # 8,000 each if all parts were kept for every one
