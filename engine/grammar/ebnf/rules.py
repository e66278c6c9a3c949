"""What grammars are read into: rules made of texts, patterns, references, sequences, alternatives and repetitions.

rule_terms.py makes terms of them, compile_rules.py a constraint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from engine.budget import Budget
from engine.clock import Clock
from engine.errors import BudgetError, ConstraintError
from engine.grammar.regex.ast import Node as RegexNode


@dataclass(frozen=True, slots=True)
class Text:
    """A fixed text, not empty."""

    data: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """The texts of a regex that does not match the empty text.

    `owner`: the name of the part of the grammar that speaks for it, "" if that is the rule; `label`: what it is called,
    "" if that is how it is spelled.
    """

    regex: RegexNode
    offset: int
    owner: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Ref:
    """A rule or a terminal, referred to at an offset of the source."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Series:
    """All parts, one after the other; none: the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of the options."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """The body, `low` to `high` times (None: without bound)."""

    body: Node
    low: int
    high: int | None


Node = Text | Pattern | Ref | Series | Choice | Repetition


def children(node: Node) -> tuple[Node, ...]:
    """The nodes that a node is made of."""
    if isinstance(node, Series):
        return node.parts
    if isinstance(node, Choice):
        return node.options
    return (node.body,) if isinstance(node, Repetition) else ()


def refs(node: Node) -> Iterator[Ref]:
    """All references below a node, in the order of the source."""
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, Ref):
            yield node
        pending.extend(reversed(children(node)))


class Source:
    """The text of a grammar, with its budget, a clock that runs, and the errors that point into it."""

    def __init__(self, kind: str, text: str, budget: Budget) -> None:
        self.text = text
        self.budget = budget
        self.clock = Clock(budget.seconds)
        self.clock.start()
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > budget.source_bytes:
            raise self.over_budget(0, f"the {kind} has {size:,} bytes; {budget.source_bytes:,} are allowed.")

    def place(self, offset: int) -> str:
        """An offset as "line L, column C", both counted from 1, in code points."""
        line_start = self.text.rfind("\n", 0, offset) + 1
        return f"line {self.text.count(chr(10), 0, offset) + 1}, column {offset - line_start + 1}"

    def error(self, offset: int, message: str) -> ConstraintError:
        """An error that stands at an offset. The message is a sentence without a capital."""
        where = self.place(offset)
        return ConstraintError(f"L{where[1:]}: {message}", pointer=where)

    def check_time(self, offset: int) -> None:
        """Raise `BudgetError` if what is done with the text takes longer than the budget allows."""
        if self.clock.late:
            raise self.over_budget(offset, f"the grammar takes longer than {self.budget.seconds:g} s: make it smaller.")

    def over_budget(self, offset: int, message: str) -> BudgetError:
        """Something at an offset that is larger than the budget."""
        where = self.place(offset)
        return BudgetError(f"L{where[1:]}: {message}", pointer=where)


def unknown(name: str, known: Iterable[str]) -> str:
    """The message for a name that is not defined."""
    close = get_close_matches(name, known, 1)
    return f"there is no {name!r}: " + (f"did you mean {close[0]!r}?" if close else "define it, or correct the name.")


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar as it was read: the body of each rule and the offset where it is defined.

    `ignored` may stand between any two texts or patterns, and before and after all. `notes` are for the report.
    """

    kind: Literal["gbnf", "lark"]
    source: Source
    start: str
    bodies: Mapping[str, Node]
    defined: Mapping[str, int]
    ignored: tuple[Pattern, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Group:
    """A group while it is read: its opening bracket, the options before the last, the parts of the last."""

    bracket: str
    offset: int
    options: list[Node] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)

    def option(self) -> None:
        self.options.append(self.parts[0] if len(self.parts) == 1 else Series(tuple(self.parts)))
        self.parts = []

    def node(self) -> Node:
        self.option()
        return self.options[0] if len(self.options) == 1 else Choice(tuple(self.options))


class Body:
    """The right side of a rule while it is read. Groups stand on a stack, so only the budget limits their depth."""

    def __init__(self, source: Source, offset: int) -> None:
        self._source = source
        self._groups = [_Group("", offset)]

    @property
    def bracket(self) -> str:
        """The bracket of the innermost open group, "" outside all groups."""
        return self._groups[-1].bracket

    def add(self, node: Node) -> None:
        """One more part."""
        self._groups[-1].parts.append(node)

    def option(self) -> None:
        """What follows is another alternative."""
        self._groups[-1].option()

    def repeat(self, low: int, high: int | None, offset: int) -> None:
        """Repeat the last part, as the source says at `offset`."""
        parts = self._groups[-1].parts
        if not parts:
            raise self._source.error(offset, "nothing to repeat: put a text, a rule or a group before it.")
        if high is not None and high < low:
            raise self._source.error(offset, f"the upper bound {high} is below the lower bound {low}: exchange them.")
        parts[-1] = Repetition(parts[-1], low, high)

    def open(self, bracket: str, offset: int) -> None:
        """Begin a group."""
        depth = self._source.budget.depth
        if len(self._groups) > depth:
            message = f"more than {depth} groups within groups: give inner ones rules of their own."
            raise self._source.over_budget(offset, message)
        self._groups.append(_Group(bracket, offset))

    def close(self) -> None:
        """End the innermost group: it is one part of what is around it."""
        self.add(self._groups.pop().node())

    def finish(self) -> Node:
        """The whole, once every group is closed."""
        group = self._groups[-1]
        if group.bracket:
            raise self._source.error(group.offset, f"{group.bracket!r} is never closed: add its closing bracket.")
        return group.node()
