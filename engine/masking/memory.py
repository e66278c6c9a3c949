"""What a Masker remembers: the mask of each state, under a bound."""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np

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
        self._users: Counter[TokenMask] = Counter()
        self._shared: WeakValueDictionary[int, TokenMask] = WeakValueDictionary()

    def get(self, key: int | tuple[int]) -> Walked | None:
        if (walked := self._walked.get(key)) is not None:
            self._walked.move_to_end(key)
        return walked

    def put(self, key: int | tuple[int], walked: Walked) -> Walked:
        self._walked[key] = walked
        self.used += ENTRY + (0 if self._users[walked.mask] else walked.mask.bits.nbytes)
        self._users[walked.mask] += 1
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
        content = bits.tobytes()
        number = hash(content)
        mask = self._shared.get(number)
        if mask is None or mask.bits.tobytes() != content:
            bits.setflags(write=False)
            mask = TokenMask(bits, int(np.bitwise_count(bits).sum()), size)
            self._shared[number] = mask
        return mask
