"""The automaton of one constraint: states are small integers that stand for terms, made when first reached.

A transition exists only if its target can still be completed. Two kinds of states share the table: those of runs (exact
terms, filled one byte at a time) and those from which masks are computed (terms in mask form, filled a row at a time).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from engine.automaton.arena import Arena
from engine.automaton.explain import origins
from engine.automaton.liveness import Liveness, pleasant
from engine.automaton.reading import after
from engine.automaton.terms import COUNTED, DRAWN, Call, Form, Term, byte_set, members_of
from engine.errors import BudgetError, Origin

DEAD = -1
"""No text is accepted from here."""
UNKNOWN = -2
"""Not computed yet: fill the row."""
UNCERTAIN = -3
"""A mask state that cannot tell: decide from the run's own state."""

FIRST_CAPACITY = 16

TERM_BYTES = 400
"""What one term takes, roughly, with what is remembered of it."""

TIME_TO_BLAME = 0.5
"""Seconds to look for who is to blame for a budget that is used up."""


class Automaton:
    """Lazy deterministic automaton over bytes. Hold `lock` around every use from more than one thread.

    `accepting[state]` (bool) says whether a text may end in a state.
    Methods raise `BudgetError` when the constraint's budget of states or terms is used up.
    """

    def __init__(self, arena: Arena, root: Term) -> None:
        self.lock = threading.RLock()
        self.arena = arena
        self._lease = arena.lifetime.lease()
        self.liveness = Liveness(arena)
        self._table: npt.NDArray[np.int32] = np.empty((0, 256), dtype=np.int32)
        self.accepting: npt.NDArray[np.bool_] = np.zeros(FIRST_CAPACITY, dtype=np.bool_)
        self._terms: list[Term] = []
        self._numbers: dict[Term, int] = {}
        self._read: dict[tuple[int, bytes], int] = {}
        self._formed_states: dict[tuple[int, int], int] = {}
        self._by_alphabet: dict[frozenset[int] | tuple[int, ...], Liveness] = {}
        self.root = root
        self.start = self._number(root)

    def __len__(self) -> int:
        return len(self._terms)

    @property
    def held_bytes(self) -> int:
        """Memory of the terms and states made so far, roughly."""
        return TERM_BYTES * len(self.arena) + self._table.nbytes

    @property
    def table(self) -> npt.NDArray[np.int32]:
        """`table[state, byte]` (int32) is the next state, DEAD, UNKNOWN or UNCERTAIN. It may be reallocated when states
        were made: those of runs take no rows until somebody looks at them."""
        missing = len(self._terms) - len(self._table)
        if missing > 0:
            more = np.full((max(missing, len(self._table)), 256), UNKNOWN, dtype=np.int32)
            self._table = np.concatenate([self._table, more])
        return self._table

    def term(self, state: int) -> Term:
        """What remains to be read in a state."""
        return self._terms[state]

    def step(self, state: int, byte: int) -> int:
        """The state after one byte, DEAD if none."""
        target = int(self.table[state, byte])
        if target == UNKNOWN:
            with self.at_work(state):
                target = self._number(after(self.arena, self._terms[state], bytes((byte,))))
            self.table[state, byte] = target
        return target

    def advance(self, state: int, data: bytes) -> int | None:
        """The state after some bytes, None if they cannot be read. States in between are not made."""
        known = self._read.get((state, data))
        if known is None:
            known = self._read_all(state, data)
            if known < 0:
                return None
            if len(self._read) >= self.arena.budget.states:
                self._read.clear()
            self._read[state, data] = known
        return known

    def _read_all(self, state: int, data: bytes) -> int:
        try:
            with self.at_work(state):
                return self._number(after(self.arena, self._terms[state], data))
        except BudgetError:
            if len(data) == 1:
                raise
        for byte in data:  # so it shows where, and who is to blame
            state = self.step(state, byte)
            if state < 0:
                break
        return state

    def prefixed(self, state: int, prefix: bytes) -> int:
        """The state in which `prefix` must be read before what remains in `state`."""
        with self.at_work(state):
            return self._number(self.arena.seq(self.arena.literal(prefix), self._terms[state]))

    def state_of(self, term: Term) -> int:
        """The state in which `term` remains to be read, DEAD if no text is accepted from there."""
        with self.at_work(self.start):
            return self._number(term)

    def is_accepting(self, state: int) -> bool:
        """Whether a text may end in this state."""
        return bool(self.accepting[state])

    def moves(self, state: int) -> list[tuple[int, int]]:
        """Disjoint byte sets (256-bit integers) with the live state each leads to."""
        with self.at_work(state):
            moves = self.arena.moves(self._terms[state])
            numbered = [(members, self._number(rest)) for members, rest in moves]
        return [(members, target) for members, target in numbered if target != DEAD]

    def fill_row(self, state: int) -> None:
        """Compute all 256 transitions of a mask state."""
        row = np.full(256, DEAD, dtype=np.int32)
        with self.at_work(state):
            for members, rest in self.arena.moves(self._terms[state]):
                row[members_of(members)] = self._number(rest)
        self.table[state] = row

    def mask_state(self, state: int, longest: int) -> int:
        """The state to compute a mask from: equal for all states that no token of `longest` bytes tells apart."""
        return self._formed(state, self.arena.mask_form(longest))

    def mask_term(self, state: int, longest: int) -> Term:
        """What remains in a state, equal for all states that no token of `longest` bytes tells apart."""
        term = self._terms[state]
        form = self.arena.mask_form(longest)
        known = self.arena.formed_in(form).get(term.id)
        if known is None:
            with self.at_work(state):
                known = self.arena.to_form(term, form)
        return known

    def distance_state(self, state: int, longest: int) -> int:
        """The state to bound distances from: a mask state in which what counters still need is kept.

        Which one it is may change while terms are made (`Arena.hides_owed`), shortest texts from it do not.
        """
        return self._formed(state, self.arena.distance_form(longest))

    def counted_state(self, state: int) -> int:
        """The state to measure exact distances from: every counter kept, captured texts forgotten."""
        return self._formed(state, COUNTED)

    def drawn_state(self, state: int) -> int:
        """The state as a picture shows it: captured texts forgotten, owners kept."""
        return self._formed(state, DRAWN)

    def spellable(self, state: int, alphabet: frozenset[int]) -> bool:
        """Whether acceptance can be reached from here with these bytes alone."""
        liveness, term = self.liveness_of(alphabet), self._terms[state]
        known = liveness.known(term)
        if known is None:
            with self.at_work(state):
                known = liveness.alive(term)
        return known

    def shortest(self, state: int, alphabet: frozenset[int] | None = None) -> bytes:
        """A shortest text that is accepted from here; of these bytes alone, if given (the state must be spellable)."""
        liveness = self.liveness if alphabet is None else self.liveness_of(alphabet)
        with self.at_work(state):
            text = liveness.shortest(self._terms[state])
        assert text is not None, "every state is live"
        return text

    def certain(self, state: int, alphabet: tuple[int, ...]) -> bytes | None:
        """Like `shortest`, from a mask state too: None if a text that was captured and forgotten might rule it out.

        Of equally short texts one with bytes that stand first in `alphabet`.
        """
        with self.at_work(state):
            text = self.liveness_of(alphabet).shortest(self._terms[state])
        if text is None or not self.arena.captures:
            return text
        # What follows a forgotten text is read with doubt exactly where it might be ruled out.
        end = self.advance(state, text)
        return text if end is not None and self.accepting[end] else None

    def fewest_bytes(self, state: int) -> int:
        """A number of bytes below which no text is accepted from here."""
        with self.at_work(state):
            return len(self.liveness.planned(self._terms[state]) or b"")

    def liveness_of(self, alphabet: frozenset[int] | tuple[int, ...]) -> Liveness:
        if alphabet not in self._by_alphabet:
            ordered = pleasant(alphabet) if isinstance(alphabet, frozenset) else alphabet
            self._by_alphabet[alphabet] = Liveness(self.arena, ordered)
        return self._by_alphabet[alphabet]

    def alphabet(self) -> frozenset[int]:
        """Bytes that texts of the language may use (an upper bound)."""
        return frozenset(members_of(_bytes_of(self.arena, self.root)))

    def _formed(self, state: int, form: Form) -> int:
        key = (state, id(form))
        if key not in self._formed_states:
            with self.at_work(state):
                self._formed_states[key] = self._number(self.arena.to_form(self._terms[state], form))
        return self._formed_states[key]

    def at_work(self, state: int) -> _AtWork:
        """Keep to the budget; blame who speaks in the state, if nothing more exact is known."""
        return _AtWork(self, state)

    def blamed(self, error: BudgetError, state: int) -> BudgetError:
        """The error, with the first who speaks in the state to blame."""
        try:
            with self.arena.clock.running(TIME_TO_BLAME):
                return error.at(next(iter(origins(self.arena, self._terms[state])), Origin("")))
        except (BudgetError, RecursionError):  # of terms there are none left
            return error

    def _number(self, term: Term) -> int:
        number = self._numbers.get(term)
        if number is None:
            if term is self.arena.uncertain:
                return UNCERTAIN
            if not self._is_alive(term):
                self._numbers[term] = DEAD
                return DEAD
            number = self._add(term)
        return number

    def _is_alive(self, term: Term) -> bool:
        # Whoever asked first which texts some bytes spell will ask again: what they spell is alive.
        first = next(iter(self._by_alphabet.values()), None)
        return (first is not None and first.shows(term)) or self.liveness.alive(term)

    def _add(self, term: Term) -> int:
        number = len(self._terms)
        if number >= self.arena.budget.states:
            raise BudgetError(f"The constraint has visited more than {number:,} states. Make its bounds smaller.")
        if number == len(self.accepting):
            self.accepting = np.concatenate([self.accepting, np.zeros(number, dtype=np.bool_)])
        self._terms.append(term)
        self._numbers[term] = number
        self.accepting[number] = term.nullable
        return number


