"""What came before: the left context that `Start` and look-behind ask about, as a small automaton over characters.

A past is a small integer: whether anything was read, and for every look-behind of the pattern the parts of it that
remain to be matched (Antimirov's partial derivatives, 1996). `^` has two pasts, `\\b` has three.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.errors import ConstraintError
from engine.grammar.charset import ALL, CharSet
from engine.grammar.regex.ast import EMPTY, Alternate, Chars, Concat, End, Look, Node, Repeat, Start, walk

State = tuple[bool, tuple[frozenset[Node], ...]]
"""Whether nothing was read yet; by look-behind, what remains of it for each place it may have begun at."""


class History:
    """The pasts that one pattern tells apart. The past at the start of a text is 0.

    Raises `ConstraintError` for a look-behind that contains a look-ahead or an end.
    """

    def __init__(self, pattern: Node) -> None:
        nodes = list(walk(pattern))
        behind = [node for node in nodes if isinstance(node, Look) and not node.ahead]
        for look in behind:
            _check(look)
        self._asks_start = any(isinstance(node, Start) for node in nodes)
        self._bodies = tuple(dict.fromkeys(look.body for look in behind))
        self._index = {body: index for index, body in enumerate(self._bodies)}
        self._atoms = _atoms(node.members for body in self._bodies for node in walk(body) if isinstance(node, Chars))
        self._states: list[State] = []
        self._numbers: dict[State, int] = {}
        self._next: dict[int, list[tuple[CharSet, int]]] = {}
        self._number((self._asks_start, tuple(frozenset([body]) for body in self._bodies)))

    def at_start(self, past: int) -> bool:
        """Whether nothing was read."""
        return self._states[past][0]

    def holds(self, look: Look, past: int) -> bool:
        """Whether a look-behind is satisfied."""
        return self._ends_with(look.body, self._states[past]) != look.negated

    def after(self, past: int, members: CharSet) -> list[tuple[CharSet, int]]:
        """The set split by the past that each character leads to."""
        if past not in self._next:
            by_target: dict[int, CharSet] = {}
            for atom in self._atoms:
                target = self._number(self._read(self._states[past], atom))
                by_target[target] = by_target[target] | atom if target in by_target else atom
            self._next[past] = [(atom, target) for target, atom in by_target.items()]
        return [(common, target) for atom, target in self._next[past] if (common := atom & members)]

    def settled(self, past: int) -> bool:
        """Whether the past stays the same whatever is read."""
        return all(target == past for _, target in self.after(past, ALL))

    def _number(self, state: State) -> int:
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _read(self, state: State, atom: CharSet) -> State:
        remains = []
        for body, before in zip(self._bodies, state[1], strict=True):
            rests = {rest for node in before for rest in self._rests(node, atom, state)}
            remains.append(frozenset({body, *rests}))
        return False, tuple(remains)

    def _ends_with(self, body: Node, state: State) -> bool:
        return any(self._passes(rest, state) for rest in state[1][self._index[body]])

    def _passes(self, node: Node, state: State) -> bool:
        """Whether the node matches the empty text here."""
        if isinstance(node, Concat):
            return all(self._passes(part, state) for part in node.parts)
        if isinstance(node, Alternate):
            return any(self._passes(option, state) for option in node.options)
        if isinstance(node, Repeat):
            return node.low == 0 or self._passes(node.body, state)
        if isinstance(node, Look):
            return self._ends_with(node.body, state) != node.negated
        return isinstance(node, Start) and state[0]

    def _rests(self, node: Node, atom: CharSet, state: State) -> set[Node]:
        """What may remain of the node after a character of the atom."""
        if isinstance(node, Chars):
            return {EMPTY} if atom & node.members else set()
        if isinstance(node, Alternate):
            return {rest for option in node.options for rest in self._rests(option, atom, state)}
        if isinstance(node, Repeat):
            if node.high == 0:
                return set()
            low = 0 if self._passes(node.body, state) else max(node.low - 1, 0)
            again = Repeat(node.body, low, None if node.high is None else node.high - 1)
            return {_then(rest, (again,)) for rest in self._rests(node.body, atom, state)}
        if isinstance(node, Concat):
            rests: set[Node] = set()
            for index, part in enumerate(node.parts):
                rests |= {_then(rest, node.parts[index + 1 :]) for rest in self._rests(part, atom, state)}
                if not self._passes(part, state):
                    break
            return rests
        return set()


def _then(rest: Node, parts: tuple[Node, ...]) -> Node:
    return Concat((*rest.parts, *parts) if isinstance(rest, Concat) else (rest, *parts))


def _atoms(sets: Iterable[CharSet]) -> list[CharSet]:
    """The coarsest split of all characters that every set is a union of."""
    atoms = [ALL]
    for members in sets:
        atoms = [part for atom in atoms for part in (atom & members, atom - members) if part]
    return atoms


def _check(behind: Look) -> None:
    for node in walk(behind.body):
        if isinstance(node, End) or (isinstance(node, Look) and node.ahead):
            start = max(node.span[0], behind.span[0])
            message = f"A look-behind may not look ahead: the condition at offset {start} is not supported there."
            raise ConstraintError(message, pointer=str(start), keyword="look-behind")
