"""Terms: what remains to be read. A state of the automaton is a term, a transition is its derivative by one byte.

Terms are immutable and hash-consed by an `Arena`, so equal terms are the same object and comparing them is free. The
constructors (`Arena.seq`, `Arena.alt`, ...) keep a normal form: sequences are flat (right-nested), so that a nested value
is a stack of what remains; empties vanish; counters over the same body merge.

`moves(term)` is the derivative by every byte at once: disjoint byte sets (256-bit integers) with the term that remains
after any byte of the set (Brzozowski 1964; Owens, Reppy, Turon 2009 for the byte classes).

Recursion and structures that would explode when spelled out are `Call`s: a rule with arguments whose body is made when
it is first read. A `Capture` reads a text that its rule must remember (the name of an undeclared member, say).
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from engine.budget import Budget
from engine.errors import BudgetError, Origin

ALL_BYTES = (1 << 256) - 1

Moves = tuple[tuple[int, "Term"], ...]
"""Disjoint, non-empty byte sets with what remains after a byte of the set; bytes in none of them lead nowhere."""


class Hole:
    """Stands for a captured text that is not known.

    `UNKNOWN`: some text, distinct from every text remembered so far; whoever needs to compare it is `UNCERTAIN`.
    `FORGOTTEN`: not to be remembered at all (for drawing).
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN = Hole("unknown")
FORGOTTEN = Hole("forgotten")

Captured = bytes | Hole


class Rule(Protocol):
    """A named part of a grammar. `args` is any hashable value; the rule is a function of it and of nothing else."""

    name: str

    def nullable(self, args: Any) -> bool:
        """Whether the empty text belongs to the rule's language."""

    def body(self, arena: Arena, args: Any) -> Term:
        """The term that the call stands for."""

    def core(self, arena: Arena, args: Any) -> Term:
        """A part of the body's language that is empty only if the whole is, and that holds one of its shortest texts."""

    def after(self, arena: Arena, args: Any, text: Captured) -> Term:
        """What remains once a `Capture` of this rule has read `text`."""

    def parts(self, arena: Arena, args: Any) -> Iterable[Term]:
        """Terms that the bodies of the rule are made of, whatever the arguments."""

    def forget(self, args: Any) -> Any:
        """The arguments without what was captured before (for drawing)."""

    def words(self, args: Any) -> str:
        """The rule as a reader of the page knows it, such as `<integer>`."""


class Term:
    """Base of all terms. `id` is unique within the arena; `nullable` says whether the empty text matches."""

    __slots__ = ("cached_moves", "id", "nullable")
    id: int
    nullable: bool
    cached_moves: Moves | None


class Empty(Term):
    """No text at all."""

    __slots__ = ()


class Epsilon(Term):
    """The empty text."""

    __slots__ = ()


class Uncertain(Term):
    """What remains depends on a captured text that was forgotten; ask again with the exact state."""

    __slots__ = ()


class Bytes(Term):
    """One byte out of a set (a 256-bit integer)."""

    __slots__ = ("members",)
    members: int


class Literal(Term):
    """A fixed, non-empty byte string."""

    __slots__ = ("data",)
    data: bytes


class Words(Term):
    """One of `words[low:high]` (sorted, distinct), of which the first `depth` bytes are read already."""

    __slots__ = ("depth", "high", "low", "words")
    words: tuple[bytes, ...]
    low: int
    high: int
    depth: int


class Seq(Term):
    """`head`, then `tail`; `head` is never a Seq."""

    __slots__ = ("head", "tail")
    head: Term
    tail: Term


class Alt(Term):
    """Any of two or more members."""

    __slots__ = ("members",)
    members: tuple[Term, ...]


class Repeat(Term):
    """`body`, `low` to `high` times (`high` None: no upper bound)."""

    __slots__ = ("body", "high", "low")
    body: Term
    low: int
    high: int | None


class And(Term):
    """Texts that every member matches. Members are regular."""

    __slots__ = ("members",)
    members: tuple[Term, ...]


class Not(Term):
    """Byte strings that `body` does not match. `body` is regular."""

    __slots__ = ("body",)
    body: Term


