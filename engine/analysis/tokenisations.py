"""All the ways in which tokens can spell a text, and how tokens relate to each other by their bytes.

The tokenisations of a text are the paths of a lattice: its places are the text's bytes, its edges the tokens that stand
there. Their number grows like 2^n, so they are counted by dynamic programming and listed only where they are few.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from engine.masking import Masker
from engine.vocabulary import Trie, Vocabulary


class Lattice:
    """The tokenisations of a text of n bytes.

    `edges[start]`: (end, id) of every token that stands at `start` and from whose end the rest of the text can be
    spelled, the longest first. `counts[start]`: in how many ways the text from `start` on can be spelled; `counts[n]`
    is 1.
    """

    def __init__(self, vocabulary: Vocabulary, text: bytes) -> None:
        self.text = text
        self.counts = [0] * len(text) + [1]
        self.edges: list[tuple[tuple[int, int], ...]] = [()] * (len(text) + 1)
        for start in reversed(range(len(text))):
            found = [edge for edge in _standing(vocabulary.trie, text, start) if self.counts[edge[0]]]
            self.edges[start] = tuple(sorted(found, key=lambda edge: (-edge[0], edge[1])))
            self.counts[start] = sum(self.counts[end] for end, _ in found)

    @property
    def count(self) -> int:
        """The number of tokenisations, exact however large; two ids of the same bytes make two of them."""
        return self.counts[0]

    def paths(self) -> Iterator[tuple[int, ...]]:
        """Every tokenisation once, those with a longer token at the first difference before the others."""
        pending: list[tuple[int, tuple[int, ...]]] = [(0, ())] if self.count else []
        while pending:
            start, ids = pending.pop()
            if start == len(self.text):
                yield ids
            pending += [(end, (*ids, token_id)) for end, token_id in reversed(self.edges[start])]

    def fewest(self, start: int, ends: Collection[int]) -> tuple[tuple[int, ...], int]:
        """The fewest tokens that lead from `start` to one of `ends`, and which; the shorter tokens of equally few.

        Raises ValueError if none do.
        """
        pending: deque[tuple[int, tuple[int, ...]]] = deque([(start, ())])
        seen = {start}
        while pending:
            place, ids = pending.popleft()
            if place in ends:
                return ids, place
            for end, token_id in reversed(self.edges[place]):
                if end not in seen:
                    seen.add(end)
                    pending.append((end, (*ids, token_id)))
        raise ValueError("The vocabulary has no tokens for this text.")


@dataclass(frozen=True, slots=True)
class Tokenisations:
    """The ways to spell a text: how many there are, and the first of them."""

    text: bytes
    count: int
    paths: tuple[tuple[int, ...], ...]

    @property
    def complete(self) -> bool:
        """Whether `paths` are all of them."""
        return len(self.paths) == self.count


def tokenisations(vocabulary: Vocabulary, text: bytes, limit: int) -> Tokenisations:
    """All ways to spell a text with tokens: counted, and up to `limit` of them listed, longer tokens first."""
    lattice = Lattice(vocabulary, text)
    return Tokenisations(text, lattice.count, tuple(islice(lattice.paths(), limit)))


@dataclass(frozen=True, slots=True)
class Difference:
    """A stretch of bytes, from `start` to `end`, that two tokenisations of a text cut differently.

    `left` and `right` are the ids of either there, `left_at` and `right_at` their places in its ids.
    """

    start: int
    end: int
    left: tuple[int, ...]
    right: tuple[int, ...]
    left_at: int
    right_at: int


def differences(vocabulary: Vocabulary, left: Sequence[int], right: Sequence[int]) -> tuple[Difference, ...]:
    """Where two tokenisations of the same text differ, in order; each stretch as short as can be.

    Raises ValueError if they do not spell the same text.
    """
    left_places, right_places = boundaries(vocabulary, left), boundaries(vocabulary, right)
    if spell(vocabulary, left) != spell(vocabulary, right):
        raise ValueError("The tokenisations are of different texts.")
    common = sorted(left_places.keys() & right_places.keys())
    found = []
    for start, end in pairwise(common):
        left_at, right_at = left_places[start], right_places[start]
        one, other = tuple(left[left_at : left_places[end]]), tuple(right[right_at : right_places[end]])
        if one != other:
            found.append(Difference(start, end, one, other, left_at, right_at))
    return tuple(found)


def boundaries(vocabulary: Vocabulary, ids: Sequence[int]) -> dict[int, int]:
    """The bytes before which a token of the path begins, or it ends, with the number of tokens before each."""
    places = {0: 0}
    offset = 0
    for index, token_id in enumerate(ids, start=1):
        offset += len(vocabulary.tokens[token_id])
        places[offset] = index
    return places


def spell(vocabulary: Vocabulary, ids: Sequence[int]) -> bytes:
    """The text of a path. Raises ValueError for a token that spells nothing (a special one)."""
    tokens = [vocabulary.tokens[token_id] for token_id in ids]
    if b"" in tokens:
        raise ValueError(f"Token {ids[tokens.index(b'')]} spells no text.")
    return b"".join(tokens)


@dataclass(frozen=True, slots=True)
class PrefixRelated:
    """Tokens that a token goes on from and that go on from it.

    `shorter`: ids of the tokens that are proper prefixes of it, the shortest first; `longer`: ids of those that it is a
    proper prefix of, ascending by their bytes.
    """

    shorter: tuple[int, ...]
    longer: tuple[int, ...]


def prefix_related(vocabulary: Vocabulary, token_id: int) -> PrefixRelated:
    """The tokens related to one by their bytes. A token that spells nothing has none."""
    trie, token = vocabulary.trie, vocabulary.tokens[token_id]
    if not token:
        return PrefixRelated((), ())
    shorter: list[int] = []
    node = 0
    for byte in token:
        shorter += trie.ids(node)
        child = trie.child(node, byte)
        assert child is not None, "every token is in the trie"
        node = child
    return PrefixRelated(tuple(shorter), tuple(trie.subtree_ids(node)[len(trie.ids(node)) :]))


def extensible(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Which tokens are proper prefixes of others, bool (size,): a prompt may end with one and cut a longer off."""
    trie = vocabulary.trie
    nodes = np.arange(len(trie))
    inner = np.repeat(trie.skip > nodes + 1, np.diff(trie.token_start))  # what has children leads to a longer token
    found = np.zeros(vocabulary.size, dtype=np.bool_)
    found[trie.token_ids[inner]] = True
    return found


def bridging(masker: Masker, state: int, aligned: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Ids of the allowed tokens that cross a boundary of the grammar: those that are not `aligned`, bool (size,).

    What a constraint forbids that lets each token stay within one terminal (Beurer-Kellner et al., DOMINO, 2403.06988).
    """
    return np.flatnonzero(masker.mask(state).to_bool() & ~aligned)


def _standing(trie: Trie, text: bytes, start: int) -> Iterator[tuple[int, int]]:
    node = 0
    for end, byte in enumerate(text[start:], start=start + 1):
        child = trie.child(node, byte)
        if child is None:
            return
        node = child
        yield from ((end, token_id) for token_id in trie.ids(node))
