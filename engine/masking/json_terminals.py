"""The terminals of JSON, read byte by byte: punctuation, strings, numbers, literals, white space.

A lexer that need not know whether a text is JSON: that says the mask. So a number is a run of the characters of
numbers, a literal a run of letters, and after a backslash any byte is part of the string.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.vocabulary import Trie, Vocabulary

BETWEEN, STRING, ESCAPE, NUMBER, LITERAL, SPACE, ENDED, CROSSED = range(8)
"""States of the lexer. ENDED: a terminal ended with the last byte; CROSSED: this byte is not part of the terminal."""

INSIDE = (STRING, ESCAPE)
"""States in which the terminal cannot end."""

VOCABULARIES = 4
"""Vocabularies whose masks are kept, bool (CROSSED, size) each."""

_STARTS = {b'"': STRING, b"{}[],:": ENDED, b" \t\n\r": SPACE, b"-0123456789": NUMBER}


def _table() -> NDArray[np.uint8]:
    table = np.full((CROSSED + 1, 256), CROSSED, dtype=np.uint8)
    table[BETWEEN] = LITERAL
    for members, state in _STARTS.items():
        table[BETWEEN, list(members)] = state
    table[STRING] = table[ESCAPE] = STRING
    table[STRING, ord("\\")] = ESCAPE
    table[STRING, ord('"')] = ENDED
    table[NUMBER, list(b"-+.eE0123456789")] = NUMBER
    table[LITERAL, ord("a") : ord("z") + 1] = LITERAL
    table[SPACE, list(b" \t\n\r")] = SPACE
    table.setflags(write=False)
    return table


TABLE = _table()
"""uint8 (states, 256): the state after one more byte of the same terminal."""


def read(state: int, data: bytes) -> int:
    """The lexer's state after some bytes, across as many terminals as they hold."""
    for byte in data:
        within = int(TABLE[state, byte])
        state = int(TABLE[BETWEEN, byte]) if within == CROSSED else within
    return state


@lru_cache(maxsize=VOCABULARIES)
def within_terminal(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Bool (CROSSED, size), read-only: by lexer state the tokens all of whose bytes belong to one terminal."""
    trie = vocabulary.trie
    after = _after_nodes(trie)
    nodes = np.repeat(np.arange(len(trie)), np.diff(trie.token_start))
    masks = np.zeros((CROSSED, vocabulary.size), dtype=np.bool_)
    masks[:, trie.token_ids] = after[:CROSSED, nodes] != CROSSED
    for state in range(CROSSED):
        if state not in INSIDE:
            masks[state] |= masks[BETWEEN]
    masks.setflags(write=False)
    return masks


def _after_nodes(trie: Trie) -> NDArray[np.uint8]:
    """Uint8 (states, nodes): the lexer's state after what each node spells, CROSSED where that is not one terminal."""
    after = np.zeros((CROSSED + 1, len(trie)), dtype=np.uint8)
    after[:, 0] = np.arange(CROSSED + 1)
    above = np.zeros(1, dtype=np.intp)
    for depth in range(1, int(trie.depth.max(initial=0)) + 1):
        level = np.flatnonzero(trie.depth == depth)
        parents = above[np.searchsorted(above, level) - 1]  # nodes stand in pre-order: the last one above
        after[:, level] = TABLE[after[:, parents], trie.byte[level]]
        above = level
    return after
