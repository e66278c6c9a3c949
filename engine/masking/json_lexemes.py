"""What every JSON Schema has in common, made ready once per vocabulary: white space and strings.

Nearly all tokens may stand inside a string, so walking the trie through one is most of the work of a mask. It is done
once: a split says which tokens stay inside (or end it), and at which nodes of the trie the string is closed, so that a
walk goes on from there alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from engine.automaton.arena import Arena
from engine.automaton.liveness import PLEASANT, Liveness
from engine.automaton.terms import Term
from engine.budget import Budget
from engine.grammar.json_schema.layout import Layout
from engine.grammar.json_schema.options import Options
from engine.grammar.json_schema.strings import JsonText
from engine.masking.lexemes import Lexemes
from engine.masking.token_mask import Bits
from engine.masking.walk import Ints, split
from engine.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """`of`: int32 by lexeme state, a row of `bits` (uint32) or -1. `nodes[start[row]:start[row + 1]]`: the trie nodes
    at which the lexeme may end."""

    of: Ints
    bits: Bits
    start: Ints
    nodes: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """`endless`: the states of strings without a bound."""

    lexemes: Lexemes
    splits: Splits
    endless: frozenset[int]


_LOCK = Lock()
_PREPARED: WeakKeyDictionary[Vocabulary, Prepared] = WeakKeyDictionary()


def prepared(vocabulary: Vocabulary) -> Prepared:
    """The lexemes of JSON over a vocabulary; made when first asked for."""
    with _LOCK:
        if vocabulary not in _PREPARED:
            _PREPARED[vocabulary] = _prepare(vocabulary)
        return _PREPARED[vocabulary]


def _prepare(vocabulary: Vocabulary) -> Prepared:
    arena = Arena(Budget())
    one_byte = sorted(vocabulary.one_byte, key=PLEASANT.index)
    lexemes = Lexemes(arena, Liveness(arena), Liveness(arena, one_byte))
    form = arena.mask_form(vocabulary.longest)
    for whitespace in ("spaced", "any"):
        layout = Layout.of(arena, Options(whitespace=whitespace))
        lexemes.close(arena.to_form(layout.after_comma, form))
    strings = [string for spelling in ("plain", "any") for string in _strings(arena, spelling, vocabulary.longest)]
    for string in strings:
        lexemes.close(string)
    lexemes.trim()
    states = [lexemes.number(string) for string in strings]
    endless = frozenset(states[:: len(states) // 2])
    return Prepared(lexemes, _splits(lexemes, states, vocabulary), endless)


def _strings(arena: Arena, spelling: Literal["plain", "any"], longest: int) -> list[Term]:
    """What may remain of a string: any number of characters, or at most as many as a token could tell apart."""
    character = JsonText(arena, spelling).character
    quote = arena.literal(b'"')
    bounds = [None, *range(1, longest + 2)]
    return [arena.seq(arena.repeat(character, 0, bound), quote) for bound in bounds]


def _splits(lexemes: Lexemes, states: list[int], vocabulary: Vocabulary) -> Splits:
    trie = vocabulary.trie
    of = np.full(len(lexemes), -1, dtype=np.int32)
    bits = np.zeros((len(states), (vocabulary.size + 31) // 32), dtype=np.uint32)
    path = np.empty(vocabulary.longest + 1, dtype=np.int32)
    room = np.empty(len(trie), dtype=np.int32)
    nodes, start = [], [0]
    for row, state in enumerate(states):
        of[state] = row
        ends = split(
            trie.byte,
            trie.depth,
            trie.skip,
            trie.token_start,
            trie.token_ids,
            lexemes.rows,
            lexemes.kinds,
            state,
            path,
            bits[row],
            room,
        )
        nodes.append(room[:ends].copy())
        start.append(start[-1] + ends)
    return Splits(of, bits, np.array(start, dtype=np.int32), np.concatenate(nodes))
