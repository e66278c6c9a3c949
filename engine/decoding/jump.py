"""Jump-forward: bytes that the constraint forces become tokens without a forward pass for each.

Where only one byte can follow, and only one after it, the model has nothing to say about the text; how the text is cut
into tokens is still open. The safe way takes the tokenizer's own cut of the forced bytes and keeps back its last token
if a byte that may follow could have made it longer. Tokens that are written already are never cut anew (SGLang's
compressed automaton, Zheng et al. 2312.07104, sends them through the tokenizer again).
"""

from __future__ import annotations

from engine.automaton.terms import members_of
from engine.constraint import Constraint
from engine.decoding.records import JumpForward
from engine.vocabulary import Canonical, Vocabulary

LONGEST_JUMP = 4096
"""Forced bytes that are cut into tokens together. How a text is cut depends on all of it, so this is the same wherever
a run ends or a token is taken by hand."""


def forced_bytes(constraint: Constraint, state: int, limit: int) -> tuple[bytes, int]:
    """The bytes that must follow, up to `limit` of them, and the state after them."""
    found = bytearray()
    while len(found) < limit and not constraint.is_accepting(state):
        moves = constraint.moves(state)
        if len(moves) != 1 or moves[0][0].bit_count() != 1:
            break
        ((members, state),) = moves
        found += bytes(members_of(members))
    return bytes(found), state


def jumped(
    constraint: Constraint, vocabulary: Vocabulary, canonical: Canonical, state: int, most: int, how: JumpForward
) -> tuple[int, ...]:
    """Up to `most` tokens that can be written in `state` without asking the model."""
    if how == "off" or most <= 0:
        return ()
    forced, _ = forced_bytes(constraint, state, LONGEST_JUMP)
    forced = _whole_characters(forced)
    ids = canonical.encode(forced) or ()
    if how == "safe" and ids and _may_go_on(constraint, vocabulary, state, forced, ids[-1]):
        ids = ids[:-1]
    return ids[:most]


def _whole_characters(data: bytes) -> bytes:
    """Without a character cut short at the end; nothing if the bytes begin inside one."""
    whole = data.decode(errors="ignore").encode()
    return whole if data.startswith(whole) else b""


def _may_go_on(constraint: Constraint, vocabulary: Vocabulary, state: int, forced: bytes, last: int) -> bool:
    """Whether a byte that may follow the forced ones is one with which a longer token than `last` goes on."""
    after = constraint.advance(state, forced)
    assert after is not None, "forced bytes can be read"
    following = 0
    for members, _ in constraint.moves(after):
        following |= members
    trie = vocabulary.trie
    node = trie.find(vocabulary.tokens[last])
    assert node is not None, "a token of the vocabulary"
    return any(trie.child(node, byte) is not None for byte in members_of(following))
