"""Token masks of a constraint over a vocabulary.

A token is allowed exactly where its bytes keep the automaton alive and end in a state from which acceptance can be
spelled with the vocabulary's one-byte tokens (DESIGN.md section 2: live is relative to the vocabulary). End tokens are
allowed exactly in accepting states, other special tokens never.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from engine.errors import ConstraintError, Origin
from engine.masking.memory import MASK_BYTES, Memory, Walked
from engine.masking.rows import Rows
from engine.masking.token_mask import Bits, TokenMask, bits_of
from engine.masking.union import Union
from engine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from engine.automaton.terms import Term
    from engine.constraint import Constraint

NEAREST = 8
"""How many allowed tokens an explanation names."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a token is allowed or masked in a state.

    `offset`: the byte of the token at which it dies, its length where all of it can be read. `state`: where the
    automaton stands there; `expected`: what may come next there, in words; `origins`: whose rule it is.
    `nearest`: ids of allowed tokens, by longest common byte prefix, then model probability, then id.
    """

    token_id: int
    token: bytes
    allowed: bool
    reason: str
    offset: int
    state: int
    expected: tuple[str, ...]
    origins: tuple[Origin, ...]
    nearest: tuple[int, ...]


class Masker:
    """Masks, steps and reasons, token by token. Safe to share between threads.

    `unspellable`: bytes that texts of the language may use and no one-byte token spells; texts that need one of them
    cannot be finished in every tokenisation, so the mask leaves them out. `walk` finds the masks.
    Raises ConstraintError where the vocabulary cannot spell any text of the language.
    """

    def __init__(
        self,
        constraint: Constraint,
        vocabulary: Vocabulary,
        memory: int = MASK_BYTES,
        walk: type[Union] | type[Rows] = Union,
    ) -> None:
        self.constraint = constraint
        self.vocabulary = vocabulary
        self.automaton = constraint.automaton
        self._size = vocabulary.size
        self._remembered = Memory(memory)
        self._text, self._end = _text_and_end(vocabulary)
        self._spelling: dict[int, bool] = {}
        with self.automaton.lock:
            if not self._spellable(self.automaton.start):
                raise ConstraintError(_cannot_spell(self.unspellable), unsatisfiable=True)
            self._tokens = walk(self.automaton, vocabulary)

    @cached_property
    def unspellable(self) -> frozenset[int]:
        """The bytes of the language that the vocabulary cannot spell one by one; looks at the whole grammar."""
        with self.automaton.lock, self.automaton.at_work(self.automaton.start):
            return self.automaton.alphabet() - self.vocabulary.one_byte

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self.automaton, self.vocabulary)

    @property
    def held_bytes(self) -> int:
        """Memory of the masks kept and of the constraint, roughly."""
        return self._remembered.used + self._tokens.held_bytes + self.automaton.held_bytes

    def mask(self, state: int) -> TokenMask:
        """The allowed tokens in a state."""
        with self.automaton.lock:
            key = self.automaton.mask_term(state, self.vocabulary.longest)
            walked = self._remembered.get(key.id)
            if walked is None:
                with self.automaton.at_work(state):
                    walked = self._remembered.put(key.id, self._walk(key))
            return self._decide(state, walked) if walked.uncertain else walked.mask

    def advance(self, state: int, token_id: int) -> int | None:
        """The state after a token, None where it is not allowed. An end token: the same state if accepting."""
        if token_id in self.vocabulary.end_ids:
            with self.automaton.lock:
                return state if self.automaton.is_accepting(state) else None
        token = self.vocabulary.tokens[token_id] if 0 <= token_id < self._size else b""
        if not token:
            return None
        with self.automaton.lock:
            after = self.automaton.advance(state, token)
            return after if after is not None and self._spellable(after) else None

    def explain(self, state: int, token_id: int, probabilities: NDArray[np.float64] | None = None) -> Explanation:
        """Why a token is allowed or masked. `probabilities` (size,) rank the nearest allowed tokens."""
        if not 0 <= token_id < self.vocabulary.size:
            raise ValueError(f"There is no token {token_id}; the vocabulary has {self.vocabulary.size}.")
        token = self.vocabulary.tokens[token_id]
        with self.automaton.lock:
            allowed = self.advance(state, token_id) is not None
            offset, there, read = self._death(state, token)
            return Explanation(
                token_id=token_id,
                token=token,
                allowed=allowed,
                reason=self._reason(token_id, allowed, offset, read),
                offset=offset,
                state=there,
                expected=self.constraint.expected(there),
                origins=self.constraint.origins(there),
                nearest=self._nearest(state, token, probabilities),
            )

    def shortest(self, state: int) -> tuple[int, ...]:
        """Ids of the fewest tokens that spell a shortest accepted text from here: an upper bound on the distance.

        Another, longer text may take fewer tokens; the end token is not counted.
        """
        with self.constraint.automaton.lock:
            text = self.constraint.automaton.shortest(state, self.vocabulary.one_byte)
        fewest: list[tuple[int, ...] | None] = [(), *[None] * len(text)]
        trie = self.vocabulary.trie
        for start in range(len(text)):
            so_far = fewest[start]
            node: int | None = 0
            for end in range(start + 1, len(text) + 1):
                node = trie.child(node, text[end - 1]) if node is not None and so_far is not None else None
                if node is None or so_far is None:
                    break
                ids, known = trie.ids(node), fewest[end]
                if ids and (known is None or len(known) > len(so_far) + 1):
                    fewest[end] = (*so_far, ids[0])
        spelled = fewest[-1]
        assert spelled is not None, "every byte of the text has a token"
        return spelled

    def blame(self, state: int, token_id: int) -> tuple[Origin, ...]:
        """Whose rule it is where a token stops: the origins that `explain` gives, without the rest."""
        with self.automaton.lock:
            return self.constraint.origins(self._death(state, self.vocabulary.tokens[token_id])[1])

    def _death(self, state: int, token: bytes) -> tuple[int, int, bool]:
        """Where a token stops, the state there, and whether all of it can be read.

        It stops at the first byte that cannot be read, or after which nothing can be spelled to an end.
        """
        states = [state]
        for byte in token:
            after = self.automaton.step(states[-1], byte)
            if after < 0:
                return len(states) - 1, states[-1], False
            states.append(after)
        offset = len(token)
        while offset and not self._spellable(states[offset]):
            offset -= 1
        return offset, states[offset], True

    def _reason(self, token_id: int, allowed: bool, offset: int, read: bool) -> str:
        token = self.vocabulary.tokens[token_id]
        if token_id in self.vocabulary.end_ids:
            return "the text is complete here" if allowed else "the text is not complete yet"
        if not token:
            return "a control token spells no text"
        if allowed:
            return "all its bytes can be read here"
        place = f"byte {offset + 1} of {len(token)}"
        if read:
            return f"after {place} only bytes without a token of their own would lead to an end"
        return f"{place} cannot be read here"

    def _nearest(self, state: int, token: bytes, probabilities: NDArray[np.float64] | None) -> tuple[int, ...]:
        allowed = self.mask(state).to_bool()
        found: list[int] = []
        for ids in self._rings(token):
            ring = ids[allowed[ids]]
            if probabilities is None:
                found += sorted(ring.tolist())[: NEAREST - len(found)]
            else:
                found += _likeliest(ring, probabilities[ring], NEAREST - len(found))
            if len(found) == NEAREST:
                break
        return tuple(found)

    def _rings(self, token: bytes) -> Iterator[NDArray[np.int32]]:
        """Token ids by falling length of the prefix shared with `token`: the trie's subtrees along its path."""
        trie, path = self.vocabulary.trie, [0]
        for byte in token:
            if (child := trie.child(path[-1], byte)) is None:
                break
            path.append(child)
        inner: tuple[int, int] | None = None
        for node in reversed(path):
            start, end = int(trie.token_start[node]), int(trie.token_start[trie.skip[node]])
            cut = inner or (end, end)
            yield np.concatenate((trie.token_ids[start : cut[0]], trie.token_ids[cut[1] : end]))
            inner = (start, end)
        yield np.array(sorted(self.vocabulary.end_ids), dtype=np.int32)

    def _walk(self, key: Term) -> Walked:
        bits, doubtful = self._tokens.of(key) or self._rows.of(key)
        bits &= self._text
        if key.nullable:
            bits |= self._end
        return Walked(self._remembered.shared(bits, self._size), doubtful)

    def _decide(self, state: int, walked: Walked) -> TokenMask:
        """The mask of a state for which some tokens must be tried from the state itself."""
        key = (state,)
        if (known := self._remembered.get(key)) is not None:
            return known.mask
        bits = walked.mask.bits.copy()
        for node in walked.uncertain:
            for token_id in self.vocabulary.trie.subtree_ids(node):
                if token_id not in walked.mask and self.advance(state, token_id) is not None:
                    bits[token_id >> 5] |= np.uint32(1 << (token_id & 31))
        return self._remembered.put(key, Walked(self._remembered.shared(bits, self._size), ())).mask

    def _spellable(self, state: int) -> bool:
        known = self._spelling.get(state)
        if known is None:
            known = self._spelling[state] = self.automaton.spellable(state, self.vocabulary.one_byte)
        return known


