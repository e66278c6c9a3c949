"""Lexemes read from the root of the trie, once: which tokens stay inside and where the lexeme may end.

Nearly all tokens may stand inside a string, so walking the trie through one is most of the work of a mask. With its
split at hand, a walk goes on from where the lexeme may end.
"""

from __future__ import annotations

import numpy as np

from engine.masking.growing import Growing
from engine.masking.lexemes import Lexemes
from engine.masking.walk import split
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
            for unknown in np.unique(later[:count, 1]).tolist():
                lexemes.fill(unknown)
            todo, later = later, todo
        row, _ = self.bits.extend(bits)
        self.nodes.extend(np.sort(nodes[:found]))
        self.start.extend([self.nodes.count])
        lexemes.split(state, row)
