"""Which bytes lead on from a node of the trie, and with which bytes what remains may begin: where the two have none in
common, nothing more of a token can be read.

White space may end after hundreds of tokens of white space alone, and nothing but white space is below their nodes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.vocabulary.trie import Trie

Ways = NDArray[np.uint64]
"""Sets of bytes in 64 bits: bytes that are equal modulo 64 are not told apart, so a set may seem to hold more."""

ANY = (1 << 64) - 1


def folded(byte_set: int) -> int:
    """A set of bytes (a 256-bit integer) in 64 bits."""
    return (byte_set | byte_set >> 64 | byte_set >> 128 | byte_set >> 192) & ANY


def ways_on(trie: Trie) -> Ways:
    """For each node the bytes that lead to its children, uint64 (n,)."""
    found = np.zeros(len(trie), dtype=np.uint64)
    by_depth = np.split(np.argsort(trie.depth, kind="stable"), np.cumsum(np.bincount(trie.depth))[:-1])
    for above, nodes in pairwise(by_depth):
        parents = above[np.searchsorted(above, nodes) - 1]  # in pre-order the last node before, one level up
        np.bitwise_or.at(found, parents, np.uint64(1) << (trie.byte[nodes] & np.uint8(63)).astype(np.uint64))
    return found
