"""From rules to terms.

A rule is a `Call`, so recursion costs nothing until it is read. A call stands for the *non-empty* texts of its rule; a
rule that may be empty is called optionally. Then a rule is left-recursive exactly where its body begins with a call.
Left recursion is solved, not refused. The rules that begin with each other are linear equations, X = B | X C, whose
least solution is B C* (Arden 1961); several are solved by elimination, as in Kleene's theorem.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from engine.automaton.arena import Arena
from engine.automaton.terms import Alt, Captured, Seq, Term
from engine.errors import Origin
from engine.grammar.charset import utf8
from engine.grammar.ebnf.rules import Choice, Grammar, Node, Pattern, Ref, Repetition, Series, Text, children, refs
from engine.grammar.regex.ast import Chars
from engine.grammar.regex.ast import Node as RegexNode
from engine.grammar.regex.lower import lower

COPIED_NODES = 50
"""A rule that refers to no other and is not larger is written into the rules that use it."""

IGNORED = "%ignore"
"""Who speaks for what is ignored."""

Beginnings = dict[str, Term]
"""The non-empty texts of a node by the rule they begin with: what follows that rule; under "" all others, whole."""


class GrammarRule:
    """The non-empty texts of one rule of a grammar."""

    sure = False

    def __init__(self, terms: RuleTerms, name: str) -> None:
        self._terms = terms
        self.name = name

    def nullable(self, args: tuple[()]) -> bool:
        """Never: a rule that may be empty is called optionally."""
        return False

    def body(self, arena: Arena, args: tuple[()]) -> Term:
        """The rule's body, free of left recursion."""
        return self._terms.body(self.name)

    def core(self, arena: Arena, args: tuple[()]) -> Term:
        """The whole body."""
        return self.body(arena, args)

    def after(self, arena: Arena, args: tuple[()], text: Captured) -> Term:
        """Grammars capture nothing."""
        raise AssertionError("a grammar captures nothing")

    def parts(self, arena: Arena, args: tuple[()]) -> Iterable[Term]:
        """The body."""
        return (self.body(arena, args),)

    def forget(self, args: tuple[()]) -> tuple[()]:
        """Nothing to forget."""
        return args

    def words(self, args: tuple[()]) -> str:
        """The rule's name."""
        return f"<{self.name}>"


