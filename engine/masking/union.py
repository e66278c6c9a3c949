"""The mask of a term as the union over its openings: each lexeme walks the trie by itself, and where it may end, what
is behind it walks on.
"""

from __future__ import annotations

from collections import deque
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from engine.automaton.automaton import DEAD, Automaton
from engine.automaton.derivative import first_bytes
from engine.automaton.terms import Literal, Term
from engine.masking.cells import MOST_CELLS, Cells
from engine.masking.growing import Growing
from engine.masking.json_lexemes import prepared
from engine.masking.lexemes import Lexemes
from engine.masking.memory import counted
from engine.masking.openings import Mixed, Opening, Openings
from engine.masking.scratch import Scratch
from engine.masking.splits import Splits
from engine.masking.token_mask import Bits
from engine.masking.walk import DOUBTFUL, END, FIXED, NO_CELLS, NO_ROOM, NOTHING, UNOPENED, WANTED, Ints, walk
from engine.masking.ways_on import ANY, folded
from engine.vocabulary import Vocabulary

MOST_MET = 1 << 14
"""Items (a node of the trie and a cell), twice as many as one mask walks at most. MaskBench's schemas have 3,400."""

SHORT = 1
"""Bytes of a fixed text behind which nearly every vocabulary has tokens that go on."""

AT_ROOT = 3
"""Parts that must be read, from the root on, that are opened before they are met."""

ROWS_PER_LOOK = 16
"""Openings that are made between two looks at the clock: a look takes as long as a tenth of one."""

MOST_SPLITS = 1000
"""Lexemes of a constraint that are split, each in as much memory as a mask."""


class _Rest(NamedTuple):
    """The parts behind a lexeme: where they are in `rests`, whether an end of them can be spelled, whether they can be
    completed at all, and those before which nothing need be read."""

    first: int
    last: int
    is_sure: bool
    is_alive: bool
    needed: list[int]


