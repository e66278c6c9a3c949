"""Small tasks with known answers, on which it can be counted how often a model is right.

The three of "Let Me Speak Freely?" (Tam et al. 2024, arXiv 2408.02442) in small: a sum, the last letters of some words,
and counting. The same seed gives the same tasks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Form = Literal["number", "letters"]
"""What an answer is: an integer, or lower-case letters."""


@dataclass(frozen=True, slots=True)
class Task:
    """A question and its answer, as text: digits without leading zeros, or lower-case letters."""

    kind: str
    question: str
    answer: str
    form: Form


def _sum(chance: random.Random) -> Task:
    one, other = chance.randint(10, 99), chance.randint(10, 99)
    return Task("Two-digit sums", f"What is {one} + {other}?", str(one + other), "number")


_NAMES = (
    "Anna",
    "Ben",
    "Carl",
    "Dora",
    "Emil",
    "Fred",
    "Grace",
    "Hugo",
    "Iris",
    "Jack",
    "Karin",
    "Leon",
    "Maria",
    "Otto",
)


def _last_letters(chance: random.Random) -> Task:
    names = chance.sample(_NAMES, 3)
    question = f'Take the last letter of each word in "{" ".join(names)}" and write the letters together.'
    return Task("Last letters", question, "".join(name[-1] for name in names), "letters")


_THINGS = ("pear", "chair", "river", "stone", "lamp", "cloud", "horse", "bread", "shoe", "glass", "plum", "door")


def _count(chance: random.Random) -> Task:
    things = chance.sample(_THINGS, chance.randint(3, 6))
    return Task("Counting", f"How many words are in this list: {', '.join(things)}?", str(len(things)), "number")


KINDS: dict[str, Callable[[random.Random], Task]] = {
    "Two-digit sums": _sum,
    "Last letters": _last_letters,
    "Counting": _count,
}
"""The kinds of tasks, by the name that a reader sees."""


def tasks(kind: str, n: int, seed: int = 0) -> tuple[Task, ...]:
    """`n` tasks of a kind, all different where that is possible. Raises KeyError if there is no such kind."""
    chance = random.Random(f"{kind} {seed}")  # a string's seed is the same in every process
    made: dict[Task, None] = {}
    for _ in range(20 * n):
        if len(made) < n:
            made.setdefault(KINDS[kind](chance))
    return tuple(made)


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?![\w]|\.\d)")
_LETTERS = re.compile(r"[A-Za-z]+")


def answer_in(text: str, form: Form) -> str | None:
    """The answer that a free text gives: its last integer, or its last word; None if there is none."""
    found = (_NUMBER if form == "number" else _LETTERS).findall(text)
    if not found:
        return None
    return str(int(found[-1].replace(",", ""))) if form == "number" else found[-1].lower()


def agrees(value: object, task: Task) -> bool:
    """The value, an integer or a string as JSON gave it, is the task's answer."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    said = str(value).strip()
    return said.lower() == task.answer
