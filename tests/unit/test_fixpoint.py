"""Least fixpoints over calls: what recursion completes, and that no question outlives its answer."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from engine import compile_gbnf
from engine.automaton.liveness import Liveness


@pytest.fixture
def uncollected() -> Iterator[None]:
    """The collector does not run: what is freed is freed because nobody refers to it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("grammar", "shortest"),
    [
        ('root ::= "(" root ")" | "a"', b"a"),
        ('root ::= pair\npair ::= "[" item "," item "]"\nitem ::= pair | digit\ndigit ::= [0-9]+', b"[0,0]"),
        ('root ::= "x" (root | end)\nend ::= "." | root', b"x."),
    ],
)
def test_shortest_texts_end_every_recursion(grammar: str, shortest: bytes) -> None:
    constraint = compile_gbnf(grammar)
    assert constraint.shortest(constraint.start) == shortest


@pytest.mark.usefixtures("uncollected")
def test_what_decides_is_freed_with_the_last_who_needs_it() -> None:
    automaton = compile_gbnf('root ::= "(" root ")" | "a"').automaton
    liveness = Liveness(automaton.arena)
    assert liveness.alive(automaton.root)
    assert liveness.planned(automaton.root) == b"a"
    freed = weakref.ref(liveness)
    del liveness
    assert freed() is None