class Tag(Term):
    """`body`, owned by a part of the source; the innermost owner counts."""

    __slots__ = ("body", "label", "origin")
    origin: Origin
    label: str
    body: Term


class Call(Term):
    """A rule with arguments, expanded when first read."""

    __slots__ = ("args", "cached_body", "form", "rule")
    rule: Rule
    args: Any
    form: Form
    cached_body: Term | None


class Capture(Term):
    """The rest of a text in `language` (prefix-free), of which `text` is read; then `rule.after(args, whole text)`."""

    __slots__ = ("args", "form", "language", "rule", "text")
    rule: Rule
    args: Any
    form: Form
    language: Term
    text: Captured


class Form:
    """A way to look at terms. See `Arena.to_form`.

    `tags`: keep owners. `text`: what a capture starts with: b"" remembers, a `Hole` does not. `longest`: counters farther
    than this many bytes from their bounds are equal, None if all differ.
    """

    __slots__ = ("longest", "tags", "text")

    def __init__(self, tags: bool, text: Captured, longest: int | None) -> None:
        self.tags = tags
        self.text = text
        self.longest = longest


EXACT = Form(tags=True, text=b"", longest=None)
"""States of a run: every owner and every captured text kept."""

DRAWN = Form(tags=True, text=FORGOTTEN, longest=None)
"""States of a picture: owners kept, captured texts forgotten, so that open objects have finitely many states."""

PLAIN = Form(tags=False, text=b"", longest=None)
"""Languages: no owners."""


