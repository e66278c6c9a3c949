"""The third step of the ladder: walk the vocabulary's trie from the state, and remember nothing.

Tokens with a common beginning share the bytes that are read for it, and a byte that cannot be read dismisses all tokens
behind it. This is the walk of engine/masking/walk.py in plain Python, so that its time compares with the naive one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from engine.automaton.automaton import UNCERTAIN, UNKNOWN, Automaton
from engine.constraint import Constraint
from engine.masking.ladder.work import Answer, Spelling, Work, read_bytes, state_after
from engine.vocabulary import Trie, Vocabulary


class TrieWalk:
    """The trie from the state after the text. Keeps the trie."""

    name = "trie"

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary) -> None:
        self._constraint = constraint
        self._nodes = PlainTrie(vocabulary)
        self._spellable = Spelling(constraint.automaton, vocabulary)
        self.preparation = Work(0, 0, trie_bytes(vocabulary.trie), 0.0)

    def mask(self, text: bytes) -> Answer:
        """The tokens that may follow. Raises ValueError if `text` leaves the language."""
        automaton = self._constraint.automaton
        with automaton.lock:
            state = state_after(self._constraint, text)
            started = perf_counter()
            allowed, checks, bytes_read = self._nodes.allowed(automaton, state, self._spellable)
            seconds = perf_counter() - started
        return Answer(allowed, Work(checks, bytes_read, self.preparation.memory_bytes, seconds))


class PlainTrie:
    """A vocabulary's trie as lists, which plain Python reads faster than arrays."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        trie = vocabulary.trie
        self._vocabulary = vocabulary
        self._byte: list[int] = trie.byte.tolist()
        self._depth: list[int] = trie.depth.tolist()
        self._skip: list[int] = trie.skip.tolist()
        starts, ids = trie.token_start.tolist(), trie.token_ids.tolist()
        self._ids: list[list[int]] = [ids[start:end] for start, end in pairwise(starts)]

    def allowed(
        self, automaton: Automaton, state: int, spellable: Callable[[int], bool]
    ) -> tuple[NDArray[np.bool_], int, int]:
        """The tokens that are allowed in a state, bool (size,), with the checks and the bytes read that it took.

        `spellable` says of the automaton's states whether an end can be spelled. Hold the automaton's lock.
        """
        vocabulary = self._vocabulary
        allowed = np.zeros(vocabulary.size, dtype=np.bool_)
        allowed[list(vocabulary.end_ids)] = automaton.is_accepting(state)
        checks = bytes_read = 0
        for node, target in self._walk(automaton, automaton.mask_state(state, vocabulary.longest)):
            bytes_read += 1
            if target == UNCERTAIN:
                for token_id in vocabulary.trie.subtree_ids(node):
                    after, read = read_bytes(automaton, state, vocabulary.tokens[token_id])
                    checks += 1
                    bytes_read += read
                    allowed[token_id] = after >= 0 and spellable(after)
            elif ids := self._ids[node]:
                checks += len(ids)
                allowed[ids] = target >= 0 and spellable(target)
        return allowed, checks, bytes_read

    def _walk(self, automaton: Automaton, key: int) -> Iterator[tuple[int, int]]:
        """The nodes that are asked for from a mask state, with the state there; DEAD and UNCERTAIN end a subtree."""
        byte, depth, skip = self._byte, self._depth, self._skip
        states = [key] * (1 + self._vocabulary.longest)
        rows: dict[int, list[int]] = {}
        node = 1
        while node < len(byte):
            level = depth[node]
            parent = states[level - 1]
            if parent not in rows:
                rows[parent] = _row(automaton, parent)
            states[level] = target = rows[parent][byte[node]]
            yield node, target
            node = node + 1 if target >= 0 else skip[node]


def trie_bytes(trie: Trie) -> int:
    """The memory that a trie takes as arrays."""
    return sum(array.nbytes for array in (trie.byte, trie.depth, trie.skip, trie.token_start, trie.token_ids))


def _row(automaton: Automaton, state: int) -> list[int]:
    if (automaton.table[state] == UNKNOWN).any():
        automaton.fill_row(state)
    row: list[int] = automaton.table[state].tolist()
    return row
