"""What a constraint forces: which bytes of a text had no alternative, and why a jump keeps its last token back."""

from __future__ import annotations

from dataclasses import dataclass

from engine.automaton.terms import members_of
from engine.constraint import Constraint
from engine.decoding.jump import LONGEST_JUMP, forced_bytes
from engine.vocabulary import Vocabulary


def forced_along(constraint: Constraint, text: bytes) -> tuple[bool, ...]:
    """For each byte of a text, whether no other byte could have stood there and the text could not have ended before.

    Ends where the constraint refuses the text.
    """
    state, found = constraint.start, []
    for byte in text:
        only, _ = forced_bytes(constraint, state, 1)
        after = constraint.advance(state, bytes([byte]))
        if after is None:
            break
        found.append(bool(only))
        state = after
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Longer:
    """The end of a jump: `forced` bytes, after which one of `following` comes; `tokens`: those that begin with the
    `last` token of the forced bytes and go on with one of these."""

    forced: bytes
    last: bytes
    following: bytes
    tokens: tuple[bytes, ...]


def longer_tokens(constraint: Constraint, vocabulary: Vocabulary, state: int, last: bytes) -> Longer:
    """The tokens that the model could have taken instead of the `last` one of the bytes that are forced in `state`.

    A token that goes on beyond the next byte is counted only if all of it may follow. Raises ValueError if the forced
    bytes do not end with `last`.
    """
    forced, after = forced_bytes(constraint, state, LONGEST_JUMP)
    if not last or not forced.endswith(last):
        raise ValueError("The forced bytes do not end with this token.")
    following = 0
    for members, _ in constraint.moves(after):
        following |= members
    node = vocabulary.trie.find(last)
    ids = () if node is None else vocabulary.trie.subtree_ids(node)
    rest = {vocabulary.tokens[token_id][len(last) :] for token_id in ids}
    fitting = sorted(end for end in rest if end and constraint.advance(after, end) is not None)
    return Longer(forced, last, bytes(members_of(following)), tuple(last + end for end in fitting))
