"""What a Masker remembers: the mask of each state, under a bound."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np
from numba import njit

from engine.masking.token_mask import Bits, TokenMask

MASK_BYTES = 16 * 2**20
"""Bytes of masks one Masker keeps; what is evicted is recomputed."""

ENTRY = 200
"""Bytes that remembering a mask for one more state costs, roughly."""


@dataclass(frozen=True, slots=True)
class Walked:
    """What the trie walk found from a mask state: its mask, and the nodes whose subtrees need the true state."""

    mask: TokenMask
    uncertain: tuple[int, ...]


class Memory:
    """Masks by state, least recently used out first, equal ones stored once. `used`: the bytes they take."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.used = 0
        self._walked: OrderedDict[int | tuple[int], Walked] = OrderedDict()
        self._users: dict[TokenMask, int] = {}
        self._shared: WeakValueDictionary[int, TokenMask] = WeakValueDictionary()

    def get(self, key: int | tuple[int]) -> Walked | None:
        if (walked := self._walked.get(key)) is not None:
            self._walked.move_to_end(key)
        return walked

    def put(self, key: int | tuple[int], walked: Walked) -> Walked:
        self._walked[key] = walked
        users = self._users.get(walked.mask, 0)
        self.used += ENTRY + (0 if users else walked.mask.bits.nbytes)
        self._users[walked.mask] = users + 1
        while self.used > self._limit and len(self._walked) > 1:
            self._forget(self._walked.popitem(last=False)[1].mask)
        return walked

    def _forget(self, mask: TokenMask) -> None:
        self._users[mask] -= 1
        self.used -= ENTRY
        if not self._users[mask]:
            del self._users[mask]
            self.used -= mask.bits.nbytes

    def shared(self, bits: Bits, size: int) -> TokenMask:
        """The mask of these bits: the one that exists, if any does."""
        count, found = counted(bits)
        number = int(found)
        mask = self._shared.get(number)
        if mask is None or mask.bits.tobytes() != bits.tobytes():
            bits.setflags(write=False)
            mask = self._shared[number] = TokenMask(bits, count, size)
        return mask


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def counted(bits: Bits) -> tuple[int, np.uint64]:
    """How many bits are set, and a number that is the same for equal bits and hardly ever for others."""
    count, number = 0, np.uint64(0)
    for place in range(len(bits)):
        word = bits[place]
        if word:
            mixed = (np.uint64(word) | np.uint64(place) << np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)  # splitmix64
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            number += mixed ^ (mixed >> np.uint64(31))
            count += _ones(word)
    return count, number


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ones(word: np.uint32) -> int:
    """The bits that are set in a word: sums of ever more neighbours (Warren, Hacker's Delight, 5-1)."""
    pairs = word - ((word >> np.uint32(1)) & np.uint32(0x55555555))
    fours = (pairs & np.uint32(0x33333333)) + ((pairs >> np.uint32(2)) & np.uint32(0x33333333))
    eights = (fours + (fours >> np.uint32(4))) & np.uint32(0x0F0F0F0F)
    return int((eights * np.uint32(0x01010101) & np.uint32(0xFFFFFFFF)) >> np.uint32(24))
