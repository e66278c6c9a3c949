"""Lexemes as automata: one table of rows for all lexemes of a constraint, filled where a walk comes by.

Those of JSON's own (white space, strings, the rest of a character) are the same in every schema. Their rows are made
once per process, and every table begins with them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.automaton.arena import Arena
from engine.automaton.automaton import DEAD, UNKNOWN
from engine.automaton.liveness import Liveness
from engine.automaton.terms import ALL_BYTES, Alt, Bytes, Epsilon, Literal, Repeat, Seq, Term, Words
from engine.errors import BudgetError
from engine.masking.openings import Mixed
from engine.masking.walk import ACCEPTING, ASKED, SPELLED, WANTED, WHOLE

FEW = 16
"""Rows that there is room for once there is one: many constraints get by with those of JSON."""

FEW_ASKED = 16
"""Bytes up to which a row is filled for them alone, the first time: to know all of it costs less than to come often."""

MOST_SHAPED = 64
"""Members of a term beyond which it is not compared with lexemes known before: it would cost what it saves."""


class Lexemes:
    """States of lexemes, numbered when first met; the first ones are those of `shared`, which is read only.

    `rows[state - shared, byte]` (int32) is the next state, DEAD, UNKNOWN or ASKED; `kinds` (uint8) says whether the
    lexeme may end there (ACCEPTING) and whether an end can be spelled with the vocabulary's one-byte tokens (SPELLED).
    `splits` (int32) is the row of its split, WHOLE or WANTED (see `walk`). All may be reallocated by `number`, `fill`
    and `answer`; `known_rows` and so on are those of `shared`.
    """

    def __init__(self, arena: Arena, alive: Liveness, spellable: Liveness, shared: Lexemes | None = None) -> None:
        """`alive` and `spellable` decide over all bytes and over one-byte tokens."""
        self._arena = arena
        self._alive = alive
        self._spellable = spellable
        self.known_rows = shared.rows if shared is not None else np.empty((0, 256), dtype=np.int32)
        self.known_kinds = shared.kinds if shared is not None else np.empty(0, dtype=np.uint8)
        self.known_splits = shared.splits if shared is not None else np.empty(0, dtype=np.int32)
        self._shared = len(self.known_rows)
        self._known = shared.by_shape if shared is not None else {}
        self.by_shape: dict[Any, int] = {}
        self._numbers: dict[int, int] = {}
        self._terms: list[Term] = []
        self._shapes: dict[int, Any] = {}
        self.rows: NDArray[np.int32] = np.empty((0, 256), dtype=np.int32)
        self.kinds: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self.splits: NDArray[np.int32] = np.empty(0, dtype=np.int32)

    def __len__(self) -> int:
        return self._shared + len(self._terms)

    def number(self, term: Term) -> int:
        """The state in which a term remains to be read, DEAD if it is empty. Raises `Mixed` where that depends on what
        was captured within it."""
        known = self._numbers.get(term.id)
        if known is None:
            known = self._numbers[term.id] = self._find(term)
        return known

    def fill(self, state: int) -> None:
        """Compute the row of a state."""
        self.rows[state - self._shared] = ASKED
        self.answer(state)

    def answer(self, state: int) -> None:
        """Compute the transitions of a state that walks asked for. Far from the root few bytes go on from a node, and a
        derivative by few bytes costs a tenth of one by all."""
        place = state - self._shared
        row = self.rows[place]
        asked = row == ASKED
        among = int.from_bytes(np.packbits(asked, bitorder="little").tobytes(), "little")
        if not among:
            return
        if among.bit_count() > FEW_ASKED or row.max() >= DEAD:
            asked, among = np.ones_like(asked), ALL_BYTES
        moves = [(members, self.number(rest)) for members, rest in self._arena.moves(self._terms[place], among)]
        row = self.rows[place]  # only now: there may be a new table
        row[asked] = DEAD
        for members, target in moves:
            if target >= 0:
                row[indices(members)] = target

    def split(self, state: int, row: int = WANTED) -> None:
        """Have a state read from the root by its split: the row of one, or one that is to be made."""
        if state >= self._shared and (row != WANTED or self.splits[state - self._shared] == WHOLE):
            self.splits[state - self._shared] = row

    def is_wanted(self, state: int) -> bool:
        """Whether a split of the state is to be made."""
        return state >= self._shared and bool(self.splits[state - self._shared] == WANTED)

    def close(self, term: Term) -> None:
        """Fill the rows of all states of a lexeme, and know them by their shape from now on."""
        pending = [self.number(term)]
        while pending:
            state = pending.pop()
            if self.rows[state, 0] != UNKNOWN:
                continue
            self.fill(state)
            self.by_shape[self._shape(self._terms[state])] = state
            pending += [target for target in np.unique(self.rows[state]).tolist() if target >= 0]

    def trim(self) -> None:
        """Give back what memory is not used."""
        count = len(self._terms)
        self.rows, self.kinds, self.splits = (
            self.rows[:count].copy(),
            self.kinds[:count].copy(),
            self.splits[:count].copy(),
        )

    def _find(self, term: Term) -> int:
        if self._known and (known := self._known.get(self._shape(term))) is not None:
            return known
        if term is self._arena.uncertain:
            raise Mixed
        is_spelled = self._spellable.alive(term)
        if not is_spelled and not self._alive.alive(term):
            return DEAD
        place = len(self._terms)
        if place >= self._arena.budget.states:
            raise BudgetError(f"The lexemes of the constraint have more than {place:,} states. Make them smaller.")
        if place == len(self.rows):
            more = max(FEW, place)
            self.rows = np.concatenate([self.rows, np.full((more, 256), UNKNOWN, dtype=np.int32)])
            self.kinds = np.concatenate([self.kinds, np.zeros(more, dtype=np.uint8)])
            self.splits = np.concatenate([self.splits, np.full(more, WHOLE, dtype=np.int32)])
        self._terms.append(term)
        self.kinds[place] = ACCEPTING * term.nullable | SPELLED * is_spelled
        return self._shared + place

    def _shape(self, term: Term) -> Any:
        """Equal for equal regular terms, whatever arena they were made in; rarer kinds have none."""
        known = self._shapes.get(term.id)
        if known is None:
            known = self._shapes[term.id] = self._make_shape(term)
        return known

    def _make_shape(self, term: Term) -> Any:
        if isinstance(term, Seq):
            return ("then", self._shape(term.head), self._shape(term.tail))
        if isinstance(term, Repeat):
            return ("repeat", self._shape(term.body), term.low, term.high)
        if isinstance(term, Alt) and len(term.members) <= MOST_SHAPED:
            return frozenset(map(self._shape, term.members))
        if isinstance(term, Words) and term.high - term.low <= MOST_SHAPED:
            return ("words", tuple(word[term.depth :] for word in term.words[term.low : term.high]))
        if isinstance(term, (Bytes, Literal)):
            return term.members if isinstance(term, Bytes) else term.data
        return "epsilon" if isinstance(term, Epsilon) else ("none", id(self), term.id)


@lru_cache(maxsize=4096)
def _indices(members: int) -> NDArray[np.intp]:
    bits = np.frombuffer(members.to_bytes(32, "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))


def indices(members: int) -> NDArray[np.intp] | int:
    """The bytes of a non-empty set, to index a row with."""
    if members & (members - 1) == 0:
        return members.bit_length() - 1
    return _indices(members)