class Arena:
    """Makes and interns the terms of one constraint, within its budget.

    Raises `BudgetError` from any constructor once the budget's terms or seconds are used up.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.deadline: float | None = None
        self._table: dict[tuple[Any, ...], Term] = {}
        self._forms: dict[tuple[int, int], Term] = {}
        self._mask_forms: dict[int, Form] = {}
        self._word_lists: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}
        self.empty = self._intern((Empty,), False)
        self.epsilon = self._intern((Epsilon,), True)
        self.uncertain = self._intern((Uncertain,), False)
        self.anything = self._intern((Not, self.empty), True, body=self.empty)

    def __len__(self) -> int:
        return len(self._table)

    def _intern(self, key: tuple[Any, ...], nullable: bool, **fields: Any) -> Term:
        term = self._table.get(key)
        if term is None:
            self._spend()
            term = key[0]()
            term.id = len(self._table)
            term.nullable = nullable
            term.cached_moves = None
            for name, value in fields.items():
                setattr(term, name, value)
            self._table[key] = term
        return term

    def _spend(self) -> None:
        count = len(self._table)
        if count >= self.budget.terms:
            raise BudgetError(f"The constraint needs more than {self.budget.terms:,} terms. Make its bounds smaller.")
        if count % 256 == 0 and self.deadline is not None and time.monotonic() > self.deadline:
            raise BudgetError(f"The constraint takes longer than {self.budget.seconds:g} s to compile. Make it smaller.")

    # Constructors, smallest first.

    def bytes(self, members: int) -> Term:
        """One byte out of a set."""
        if not members:
            return self.empty
        if members & (members - 1) == 0:
            return self.literal(bytes([members.bit_length() - 1]))
        return self._intern((Bytes, members), False, members=members)

    def literal(self, data: bytes) -> Term:
        """A fixed byte string."""
        return self._intern((Literal, data), False, data=data) if data else self.epsilon

    def words(self, words: Iterable[bytes]) -> Term:
        """One of several byte strings."""
        listed = tuple(sorted(set(words)))
        listed = self._word_lists.setdefault(listed, listed)
        return self._words(listed, 0, len(listed), 0)

    def _words(self, words: tuple[bytes, ...], low: int, high: int, depth: int) -> Term:
        if low == high:
            return self.empty
        if high - low == 1:
            return self.literal(words[low][depth:])
        nullable = len(words[low]) == depth
        key = (Words, id(words), low, high, depth)  # the list is kept in _word_lists, its hash would cost its length
        return self._intern(key, nullable, words=words, low=low, high=high, depth=depth)

    def seq(self, head: Term, tail: Term) -> Term:
        """`head`, then `tail`."""
        if head is self.empty or tail is self.empty:
            return self.empty
        if head is self.epsilon:
            return tail
        if tail is self.epsilon:
            return head
        if head is self.uncertain:
            return head
        if isinstance(head, Seq):
            parts = []
            while isinstance(head, Seq):
                parts.append(head.head)
                head = head.tail
            tail = self.seq(head, tail)
            for part in reversed(parts):
                tail = self.seq(part, tail)
            return tail
        nullable = head.nullable and tail.nullable
        return self._intern((Seq, head, tail), nullable, head=head, tail=tail)

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
            members = self._merge_counters(members)
        if len(members) == 1:
            return next(iter(members.values()))
        if len(members) == 2 and self.epsilon.id in members:
            members.pop(self.epsilon.id)
            return self.repeat(next(iter(members.values())), 0, 1)
        if not members:
            return self.empty
        ordered = tuple(members[key] for key in sorted(members))
        nullable = any(member.nullable for member in ordered)
        return self._intern((Alt, ordered), nullable, members=ordered)

    def _merge_counters(self, members: dict[int, Term]) -> dict[int, Term]:
        """x{1,3}y | x{2,5}y is x{1,5}y: keeps nested counters from multiplying."""
        groups: dict[tuple[Any, ...], list[tuple[Term, Repeat]]] = {}
        for member in members.values():
            head, tail = (member.head, member.tail) if isinstance(member, Seq) else (member, self.epsilon)
            owner = (head.origin, head.label) if isinstance(head, Tag) else None
            inner = head.body if isinstance(head, Tag) else head
            if isinstance(inner, Repeat):
                groups.setdefault((inner.body, owner, tail), []).append((member, inner))
        merged = dict(members)
        for (body, owner, tail), group in groups.items():
            if len(group) == 1:
                continue
            for member, _ in group:
                merged.pop(member.id)
            for low, high in _unite([(repeat.low, repeat.high) for _, repeat in group]):
                repeat = self.repeat(body, low, high)
                term = self.seq(self.tag(owner[0], repeat, owner[1]) if owner else repeat, tail)
                merged[term.id] = term
        return merged

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
        if isinstance(body, Repeat) and low <= 1 and body.low <= 1 and (high is None or (body.low, body.high) == (0, None)):
            # (x?)* and (x+)* are x*, (x+)+ is x+, (x*){0,3} is x*.
            return self.repeat(body.body, min(low, body.low), None)
        return self._intern((Repeat, body, low, high), low == 0, body=body, low=low, high=high)

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
        ordered = tuple(members[key] for key in sorted(members))
        nullable = all(member.nullable for member in ordered)
        return self._intern((And, ordered), nullable, members=ordered)

    def complement(self, body: Term) -> Term:
        """Every byte string that `body` does not match."""
        if isinstance(body, Not):
            return body.body
        return self._intern((Not, body), not body.nullable, body=body)

    def tag(self, origin: Origin, body: Term, label: str = "") -> Term:
        """`body`, owned by `origin` wherever no inner part has an owner."""
        if isinstance(body, (Empty, Epsilon, Uncertain, Tag, Call, Capture)):
            return body
        if isinstance(body, Seq):
            return self.seq(self.tag(origin, body.head, label), self.tag(origin, body.tail, label))
        if isinstance(body, Alt):
            return self.alt(self.tag(origin, member, label) for member in body.members)
        return self._intern((Tag, origin, label, body), body.nullable, origin=origin, label=label, body=body)

    def call(self, rule: Rule, args: Any = (), form: Form = EXACT) -> Term:
        """A rule with arguments."""
        nullable = rule.nullable(args)
        return self._intern((Call, rule, args, form), nullable, rule=rule, args=args, form=form, cached_body=None)

    def capture(self, rule: Rule, args: Any, language: Term, text: Captured = b"", form: Form = EXACT) -> Term:
        """Read a text of `language`, then go on as the rule says."""
        if language is self.empty:
            return self.empty
        if language is self.epsilon:
            return self.to_form(rule.after(self, args, text), form)
        key = (Capture, rule, args, language, text, form)
        return self._intern(key, False, rule=rule, args=args, language=language, text=text, form=form)

    def body(self, call: Call) -> Term:
        """The body of a call, in the call's form."""
        if call.cached_body is None:
            call.cached_body = self.to_form(call.rule.body(self, call.args), call.form)
        return call.cached_body

    # Derivatives.

    def moves(self, term: Term, among: int = ALL_BYTES) -> Moves:
        """What remains after each byte of `among`. Terms that remain may still be empty languages (see `liveness`)."""
        if among != ALL_BYTES:
            return self._moves(term, among)
        if term.cached_moves is None:
            term.cached_moves = self._moves(term, among)
        return term.cached_moves

    def _moves(self, term: Term, among: int) -> Moves:
        if isinstance(term, Seq):
            onward = [(members, self.seq(rest, term.tail)) for members, rest in self.moves(term.head, among)]
            if term.head.nullable:
                return self._join([*onward, *self.moves(term.tail, among)])
            return tuple(onward)
        if isinstance(term, Tag):
            label = term.label if not term.label or term.label.startswith("rest of") else f"rest of {term.label}"
            return tuple((members, self.tag(term.origin, rest, label)) for members, rest in self.moves(term.body, among))
        if isinstance(term, Literal):
            byte = 1 << term.data[0]
            return ((byte, self.literal(term.data[1:])),) if byte & among else ()
        if isinstance(term, Bytes):
            members = term.members & among
            return ((members, self.epsilon),) if members else ()
        if isinstance(term, Repeat):
            high = None if term.high is None else term.high - 1
            again = self.repeat(term.body, max(term.low - 1, 0), high)
            return tuple((members, self.seq(rest, again)) for members, rest in self.moves(term.body, among))
        if isinstance(term, Alt):
            return self._join([move for member in term.members for move in self.moves(member, among)])
        if isinstance(term, Call):
            return self.moves(self.body(term), among)
        if isinstance(term, Capture):
            return self._capture_moves(term, among)
        if isinstance(term, Words):
            return self._word_moves(term, among)
        if isinstance(term, And):
            return self._both_moves(term, among)
        if isinstance(term, Not):
            return self._complement_moves(term, among)
        return ()

    def _join(self, moves: Sequence[tuple[int, Term]]) -> Moves:
        """The union of overlapping moves as disjoint ones."""
        grouped: dict[int, list[Term]] = {}
        for members, rest in moves:
            grouped.setdefault(members, []).append(rest)
        blocks: list[tuple[int, list[Term]]] = []
        for members, rests in grouped.items():
            left = members
            split: list[tuple[int, list[Term]]] = []
            for block, inside in blocks:
                common = block & left
                if not common:
                    split.append((block, inside))
                    continue
                split.append((common, inside + rests))
                if block != common:
                    split.append((block & ~common, inside))
                left &= ~common
            if left:
                split.append((left, rests))
            blocks = split
        return self._by_target((members, self.alt(rests)) for members, rests in blocks)

    def _by_target(self, moves: Iterable[tuple[int, Term]]) -> Moves:
        targets: dict[Term, int] = {}
        for members, rest in moves:
            targets[rest] = targets.get(rest, 0) | members
        return tuple((members, rest) for rest, members in targets.items() if rest is not self.empty)

    def _word_moves(self, term: Words, among: int) -> Moves:
        moves = []
        low = term.low + (1 if term.nullable else 0)
        while low < term.high:
            byte = term.words[low][term.depth]
            # The end of the run of words that share this byte; words are sorted.
            after = term.words[low][: term.depth] + bytes([byte + 1]) if byte < 255 else None
            high = term.high if after is None else bisect_left(term.words, after, low, term.high)
            if among >> byte & 1:
                moves.append((1 << byte, self._words(term.words, low, high, term.depth + 1)))
            low = high
        return tuple(moves)

    def _both_moves(self, term: And, among: int) -> Moves:
        blocks: list[tuple[int, list[Term]]] = [(among, [])]
        for member in term.members:
            blocks = [
                (block & members, [*rests, rest])
                for block, rests in blocks
                for members, rest in self.moves(member, among)
                if block & members
            ]
        return self._by_target((members, self.both(rests)) for members, rests in blocks)

    def _complement_moves(self, term: Not, among: int) -> Moves:
        inner = self.moves(term.body, among)
        left = among
        for members, _ in inner:
            left &= ~members
        moves = [(members, self.complement(rest)) for members, rest in inner]
        return self._by_target([*moves, (left, self.anything)] if left else moves)

    def _capture_moves(self, term: Capture, among: int) -> Moves:
        moves: list[tuple[int, Term]] = []
        for members, rest in self.moves(term.language, among):
            if isinstance(term.text, Hole):
                moves.append((members, self.capture(term.rule, term.args, rest, term.text, term.form)))
                continue
            for byte in members_of(members):
                text = term.text + bytes([byte])
                moves.append((1 << byte, self.capture(term.rule, term.args, rest, text, term.form)))
        return tuple(moves)

    # Forms.

    def mask_form(self, longest: int) -> Form:
        """The form in which two terms are equal if no token of at most `longest` bytes tells them apart."""
        return self._mask_forms.setdefault(longest, Form(tags=False, text=UNKNOWN, longest=longest))

    def to_form(self, term: Term, form: Form) -> Term:
        """The same term with owners, captured texts and far counters kept or dropped as the form says."""
        if form is EXACT:
            return term
        spine: list[tuple[tuple[int, int], Term]] = []
        while isinstance(term, Seq) and (term.id, id(form)) not in self._forms:
            spine.append(((term.id, id(form)), self._formed(term.head, form)))
            term = term.tail
        result = self._formed(term, form)
        for key, head in reversed(spine):
            result = self.seq(head, result)
            self._forms[key] = result
        return result

    def _formed(self, term: Term, form: Form) -> Term:
        key = (term.id, id(form))
        result = self._forms.get(key)
        if result is None:
            result = self._forms[key] = self._make_form(term, form)
        return result

    def _make_form(self, term: Term, form: Form) -> Term:
        if isinstance(term, Tag):
            inner = self.to_form(term.body, form)
            return self.tag(term.origin, inner, term.label) if form.tags else inner
        if isinstance(term, Alt):
            return self.alt(self.to_form(member, form) for member in term.members)
        if isinstance(term, Repeat):
            low, high = term.low, term.high
            if form.longest is not None:
                low = min(low, form.longest + 1)
                high = None if high is None else min(high, form.longest + 1)
            return self.repeat(self.to_form(term.body, form), low, high)
        if isinstance(term, (And, Not)):
            # Whether a conjunction can still be completed depends on exact counts: only the owners may go.
            inner_form = form if form.longest is None else PLAIN
            if isinstance(term, Not):
                return self.complement(self.to_form(term.body, inner_form))
            return self.both(self.to_form(member, inner_form) for member in term.members)
        if isinstance(term, Call):
            args = term.rule.forget(term.args) if form.text is FORGOTTEN else term.args
            return self.call(term.rule, args, form)
        if isinstance(term, Capture):
            args = term.rule.forget(term.args) if form.text is FORGOTTEN else term.args
            return self.capture(term.rule, args, self.to_form(term.language, form), form.text, form)
        return term


def members_of(byte_set: int) -> list[int]:
    """The bytes of a set, ascending."""
    members = []
    while byte_set:
        low = byte_set & -byte_set
        members.append(low.bit_length() - 1)
        byte_set ^= low
    return members


def byte_set(members: Iterable[int]) -> int:
    """The set of some bytes."""
    result = 0
    for member in members:
        result |= 1 << member
    return result


def byte_range(low: int, high: int) -> int:
    """The set of the bytes `low` to `high`, both included."""
    return (1 << (high + 1)) - (1 << low)


def _unite(ranges: list[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """Overlapping or adjacent ranges of whole numbers as few ranges; None is infinity."""
    united: list[tuple[int, int | None]] = []
    for low, high in sorted(ranges, key=lambda pair: pair[0]):
        if united and (united[-1][1] is None or low <= united[-1][1] + 1):
            last_low, last_high = united[-1]
            united[-1] = (last_low, None if last_high is None or high is None else max(last_high, high))
        else:
            united.append((low, high))
    return united