class RuleTerms:
    """The terms of the rules of one grammar."""

    def __init__(self, arena: Arena, grammar: Grammar) -> None:
        bodies = grammar.bodies
        self._arena = arena
        self._bodies = bodies
        self._calls = {name: arena.call(GrammarRule(self, name)) for name in bodies}
        self._small = {name for name, body in bodies.items() if name != grammar.start and _is_small(body)}
        self._labels = {name for name in self._small if _is_token(bodies[name])}
        self._nullable = rules_that_hold(bodies, False, arena.check_time)
        starts = {name: tuple(_left_refs(body, self._nullable)) for name, body in bodies.items()}
        self._cycles = {name: cycle for cycle in components(starts) for name in cycle}
        self._solved: dict[str, Term] = {}
        self._patterns: dict[int, tuple[Pattern, Term]] = {}
        self._ignored = self._between(grammar.ignored)
        body = self.body(grammar.start)
        empty_or_not = arena.repeat(body, 0, 1) if grammar.start in self._nullable else body
        self.root = arena.seq(self._ignored, empty_or_not)

    def whole(self, name: str) -> Term:
        """All texts of a rule."""
        if name in self._small:
            return self._whole(self._bodies[name], name)
        return self._arena.repeat(self._calls[name], 0, 1) if name in self._nullable else self._calls[name]

    def body(self, name: str) -> Term:
        """The non-empty texts of a rule, none of them beginning with a call that leads back to it."""
        if name not in self._solved:
            self._solve(self._cycles[name])
        return self._solved[name]

    def patterns(self) -> Iterable[tuple[Pattern, Term]]:
        """The patterns that were met so far, with their terms."""
        return self._patterns.values()

    def _between(self, ignored: Sequence[Pattern]) -> Term:
        """What may follow every text and every pattern."""
        label = " or ".join(pattern.label for pattern in ignored)
        several = self._arena.star(self._arena.alt(self._unspoken(pattern) for pattern in ignored))
        return self._arena.tag(Origin(IGNORED), several, label)

    def _solve(self, cycle: tuple[str, ...]) -> None:
        """Eliminate the rules of a cycle one by one."""
        arena = self._arena
        equations = {name: self._beginnings(self._bodies[name], name, cycle) for name in cycle}
        for name in cycle:
            mine = equations[name]
            again = arena.star(mine.pop(name, arena.empty))
            equations[name] = mine = {first: arena.seq(rest, again) for first, rest in mine.items()}
            for other in cycle:
                if other != name and name in equations[other]:
                    follow = equations[other].pop(name)
                    replaced = {first: arena.seq(rest, follow) for first, rest in mine.items()}
                    equations[other] = self._united([equations[other], replaced])
        for name in cycle:
            self._solved[name] = equations[name].get("", arena.empty)

    def _united(self, several: Iterable[Beginnings]) -> Beginnings:
        gathered: dict[str, list[Term]] = {}
        for beginnings in several:
            for first, rest in beginnings.items():
                gathered.setdefault(first, []).append(rest)
        return {first: _factored(self._arena, rests) for first, rests in gathered.items()}

    def _beginnings(self, node: Node, owner: str, cycle: Collection[str]) -> Beginnings:
        """The non-empty texts of a node in the body of the rule `owner`, by the rule of the cycle they begin with."""
        arena = self._arena
        if isinstance(node, Ref):
            if node.name in cycle:
                return {node.name: arena.epsilon}
            if node.name in self._small:
                return self._beginnings(self._bodies[node.name], node.name, ())
            return {"": self._calls[node.name]}
        if isinstance(node, Choice):
            texts, others = self._options(node, owner)
            return self._united([{"": texts}, *(self._beginnings(option, owner, cycle) for option in others)])
        if isinstance(node, Series):
            return self._united(self._series_beginnings(node, owner, cycle))
        if not isinstance(node, Repetition):
            return {"": self._whole(node, owner)}
        if node.high == 0:
            return {}
        if isinstance(node.body, (Text, Pattern)):
            return {"": self._whole(Repetition(node.body, max(node.low, 1), node.high), owner)}
        high = None if node.high is None else node.high - 1
        again = arena.repeat(self._whole(node.body, owner), max(node.low - 1, 0), high)
        return {first: arena.seq(rest, again) for first, rest in self._beginnings(node.body, owner, cycle).items()}

    def _series_beginnings(self, node: Series, owner: str, cycle: Collection[str]) -> Iterator[Beginnings]:
        """One for each part that may come first."""
        tails = [self._arena.epsilon]
        for part in reversed(node.parts[1:]):
            tails.append(self._arena.seq(self._whole(part, owner), tails[-1]))
        for part in node.parts:
            tail = tails.pop()
            beginnings = self._beginnings(part, owner, cycle)
            yield {first: self._arena.seq(rest, tail) for first, rest in beginnings.items()}
            if not holds(part, self._nullable, leaf=False):
                return

    def _whole(self, node: Node, owner: str) -> Term:
        """All texts of a node in the body of the rule `owner`."""
        arena = self._arena
        if isinstance(node, Ref):
            return self.whole(node.name)
        if isinstance(node, Series):
            return arena.concat([self._whole(part, owner) for part in node.parts])
        if isinstance(node, Choice):
            texts, others = self._options(node, owner)
            return _factored(arena, [texts, *(self._whole(option, owner) for option in others)])
        if not isinstance(node, Repetition):
            return arena.seq(self._spoken(self._unspoken(node), node, owner), self._ignored)
        if isinstance(node.body, (Text, Pattern)) and self._ignored is arena.epsilon:
            return self._spoken(arena.repeat(self._unspoken(node.body), node.low, node.high), node.body, owner)
        return arena.repeat(self._whole(node.body, owner), node.low, node.high)

    def _options(self, node: Choice, owner: str) -> tuple[Term, list[Node]]:
        """The fixed texts among some alternatives, which are cheaper together, and the others."""
        texts = [option for option in node.options if isinstance(option, Text)]
        others: list[Node] = [option for option in node.options if not isinstance(option, Text)]
        if not texts:
            return self._arena.empty, others
        words = self._arena.words(text.data.encode() for text in texts)
        return self._arena.seq(self._spoken(words, texts[0], owner), self._ignored), others

    def _unspoken(self, node: Text | Pattern) -> Term:
        if isinstance(node, Text):
            return self._arena.literal(node.data.encode())
        key = id(node.regex)
        if key not in self._patterns:
            self._patterns[key] = node, self._lowered(node.regex)
        return self._patterns[key][1]

    def _lowered(self, regex: RegexNode) -> Term:
        if isinstance(regex, Chars):
            return utf8(self._arena, regex.members)
        return lower(regex, self._arena, partial(utf8, self._arena), search=False)

    def _spoken(self, term: Term, node: Text | Pattern, owner: str) -> Term:
        """The term with its owner: the pattern's own, or the rule."""
        label = f"<{owner}>" if owner in self._labels else ""
        if isinstance(node, Pattern) and (node.owner or node.label):
            owner, label = node.owner or owner, node.label
        return self._arena.tag(Origin(owner), term, label)


