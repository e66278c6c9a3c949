"""Sums of probability over tokens that begin alike, in compiled loops.

A vocabulary's trie lies in pre-order, so the tokens below a node are neighbours, and their mass is the difference of
two entries of one running sum.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.vocabulary.trie import Trie

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int32]


@njit(cache=True)  # type: ignore[untyped-decorator]
def running(raw: Floats, allowed: Bools, lawful: Bools, token_ids: Ints) -> tuple[Floats, float, float]:
    """The mass that is neither allowed nor lawful, of the tokens before each in `token_ids` (m,): float64 (m + 1,).

    Returns also the mass that is not allowed, and the part of it that is not lawful. `raw` (n,): the mass of each id;
    `allowed`, `lawful` (n,). Ids from n on have none.
    """
    masked, refused = 0.0, 0.0
    kept = np.empty(len(raw))
    for token_id in range(len(raw)):
        mass = 0.0 if allowed[token_id] else raw[token_id]
        masked += mass
        mass = 0.0 if lawful[token_id] else mass
        refused += mass
        kept[token_id] = mass
    before = np.empty(len(token_ids) + 1)
    before[0] = 0.0
    for place in range(len(token_ids)):
        token_id = token_ids[place]
        before[place + 1] = before[place] + (kept[token_id] if token_id < len(kept) else 0.0)
    return before, masked, refused


@njit(cache=True)  # type: ignore[untyped-decorator]
def below(node: int, skip: Ints, token_start: Ints, before: Floats) -> tuple[float, Ints, Floats]:
    """The mass of the tokens that a node of the trie spells, and its children whose subtrees have any, with theirs."""
    nodes, masses, count = np.empty(256, np.int32), np.empty(256), 0
    child, end = node + 1, skip[node]
    while child < end:
        after = skip[child]
        mass = before[token_start[after]] - before[token_start[child]]
        if mass > 0:
            nodes[count], masses[count] = child, mass
            count += 1
        child = after
    return before[token_start[node + 1]] - before[token_start[node]], nodes[:count], masses[:count]


def make_ready(trie: Trie) -> None:
    """Have the loops compiled, or read from where they are kept; else who asks first waits for that."""
    nothing = np.zeros(1, np.bool_)
    before, _, _ = running(np.zeros(1), nothing, nothing, trie.token_ids)
    below(0, trie.skip, trie.token_start, before)
