"""The byte trie over a vocabulary, laid out for one forward sweep.

A mask asks which of 49,152 tokens an automaton would take. Their shared beginnings need walking only once, so the
tokens are put in a trie, and the trie is written down in pre-order: a node comes before its children, and `skip[node]`
is the first node behind its whole subtree. Walking is then `node + 1` after a byte that is allowed and `skip[node]`
after one that is not; there are no pointers and no recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class Trie:
    """Read-only arrays over n nodes in pre-order; node 0 is the root (the empty string).

    byte: uint8 (n,), the byte that leads to the node (0 at the root); depth: int32 (n,), its distance from the root;
    skip: int32 (n,), the first node behind its subtree (n if there is none). The ids of the tokens a node spells are
    `token_ids[token_start[node]:token_start[node + 1]]` (several ids may share their bytes), ascending.
    """

    byte: NDArray[np.uint8]
    depth: NDArray[np.int32]
    skip: NDArray[np.int32]
    token_start: NDArray[np.int32]
    token_ids: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.byte)

    def child(self, node: int, byte: int) -> int | None:
        """The node that `byte` leads to, or None."""
        child, end = node + 1, int(self.skip[node])
        while child < end and self.byte[child] < byte:
            child = int(self.skip[child])
        return child if child < end and self.byte[child] == byte else None

    def find(self, data: bytes) -> int | None:
        """The node that spells `data`, or None."""
        node: int | None = 0
        for byte in data:
            if node is None:
                break
            node = self.child(node, byte)
        return node

    def ids(self, node: int) -> list[int]:
        """The ids of the tokens spelled exactly by `node`."""
        found: list[int] = self.token_ids[self.token_start[node] : self.token_start[node + 1]].tolist()
        return found

    def subtree_ids(self, node: int) -> list[int]:
        """The ids of all tokens that begin with what `node` spells."""
        found: list[int] = self.token_ids[self.token_start[node] : self.token_start[self.skip[node]]].tolist()
        return found


def build_trie(tokens: Sequence[bytes]) -> Trie:
    """The trie of `tokens`, whose places are their ids; b"" is no token and stays out."""
    spelled: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(tokens):
        if token:
            spelled.setdefault(token, []).append(token_id)
    byte, depth, skip, start, ids = bytearray(1), [0], [0], [0], list[int]()
    path = [0]  # the nodes from the root to the token before, all of them still open
    before = b""
    for token in sorted(spelled):  # sorted bytes come in pre-order
        shared = len(before) if token.startswith(before) else _shared_prefix(before, token)
        here, new = len(depth), len(token) - shared
        for closed in path[shared + 1 :]:
            skip[closed] = here
        path[shared + 1 :] = range(here, here + new)
        byte += token[shared:]
        depth += range(shared + 1, len(token) + 1)
        skip += [0] * new
        start += [len(ids)] * new
        ids += spelled[token]
        before = token
    for still_open in path:
        skip[still_open] = len(depth)
    start.append(len(ids))
    return Trie(
        byte=_frozen(np.frombuffer(bytes(byte), dtype=np.uint8)),
        depth=_frozen(np.array(depth, dtype=np.int32)),
        skip=_frozen(np.array(skip, dtype=np.int32)),
        token_start=_frozen(np.array(start, dtype=np.int32)),
        token_ids=_frozen(np.array(ids, dtype=np.int32)),
    )


def _shared_prefix(left: bytes, right: bytes) -> int:
    length = min(len(left), len(right))
    for position in range(length):
        if left[position] != right[position]:
            return position
    return length


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.setflags(write=False)
    return array