def _factored(arena: Arena, terms: Iterable[Term]) -> Term:
    """Any of the terms, common beginnings once: else an ambiguous text would keep every way to what remains."""
    groups: dict[Term, list[Term]] = {}
    listed = (member for term in terms for member in (term.members if isinstance(term, Alt) else (term,)))
    for member in dict.fromkeys(listed):
        head, tail = (member.head, member.tail) if isinstance(member, Seq) else (member, arena.epsilon)
        groups.setdefault(head, []).append(tail)
    return arena.alt(arena.seq(head, _common(arena, tails)) for head, tails in groups.items())


def _common(arena: Arena, tails: list[Term]) -> Term:
    """Any of some tails of the same beginning."""
    prefix: list[Term] = []
    while len(tails) > 1 and isinstance(tails[0], Seq):
        head = tails[0].head
        following = [tail.tail for tail in tails if isinstance(tail, Seq) and tail.head is head]
        if len(following) < len(tails):
            break
        prefix.append(head)
        tails = following
    return arena.concat([*prefix, tails[0] if len(tails) == 1 else _factored(arena, tails)])


def _is_small(body: Node) -> bool:
    """Whether a rule is a part of those that use it: it refers to none, and is short."""
    pending, seen = [body], 0
    while pending and seen < COPIED_NODES:
        node = pending.pop()
        if isinstance(node, Ref):
            return False
        seen += 1
        pending.extend(children(node))
    return not pending


def _is_token(body: Node) -> bool:
    """Whether a small rule is called by its name while it is read: not if it is one text, or holds named terminals."""
    if isinstance(body, Pattern):
        return not body.owner
    return not isinstance(body, Text) and all(isinstance(part, Text) or _is_token(part) for part in children(body))


def holds(node: Node, rules: Collection[str], leaf: bool) -> bool:
    """Whether a node is nullable (`leaf` False) or has any text (`leaf` True), given the rules that are or have."""
    if isinstance(node, Ref):
        return node.name in rules
    if isinstance(node, Series):
        return all(holds(part, rules, leaf) for part in node.parts)
    if isinstance(node, Choice):
        return any(holds(option, rules, leaf) for option in node.options)
    return node.low == 0 or holds(node.body, rules, leaf) if isinstance(node, Repetition) else leaf


def rules_that_hold(bodies: Mapping[str, Node], leaf: bool, check_time: Callable[[], None]) -> set[str]:
    """The rules that are nullable, or have any text: a least fixpoint, cycle by cycle."""
    found: set[str] = set()
    for cycle in components({name: [ref.name for ref in refs(body)] for name, body in bodies.items()}):
        before = -1
        while len(found) != before:
            before = len(found)
            check_time()
            found.update(name for name in cycle if holds(bodies[name], found, leaf))
    return found


def _left_refs(node: Node, nullable: Collection[str]) -> Iterator[str]:
    """The rules that a non-empty text of a node may begin with."""
    if isinstance(node, Ref):
        yield node.name
    elif isinstance(node, Series):
        for part in node.parts:
            yield from _left_refs(part, nullable)
            if not holds(part, nullable, leaf=False):
                return
    elif not isinstance(node, Repetition) or node.high != 0:
        for child in children(node):
            yield from _left_refs(child, nullable)


def components(graph: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """The strongly connected components, those that are referred to first (Tarjan 1972, without recursion)."""
    found: list[tuple[str, ...]] = []
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    done: set[str] = set()
    for root in graph:
        path = [(root, iter(graph[root]))] if root not in order else []
        while path:
            name, following = path[-1]
            if name not in order:
                order[name] = lowest[name] = len(order)
                stack.append(name)
            for other in following:
                if other not in order:
                    path.append((other, iter(graph[other])))
                    break
                if other not in done:
                    lowest[name] = min(lowest[name], order[other])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                if lowest[name] == order[name]:
                    component = [stack.pop()]
                    while component[-1] != name:
                        component.append(stack.pop())
                    found.append(tuple(reversed(component)))
                    done.update(component)
    return found
