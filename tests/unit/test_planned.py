"""Shortest texts as values: a long one shares its parts with those of all that remains of it."""

from __future__ import annotations

import tracemalloc

import pytest

from engine import compile_json_schema
from engine.automaton.planned import (
    ENDLESS,
    LONGEST_TEXT,
    SHORT,
    Draft,
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


def said(text: Text) -> bytes:
    assert isinstance(text, (bytes, Long))
    return spelled(text)


@pytest.mark.parametrize("count", [1, SHORT // 3, SHORT, 1000])
def test_a_text_so_many_times(count: int) -> None:
    text = times(b"abc", count)
    assert (said(text), length(text)) == (b"abc" * count, 3 * count)
    assert said(times(joined([text, b"d", text]), 2)) == (b"abc" * count + b"d" + b"abc" * count) * 2


def test_empty_parts_are_left_out() -> None:
    text = joined([b"", LETTERS, *[b""] * 1000, b"x"])
    assert isinstance(text, Long)
    assert text.parts == (LETTERS, b"x")
    assert said(times(text, 2**10)) == (LETTERS + b"x") * 2**10


def test_texts_one_after_the_other() -> None:
    long = joined([b"x", LETTERS, b"", LETTERS])
    assert said(joined([long, b"y", long])) == b"x" + LETTERS * 2 + b"yx" + LETTERS * 2
    assert said(joined([b"", b"ab", b"c"])) == b"abc"
    assert joined([long, None]) is None
    assert joined([]) == b""


def test_deep_texts_are_spelled() -> None:
    text: Text = LETTERS
    for _ in range(10_000):
        text = joined([b"[", text, b"]"])
    assert said(text) == b"[" * 10_000 + LETTERS + b"]" * 10_000
    assert first_byte(joined([b"", text])) == b"["  # type: ignore[arg-type]


def test_what_is_too_long_is_not_spelled() -> None:
    most = times(b"a", LONGEST_TEXT)
    assert length(most) == LONGEST_TEXT
    assert times(b"a", LONGEST_TEXT + 1) is ENDLESS
    assert joined([most, b"a"]) is ENDLESS
    assert times(ENDLESS, 3) is joined([ENDLESS, b"a"]) is drafted(ENDLESS) is ENDLESS
    assert times(None, 3) is drafted(None) is None


def test_the_shortest_is_preferred_then_the_first_by_its_bytes_then_what_is_no_draft() -> None:
    one, other = times(b"ab", SHORT), joined([b"a", times(b"ba", SHORT - 1), b"a"])
    assert length(one) == length(other)
    assert preferred([one, other]) is (one if said(one) < said(other) else other)
    assert preferred([LETTERS, None, b"z", Draft(b"z"), ENDLESS]) == b"z"
    assert not is_draft(preferred([Draft(b"z"), b"z"]))
    assert not is_draft(preferred([drafted(one), one]))
    assert preferred([None, ENDLESS, ENDLESS]) is ENDLESS
    assert preferred([None]) is preferred([]) is None


def test_what_holds_a_draft_is_one() -> None:
    assert is_draft(joined([b"a", Draft(b"b")]))
    assert is_draft(times(joined([LETTERS, Draft(b"b")]), 2))
    assert is_draft(joined([drafted(joined([LETTERS, b"b"])), b"c"]))
    assert not is_draft(joined([LETTERS, b"b"]))


def test_texts_of_equal_parts_are_equal() -> None:
    assert joined([LETTERS, times(b"a", 100)]) == joined([LETTERS, times(b"a", 100)])
    assert joined([LETTERS, b"a"]) != joined([LETTERS, b"b"])
    assert joined([LETTERS, b"a"]) != drafted(joined([LETTERS, b"a"]))
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
