"""Which tokens are allowed: one bit per token id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class TokenMask:
    """The allowed tokens of one automaton state.

    `bits`: uint32 (ceil(size / 32),), read-only; bit `id % 32` of word `id // 32` is token `id` (little-endian bit
    order). `count`: how many are set. `size`: the number of token ids. Equal masks of one Masker are one object.
    """

    bits: Bits
    count: int
    size: int

    def __contains__(self, token_id: int) -> bool:
        return 0 <= token_id < self.size and bool(int(self.bits[token_id >> 5]) >> (token_id & 31) & 1)

    def to_bool(self) -> NDArray[np.bool_]:
        """The same as bool (size,)."""
        return np.unpackbits(self.bits.view(np.uint8), count=self.size, bitorder="little").view(np.bool_)

    def ids(self) -> NDArray[np.intp]:
        """The allowed token ids in ascending order."""
        return np.flatnonzero(self.to_bool())


def bits_of(ids: frozenset[int], size: int) -> Bits:
    """The bits of a set of token ids."""
    bits = np.zeros((size + 31) // 32, dtype="<u4")
    for token_id in ids:
        bits[token_id >> 5] |= np.uint32(1 << (token_id & 31))
    return bits


def packed(allowed: NDArray[np.bool_]) -> Bits:
    """The bits of a mask given as bool (size,)."""
    bits = np.zeros((len(allowed) + 31) // 32, dtype="<u4")
    packed_bytes = np.packbits(allowed, bitorder="little")
    bits.view(np.uint8)[: len(packed_bytes)] = packed_bytes
    return bits
