"""From a regex tree to a term.

A part without conditions on its surroundings becomes a term directly (pure.py). The rest is lowered with its
continuation: the term of "this node, then that" lets a look-ahead be an intersection with all that follows, exact also
inside a repetition, and the past (history.py) decides what looks behind. A repetition whose body holds conditions is a
recursive rule.

Characters are only ever spoken about through `encode`, so the same pattern can be lowered to UTF-8 or to the inside of
a JSON string. Encodings must be prefix-free, and those of disjoint sets disjoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from engine.automaton.arena import Arena
from engine.automaton.terms import Captured, Term
from engine.errors import BudgetError
from engine.grammar.charset import CharSet
from engine.grammar.regex.ast import (
    ANY_TEXT,
    EMPTY,
    Alternate,
    Chars,
    Concat,
    End,
    Look,
    Node,
    Repeat,
    Start,
    children,
    walk,
)
from engine.grammar.regex.history import History
from engine.grammar.regex.pure import Encode, Owners, Pure, owners


def lower(node: Node, arena: Arena, encode: Encode, *, search: bool, tagged: bool = False) -> Term:
    """The term of all texts that the pattern matches as a whole, or (`search`) somewhere.

    `tagged`: literal runs and classes are owned by their `Origin("start-end", construct)`.
    Raises `ConstraintError` for a condition that is not supported where it stands, `BudgetError` if it grows too large.
    """
    if search:
        node = _anywhere(node)
    try:
        lowering = _Lowering(node, arena, encode, owners(node, arena.check_time) if tagged else {})
        return lowering.lower(node, Finish(arena.epsilon), 0, True)
    except RecursionError as error:
        raise BudgetError(
            "The regex is nested too deeply, or too long for the conditions in it.", pointer="0"
        ) from error


class Finish:
    """The end of what is to be matched: only `term` may follow."""

    sensitive: bool = False
    counts: bool = False

    def __init__(self, term: Term) -> None:
        self._term = term

    def term(self, past: int, moved: bool) -> Term:
        return self._term

    def nullable(self, past: int, moved: bool) -> bool:
        return True


class Then:
    """A node, then another continuation.

    `sensitive`: what follows asks about the past. `counts`: it matters whether anything was read since the innermost
    repetition began its round (`moved`): a round that reads nothing is not repeated.
    """

    def __init__(self, lowering: _Lowering, node: Node, follow: Continuation) -> None:
        self._lowering = lowering
        self._node = node
        self._follow = follow
        self._terms: dict[tuple[int, bool], Term] = {}
        self.sensitive: bool = follow.sensitive or lowering.asks_past(node)
        self.counts: bool = follow.counts

    def term(self, past: int, moved: bool) -> Term:
        key = (past, moved or not self.counts)
        if key not in self._terms:
            self._terms[key] = self._lowering.lower(self._node, self._follow, *key)
        return self._terms[key]

    def nullable(self, past: int, moved: bool) -> bool:
        return self._lowering.passes(self._node, past) and self._follow.nullable(past, moved)


@dataclass(frozen=True, slots=True)
class Round:
    """Where a repetition stands: past, moved (as its surroundings see it), rounds to go."""

    past: int
    moved: bool
    low: int
    high: int | None


class Loop:
    """The rule of a repetition with conditions: what follows it, or one round more.

    A round that reads nothing changes nothing for the rounds after it, and could be made as often as needed.
    """

    name = "repetition"
    sure = False

    def __init__(self, lowering: _Lowering, node: Repeat, follow: Continuation) -> None:
        self._lowering = lowering
        self._node = node
        self._body = node.body
        self._follow = follow
        self.sensitive: bool = follow.sensitive or lowering.asks_past(node)

    def rest(self, at: Round) -> Term:
        """What remains of the repetition, and what follows it."""
        if at.high == 0:
            return self._follow.term(at.past, at.moved)
        if self._lowering.is_free(self._body, at.past):
            return self._lowering.lower(self._lowering.repeat(self._node, at), self._follow, at.past, at.moved)
        return self._lowering.arena.call(self, at)

    def nullable(self, args: Round) -> bool:
        passes = args.low == 0 or self._lowering.passes(self._body, args.past)
        return passes and self._follow.nullable(args.past, args.moved)

    def body(self, arena: Arena, args: Round) -> Term:
        once_more = self._lowering.lower(self._body, self._lowering.again(self, args), args.past, False)
        return once_more if args.low else arena.alt([self._follow.term(args.past, args.moved), once_more])

    def core(self, arena: Arena, args: Round) -> Term:
        return self.body(arena, args)

    def after(self, arena: Arena, args: Round, text: Captured) -> Term:
        raise AssertionError("a repetition captures nothing")

    def parts(self, arena: Arena, args: Round) -> Iterable[Term]:
        return [self._lowering.any_character()]

    def forget(self, args: Round) -> Round:
        return args

    def words(self, args: Round) -> str:
        return "<repetition>"


class Again:
    """What follows one round of a repetition: the rounds left."""

    counts: bool = True

    def __init__(self, loop: Loop, at: Round, empty: Term) -> None:
        self._loop = loop
        self._empty = empty
        self._at = at
        self.sensitive: bool = loop.sensitive

    def _next(self, past: int, moved: bool) -> Round | None:
        low, high = self._at.low, None if self._at.high is None else self._at.high - 1
        if moved:
            return Round(past, True, max(low - 1, 0), high)
        return Round(past, self._at.moved, 0, high) if low else None

    def term(self, past: int, moved: bool) -> Term:
        following = self._next(past, moved)
        return self._loop.rest(following) if following else self._empty

    def nullable(self, past: int, moved: bool) -> bool:
        following = self._next(past, moved)
        return following is not None and self._loop.nullable(following)


Continuation = Finish | Then | Again


class _Lowering:
    """Lowers the nodes of one pattern."""

    def __init__(self, pattern: Node, arena: Arena, encode: Encode, owned: Owners) -> None:
        self.arena = arena
        self._pattern = pattern
        self._encode = encode
        self._pure = Pure(arena, encode, owned)
        self._history = History(pattern)
        self._made: dict[tuple[Any, ...], Any] = {}
        self._conditions: dict[int, tuple[bool, bool]] = {}

    # What a node asks about.

    def asks_past(self, node: Node) -> bool:
        """Whether the node holds a condition on what came before."""
        return self._asks(node)[0]

    def is_pure(self, node: Node) -> bool:
        """Whether the node holds no conditions at all."""
        return not any(self._asks(node))

    def _asks(self, node: Node) -> tuple[bool, bool]:
        known = self._conditions.get(id(node))
        if known is None:
            self.arena.check_time()
            below = [self._asks(child) for child in children(node)]
            behind = isinstance(node, Start) or (isinstance(node, Look) and not node.ahead)
            ahead = isinstance(node, End) or (isinstance(node, Look) and node.ahead)
            known = (behind or any(past for past, _ in below), ahead or any(rest for _, rest in below))
            self._conditions[id(node)] = known
        return known

    def passes(self, node: Node, past: int) -> bool:
        """Whether the node matches the empty text with this past and nothing to come."""
        if isinstance(node, Chars):
            return False
        if isinstance(node, Concat):
            return all(self.passes(part, past) for part in node.parts)
        if isinstance(node, Alternate):
            return any(self.passes(option, past) for option in node.options)
        if isinstance(node, Repeat):
            return node.low == 0 or self.passes(node.body, past)
        if isinstance(node, Start):
            return self._history.at_start(past)
        if isinstance(node, End):
            return True
        return self.passes(node.body, past) != node.negated if node.ahead else self._history.holds(node, past)

    # Nodes with their continuation.

    def lower(self, node: Node, follow: Continuation, past: int, moved: bool) -> Term:
        """The term of the node, then what follows."""
        moved = moved or not follow.counts
        needs_past = follow.sensitive and not self._history.settled(past)
        if self.is_pure(node) and not needs_past:
            return self._lower_pure(node, follow, past, moved)
        if isinstance(node, Chars):
            return self.arena.alt(
                self.arena.seq(self._pure.chars(node, members), follow.term(target, True))
                for members, target in self._history.after(past, node.members)
            )
        if isinstance(node, Concat):
            return self._lower_concat(node, follow, past, moved)
        if isinstance(node, Alternate):
            return self.arena.alt(self.lower(option, follow, past, moved) for option in node.options)
        if isinstance(node, Repeat):
            return self._lower_repeat(node, follow, past, moved)
        if isinstance(node, Start):
            return follow.term(past, moved) if self._history.at_start(past) else self.arena.empty
        if isinstance(node, End):
            return self.arena.epsilon if follow.nullable(past, moved) else self.arena.empty
        if not node.ahead:
            return follow.term(past, moved) if self._history.holds(node, past) else self.arena.empty
        condition = self.lower(node.body, Finish(self.arena.anything), past, True)
        if node.negated:
            condition = self.arena.complement(condition)
        return self.arena.both([condition, follow.term(past, moved)])

    def _lower_pure(self, node: Node, follow: Continuation, past: int, moved: bool) -> Term:
        onward = follow.term(past, True)
        if moved or not self.passes(node, past):
            return self.arena.seq(self._pure.term(node), onward)
        return self.arena.alt([follow.term(past, False), self.arena.seq(self._pure.nonempty(node), onward)])

    def _lower_concat(self, node: Concat, follow: Continuation, past: int, moved: bool) -> Term:
        if not node.parts:
            return follow.term(past, moved)
        for part in reversed(self._grouped(node)[1:]):
            follow = self._make(Then, self, part, follow)
        return self.lower(self._grouped(node)[0], follow, past, moved)

    def _grouped(self, node: Concat) -> tuple[Node, ...]:
        """The parts, neighbours without conditions taken together (a long text then needs no deep recursion)."""
        key = ("grouped", id(node))
        if key not in self._made:
            groups: list[list[Node]] = []
            for part in node.parts:
                if groups and self.is_pure(part) and self.is_pure(groups[-1][-1]):
                    groups[-1].append(part)
                else:
                    groups.append([part])
            grouped = tuple(group[0] if len(group) == 1 else Concat(tuple(group)) for group in groups)
            self._made[key] = node.parts if len(grouped) == 1 else grouped
        return self._made[key]  # type: ignore[no-any-return]

    def _lower_repeat(self, node: Repeat, follow: Continuation, past: int, moved: bool) -> Term:
        if node.high == 0:
            return follow.term(past, moved)
        if node.high == 1:
            once = self.lower(node.body, follow, past, moved)
            return once if node.low else self.arena.alt([follow.term(past, moved), once])
        loop: Loop = self._make(Loop, self, node, follow)
        at = Round(past, moved, node.low, node.high)
        if isinstance(node.body, Chars) and self._settles(node.body, past):
            return loop.body(self.arena, at)
        return self.arena.call(loop, at)

    def _settles(self, node: Chars, past: int) -> bool:
        return all(self._history.settled(target) for _, target in self._history.after(past, node.members))

    def is_free(self, node: Node, past: int) -> bool:
        """Whether the node neither holds conditions nor changes the past."""
        return self.is_pure(node) and self._history.settled(past)

    def again(self, loop: Loop, at: Round) -> Again:
        """What follows a round."""
        return Again(loop, at, self.arena.empty)

    def repeat(self, node: Repeat, at: Round) -> Repeat:
        """The repetition with the rounds to go."""
        rest: Repeat = self._make(Repeat, node.body, at.low, at.high)
        if id(node) in self._pure.owners:
            self._pure.owners[id(rest)] = self._pure.owners[id(node)]
        return rest

    def _make(self, kind: type, *arguments: Any) -> Any:
        """The same object for the same arguments, so that equal rules and equal nodes are one."""
        key = (kind, *(part if part is None or isinstance(part, int) else id(part) for part in arguments))
        if key not in self._made:
            self._made[key] = kind(*arguments)
        return self._made[key]

    def any_character(self) -> Term:
        """Any character that occurs in the pattern."""
        sets = (node.members for node in walk(self._pattern) if isinstance(node, Chars))
        return self._encode(CharSet.from_ranges(one for members in sets for one in members.ranges))


def _anywhere(node: Node) -> Node:
    """The node of all texts in which the pattern matches; the usual `^` and `$` only say where any text may stand."""
    if isinstance(node, Alternate) and _has_conditions(node):
        return replace(node, options=tuple(map(_anywhere, node.options)))
    node = _trimmed(_trimmed(node, first=True), first=False)
    parts = node.parts if isinstance(node, Concat) else (node,)
    begins, ends = bool(parts) and isinstance(parts[0], Start), bool(parts) and isinstance(parts[-1], End)
    inside = parts[begins : len(parts) - ends]
    if any(map(_has_conditions, inside)):
        return Concat((ANY_TEXT, node, ANY_TEXT))
    return Concat((*(() if begins else (ANY_TEXT,)), *inside, *(() if ends else (ANY_TEXT,))))


def _has_conditions(node: Node) -> bool:
    return any(isinstance(part, (Start, End, Look)) for part in walk(node))


def _trimmed(node: Node, *, first: bool) -> Node:
    """The node with as few repetitions as possible at one end, where any text may stand next to it anyway."""
    if isinstance(node, Concat) and node.parts:
        parts = list(node.parts)
        index = 0 if first else -1
        parts[index] = _trimmed(parts[index], first=first)
        if parts[index] == EMPTY:
            del parts[index]
            return _trimmed(replace(node, parts=tuple(parts)), first=first)
        return replace(node, parts=tuple(parts))
    if isinstance(node, Alternate):
        return replace(node, options=tuple(_trimmed(option, first=first) for option in node.options))
    if isinstance(node, Repeat) and all(isinstance(part, (Chars, Concat, Alternate, Repeat)) for part in walk(node)):
        if node.low == 0:
            return EMPTY
        return _trimmed(node.body, first=first) if node.low == 1 else replace(node, high=node.low)
    return node
