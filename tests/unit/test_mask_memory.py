"""Masks are counted and told apart in one sweep, and what is opened ahead of a walk ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pytest

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.terms import Captured, Term
from engine.budget import Budget
from engine.masking.memory import Memory, counted
from engine.masking.token_mask import packed
from engine.masking.union import Union
from engine.vocabulary import Vocabulary

SIZE = 1000


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_bits_are_counted(share: float) -> None:
    bits = packed(np.random.default_rng(0).random(SIZE) < share)
    assert counted(bits)[0] == np.bitwise_count(bits).sum()


def test_no_two_masks_of_one_or_two_tokens_have_one_number() -> None:
    numbers = set()
    for first in range(0, SIZE, 7):
        for second in range(first, SIZE, 7):
            allowed = np.zeros(SIZE, dtype=np.bool_)
            allowed[[first, second]] = True
            numbers.add(int(counted(packed(allowed))[1]))
    places = len(range(0, SIZE, 7))
    assert len(numbers) == places * (places + 1) // 2


def test_equal_masks_are_one_object() -> None:
    memory = Memory(10_000)
    allowed = np.arange(SIZE) % 3 == 0
    mask = memory.shared(packed(allowed), SIZE)
    assert memory.shared(packed(allowed), SIZE) is mask
    assert memory.shared(packed(~allowed), SIZE) is not mask
    assert mask.count == 334


@dataclass(frozen=True, eq=False)
class Nested:
    """Brackets around brackets, each depth a call of its own, without end."""

    name: str = "nested"
    sure: bool = True

    def nullable(self, args: int) -> bool:
        return False

    def body(self, arena: Arena, args: int) -> Term:
        inner = arena.concat([arena.literal(b"("), arena.call(self, args + 1), arena.literal(b")")])
        return arena.alt([inner, arena.literal(b"x")])

    def core(self, arena: Arena, args: int) -> Term:
        return arena.literal(b"x")

    def after(self, arena: Arena, args: int, text: Captured) -> Term:
        raise NotImplementedError

    def parts(self, arena: Arena, args: int) -> Iterable[Term]:
        return ()

    def forget(self, args: int) -> int:
        return args

    def words(self, args: int) -> str:
        return "<nested>"


def test_what_is_behind_a_short_text_is_opened_no_further_than_tokens_reach() -> None:
    arena = Arena(Budget())
    automaton = Automaton(arena, arena.call(Nested(), 0))
    vocabulary = Vocabulary.from_tokens([b"(", b")", b"x", b"((x", b"(x)", b"(((("])
    found = Union(automaton, vocabulary).of(automaton.mask_term(automaton.start, vocabulary.longest))
    assert found is not None
    assert found[0].tolist() == [0b111101]
    assert len(arena) < 100
