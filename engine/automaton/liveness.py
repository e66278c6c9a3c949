"""Which terms can still be completed, and how shortly.

Both questions are least fixpoints over the calls of a grammar: a recursion without a base case completes nothing. The
regular parts with intersection or complement are decided by exploring their derivatives breadth first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from heapq import heappop, heappush
from typing import TypeVar

from engine.automaton.arena import Arena
from engine.automaton.fixpoint import LeastFixpoint
from engine.automaton.planned import (
    LONGEST_TEXT,
    Endless,
    Long,
    Text,
    drafted,
    first_byte,
    is_draft,
    joined,
    length,
    preferred,
    spelled,
    times,
)
from engine.automaton.reading import after
from engine.automaton.terms import (
    FORGOTTEN,
    PRINTABLE,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Literal,
    Not,
    Repeat,
    Seq,
    Tag,
    Term,
    Uncertain,
    Words,
    byte_set,
    members_of,
    spine,
)
from engine.errors import BudgetError

Value = TypeVar("Value", bool, Text)

MOST_TRIED = 64
"""Bytes of a text that is tried before states are explored; of so few, it is spelled at once (planned.py)."""

PLEASANT = tuple(dict.fromkeys([*b'0a "ntf', *range(0x20, 0x7F), *b"\n\t\r", *range(256)]))
"""Bytes in the order in which a shortest text prefers them, if nothing else is asked."""


@lru_cache(maxsize=64)
def pleasant(alphabet: frozenset[int]) -> tuple[int, ...]:
    """Some bytes in the order of `PLEASANT`."""
    return tuple(byte for byte in PLEASANT if byte in alphabet)


@lru_cache(maxsize=64)
def _ranked(alphabet: tuple[int, ...]) -> tuple[dict[int, int], int, bytes]:
    """The rank of each byte, and the bytes as a set and one by one."""
    return {byte: rank for rank, byte in enumerate(alphabet)}, byte_set(alphabet), bytes(alphabet)


_EVERY = _ranked(PLEASANT)
"""For every byte: most automata ask for no other alphabet, and hashing it takes a while."""


class Liveness:
    """Answers for one arena and one alphabet: its bytes, those first that texts prefer. Every answer is remembered."""

    def __init__(self, arena: Arena, alphabet: Iterable[int] = PLEASANT) -> None:
        self.arena = arena
        self._rank, self.alphabet, self._bytes = _EVERY if alphabet is PLEASANT else _ranked(tuple(alphabet))
        self._prints = not PRINTABLE & ~self.alphabet
        self._shortest: dict[int, Text] = {}
        self._alive: dict[int, bool] = {}
        self._cores: dict[int, Term] = {}
        self._explored: dict[int, bool] = {}
        self._simple: dict[int, bool] = {}
        self._least_bytes: dict[int, int] = {}

    def alive(self, term: Term) -> bool:
        """Whether some text of the alphabet completes the term. Raises `BudgetError` if that takes too many states."""
        known = self._alive.get(term.id)
        if known is None and self.shows(term):
            known = True
        if known is None and isinstance(term, Seq):
            known = self._all_alive(term)
        if known is None and isinstance(term, (And, Not)):  # regular: no call is below it
            known = self._alive[term.id] = self._explore(term)
        if known is None:
            known = self._least(term, self._alive, self._is_alive, False, lambda call: self.shows(call) or None)
        return known

    def known(self, term: Term) -> bool | None:
        """What `alive` has found, None if it was not asked."""
        return self._alive.get(term.id)

    def shows(self, term: Term) -> bool:
        """Whether the term is alive, as far as its own structure and the rules that it calls show."""
        return self._shows(term, set())

    def _shows(self, term: Term, hidden: set[int]) -> bool:
        """The same; `hidden`: terms that were looked at before, and show nothing. An ambiguous grammar has few terms
        that stand in each other in many ways."""
        known = self._alive
        passed = []
        while not known.get(term.id):
            passed.append(term.id)
            if term.id in hidden or not (
                self._shows(term.head, hidden) if isinstance(term, Seq) else self._shows_part(term, hidden)
            ):
                hidden.update(passed)
                return False
            if not isinstance(term, Seq):
                break
            term = term.tail
        for one in passed:
            known[one] = True
        return True

    def _shows_part(self, term: Term, hidden: set[int]) -> bool:
        if term.nullable:
            return True
        if isinstance(term, Tag):
            return self._shows(term.body, hidden)
        if isinstance(term, Call):
            return self._prints and term.rule.sure
        if isinstance(term, Alt):
            return any(self._shows(member, hidden) for member in term.members)
        if isinstance(term, Literal):
            return self._spelt(term.data)
        if isinstance(term, Bytes):
            return bool(term.members & self.alphabet)
        if isinstance(term, Capture):
            is_sure = self._prints and term.rule.sure
            return self._shows(term.language, hidden) and (is_sure or self._shows(self._after(term), hidden))
        if isinstance(term, And):
            return self._shows_endless(term, hidden)
        return isinstance(term, Repeat) and self._shows(term.body, hidden)

    def _shows_endless(self, term: And, hidden: set[int]) -> bool:
        """Whether endlessly many texts are repetitions, of which only some words are left out."""
        counted = [member for member in term.members if isinstance(member, Repeat)]
        others = [member for member in term.members if not isinstance(member, Repeat)]
        if len(counted) != 1 or counted[0].high is not None or counted[0].body.nullable:
            return False
        are_words = all(isinstance(other, Not) and isinstance(other.body, (Words, Literal)) for other in others)
        return are_words and self._shows(counted[0].body, hidden)

    def _all_alive(self, term: Seq) -> bool:
        """Part by part from the end, so that what remains of the values around is decided once, however deep."""
        undecided = []
        rest: Term = term
        while isinstance(rest, Seq) and rest.id not in self._alive:
            undecided.append(rest)
            rest = rest.tail
        verdict = self.alive(rest)
        for part in reversed(undecided):
            verdict = verdict and self.alive(part.head)
            self._alive[part.id] = verdict
        return verdict

    def shortest(self, term: Term) -> bytes | None:
        """A shortest text that completes the term, None if there is none.

        Where texts are captured, the next ones may not equal them: then each in turn is as short as it can be.
        Raises `BudgetError` for a text of more than `LONGEST_TEXT` bytes.
        """
        found = bytearray()
        plan = self.planned(term)
        while isinstance(plan, (bytes, Long)) and is_draft(plan):
            byte, term = self._step(term, first_byte(plan))
            found += byte
            plan = self.planned(term)
        if isinstance(plan, Endless):
            raise BudgetError(f"Every text is longer than {LONGEST_TEXT:,} bytes.")
        return None if plan is None else bytes(found) + spelled(plan)

    def planned(self, term: Term) -> Text:
        """Like `shortest`, but without regard to what captured texts rule out: never longer."""
        if term.id not in self._shortest:
            self._least(term, self._shortest, self._text, None, lambda call: None)
        return self._shortest[term.id]

    def in_order(self, moves: Iterable[tuple[int, Term]]) -> list[tuple[int, Term]]:
        """Preferred bytes first: of equally short texts the same is found, whatever terms were made before."""
        return sorted(moves, key=lambda move: self._rank[self._preferred(move[0])[0]])

    def ranked(self, members: int) -> list[int]:
        """The bytes of a set (within the alphabet) in the order in which texts prefer them."""
        return sorted(members_of(members), key=self._rank.__getitem__)

    def _preferred(self, members: int) -> bytes:
        """The byte of a non-empty set (within the alphabet) that texts prefer."""
        single = members.bit_count() == 1
        return bytes([members.bit_length() - 1 if single else next(b for b in self._rank if members >> b & 1)])

    def _step(self, term: Term, byte: bytes) -> tuple[bytes, Term]:
        """A byte of a plan, or where it cannot be read the one after which least remains; with what remains."""
        moves = self.arena.moves(term, byte_set(byte))
        if moves and self.alive(moves[0][1]):
            return byte, moves[0][1]
        onward = [(members, rest) for members, rest in self.arena.moves(term, self.alphabet) if self.alive(rest)]
        members, rest = min(self.in_order(onward), key=lambda move: length(self.planned(move[1])))
        return self._preferred(members), rest

    def _least(
        self,
        term: Term,
        known: dict[int, Value],
        evaluate: Callable[[Term, Callable[[Term], Value]], Value],
        bottom: Value,
        settle: Callable[[Call], Value | None],
    ) -> Value:
        fixpoint = LeastFixpoint(known, evaluate, bottom, settle, self._core, self.arena.check_time)
        return fixpoint.of(term)

    def _core(self, call: Call) -> Term:
        core = self._cores.get(call.id)
        if core is None:
            core = self.arena.to_form(call.rule.core(self.arena, call.args), call.form)
            self._cores[call.id] = core
        return core

    def _is_alive(self, term: Term, ask: Callable[[Term], bool]) -> bool:
        if term.nullable or isinstance(term, Uncertain):
            return True
        if isinstance(term, Seq):
            return ask(term.head) and ask(term.tail)
        if isinstance(term, Alt):
            return any(ask(member) for member in term.members)
        if isinstance(term, Tag):
            return _blaming(term, ask)
        if isinstance(term, Repeat):
            return ask(term.body)
        if isinstance(term, Bytes):
            return bool(term.members & self.alphabet)
        if isinstance(term, Literal):
            return self._spelt(term.data)
        if isinstance(term, Words):
            return any(self._spelt(word[term.depth :]) for word in term.words[term.low : term.high])
        if isinstance(term, Capture):
            return ask(term.language) and ask(self._after(term))
        if isinstance(term, (And, Not)):
            return self._explore(term)
        return False

    def _text(self, term: Term, ask: Callable[[Term], Text]) -> Text:
        if term.nullable:
            return b""
        if isinstance(term, Seq):
            return joined(ask(term.head), ask(term.tail))
        if isinstance(term, Alt):
            return preferred(map(ask, term.members))
        if isinstance(term, Tag):
            return _blaming(term, ask)
        if isinstance(term, Repeat):
            return times(ask(term.body), term.low)
        if isinstance(term, Bytes):
            return self._preferred(members) if (members := term.members & self.alphabet) else None
        if isinstance(term, Literal):
            return term.data if self._spelt(term.data) else None
        if isinstance(term, Words):
            rests = (word[term.depth :] for word in term.words[term.low : term.high])
            return min(filter(self._spelt, rests), key=len, default=None)
        if isinstance(term, Capture):
            return drafted(joined(ask(term.language), ask(self._after(term))))
        if isinstance(term, (And, Not)):
            return self._search(term)
        return None

    def _after(self, term: Capture) -> Term:
        """What follows a captured text: whether that can be completed may not depend on which text it was."""
        return self.arena.capture(term.rule, term.args, self.arena.epsilon, FORGOTTEN, term.form)

    def _spelt(self, data: bytes) -> bool:
        return not data.strip(self._bytes)

    def _explore(self, term: Term) -> bool:
        """Whether a regular term with intersections is completable; marks all states on the way found.

        Best first (A*): by the bytes read and those that every part still needs, the deepest first among equals.
        """
        if term.id in self._explored:
            return self._explored[term.id]
        if isinstance(term, And) and self._shares_text(term):
            self._explored[term.id] = True
            return True
        origin: dict[Term, Term | None] = {term: None}
        queue = [(0, 0, 0, term)]
        while queue:
            _, depth, _, state = heappop(queue)
            for members, rest in self.arena.moves(state):  # all of them: they are remembered, and asked for again
                if not members & self.alphabet:
                    continue
                known = self._explored.get(rest.id)
                if rest.nullable or known or (known is None and self._is_simple(rest) and self.alive(rest)):
                    on_way: Term | None = state
                    while on_way is not None:
                        self._explored[on_way.id] = True
                        on_way = origin[on_way]
                    return True
                if rest not in origin and known is None:
                    origin[rest] = state
                    heappush(queue, (1 - depth + self._needs(rest), depth - 1, len(origin), rest))
            self._check_size(len(origin))
        self._explored.update((state.id, False) for state in origin)
        return False

    def _shares_text(self, term: And) -> bool:
        """Whether a shortest text of one member is one of all members: mostly so, as of a pattern beside a length."""
        for member in term.members:
            if not member.nullable and self._is_simple(member):
                text = self.planned(member)
                others = (other for other in term.members if other is not member)
                if isinstance(text, bytes) and len(text) <= MOST_TRIED:
                    return all(after(self.arena, other, text).nullable for other in others)
        return False

    def _needs(self, term: Term) -> int:
        """A number of bytes that every text of the term has at least."""
        known = self._least_bytes.get(term.id)
        if known is None:
            self._least_bytes[term.id] = 0  # for a rule that is its own core
            known = self._least_bytes[term.id] = 0 if term.nullable else self._count(term)
        return known

    def _count(self, term: Term) -> int:
        if isinstance(term, Seq):
            return sum(self._needs(part) for part in spine(term))
        if isinstance(term, Alt):
            return min(self._needs(member) for member in term.members)
        if isinstance(term, And):
            return max(self._needs(member) for member in term.members)
        if isinstance(term, Repeat):
            return term.low * self._needs(term.body)
        if isinstance(term, Tag):
            return self._needs(term.body)
        if isinstance(term, Literal):
            return len(term.data)
        return self._needs(self._core(term)) if isinstance(term, Call) else 1

    def _is_simple(self, term: Term) -> bool:
        """Whether the term's own structure decides if it is alive, without exploring."""
        simple = self._simple.get(term.id)
        if simple is None:
            if isinstance(term, Seq):
                simple = all(self._is_simple(part) for part in spine(term))
            elif isinstance(term, Alt):
                simple = all(self._is_simple(member) for member in term.members)
            elif isinstance(term, (Tag, Repeat)):
                simple = self._is_simple(term.body)
            else:
                simple = not isinstance(term, (And, Not, Call, Capture))
            self._simple[term.id] = simple
        return simple

    def _search(self, term: Term) -> Text:
        """A shortest text of a regular term with intersections."""
        came: dict[Term, tuple[Term, bytes] | None] = {term: None}
        queue = deque([term])
        while queue:
            state = queue.popleft()
            if state.nullable:
                text = bytearray()
                while (step := came[state]) is not None:
                    state = step[0]
                    text += step[1]
                return bytes(reversed(text))
            for members, rest in self.in_order(self.arena.moves(state, self.alphabet)):
                if rest not in came:
                    came[rest] = (state, self._preferred(members))
                    queue.append(rest)
            self._check_size(len(came))
        return None

    def _check_size(self, states: int) -> None:
        if states > self.arena.budget.states:
            raise BudgetError(f"Deciding whether a pattern can be matched takes more than {states - 1:,} states.")


def _blaming(term: Tag, ask: Callable[[Term], Value]) -> Value:
    try:
        return ask(term.body)
    except BudgetError as error:
        raise error.at(term.origin) from None