_KINDS: WeakKeyDictionary[Vocabulary, tuple[Bits, Bits]] = WeakKeyDictionary()


def _text_and_end(vocabulary: Vocabulary) -> tuple[Bits, Bits]:
    """The bits of the tokens that are text, and of the end tokens; made once."""
    known = _KINDS.get(vocabulary)
    if known is None:
        text = ~bits_of(vocabulary.special_ids | vocabulary.end_ids, vocabulary.size)
        known = _KINDS[vocabulary] = text, bits_of(vocabulary.end_ids, vocabulary.size)
    return known


def _likeliest(ids: NDArray[np.int32], probabilities: NDArray[np.float64], most: int) -> list[int]:
    """As many ids as wanted, the most probable first, lower ones first among equals; without sorting all of them."""
    if len(ids) > most:
        edge = np.partition(probabilities, -most)[-most]
        above, equal = probabilities > edge, ids[probabilities == edge]
        wanted = most - int(above.sum())
        ids = np.concatenate((ids[above], np.partition(equal, wanted - 1)[:wanted]))
        probabilities = np.concatenate((probabilities[above], np.full(wanted, edge)))
    likeliest: list[int] = ids[np.lexsort((ids, -probabilities))].tolist()
    return likeliest


def _cannot_spell(unspellable: frozenset[int]) -> str:
    shown = ", ".join(f"0x{byte:02X}" for byte in sorted(unspellable)[:8])
    return (
        f"The model's vocabulary cannot spell any text of this constraint: every one needs a byte without a token of "
        f"its own ({shown}). Allow other characters."
    )