class _AtWork:
    """See `Automaton.at_work`. A class, as this is entered at every token and a generator costs more than the rest."""

    __slots__ = ("_automaton", "_is_first", "_state")

    def __init__(self, automaton: Automaton, state: int) -> None:
        self._automaton = automaton
        self._state = state

    def __enter__(self) -> None:
        clock = self._automaton.arena.clock
        self._is_first = clock.deadline is None
        if self._is_first:
            clock.start_later()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._is_first:
            self._automaton.arena.clock.stop()
        if error is None:
            return
        if isinstance(error, RecursionError):
            raise BudgetError("The text is nested too deeply.") from error
        if isinstance(error, BudgetError) and not error.pointer and not error.keyword:
            raise self._automaton.blamed(error, self._state) from error


def _bytes_of(arena: Arena, root: Term) -> int:
    """All byte sets below a term, through calls, as one set."""
    found = 0
    seen: set[Term] = set()
    pending: list[Term] = [root]
    rules: set[int] = set()
    while pending:
        term = pending.pop()
        if term in seen:
            continue
        seen.add(term)
        found |= _own_bytes(term)
        if isinstance(term, Call):
            # Every call of a rule is made of the same parts.
            if id(term.rule) not in rules:
                rules.add(id(term.rule))
                pending.extend(term.rule.parts(arena, term.args))
        else:
            pending.extend(_children(term))
    return found


def _own_bytes(term: Term) -> int:
    if hasattr(term, "data"):
        return byte_set(term.data)
    if hasattr(term, "words"):
        return byte_set(byte for word in term.words for byte in word)
    members = getattr(term, "members", 0)
    return members if isinstance(members, int) else 0


def _children(term: Term) -> Iterable[Term]:
    members = getattr(term, "members", ())
    if isinstance(members, tuple):
        yield from members
    for name in ("head", "tail", "body", "language"):
        child = getattr(term, name, None)
        if child is not None:
            yield child
