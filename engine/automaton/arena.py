"""The arena: constructors that intern terms and keep them in normal form.

Sequences are flat (right-nested), so that a nested value is a stack of what remains; empties vanish; counters over the
same body merge.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from engine.automaton import counters, derivative, forms
from engine.automaton.counters import bounds, have_no_gaps
from engine.automaton.lifetime import Lifetime
from engine.automaton.terms import (
    ALL_BYTES,
    EXACT,
    LONGEST_LITERAL,
    UNKNOWN,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Captured,
    Empty,
    Epsilon,
    Form,
    Literal,
    Moves,
    Not,
    Repeat,
    Rule,
    Seq,
    Tag,
    Term,
    Uncertain,
    Words,
    spine,
)
from engine.budget import Budget
from engine.clock import Clock
from engine.errors import BudgetError, Origin

Data = bytes  # within the class, `bytes` is a constructor


Kind = TypeVar("Kind", bound=Term)

_ATOMS = frozenset((Empty, Epsilon, Uncertain))
_UNTAGGED = _ATOMS | {Tag, Call, Capture}


class Arena:
    """Makes and interns the terms of one constraint, within its budget.

    `base`: an arena that was closed; what it holds is as if it were this one's own, and counts as nobody's. `formless`:
    terms of the base that are the same in every form. `clock`: that of the work it is a part of.
    Raises `BudgetError` from any constructor once the budget's terms or seconds are used up.
    """

    def __init__(self, budget: Budget, base: Arena | None = None, clock: Clock | None = None) -> None:
        self.budget = budget
        self._most = budget.terms
        self.clock = clock or Clock(budget.seconds)
        self.check_time = self.clock.check
        self._table: dict[tuple[Any, ...], Term] = {}
        self._kept: dict[Hashable, Term] = {}
        self._base = base._table if base else {}
        self._base_kept = base._kept if base else {}
        self._given = len(self._base)
        self.formless: frozenset[int] = base.formless if base else frozenset()
        self.hides_counts = False
        self.hides_owed = False
        self.captures = False
        self._formed: dict[Form, dict[int, Term]] = {}
        self._among = 0
        self._latest_moves: dict[int, Moves] = {}
        self.first_bytes: dict[int, int] = {}
        self.one_byte_bodies: dict[int, int] = {}
        self._mask_forms: dict[int, Form] = {}
        self._distance_forms: dict[int, Form] = {}
        self.lifetime = Lifetime(self)
        self._word_lists: dict[tuple[bytes, ...], tuple[bytes, ...]] = base._word_lists.copy() if base else {}
        self.empty = self._atom(Empty, False)
        self.epsilon = self._atom(Epsilon, True)
        self.uncertain = self._atom(Uncertain, False)
        self.anything = self.complement(self.empty)

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Term]:
        return iter(self._table.values())

    def recall(self, key: Hashable) -> Term | None:
        """A term that was kept under a key that says what it stands for."""
        return self._kept.get(key) or self._base_kept.get(key)

    def keep(self, key: Hashable, term: Term) -> Term:
        """Remember a term that was costly to make, or whose parts were."""
        self._kept[key] = term
        return term

    def close(self) -> Arena:
        """Know what follows every term, so that none changes any more and other arenas can begin with them."""
        done = 0
        while done < len(self._table):
            terms = list(self._table.values())
            for term in terms[done:]:
                self.moves(term)
            done = len(terms)
        self.formless = forms.formless(self._table.values())
        return self

    def _new(self, key: tuple[Any, ...], kind: type[Kind], nullable: bool) -> Kind:
        """Enter a new term under its key; its own fields are left to the caller."""
        number = len(self._table)
        if number % 64 == 0 or number >= self._most:
            self._check(number)
        term = kind()
        term.id = self._given + number
        term.nullable = nullable
        term.cached_moves = None
        self._table[key] = term
        return term

    def _check(self, terms: int) -> None:
        if terms >= self._most:
            raise BudgetError(f"The constraint needs more than {self._most:,} terms. Make its bounds smaller.")
        self.check_time()

    def _atom(self, kind: type[Term], nullable: bool) -> Term:
        return self._table.get((kind,)) or self._base.get((kind,)) or self._new((kind,), kind, nullable)

    # Constructors, smallest first.

    def bytes(self, members: int) -> Term:
        """One byte out of a set."""
        if not members:
            return self.empty
        if members & (members - 1) == 0:
            return self.literal(Data([members.bit_length() - 1]))
        key = (Bytes, members)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Bytes, False)
        term.members = members
        return term

    def literal(self, data: Data, goes_on: bool = False) -> Term:
        """A fixed byte string; `goes_on`: a piece of one that is long."""
        if not data:
            return self.epsilon
        if len(data) > LONGEST_LITERAL:
            ends = range(len(data), 0, -LONGEST_LITERAL)
            pieces = [(data[max(end - LONGEST_LITERAL, 0) : end], end < len(data)) for end in reversed(ends)]
            return self.concat([self.literal(piece, goes_on) for piece, goes_on in pieces])
        key = (Literal, data, goes_on)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Literal, False)
        term.data, term.goes_on = data, goes_on
        return term

    def words(self, words: Iterable[Data]) -> Term:
        """One of several byte strings."""
        listed = tuple(sorted(set(words)))
        listed = self._word_lists.setdefault(listed, listed)
        return self.slice_of_words(listed, 0, len(listed), 0)

    def slice_of_words(self, words: tuple[Data, ...], low: int, high: int, depth: int) -> Term:
        if low == high:
            return self.empty
        if high - low == 1:
            return self.literal(words[low][depth:])
        key = (Words, id(words), low, high, depth)  # the list is kept in _word_lists, its hash would cost its length
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Words, len(words[low]) == depth)
        term.words, term.low, term.high, term.depth = words, low, high, depth
        return term

    def seq(self, head: Term, tail: Term) -> Term:
        """`head`, then `tail`."""
        key = (Seq, head, tail)
        if known := self._table.get(key) or self._base.get(key):
            return known
        kind = type(head)
        if kind in _ATOMS or type(tail) in _ATOMS:
            if head is self.empty or tail is self.empty:
                return self.empty
            if head is self.epsilon or head is self.uncertain:
                return tail if head is self.epsilon else head
            if tail is self.epsilon:
                return head
        if kind is Seq:
            for part in reversed(spine(head)):
                tail = self.seq(part, tail)
            return tail
        following = tail.head if isinstance(tail, Seq) else tail
        if kind is Repeat or type(following) is Repeat:
            body = head.body if isinstance(head, Repeat) else head
            if body is (following.body if isinstance(following, Repeat) else following):
                # x* x* is x*, x x* is x+: keeps what remains of an ambiguous recursion from growing.
                (low, high), (low_again, high_again) = bounds(head), bounds(following)
                most = None if high is None or high_again is None else high + high_again
                rest = tail.tail if isinstance(tail, Seq) else self.epsilon
                return self.seq(self.repeat(body, low + low_again, most), rest)
        term = self._new(key, Seq, head.nullable and tail.nullable)
        term.head, term.tail = head, tail
        return term

    def concat(self, parts: Sequence[Term]) -> Term:
        """All parts, one after the other."""
        term = self.epsilon
        for part in reversed(parts):
            term = self.seq(part, term)
        return term

    def alt(self, parts: Iterable[Term]) -> Term:
        """Any of the parts."""
        members: dict[int, Term] = {}
        for part in parts:
            if part is self.uncertain or part is self.anything:
                return part
            if isinstance(part, Alt):
                members.update((member.id, member) for member in part.members)
            elif part is not self.empty:
                members[part.id] = part
        if len(members) > 1:
            members = counters.merged(self, members)
        if len(members) == 1:
            return next(iter(members.values()))
        if len(members) == 2 and self.epsilon.id in members:
            members.pop(self.epsilon.id)
            return self.repeat(next(iter(members.values())), 0, 1)
        if not members:
            return self.empty
        ordered = tuple(map(members.__getitem__, sorted(members)))
        key = (Alt, ordered)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Alt, any(member.nullable for member in ordered))
        term.members = ordered
        return term

    def repeat(self, body: Term, low: int, high: int | None) -> Term:
        """`body`, `low` to `high` times; `high` None has no bound."""
        if high == 0 or body is self.epsilon:
            return self.epsilon
        if body is self.empty:
            return self.epsilon if low == 0 else self.empty
        if low == 1 and high == 1:
            return body
        if body.nullable:
            low = 0
        if isinstance(body, Repeat) and have_no_gaps(body, low):
            # (x?)* and (x+)* are x*, (x{1,5}){2,3} is x{2,15}: keeps nested counters from multiplying.
            most = None if high is None or body.high is None else high * body.high
            return self.repeat(body.body, low * body.low, most)
        key = (Repeat, body, low, high)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Repeat, low == 0)
        term.body, term.low, term.high = body, low, high
        return term

    def star(self, body: Term) -> Term:
        """`body`, any number of times."""
        return self.repeat(body, 0, None)

    def both(self, parts: Iterable[Term]) -> Term:
        """The intersection of the parts."""
        members: dict[int, Term] = {}
        for part in parts:
            if part is self.empty:
                return part
            if isinstance(part, And):
                members.update((member.id, member) for member in part.members)
            elif part is not self.anything:
                members[part.id] = part
        if not members:
            return self.anything
        if self.epsilon.id in members:
            return self.epsilon if all(member.nullable for member in members.values()) else self.empty
        if len(members) == 1:
            return next(iter(members.values()))
        ordered = tuple(map(members.__getitem__, sorted(members)))
        key = (And, ordered)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, And, all(member.nullable for member in ordered))
        term.members = ordered
        return term

    def complement(self, body: Term) -> Term:
        """Every byte string that `body` does not match."""
        if isinstance(body, Not):
            return body.body
        key = (Not, body)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Not, not body.nullable)
        term.body = body
        return term

    def tag(self, origin: Origin, body: Term, label: str = "") -> Term:
        """`body`, owned by `origin` wherever no inner part has an owner."""
        if type(body) in _UNTAGGED:
            return body
        if isinstance(body, Seq):
            return self.concat([self.tag(origin, part, label) for part in spine(body)])
        if isinstance(body, Alt) and body.id >= self._given:  # what is given has no owners inside: it is one piece
            return self.alt(self.tag(origin, member, label) for member in body.members)
        key = (Tag, origin.pointer, origin.keyword, label, body)  # tuples of texts are hashed sooner than dataclasses
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Tag, body.nullable)
        term.origin, term.label, term.body = origin, label, body
        return term

    def call(self, rule: Rule, args: Any = (), form: Form = EXACT) -> Term:
        """A rule with arguments."""
        key = (Call, rule, args, form)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Call, rule.nullable(args))
        term.rule, term.args, term.form, term.cached_body = rule, args, form, None
        return term

    def capture(self, rule: Rule, args: Any, language: Term, text: Captured = b"", form: Form = EXACT) -> Term:
        """Read a text of `language`, then go on as the rule says."""
        if language is self.empty or language is self.uncertain:
            return language
        if language is self.epsilon:
            return self.to_form(rule.after(self, args, text), form)
        self.captures = True
        key = (Capture, rule, args, language, text, form)
        if known := self._table.get(key) or self._base.get(key):
            return known
        term = self._new(key, Capture, False)
        term.rule, term.args, term.language, term.text, term.form = rule, args, language, text, form
        return term

    def body(self, call: Call) -> Term:
        """The body of a call, in the call's form. The rule makes it once, whatever the forms."""
        if call.cached_body is None:
            exact = call if call.form is EXACT else self.call(call.rule, call.args)
            assert isinstance(exact, Call)
            if exact.cached_body is None:
                exact.cached_body = call.rule.body(self, call.args)
            call.cached_body = self.to_form(exact.cached_body, call.form)
        return call.cached_body

    def moves(self, term: Term, among: int = ALL_BYTES) -> Moves:
        """What remains after each byte of `among` (see derivative.py). What remains may still be an empty language."""
        if among != ALL_BYTES:
            return self._some_moves(term, among)
        if term.cached_moves is None:
            term.cached_moves = derivative.moves(self, term, among)
        return term.cached_moves

    def _some_moves(self, term: Term, among: int) -> Moves:
        """Remembered for the latest `among`: an ambiguous grammar meets the same term on many ways."""
        if term.cached_moves is not None:
            return tuple((members & among, rest) for members, rest in term.cached_moves if members & among)
        if among != self._among:
            self._among = among
            self._latest_moves = {}
        known = self._latest_moves.get(term.id)
        if known is None:
            known = self._latest_moves[term.id] = derivative.moves(self, term, among)
        return known

    def to_form(self, term: Term, form: Form) -> Term:
        """The same term with owners, captured texts and far counters kept or dropped (see forms.py)."""
        return forms.to_form(self, term, form)

    def formed_in(self, form: Form) -> dict[int, Term]:
        """What terms are in a form, by id, as far as they were asked for."""
        known = self._formed.get(form)
        if known is None:
            known = self._formed[form] = {}
        return known

    def mask_form(self, longest: int) -> Form:
        """The form in which two terms are equal if no token of at most `longest` bytes tells them apart."""
        if longest not in self._mask_forms:
            self._mask_forms[longest] = Form(tags=False, text=UNKNOWN, longest=longest)
        return self._mask_forms[longest]

    def distance_form(self, longest: int) -> Form:
        """The mask's form as long as it keeps what counters still need, else one that does."""
        if not self.hides_owed:
            return self.mask_form(longest)
        return self._distance_forms.setdefault(longest, Form(tags=False, text=UNKNOWN, longest=longest, owing=True))
