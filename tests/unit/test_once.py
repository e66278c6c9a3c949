"""Values made once for all who ask, under a bound."""

from __future__ import annotations

import threading

import pytest

from engine.once import Once


def test_a_value_is_made_once_for_all_who_ask_at_once() -> None:
    kept: Once[str, int] = Once(4)
    asked, made, go = threading.Barrier(9), [], threading.Event()

    def make() -> int:
        made.append(1)
        go.wait(5)
        return len(made)

    found: list[int] = []

    def visitor() -> None:
        asked.wait(5)
        found.append(kept.get("a", make))

    threads = [threading.Thread(target=visitor) for _ in range(8)]
    for thread in threads:
        thread.start()
    asked.wait(5)
    go.set()
    for thread in threads:
        thread.join(5)
    assert found == [1] * 8


def test_another_key_does_not_wait() -> None:
    kept: Once[str, int] = Once(4)
    assert kept.get("outer", lambda: kept.get("inner", lambda: 1) + 1) == 2


def test_the_value_used_longest_ago_goes_first() -> None:
    kept: Once[str, str] = Once(2)
    for key in ("a", "b", "a", "c"):
        kept.get(key, lambda key=key: key)
    assert kept.get("a", lambda: "made again") == "a"
    assert kept.get("b", lambda: "made again") == "made again"


def test_what_fails_is_not_kept() -> None:
    kept: Once[str, int] = Once(2)
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: 1) == 1
    kept.clear()
    assert kept.get("a", lambda: 2) == 2


def test_the_heaviest_goes_first_but_never_the_last_one() -> None:
    kept: Once[str, str] = Once(10, lambda _, value: len(value), 4)
    for value in ("aaaa", "b", "ccc"):
        kept.get(value[0], lambda value=value: value)
    assert [kept.held(key) for key in "abc"] == [None, "b", "ccc"]
    kept.get("d", lambda: "d" * 100)
    assert [kept.held(key) for key in "bcd"] == ["b", "ccc", "d" * 100]
    kept.get("e", lambda: "e")
    assert [kept.held(key) for key in "bcde"] == ["b", "ccc", None, "e"]


def test_what_grew_in_the_hands_of_who_holds_it_is_weighed_when_another_is_made() -> None:
    kept: Once[str, list[int]] = Once(10, lambda _, value: len(value), 4)
    grown: list[int] = []
    kept.get("a", lambda: grown)
    kept.get("b", lambda: [1])
    grown += range(100)
    kept.get("c", lambda: [1, 2])
    assert [kept.held(key) for key in "abc"] == [None, [1], [1, 2]]


def test_what_grew_is_weighed_when_it_is_used_again() -> None:
    kept: Once[str, list[int]] = Once(10, lambda _, value: len(value), 4)
    grown: list[int] = []
    kept.get("a", lambda: grown)
    kept.get("b", lambda: [1])
    grown += range(100)
    assert kept.get("a", list) is grown
    assert kept.get("b", list) == [1]
    assert [kept.held(key) for key in "ab"] == [None, [1]]
