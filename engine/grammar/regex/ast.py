"""The tree that both regex dialects are parsed into.

Seven kinds of nodes are enough: what a dialect calls `\\b`, a multi-line `^` or a `$` before the last line break is
spelled with `Start`, `End` and `Look`. Groups leave no trace, and lazy repetition is repetition: same language.

Nodes that differ only in where they stand are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.grammar.charset import ALL, CharSet

Span = tuple[int, int]
"""Start and end in the pattern, in code points; the end is not included."""

NOWHERE: Span = (-1, -1)
"""The span of a node that nobody wrote."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    members: CharSet
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Concat:
    """All parts, one after the other; none: the empty text."""

    parts: tuple[Node, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Alternate:
    """Any of the options; none: no text at all."""

    options: tuple[Node, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """The body, `low` to `high` times (None: without bound)."""

    body: Node
    low: int
    high: int | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Start:
    """Nothing came before."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class End:
    """Nothing comes after."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Look:
    """What comes after here begins (`ahead`), or what came before ends, with the body; `negated`: it does not."""

    body: Node
    ahead: bool
    negated: bool
    span: Span = field(default=NOWHERE, compare=False)


Node = Chars | Concat | Alternate | Repeat | Start | End | Look

EMPTY = Concat(())
ANY_TEXT = Repeat(Chars(ALL), 0, None)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes that a node is made of."""
    if isinstance(node, Concat):
        return node.parts
    if isinstance(node, Alternate):
        return node.options
    if isinstance(node, (Repeat, Look)):
        return (node.body,)
    return ()


def unhurried() -> None:
    """For a reader without a limit to its time."""


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def line_start(breaks: CharSet, span: Span) -> Node:
    """The start of the text, or behind a line break."""
    return Look(Alternate((Start(span), Chars(breaks, span))), ahead=False, negated=False, span=span)


def line_end(breaks: CharSet, span: Span) -> Node:
    """The end of the text, or before a line break."""
    return Look(Alternate((End(span), Chars(breaks, span))), ahead=True, negated=False, span=span)


def word_boundary(word: CharSet, inside: bool, span: Span) -> Node:
    """Between a character of the set and something else; `inside`: anywhere but there."""
    options = []
    for before in (True, False):
        after = before if inside else not before
        options.append(
            Concat(
                (
                    Look(Chars(word), ahead=False, negated=not before, span=span),
                    Look(Chars(word), ahead=True, negated=not after, span=span),
                ),
                span,
            )
        )
    return Alternate(tuple(options), span)
