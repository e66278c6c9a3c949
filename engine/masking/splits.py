"""Lexemes read from the root of the trie, once: which tokens stay inside and where the lexeme may end.

Nearly all tokens may stand inside a string, so walking the trie through one is most of the work of a mask. With its
split at hand, a walk goes on from where the lexeme may end.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.automaton.automaton import DEAD
from engine.masking.growing import Growing
from engine.masking.lexemes import Lexemes
from engine.masking.token_mask import Bits
from engine.masking.walk import ACCEPTING, SPELLED, Ints, allow, ask
from engine.vocabulary import Vocabulary


class Splits:
    """`bits` (uint32, a row for each split): the tokens. `nodes[start[row] : start[row + 1]]`: the trie nodes at which
    the lexeme may end and tokens go on."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._trie, self._longest = vocabulary.trie, vocabulary.longest  # not the vocabulary: it is a weak key
        self.bits = Growing(((vocabulary.size + 31) // 32,), np.uint32, 4)
        self.start = Growing((), np.int32)
        self.start.extend([0])
        self.nodes = Growing((), np.int32)

    def __len__(self) -> int:
        return self.bits.count

    def add(self, lexemes: Lexemes, state: int) -> None:
        """Make the split of a lexeme's state, which has none yet."""
        trie = self._trie
        bits = np.zeros((1, self.bits.array.shape[1]), dtype=np.uint32)
        path = np.empty((2, self._longest + 1), dtype=np.int32)
        todo, later = (np.empty((len(trie), 3), dtype=np.int32) for _ in range(2))
        nodes = np.empty(len(trie), dtype=np.int32)
        todo[0] = 1, state, len(trie)
        count, found = min(1, len(trie) - 1), 0
        while count:
            count, found = split(
                trie.byte,
                trie.depth,
                trie.skip,
                trie.token_start,
                trie.token_ids,
                lexemes.known_rows,
                lexemes.known_kinds,
                lexemes.rows,
                lexemes.kinds,
                todo,
                count,
                path,
                bits[0],
                nodes,
                found,
                later,
            )
            for unknown in sorted(set(later[:count, 1].tolist())):
                lexemes.answer(unknown)
            todo, later = later, todo
        row, _ = self.bits.extend(bits)
        self.nodes.extend(np.sort(nodes[:found]))
        self.start.extend([self.nodes.count])
        lexemes.split(state, row)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def split(
    byte: NDArray[np.uint8],
    depth: Ints,
    skip: Ints,
    token_start: Ints,
    token_ids: Ints,
    known_rows: Ints,
    known_kinds: NDArray[np.uint8],
    rows: Ints,
    kinds: NDArray[np.uint8],
    todo: Ints,
    todo_count: int,
    path: Ints,
    bits: Bits,
    nodes: Ints,
    count: int,
    later: Ints,
) -> tuple[int, int]:
    """Read a lexeme from nodes on: set the bits of its tokens, and add to the `count` nodes found before those at which
    it may end before a token does. `todo` and `later`: int32 rows (node, state, end of the parent's subtree).

    Returns how many rows of `later` were written, and how many nodes there are.
    """
    later_count, shared = 0, len(known_rows)
    states, ends = path[0], path[1]
    for row in range(todo_count):
        at, end = todo[row, 0], todo[row, 2]
        states[depth[at] - 1] = todo[row, 1]
        ends[depth[at] - 1] = end
        while at < end:
            level = depth[at]
            parent = states[level - 1]
            target = known_rows[parent, byte[at]] if parent < shared else rows[parent - shared, byte[at]]
            if target >= 0:
                states[level] = target
                ends[level] = skip[at]
                kind = known_kinds[target] if target < shared else kinds[target - shared]
                if kind & SPELLED:
                    allow(at, token_start, token_ids, bits)
                if kind & ACCEPTING and skip[at] > at + 1:
                    nodes[count] = at
                    count += 1
                at += 1
            elif target == DEAD:
                at = skip[at]
            else:
                ask(rows[parent - shared], at, ends[level - 1], byte, skip)
                later[later_count, 0] = at
                later[later_count, 1] = parent
                later[later_count, 2] = ends[level - 1]
                later_count += 1
                at = ends[level - 1]
    return later_count, count
