"""The inner loops of distances: where tokens lead, and the fewest tokens that spell a text.

Like those of masks (engine/masking/walk.py), but by the rows of the constraint's own automaton.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from engine.automaton.automaton import DEAD, UNKNOWN

Ints = NDArray[np.int32]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def walk_targets(
    table: Ints,
    byte: NDArray[np.uint8],
    depth: Ints,
    skip: Ints,
    token_start: Ints,
    token_ids: Ints,
    todo: Ints,
    todo_count: int,
    path: Ints,
    targets: Ints,
    later: Ints,
    uncertain: Ints,
) -> tuple[int, int]:
    """Walk the trie from the rows (node, state, end of the parent's subtree) of `todo`; `targets`, int32 (size,), gets
    the state after every token that can be read.

    Returns how many rows of `later` and of `uncertain` were written.
    """
    later_count, uncertain_count = 0, 0
    states, ends = path[0], path[1]
    for row in range(todo_count):
        node, end = todo[row, 0], todo[row, 2]
        states[depth[node] - 1] = todo[row, 1]
        ends[depth[node] - 1] = end
        while node < end:
            level = depth[node]
            parent = states[level - 1]
            target = table[parent, byte[node]]
            if target >= 0:
                states[level] = target
                ends[level] = skip[node]
                for place in range(token_start[node], token_start[node + 1]):
                    targets[token_ids[place]] = target
                node += 1
            elif target == DEAD:
                node = skip[node]
            elif target == UNKNOWN:
                later[later_count, 0] = node
                later[later_count, 1] = parent
                later[later_count, 2] = ends[level - 1]
                later_count += 1
                node = ends[level - 1]
            else:
                uncertain[uncertain_count] = node
                uncertain_count += 1
                node = skip[node]
    return later_count, uncertain_count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def group_targets(targets: Ints, number: Ints, states: Ints) -> int:
    """Replace each state in `targets` by 1 + its place in `states`, DEAD by 0; return how many states there are.

    `number`: scratch by state, all 0 before and after. `states`: int32, room for one state per token.
    """
    count = 0
    for token_id in range(len(targets)):
        state = targets[token_id]
        if state < 0:
            targets[token_id] = 0
            continue
        if number[state] == 0:
            states[count] = state
            count += 1
            number[state] = count
        targets[token_id] = number[state]
    for place in range(count):
        number[states[place]] = 0
    return count


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def fewest_tokens(
    text: NDArray[np.uint8], byte: NDArray[np.uint8], skip: Ints, token_start: Ints, fewest: Ints, first: Ints
) -> None:
    """`fewest[i]`: how many tokens spell `text[i:]` at least; `first[i]`: the trie node of the longest such first one.

    `fewest`, `first`: int32 (len(text) + 1,). Every byte of the text must be a token.
    """
    length = len(text)
    fewest[length] = 0
    for start in range(length - 1, -1, -1):
        fewest[start] = length + 1
        node, end, position = 1, len(byte), start
        while node < end and position < length:
            if byte[node] < text[position]:
                node = skip[node]
                continue
            if byte[node] > text[position]:
                break
            position += 1
            if token_start[node] < token_start[node + 1] and fewest[position] + 1 <= fewest[start]:
                fewest[start] = fewest[position] + 1
                first[start] = node
            end = skip[node]
            node += 1