class Union:
    """Masks of one constraint's terms over a vocabulary. Hold the automaton's lock."""

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self._words = (vocabulary.size + 31) // 32
        self._arena = automaton.arena
        self._alive = automaton.liveness
        self._spellable = automaton.liveness_of(vocabulary.one_byte)
        first = prepared(vocabulary)
        self._lexemes = lexemes = Lexemes(self._arena, self._alive, self._spellable, first.lexemes)
        self._known_splits, self._splits = first.splits, Splits(vocabulary)
        self._openings = Openings(self._arena, lambda lexeme: lexemes.number(lexeme) in first.endless)
        self._numbers: dict[int, int] = {}
        self._terms: list[Term] = []
        self._is_spelled: list[bool] = []
        self._unopened: set[int] = set()
        self._row_of: dict[Opening, int] = {}
        self._cells = Cells()
        self._cell_of: dict[int, int] = {self._arena.epsilon.id: END}
        self._parts = Growing((4,), np.int32)
        self._ways = Growing((), np.uint64)
        self._choices = Growing((), np.int32)
        self._rows = Growing((8,), np.int32)
        self._row_ways: list[int] = []
        self._next: list[list[int]] = []
        self._is_passed: list[bool] = []
        self._is_short: list[bool] = []
        self._rests = Growing((), np.int32)
        self._rest_of: dict[tuple[Term, ...], _Rest] = {}
        self._first = np.empty(1, dtype=np.int32)
        self._barred = Growing((2,), np.int32)
        self._texts = Growing((), np.uint8)
        self._pool = first.pool
        trie = vocabulary.trie
        self._trie = trie.byte, trie.depth, trie.skip, first.ways_on, trie.token_start, trie.token_ids
        if self._pool.is_unused:
            self._compile()

    def _compile(self) -> None:
        """Compiled now if at all, not while a budget's clock runs."""
        scratch = self._pool.take()
        bits = np.zeros(0, dtype=np.uint32)
        self._walk(scratch, 0, bits)
        self._cells.add(np.zeros(0, dtype=np.int32), END, self._parts.array)
        counted(bits)
        self._pool.give(scratch)

    @property
    def held_bytes(self) -> int:
        """Memory of lexemes, splits and cells."""
        arrays = (
            self._lexemes.rows,
            self._splits.bits.array,
            self._splits.nodes.array,
            self._cells.rows,
            self._cells.index,
        )
        return sum(array.nbytes for array in arrays)

    def of(self, term: Term) -> tuple[Bits, tuple[int, ...]] | None:
        """The tokens that can be read from a term in mask form, and trie nodes; what is in their subtrees depends on
        texts captured before, unless it is allowed already. None if more than `MOST_MET` items are to be walked, or a
        part is `Mixed`."""
        if self._cells.count > MOST_CELLS:
            self._cells.clear()
            self._cell_of = {self._arena.epsilon.id: END}
        cell = self._cell(term)
        scratch = self._pool.take()
        try:
            while (found := self._read(scratch, cell)) is None and len(scratch.visited) < MOST_MET:
                self._arena.check_time()
                scratch.grow()
        except Mixed:
            found = None
        self._pool.give(scratch)
        return found

    def _read(self, scratch: Scratch, cell: int) -> tuple[Bits, tuple[int, ...]] | None:
        """None if there was not room enough."""
        scratch.visited.fill(0)
        bits = np.zeros(self._words, dtype=np.uint32)
        doubtful: list[int] = []
        scratch.root[3] = cell
        scratch.stack[0] = scratch.root
        top = 0 if cell == END else 1
        self._open_at_root(cell)
        while top:
            top, doubts, fits = self._walk(scratch, top, bits)
            if fits == NO_CELLS:
                self._cells.grow()
                return self._read(scratch, cell)
            if fits == NO_ROOM:
                return None
            if doubts:
                doubtful += scratch.doubtful[:doubts].tolist()
            if top:
                self._prepare(scratch.later[:top])
            scratch.stack, scratch.later = scratch.later, scratch.stack
        return bits, tuple(sorted(set(doubtful)))

    def _walk(self, scratch: Scratch, top: int, bits: Bits) -> tuple[int, int, int]:
        lexemes, known, splits = self._lexemes, self._known_splits, self._splits
        later, doubtful, cells, fits = walk(
            *self._trie,
            lexemes.known_rows,
            lexemes.known_kinds,
            lexemes.rows,
            lexemes.kinds,
            lexemes.known_splits,
            known.bits.array,
            known.start.array,
            known.nodes.array,
            lexemes.splits,
            splits.bits.array,
            splits.start.array,
            splits.nodes.array,
            self._parts.array,
            self._ways.array,
            self._choices.array,
            self._rows.array,
            self._rests.array,
            self._texts.array,
            self._barred.array,
            self._cells.rows,
            self._cells.index,
            self._cells.count,
            scratch.stack,
            top,
            scratch.visited,
            scratch.path,
            bits,
            scratch.later,
            scratch.doubtful,
        )
        if fits != NO_CELLS:
            self._cells.count = int(cells)
        return int(later), int(doubtful), int(fits)

    def _prepare(self, items: Ints) -> None:
        """Fill what the walk found missing. Parts are opened in the order in which they were met first, which is that
        of the source: terms are told in the order in which they were made."""
        found = dict.fromkeys(zip(items[:, 1].tolist(), items[:, 3].tolist(), strict=True))
        for state, part in sorted((state, int(self._cells.rows[cell, 0])) for state, cell in found):
            if state == WANTED:
                self._split(part)
            elif state < 0:
                self._open(part)
            else:
                self._lexemes.answer(state)

    def _cell(self, term: Term) -> int:
        """The cell of what a term reads, part by part from its end."""
        passed = []
        while (cell := self._cell_of.get(term.id)) is None:
            part, after = self._openings.first(term)
            passed.append((term.id, part))
            term = after
        for whole, part in reversed(passed):
            self._first[0] = self._number(part)
            cell = self._cell_of[whole] = self._cells.add(self._first, cell, self._parts.array)
        return cell

    def _number(self, part: Term) -> int:
        number = self._numbers.get(part.id)
        if number is None:
            is_doubtful = part is self._arena.uncertain  # and so is whether a text may end before it
            is_spelled = not is_doubtful and self._spellable.alive(part)
            ways = folded(first_bytes(self._arena, part)) if self._openings.is_closed(part) else ANY
            # Only now: a budget may end any of the work before.
            number = self._parts.append((DOUBTFUL if is_doubtful else UNOPENED, 0, part.nullable, is_spelled))
            self._ways.append(ways)
            self._numbers[part.id] = number
            self._terms.append(part)
            self._is_spelled.append(is_spelled)
            if not is_doubtful:
                self._unopened.add(number)
        return number

    def _open_at_root(self, cell: int) -> None:
        """Open what is read at the root whatever the vocabulary, and what is behind it where that is short: most walks
        get there, and what they lack they must wait for."""
        needed = 0
        while cell != END and needed < AT_ROOT:
            number, cell, _ = self._cells.rows[cell].tolist()
            if number in self._unopened:
                self._open(number)
            part = self._terms[number]
            if isinstance(part, Literal) and len(part.data) > SHORT:
                break
            needed += not part.nullable

    def _open(self, number: int) -> None:
        """Find with what a part begins; of the parts behind too where nothing stands before them, for they are read in
        the same places, or a short text, for most walks get there."""
        # In the order of the source: terms are told in the order in which they were made.
        pending = deque([(number, False)])
        opened: list[tuple[int, list[int]]] = []
        while pending:
            number, is_behind = pending.popleft()
            if number not in self._unopened:
                continue
            openings = self._openings.of(self._terms[number])
            rows = [row for opening in openings if (row := self._row(opening)) != DEAD]
            self._parts.array[number, 0], self._parts.array[number, 1] = self._choices.extend(rows)
            self._unopened.discard(number)
            opened.append((number, rows))
            for row in rows:
                if not self._row_ways[row]:  # no lexeme stands before them
                    pending += [(part, is_behind) for part in self._next[row]]
                elif not is_behind and self._is_short[row]:
                    pending += [(part, True) for part in self._next[row]]
        for number, rows in reversed(opened):
            ways = self._ways.array
            ways[number] = reduce(or_, [self._ways_into(row) for row in rows], 0)

    def _ways_into(self, row: int) -> int:
        """The bytes with which the texts of an opening begin (see `folded`)."""
        behind = self._next[row] if self._is_passed[row] else ()
        return reduce(or_, [int(self._ways.array[part]) for part in behind], self._row_ways[row])

    def _split(self, number: int) -> None:
        """Make the splits of the lexemes with which a part begins."""
        first, last = self._parts.array[number, :2]
        for state in self._rows.array[self._choices.array[first:last], 0].tolist():
            if self._lexemes.is_wanted(state):
                self._splits.add(self._lexemes, state)

    def _row(self, opening: Opening) -> int:
        """The row of an opening, DEAD where no text begins so."""
        row = self._row_of.get(opening)
        if row is None:
            row = self._row_of[opening] = self._make_row(opening)
        return row

    def _make_row(self, opening: Opening) -> int:
        if self._rows.count % ROWS_PER_LOOK == 0:
            self._arena.check_time()
        rest = self._rest(opening.rest)
        if not rest.is_alive:
            return DEAD
        lexeme = opening.lexeme
        state, text, barred, ways = NOTHING, (0, 0), (0, 0), 0
        if lexeme is not None:
            ways = folded(first_bytes(self._arena, lexeme))
        if isinstance(lexeme, Literal) and self._spellable.alive(lexeme):
            state, text = FIXED, self._text(lexeme.data)
        elif lexeme is not None:
            state = self._lexemes.number(lexeme)
            if state == DEAD:
                return DEAD
            if self._openings.is_wide(lexeme) and len(self._splits) < MOST_SPLITS:
                self._lexemes.split(state)
            barred = self._barred.extend([self._text(word) for word in opening.barred]) if opening.barred else (0, 0)
        row = self._rows.append((state, *text, rest.first, rest.last, rest.is_sure, *barred))
        self._row_ways.append(ways)
        self._next.append(rest.needed)
        self._is_passed.append(lexeme is None or lexeme.nullable)
        self._is_short.append(isinstance(lexeme, Literal) and len(lexeme.data) <= SHORT)
        return row

    def _rest(self, parts: tuple[Term, ...]) -> _Rest:
        """What is behind a lexeme; the same behind all that remains of a name while it is read."""
        found = self._rest_of.get(parts)
        if found is None:
            numbers = [self._number(part) for part in parts]
            is_sure = all(map(self._is_spelled.__getitem__, numbers))
            is_alive = is_sure or all(map(self._alive.alive, parts))
            found = _Rest(*self._rests.extend(numbers), is_sure, is_alive, _needed(parts, numbers))
            self._rest_of[parts] = found
        return found

    def _text(self, data: bytes) -> tuple[int, int]:
        return self._texts.extend(data)


def _needed(parts: tuple[Term, ...], numbers: list[int]) -> list[int]:
    """The numbers of the parts before which nothing need be read."""
    needed = []
    for part, number in zip(parts, numbers, strict=True):
        needed.append(number)
        if not part.nullable:
            break
    return needed
