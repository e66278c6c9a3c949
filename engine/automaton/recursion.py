"""Which rules of a constraint can be entered within themselves."""

from __future__ import annotations

from engine.automaton.arena import Arena
from engine.automaton.terms import Alt, And, Call, Capture, Not, Repeat, Seq, Tag, Term


def recursive(arena: Arena, root: Term) -> frozenset[int]:
    """Ids of the rules that can be entered within themselves, or lie on a way between two such rules."""
    calls: dict[int, set[int]] = {}
    pending: list[tuple[int, Term]] = [(0, root)]
    seen: set[tuple[int, Term]] = set()
    while pending:
        caller, term = pending.pop()
        if (caller, term) in seen:
            continue
        seen.add((caller, term))
        if isinstance(term, (Call, Capture)):
            called = id(term.rule)
            calls.setdefault(caller, set()).add(called)
            if called not in calls:
                calls[called] = set()
                pending += [(called, part) for part in term.rule.parts(arena, term.args)]
        if not isinstance(term, Call):
            pending += [(caller, part) for part in _children(term)]
    return frozenset(_without_ends(_without_ends(calls, backwards=False), backwards=True))


def _without_ends(calls: dict[int, set[int]], backwards: bool) -> dict[int, set[int]]:
    """Rules left once those that call (are called by) none of the others are taken away, again and again."""
    left = {rule: set(called) & calls.keys() for rule, called in calls.items()}
    if backwards:
        turned: dict[int, set[int]] = {rule: set() for rule in left}
        for rule, called in left.items():
            for other in called:
                turned[other].add(rule)
        left = turned
    into: dict[int, list[int]] = {}
    for rule, called in left.items():
        for other in called:
            into.setdefault(other, []).append(rule)
    ends = [rule for rule, called in left.items() if not called]
    while ends:
        end = ends.pop()
        left.pop(end)
        for rule in into.get(end, ()):
            left[rule].discard(end)
            if not left[rule]:
                ends.append(rule)
    return {rule: calls[rule] & left.keys() for rule in left}


def _children(term: Term) -> tuple[Term, ...]:
    if isinstance(term, Seq):
        return term.head, term.tail
    if isinstance(term, (Alt, And)):
        return term.members
    if isinstance(term, (Repeat, Tag, Not)):
        return (term.body,)
    return (term.language,) if isinstance(term, Capture) else ()
