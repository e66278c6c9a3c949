"""The mask of a term as the union over its openings: each lexeme walks the trie by itself, and where it may end, the
openings of its tail walk on.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.automaton.automaton import Automaton
from engine.automaton.terms import Literal, Term
from engine.masking.json_lexemes import prepared
from engine.masking.lexemes import Lexemes
from engine.masking.openings import Opening, Openings
from engine.masking.token_mask import Bits
from engine.masking.walk import DOUBTFUL, UNOPENED, Ints, walk
from engine.vocabulary import Vocabulary

MOST_MET = 1 << 14
"""Places in the trie and the grammar, twice as many as one mask walks at most. MaskBench's schemas have 3,400."""


class Union:
    """Masks of one constraint's terms over a vocabulary. Hold the automaton's lock."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._arena = automaton.arena
        self._alive = automaton.liveness
        self._spellable = automaton.liveness_of(vocabulary.one_byte)
        first = prepared(vocabulary)
        self._shared, self._splits = first.lexemes, first.splits
        self._lexemes = Lexemes(self._arena, self._alive, self._spellable, self._shared)
        self._openings = Openings(self._arena, lambda lexeme: self._lexemes.number(lexeme) in first.endless)
        self._places: dict[int, int] = {}
        self._terms: list[Term] = []
        self._opened = np.empty((64, 2), dtype=np.int32)
        self._rows = np.empty((256, 7), dtype=np.int32)
        self._row_count = 0
        self._barred = np.empty((64, 2), dtype=np.int32)
        self._barred_count = 0
        self._literals = np.empty(1024, dtype=np.uint8)
        self._literal_count = 0
        self._scratch = _Scratch(len(vocabulary.trie), vocabulary.longest)

    def of(self, term: Term) -> tuple[Bits, tuple[int, ...]] | None:
        """The tokens that can be read from a term in mask form, and trie nodes; what is in their subtrees depends on
        texts captured before, unless it is allowed already. None if there are more than `MOST_MET` items to walk."""
        place = self._place(term)
        while (found := self._read(place)) is None:
            if len(self._scratch.visited) >= MOST_MET:
                return None
            self._scratch.grow()
        return found

    def _read(self, place: int) -> tuple[Bits, tuple[int, ...]] | None:
        """None if there was not room enough."""
        scratch = self._scratch
        scratch.visited.fill(0)
        bits = np.zeros((self._vocabulary.size + 31) // 32, dtype=np.uint32)
        doubtful: list[int] = []
        scratch.stack[0] = (0, -1, 0, place, 0)
        top = 1
        while top:
            self._arena.check_time()
            top, doubts, fits = self._walk(top, bits)
            if not fits:
                return None
            doubtful += scratch.doubtful[:doubts].tolist()
            self._prepare(scratch.later[:top])
            scratch.stack, scratch.later = scratch.later, scratch.stack
        return bits, tuple(sorted(set(doubtful)))

    def _walk(self, top: int, bits: Bits) -> tuple[int, int, int]:
        trie, lexemes, splits, scratch = self._vocabulary.trie, self._lexemes, self._splits, self._scratch
        later, doubtful, fits = walk(
            trie.byte,
            trie.depth,
            trie.skip,
            trie.token_start,
            trie.token_ids,
            self._shared.rows,
            self._shared.kinds,
            lexemes.rows,
            lexemes.kinds,
            splits.of,
            splits.bits,
            splits.start,
            splits.nodes,
            self._opened,
            self._rows,
            self._literals,
            self._barred,
            scratch.stack,
            top,
            scratch.visited,
            scratch.path,
            bits,
            scratch.later,
            scratch.doubtful,
        )
        return int(later), int(doubtful), int(fits)

    def _prepare(self, items: Ints) -> None:
        """Fill what the walk found missing."""
        resumed = items[:, 1]
        for state in set(resumed[resumed >= 0].tolist()):
            self._lexemes.fill(state)
        for place in set(items[resumed < 0, 3].tolist()):
            self._open(place)

    def _place(self, term: Term) -> int:
        place = self._places.get(term.id)
        if place is None:
            place = self._places[term.id] = len(self._terms)
            self._terms.append(term)
            if place == len(self._opened):
                self._opened = np.concatenate([self._opened, np.empty_like(self._opened)])
            self._opened[place] = (UNOPENED, 0)
        return place

    def _open(self, place: int) -> None:
        openings = self._openings.of(self._terms[place])
        if openings is None:
            self._opened[place] = (DOUBTFUL, 0)
            return
        rows = [row for opening in self._grouped(openings) if (row := self._row(opening)) is not None]
        start, end = self._row_count, self._row_count + len(rows)
        while end > len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        if rows:
            self._rows[start:end] = rows
        self._row_count = end
        self._opened[place] = (start, end)

    def _grouped(self, openings: tuple[Opening, ...]) -> Iterable[Opening]:
        """Alternatives that begin with the same lexeme as one: it need not be walked for each."""
        tails: dict[tuple[int, tuple[bytes, ...]], list[Opening]] = {}
        for opening in openings:
            tails.setdefault((opening.lexeme.id, opening.barred), []).append(opening)
        for alike in tails.values():
            first = alike[0]
            tail = first.tail if len(alike) == 1 else self._arena.alt(opening.tail for opening in alike)
            yield first if len(alike) == 1 else Opening(first.lexeme, tail, first.barred)

    def _row(self, opening: Opening) -> tuple[int, ...] | None:
        """None where nothing is accepted behind the lexeme."""
        lexeme, tail = opening.lexeme, opening.tail
        if not self._alive.alive(tail):
            return None
        sure = self._spellable.alive(tail)
        if isinstance(lexeme, Literal) and self._spellable.alive(lexeme):
            start = self._literal(lexeme.data)
            return -1, start, start + len(lexeme.data), self._place(tail), sure, 0, 0
        state = self._lexemes.number(lexeme)
        if state < 0:
            return None
        barred = self._barred_count
        for word in opening.barred:
            self._bar(word)
        return state, 0, 0, self._place(tail), sure, barred, self._barred_count

    def _bar(self, word: bytes) -> None:
        if self._barred_count == len(self._barred):
            self._barred = np.concatenate([self._barred, np.empty_like(self._barred)])
        start = self._literal(word)
        self._barred[self._barred_count] = start, start + len(word)
        self._barred_count += 1

    def _literal(self, data: bytes) -> int:
        start = self._literal_count
        self._literal_count += len(data)
        while self._literal_count > len(self._literals):
            self._literals = np.concatenate([self._literals, np.empty_like(self._literals)])
        self._literals[start : self._literal_count] = np.frombuffer(data, dtype=np.uint8)
        return start


class _Scratch:
    """Buffers of the walk, see there. Pages of them that no walk touches take no memory."""

    def __init__(self, nodes: int, longest: int) -> None:
        self.path = np.empty((2, longest + 1), dtype=np.int32)
        self.stack = np.empty((4 * nodes + 64, 5), dtype=np.int32)
        self.later = np.empty_like(self.stack)
        self.doubtful = np.empty(len(self.stack), dtype=np.int32)
        self.visited = np.zeros(2048, dtype=np.int64)

    def grow(self) -> None:
        self.visited = np.zeros(4 * len(self.visited), dtype=np.int64)
        if 16 * len(self.visited) > len(self.stack):
            self.stack = np.empty((2 * len(self.stack), 5), dtype=np.int32)
            self.later = np.empty_like(self.stack)
            self.doubtful = np.empty(len(self.stack), dtype=np.int32)
