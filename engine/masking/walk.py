"""The inner loops of masks: walks over the vocabulary's trie.

The trie is stored in pre-order, so a walk is one pass over an array: a live transition goes on to the next node, a dead
one jumps over the whole subtree (`skip`). States are remembered by depth, since a node's parent is the last node seen
one level up. Where a table does not know a transition yet, the rest of that parent's subtree is put aside; the caller
fills the missing rows and walks only what was put aside.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.automaton.automaton import DEAD, UNKNOWN
from engine.masking.token_mask import Bits
from engine.masking.ways_on import Ways

Ints = NDArray[np.int32]

ACCEPTING, SPELLED = 1, 2
"""A lexeme's state is one in which it may end; one from which an end can be spelled with one-byte tokens."""

UNOPENED = -1
DOUBTFUL = -2

FIXED = -1
NOTHING = -2
"""Lexemes of openings that have no state: a text in `texts`; none, the parts behind come at once."""

WHOLE = -1
WANTED = -2

END = 0
"""The cell of what is over."""

ASKED = -3
"""A transition that is not known and that a walk came by: see `Lexemes.answer`."""

NO_ROOM, DONE, NO_CELLS = range(3)
"""How a walk ends: with too many items, with all that could be read, with more cells than there is room for."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def walk(
    byte: NDArray[np.uint8],
    depth: Ints,
    skip: Ints,
    ways_on: Ways,
    token_start: Ints,
    token_ids: Ints,
    known_rows: Ints,
    known_kinds: NDArray[np.uint8],
    rows: Ints,
    kinds: NDArray[np.uint8],
    known_splits: Ints,
    known_split_bits: NDArray[np.uint32],
    known_split_start: Ints,
    known_split_nodes: Ints,
    splits: Ints,
    split_bits: NDArray[np.uint32],
    split_start: Ints,
    split_nodes: Ints,
    parts: Ints,
    ways: Ways,
    choices: Ints,
    openings: Ints,
    rests: Ints,
    texts: NDArray[np.uint8],
    barred: Ints,
    cells: Ints,
    index: Ints,
    cell_count: int,
    stack: Ints,
    top: int,
    visited: NDArray[np.int64],
    path: Ints,
    bits: Bits,
    later: Ints,
    doubtful: Ints,
) -> tuple[int, int, int, int]:
    """Set the bits of the tokens that can be read from the items on the stack.

    Items (int32, five columns) are of two kinds. (node, -1, 0, cell, 0): what a cell holds is read in the node's
    subtree (WANTED instead of -1: a split is to be made before). (node, state, end, cell, sure): a lexeme's state is
    read from a node up to the end of its parent's subtree, and the cell behind the lexeme. What lacks a row or openings
    goes to `later`; the caller fills them and calls again with these items. What may begin with none of the bytes that
    lead on from a node is not read there.

    `cells`, `index`, `cell_count`: see `cons`; cells that are met are added.
    `parts`: int32 (n, 4): first and last of its openings in `choices`, (UNOPENED, 0) if not known, (DOUBTFUL, 0) where
    they depend on what was captured; whether the part may be empty, whether an end of it can be spelled. `ways`: the
    bytes that it may begin with, `ways_on`: those that lead on from a node (engine/masking/ways_on.py). `choices`:
    int32, rows of `openings`.
    `openings`: int32 (n, 8), rows (state, FIXED or NOTHING, first and last byte in `texts`, first and last part in
    `rests`, whether an end of these can be spelled, first and last barred text). `barred`: int32 (n, 2), in `texts`.
    `known_splits`, `splits`: int32 by state, the row of the split (engine/masking/splits.py) that holds what the state
    allows from the root; WHOLE where it is read node by node, WANTED where the caller is to make it.
    `visited`: a hash table of items met, 0 where free. `path`: scratch (2, longest token + 1).
    Returns how many rows of `later` and of `doubtful` (nodes whose subtrees depend on what was captured) were written,
    how many cells there are, and how it ended.
    """
    later_count, doubtful_count = 0, 0
    states, ends = path[0], path[1]
    met, shared = np.count_nonzero(visited), len(known_rows)
    room, closed = len(stack) - len(byte) - 1, path[0][:0]
    while top:
        if doubtful_count == len(doubtful):
            return later_count, doubtful_count, cell_count, NO_ROOM
        top -= 1
        node, resumed, end, cell, sure = stack[top]
        first, last, after, is_wanting = 0, 1, END, False
        if resumed < 0:
            part, after = cells[cell, 0], cells[cell, 1]
            first, last = parts[part, 0], parts[part, 1]
            if first != DOUBTFUL and not ways_on[node] & _ways(cell, cells, parts, ways):
                continue
            if first == UNOPENED:
                later[later_count] = stack[top]
                later_count += 1
                continue
            if first == DOUBTFUL:
                doubtful[doubtful_count] = node
                doubtful_count += 1
                continue
            if parts[part, 2]:
                top, met = _push(stack, top, visited, met, node, after)
        for choice in range(first, last):
            if top > room or later_count > room or 2 * met > len(visited) or cell_count < 0:
                return later_count, doubtful_count, cell_count, NO_CELLS if cell_count < 0 else NO_ROOM
            closed_count = 0
            if resumed >= 0:
                state, start, behind = resumed, node, cell
                following = _ways(cell, cells, parts, ways)
            else:
                opening = choices[choice]
                state, rest, rest_end = openings[opening, 0], openings[opening, 3], openings[opening, 4]
                sure = openings[opening, 5] & cells[after, 2]
                start, end = node + 1, skip[node]
                if state == FIXED:
                    at = node
                    for letter in range(openings[opening, 1], openings[opening, 2]):
                        at = _child(at, texts[letter], byte, skip, ways_on)
                        if at < 0:
                            break
                        if sure:
                            allow(at, token_start, token_ids, bits)
                    if at >= 0 and (ways_on[at] or not sure):
                        behind, cell_count = cons(rests, rest, rest_end, after, parts, cells, index, cell_count)
                        top, met = _push(stack, top, visited, met, at, behind)
                    continue
                behind, cell_count = cons(rests, rest, rest_end, after, parts, cells, index, cell_count)
                following = _ways(behind, cells, parts, ways)
                if state == NOTHING:
                    top, met = _push(stack, top, visited, met, node, behind)
                    continue
                if openings[opening, 7] > openings[opening, 6] + len(closed):
                    closed = np.empty(openings[opening, 7] - openings[opening, 6], dtype=np.int32)
                for word in range(openings[opening, 6], openings[opening, 7]):
                    at = node
                    for letter in range(barred[word, 0], barred[word, 1]):
                        at = _child(at, texts[letter], byte, skip, ways_on)
                        if at < 0:
                            break
                    if at >= 0:
                        closed[closed_count] = at
                        closed_count += 1
                if node == 0:
                    row = known_splits[state] if state < shared else splits[state - shared]
                    if row == WANTED:
                        is_wanting = True
                        continue
                    if row >= 0:
                        of, starts, nodes = split_bits, split_start, split_nodes
                        if state < shared:
                            of, starts, nodes = known_split_bits, known_split_start, known_split_nodes
                        if sure:
                            _join(bits, of[row], closed[:closed_count], token_start, token_ids)
                        for number in range(starts[row], starts[row + 1]):
                            at = nodes[number]
                            if ways_on[at] & following and not _is_among(at, closed, closed_count):
                                top, met = _push(stack, top, visited, met, at, behind)
                        continue
            at = start
            if at == end:
                continue
            states[depth[start] - 1] = state
            ends[depth[start] - 1] = end
            while at < end:
                level = depth[at]
                parent = states[level - 1]
                target = known_rows[parent, byte[at]] if parent < shared else rows[parent - shared, byte[at]]
                if target >= 0:
                    if closed_count and _is_among(at, closed, closed_count):
                        at = skip[at]
                        continue
                    states[level] = target
                    ends[level] = skip[at]
                    kind = known_kinds[target] if target < shared else kinds[target - shared]
                    if sure and kind & SPELLED:
                        allow(at, token_start, token_ids, bits)
                    if kind & ACCEPTING and ways_on[at] & following:
                        top, met = _push(stack, top, visited, met, at, behind)
                    at += 1
                elif target == DEAD:
                    at = skip[at]
                else:
                    ask(rows[parent - shared], at, ends[level - 1], byte, skip)
                    later[later_count, 0] = at
                    later[later_count, 1] = parent
                    later[later_count, 2] = ends[level - 1]
                    later[later_count, 3] = behind
                    later[later_count, 4] = sure
                    later_count += 1
                    at = ends[level - 1]
        if is_wanting:
            later[later_count, 0] = node
            later[later_count, 1] = WANTED
            later[later_count, 3] = cell
            later_count += 1
        if top > room or later_count > room or 2 * met > len(visited) or cell_count < 0:
            return later_count, doubtful_count, cell_count, NO_CELLS if cell_count < 0 else NO_ROOM
    return later_count, doubtful_count, cell_count, DONE


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def cons(
    rests: Ints, first: int, last: int, after: int, parts: Ints, cells: Ints, index: Ints, count: int
) -> tuple[int, int]:
    """The cell that holds the parts `rests[first:last]`, then what the cell `after` holds; and the number of cells.

    `cells`: int32 (n, 3), rows (part, cell behind it, whether an end can be spelled); the first is END. `index`: a hash
    table of cells, 0 where free. Without room the count is -1, and the cell means nothing.
    """
    for place in range(last - 1, first - 1, -1):
        part = rests[place]
        spot = _spot(part, after, cells, index)
        found = index[spot]
        if not found:
            if count < 0 or count == len(cells):
                return END, -1
            found = count
            cells[found, 0] = part
            cells[found, 1] = after
            cells[found, 2] = parts[part, 3] & cells[after, 2]
            index[spot] = found
            count += 1
        after = found
    return after, count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ways(cell: int, cells: Ints, parts: Ints, ways: Ways) -> np.uint64:
    """The bytes that what a cell holds may begin with."""
    found = np.uint64(0)
    while cell != END:
        found |= ways[cells[cell, 0]]
        if not parts[cells[cell, 0], 2]:
            break
        cell = cells[cell, 1]
    return found


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def reindex(cells: Ints, count: int, index: Ints) -> None:
    """Enter the first `count` cells in an empty index."""
    for cell in range(1, count):
        index[_spot(cells[cell, 0], cells[cell, 1], cells, index)] = cell


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _spot(part: int, after: int, cells: Ints, index: Ints) -> int:
    """Where in the index a cell is, or belongs."""
    spread = ((np.uint64(part) << np.uint64(32)) | np.uint64(after)) * np.uint64(0x9E3779B97F4A7C15)
    at = int(spread >> np.uint64(32)) & (len(index) - 1)
    while index[at] and (cells[index[at], 0] != part or cells[index[at], 1] != after):
        at = (at + 1) & (len(index) - 1)
    return at


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _child(node: int, wanted: int, byte: NDArray[np.uint8], skip: Ints, ways_on: Ways) -> int:
    """The child of a node that a byte leads to, -1 if none."""
    if not ways_on[node] >> np.uint64(wanted & 63) & np.uint64(1):
        return -1
    at, end = node + 1, skip[node]
    while at < end and byte[at] < wanted:
        at = skip[at]
    return at if at < end and byte[at] == wanted else -1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _push(stack: Ints, top: int, visited: NDArray[np.int64], met: int, node: int, cell: int) -> tuple[int, int]:
    """Put an item on the stack unless it was there before. What does not fit is left out, and `met` says so."""
    if cell == END:
        return top, met
    if top == len(stack) or 2 * met >= len(visited):
        return top, len(visited)
    known, met = _meet(visited, met, node, cell)
    if not known:
        stack[top, 0] = node
        stack[top, 1] = -1
        stack[top, 3] = cell
        top += 1
    return top, met


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_among(node: int, nodes: Ints, count: int) -> bool:
    for place in range(count):  # noqa: SIM110 (compiled, and called for every node)
        if nodes[place] == node:
            return True
    return False


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _join(bits: Bits, more: Bits, closed: Ints, token_start: Ints, token_ids: Ints) -> None:
    """Set the bits of `more`, but not those of the tokens at the nodes `closed`."""
    kept = bits.copy() if len(closed) else bits
    for word in range(len(bits)):
        bits[word] |= more[word]
    for node in closed:
        for place in range(token_start[node], token_start[node + 1]):
            word, bit = token_ids[place] >> 5, np.uint32(1) << np.uint32(token_ids[place] & 31)
            bits[word] = (bits[word] & ~bit) | (kept[word] & bit)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _meet(visited: NDArray[np.int64], met: int, node: int, cell: int) -> tuple[bool, int]:
    """Whether an item was met before, and how many were met then."""
    key = ((np.int64(node) << 32) | np.int64(cell)) + 1
    size = len(visited)
    spread = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64(spread >> np.uint64(32)) & (size - 1)
    while visited[at] != 0:
        if visited[at] == key:
            return True, met
        at = (at + 1) & (size - 1)
    visited[at] = key
    return False, met + 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def ask(row: Ints, at: int, end: int, byte: NDArray[np.uint8], skip: Ints) -> None:
    """Ask for the transitions by the bytes of a node and of its siblings after it."""
    while at < end:
        if row[byte[at]] == UNKNOWN:
            row[byte[at]] = ASKED
        at = skip[at]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def allow(node: int, token_start: Ints, token_ids: Ints, bits: Bits) -> None:
    """Set the bits of the tokens spelled exactly by a node."""
    for place in range(token_start[node], token_start[node + 1]):
        token_id = token_ids[place]
        bits[token_id >> 5] |= np.uint32(1) << np.uint32(token_id & 31)
