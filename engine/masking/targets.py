"""Where every token leads, and the fewest tokens that spell a text: what distances are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.automaton.automaton import DEAD, Automaton
from engine.automaton.liveness import PLEASANT
from engine.masking.target_walk import Ints, fewest_tokens, group_targets, walk_targets
from engine.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The states after one token, few of which are distinct.

    `groups`: int32 (size,): 0 where the token cannot be read or is uncertain, else 1 + the place of the state after it
    in `states`. `uncertain`: trie nodes; what their whole subtrees lead to depends on texts captured before.
    """

    groups: Ints
    states: tuple[int, ...]
    uncertain: tuple[int, ...]


class TargetWalk:
    """Walks the vocabulary's trie from mask states. Hold the automaton's lock."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary
        nodes = len(vocabulary.trie)
        # Pages of these that no walk touches take no memory.
        self._todo, self._later = (np.empty((nodes, 3), dtype=np.int32) for _ in range(2))
        self._uncertain = np.empty(nodes, dtype=np.int32)
        self._path = np.empty((2, vocabulary.longest + 1), dtype=np.int32)
        self._states = np.empty(vocabulary.size, dtype=np.int32)
        self._numbers = np.zeros(0, dtype=np.int32)

    def targets(self, state: int) -> Targets:
        """The states after each token, read from `state`."""
        trie = self.vocabulary.trie
        groups = np.full(self.vocabulary.size, DEAD, dtype=np.int32)
        uncertain: list[int] = []
        self._todo[0] = (1, state, len(trie))
        todo = min(1, len(trie) - 1)
        while todo:
            todo, doubtful = walk_targets(
                self.automaton.table,
                trie.byte,
                trie.depth,
                trie.skip,
                trie.token_start,
                trie.token_ids,
                self._todo,
                todo,
                self._path,
                groups,
                self._later,
                self._uncertain,
            )
            uncertain += self._uncertain[:doubtful].tolist()
            for unknown in np.unique(self._later[:todo, 1]).tolist():
                self.automaton.fill_row(unknown)
            self._todo, self._later = self._later, self._todo
        if len(self._numbers) < len(self.automaton.table):
            self._numbers = np.zeros(len(self.automaton.table), dtype=np.int32)
        count = group_targets(groups, self._numbers, self._states)
        return Targets(groups, tuple(self._states[:count].tolist()), tuple(sorted(uncertain)))


def compressible(vocabulary: Vocabulary) -> tuple[int, ...]:
    """The one-byte tokens, those first that longer tokens repeat most often: few tokens then spell a long string."""
    trie = vocabulary.trie

    def run(byte: int) -> int:
        longest, node = 0, trie.child(0, byte)
        while node is not None:
            longest = int(trie.depth[node]) if trie.ids(node) else longest
            node = trie.child(node, byte)
        return longest

    return tuple(sorted(vocabulary.one_byte, key=lambda byte: (-run(byte), PLEASANT.index(byte))))


def spelled(vocabulary: Vocabulary, text: bytes) -> tuple[int, ...]:
    """Ids of the fewest tokens that spell a text, all of whose bytes are tokens; of those, longest first."""
    trie = vocabulary.trie
    _, first = _fewest(vocabulary, text)
    ids: list[int] = []
    start = 0
    while start < len(text):
        node = int(first[start])
        ids.append(trie.ids(node)[0])
        start += int(trie.depth[node])
    return tuple(ids)


def fewest_to_spell(vocabulary: Vocabulary, text: bytes) -> int:
    """How many tokens `spelled` gives."""
    return int(_fewest(vocabulary, text)[0][0])


def _fewest(vocabulary: Vocabulary, text: bytes) -> tuple[Ints, Ints]:
    trie = vocabulary.trie
    fewest, first = np.empty((2, len(text) + 1), dtype=np.int32)
    fewest_tokens(np.frombuffer(text, dtype=np.uint8), trie.byte, trie.skip, trie.token_start, fewest, first)
    return fewest, first
