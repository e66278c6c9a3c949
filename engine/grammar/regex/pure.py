"""Terms of nodes without conditions on their surroundings, and who owns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

from engine.automaton.arena import Arena
from engine.automaton.terms import Term, fixed_text
from engine.errors import Origin
from engine.grammar.charset import CharSet
from engine.grammar.regex.ast import NOWHERE, Alternate, Chars, Concat, Look, Node, Repeat, Span, children

Encode = Callable[[CharSet], Term]
"""The term of one character of a set."""

Owners = dict[int, Origin]
"""By node (its id): the literal run, or the class with its repetition, that the node belongs to."""


class Pure:
    """Lowers the nodes of one pattern that hold no conditions. The nodes must outlive it."""

    def __init__(self, arena: Arena, encode: Encode, owners: Owners) -> None:
        self.arena = arena
        self.owners = owners
        self._encode = encode
        self._terms: dict[int, Term] = {}

    def chars(self, node: Chars, members: CharSet) -> Term:
        """One character out of a part of the node's set."""
        return self._owned(node, self._encode(members))

    def term(self, node: Node) -> Term:
        """The texts of the node."""
        term = self._terms.get(id(node))
        if term is None:
            self.arena.check_time()
            term = self._terms[id(node)] = self._make(node)
        return term

    def _make(self, node: Node) -> Term:
        if isinstance(node, Chars):
            return self.chars(node, node.members)
        if isinstance(node, Concat):
            return self.arena.concat(self._runs(node.parts))
        if isinstance(node, Alternate):
            return self.arena.alt([self.term(option) for option in node.options])
        assert isinstance(node, Repeat), "only for nodes without conditions"
        if isinstance(node.body, Chars):
            return self._owned(node, self.arena.repeat(self._encode(node.body.members), node.low, node.high))
        return self.arena.repeat(self.term(node.body), node.low, node.high)

    def _owned(self, node: Node, term: Term) -> Term:
        owner = self.owners.get(id(node))
        return self.arena.tag(owner, term) if owner else term

    def _runs(self, parts: Iterable[Node]) -> list[Term]:
        """The terms of some parts, neighbouring fixed characters of one owner in one piece."""
        runs: list[tuple[Node, Term, list[bytes]]] = []
        for part in parts:
            self.arena.check_time()
            term = self._encode(part.members) if isinstance(part, Chars) else self.term(part)
            text = fixed_text(term)
            if runs and text is not None:
                before, _, texts = runs[-1]
                if texts and self.owners.get(id(before)) == self.owners.get(id(part)):
                    texts.append(text)
                    continue
            runs.append((part, term, [] if text is None else [text]))
        return [self._run(part, term, texts) for part, term, texts in runs]

    def _run(self, part: Node, term: Term, texts: list[bytes]) -> Term:
        """One run; `texts`: of the fixed characters that it is of."""
        if len(texts) > 1:
            term = self.arena.literal(b"".join(texts))
        return self._owned(part, term) if isinstance(part, Chars) else term

    def nonempty(self, node: Node) -> Term:
        """The texts of the node but the empty one."""
        if isinstance(node, Chars):
            return self.term(node)
        if isinstance(node, Alternate):
            return self.arena.alt([self.nonempty(option) for option in node.options])
        if isinstance(node, Repeat):
            if node.high == 0:
                return self.arena.empty
            high = None if node.high is None else node.high - 1
            again = self.arena.repeat(self.term(node.body), max(node.low - 1, 0), high)
            return self.arena.seq(self.nonempty(node.body), again)
        options = []
        parts = children(node)
        for index, part in enumerate(parts):
            options.append(self.arena.concat([self.nonempty(part), *map(self.term, parts[index + 1 :])]))
            if not self.term(part).nullable:
                break
        return self.arena.alt(options)


def owners(pattern: Node, check_time: Callable[[], None]) -> Owners:
    """The owners of all nodes that somebody wrote, those inside conditions left out."""
    found: Owners = {}
    pending = [pattern]
    while pending:
        check_time()
        node = pending.pop()
        if isinstance(node, Look):
            continue
        pending.extend(children(node))
        if isinstance(node, Concat):
            for run in _literal_runs(node.parts):
                _own(found, run, (run[0].span[0], run[-1].span[1]))
        if isinstance(node, Repeat) and isinstance(node.body, Chars):
            _own(found, [node, node.body], node.span)
        if isinstance(node, Chars):
            _own(found, [node], node.span)
    return found


def _own(found: Owners, nodes: list[Node], span: Span) -> None:
    last = nodes[-1]
    kind = "literal" if isinstance(last, Chars) and len(last.members) == 1 else "class"
    for node in nodes:
        if span != NOWHERE:
            found.setdefault(id(node), Origin(f"{span[0]}-{span[1]}", kind))


def _literal_runs(parts: tuple[Node, ...]) -> Iterable[list[Node]]:
    for single, run in groupby(parts, lambda part: isinstance(part, Chars) and len(part.members) == 1):
        if single:
            yield list(run)
