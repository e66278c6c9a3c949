"""Terms: what remains to be read. A state of the automaton is a term, a transition is its derivative by one byte.

Terms are immutable and hash-consed by an `Arena` (arena.py), so equal terms are the same object and comparing them is
free. This module says what kinds there are; derivative.py how they move, forms.py how they are looked at.

Recursion and structures that would explode when spelled out are `Call`s: a rule with arguments whose body is made when
it is first read. A `Capture` reads a text that its rule must remember (the name of an undeclared member, say).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from engine.errors import Origin

if TYPE_CHECKING:
    from engine.automaton.arena import Arena

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
    """A named part of a grammar. `args` is any hashable value; the rule is a function of it and of nothing else.

    `sure`: printable ASCII completes every call of the rule and what follows each text that it captures, which is known
    without making a body.
    """

    name: str

    @property
    def sure(self) -> bool: ...

    def nullable(self, args: Any) -> bool:
        """Whether the empty text belongs to the rule's language."""

    def body(self, arena: Arena, args: Any) -> Term:
        """The term that the call stands for."""

    def core(self, arena: Arena, args: Any) -> Term:
        """A part of the body's language, empty only if the whole is, that holds one of the shortest texts."""

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


LONGEST_LITERAL = 512
"""Bytes of a fixed text in one piece. Longer ones are sequences of pieces, counted from their end: what remains of one
after each of its bytes is a state that holds a piece, not all of the rest."""


class Literal(Term):
    """A fixed, non-empty byte string of at most `LONGEST_LITERAL` bytes; `goes_on`: what follows it is more of it."""

    __slots__ = ("data", "goes_on")
    data: bytes
    goes_on: bool


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
    """The rest of a text in `language`, of which `text` is read; then `rule.after(args, text)`, never nullable."""

    __slots__ = ("args", "form", "language", "rule", "text")
    rule: Rule
    args: Any
    form: Form
    language: Term
    text: Captured


class Form:
    """A way to look at terms. See `Arena.to_form`.

    `tags`: keep owners. `text`: what a capture starts with: b"" remembers, a `Hole` does not. `longest`: counters
    farther than this many bytes from their bounds are equal, None if all differ. `owing`: but what a counter still
    needs is kept in full, so that a shortest text stays one.
    """

    __slots__ = ("longest", "owing", "tags", "text")

    def __init__(self, tags: bool, text: Captured, longest: int | None, owing: bool = False) -> None:
        self.tags = tags
        self.text = text
        self.longest = longest
        self.owing = owing


EXACT = Form(tags=True, text=b"", longest=None)
"""States of a run: every owner and every captured text kept."""

DRAWN = Form(tags=True, text=FORGOTTEN, longest=None)
"""States of a picture: owners kept, captured texts forgotten, so that open objects have finitely many states."""

COUNTED = Form(tags=False, text=UNKNOWN, longest=None)
"""States between which exact distances are measured: only owners and captured texts dropped."""

PLAIN = Form(tags=False, text=b"", longest=None)
"""Languages: no owners."""


PRINTABLE = (1 << 0x7F) - (1 << 0x20)
"""The set of the bytes of printable ASCII."""


def spine(term: Term) -> list[Term]:
    """The parts of a sequence, or the term alone."""
    parts = []
    while isinstance(term, Seq):
        parts.append(term.head)
        term = term.tail
    parts.append(term)
    return parts


def fixed_text(term: Term) -> bytes | None:
    """The bytes of a fixed text, whatever pieces it is in; None if the term is not one fixed text."""
    pieces = []
    while isinstance(term, Seq) and isinstance(term.head, Literal) and term.head.goes_on:
        pieces.append(term.head.data)
        term = term.tail
    return b"".join([*pieces, term.data]) if isinstance(term, Literal) else None


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
