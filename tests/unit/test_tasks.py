"""Tasks whose answers are worked out again here, and answers read out of free text."""

import re

import pytest

from engine.analysis.tasks import KINDS, Task, agrees, answer_in, tasks


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_tasks(kind: str) -> None:
    assert tasks(kind, 10, 3) == tasks(kind, 10, 3)
    assert tasks(kind, 10, 3) != tasks(kind, 10, 4)
    assert tasks(kind, 10, 3)[:4] == tasks(kind, 4, 3)
    assert len(set(tasks(kind, 30))) == 30


def test_sums() -> None:
    for task in tasks("Two-digit sums", 50):
        one, other = re.findall(r"\d+", task.question)
        assert len(one) == len(other) == 2
        assert int(task.answer) == int(one) + int(other)


def test_last_letters() -> None:
    for task in tasks("Last letters", 20):
        words = re.search('"(.*)"', task.question)[1].split()
        assert task.answer == "".join(word[-1] for word in words)


def test_counting() -> None:
    for task in tasks("Counting", 20):
        assert int(task.answer) == len(task.question.partition(": ")[2].split(", "))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("47 + 38 = 114.", "114"),
        ("The answer is 85, I think.", "85"),
        ("It is 1,234 in all", "1234"),
        ("So -5", "-5"),
        ("about 3.5", None),
        ("x85", None),
        ("none", None),
        ("007", "7"),
    ],
)
def test_the_number_that_a_text_gives(text: str, expected: str | None) -> None:
    assert answer_in(text, "number") == expected


def test_the_letters_that_a_text_gives() -> None:
    assert answer_in('The letters are "anl".', "letters") == "anl"
    assert answer_in("ANL", "letters") == "anl"
    assert answer_in("42", "letters") is None


@pytest.mark.parametrize(
    ("value", "right"),
    [(85, True), ("85", True), (" 85 ", True), (86, False), (True, False), (None, False), (85.0, False)],
)
def test_agreement_with_a_number(value: object, right: bool) -> None:
    assert agrees(value, Task("sum", "?", "85", "number")) is right


def test_agreement_with_letters() -> None:
    assert agrees("ANL", Task("letters", "?", "anl", "letters"))
    assert not agrees("an", Task("letters", "?", "anl", "letters"))
