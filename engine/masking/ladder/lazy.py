"""The last step of the ladder: walk the trie where the text leads, and remember.

A mask is computed when its state is first reached, as the trie walk does it, and remembered for all states that no
token tells apart, so that long bounded strings have few masks. This is the app's own `Masker`, but for what it walks:
the app goes by lexemes (engine/masking/union.py), which other constraints share. The walk is compiled: its seconds are
those of another language than the other steps', its checks and bytes are not.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from engine.automaton.automaton import DEAD, UNCERTAIN
from engine.constraint import Constraint
from engine.masking.ladder.trie import trie_bytes
from engine.masking.ladder.work import Answer, Work, read_bytes, state_after
from engine.masking.masker import Masker
from engine.masking.memory import ENTRY
from engine.masking.rows import Rows
from engine.masking.token_mask import TokenMask
from engine.vocabulary import Trie, Vocabulary

Ints = NDArray[np.int32]


class Lazy:
    """A Masker of its own, with what it did. Keeps the trie and the masks, of equal ones one.

    A state that shares its mask with one that was asked before takes no checks.
    """

    name = "lazy"

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary) -> None:
        started = perf_counter()
        self._masker = Masker(constraint, vocabulary, walk=Rows)
        seconds = perf_counter() - started
        self._levels = _levels(vocabulary.trie)
        self._spelled = np.diff(vocabulary.trie.token_start)
        self._doubtful: dict[int, list[int]] = {}
        self._decided: set[int] = set()
        self._masks: set[TokenMask] = set()
        self.preparation = Work(0, 0, trie_bytes(vocabulary.trie), seconds)

    def mask(self, text: bytes) -> Answer:
        """The tokens that may follow. Raises ValueError if `text` leaves the language."""
        constraint = self._masker.constraint
        with constraint.automaton.lock:
            state = state_after(constraint, text)
            started = perf_counter()
            mask = self._masker.mask(state)
            seconds = perf_counter() - started
            checks, bytes_read = self._counted(state)
        self._masks.add(mask)
        return Answer(mask.to_bool(), Work(checks, bytes_read, self._memory, seconds))

    @property
    def _memory(self) -> int:
        entries = len(self._doubtful) + len(self._decided)
        return self.preparation.memory_bytes + ENTRY * entries + sum(mask.bits.nbytes for mask in self._masks)

    def _counted(self, state: int) -> tuple[int, int]:
        """The checks and the bytes that the mask of a state took, none where it was remembered."""
        vocabulary, automaton = self._masker.vocabulary, self._masker.automaton
        key = automaton.mask_state(state, vocabulary.longest)
        checks = bytes_read = 0
        if key not in self._doubtful:
            asked, doubtful = self._visited(key)
            checks, bytes_read = int(self._spelled[asked & ~doubtful].sum()), int(asked.sum())
            self._doubtful[key] = np.flatnonzero(doubtful).tolist()
        if self._doubtful[key] and state not in self._decided:
            self._decided.add(state)
            for node in self._doubtful[key]:
                for token_id in vocabulary.trie.subtree_ids(node):
                    checks += 1
                    bytes_read += read_bytes(automaton, state, vocabulary.tokens[token_id])[1]
        return checks, bytes_read

    def _visited(self, key: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The nodes whose byte was asked for from a mask state, and those whose subtrees need the true state."""
        table, trie = self._masker.automaton.table, self._masker.vocabulary.trie
        states = np.full(len(trie), DEAD, dtype=np.int32)
        states[0] = key
        asked = np.zeros(len(trie), dtype=np.bool_)
        for nodes, parents in self._levels:
            reached = states[parents] >= 0
            asked[nodes] = reached
            states[nodes[reached]] = table[states[parents[reached]], trie.byte[nodes[reached]]]
        return asked, states == UNCERTAIN


def _levels(trie: Trie) -> list[tuple[Ints, Ints]]:
    """The nodes of each depth from 1 on, with their parents: the last node before them one level up."""
    levels: list[tuple[Ints, Ints]] = []
    above = np.zeros(1, dtype=np.int32)
    for depth in range(1, int(trie.depth.max()) + 1):
        nodes = np.flatnonzero(trie.depth == depth).astype(np.int32)
        levels.append((nodes, above[np.searchsorted(above, nodes) - 1]))
        above = nodes
    return levels
