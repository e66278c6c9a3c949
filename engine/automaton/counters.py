"""Counters: what is repeated, with its bounds, and when several can be taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.automaton.terms import Repeat, Seq, Tag, Term

if TYPE_CHECKING:
    from engine.automaton.arena import Arena


def merged(arena: Arena, members: dict[int, Term]) -> dict[int, Term]:
    """x{1,3}y | x{2,5}y is x{1,5}y: keeps nested counters from multiplying."""
    begun: list[tuple[Term, Term, Repeat]] = []
    for member in members.values():
        head = member.head if isinstance(member, Seq) else member
        inner = head.body if isinstance(head, Tag) else head
        if isinstance(inner, Repeat):
            begun.append((member, head, inner))
    if len(begun) < 2:
        return members
    groups: dict[tuple[Any, ...], list[tuple[Term, Repeat]]] = {}
    for member, head, inner in begun:
        owner = (head.origin, head.label) if isinstance(head, Tag) else None
        tail = member.tail if isinstance(member, Seq) else arena.epsilon
        groups.setdefault((inner.body, owner, tail), []).append((member, inner))
    kept = dict(members)
    for (body, owner, tail), group in groups.items():
        if len(group) == 1:
            continue
        for member, _ in group:
            kept.pop(member.id)
        for low, high in _unite([(repeat.low, repeat.high) for _, repeat in group]):
            repeat = arena.repeat(body, low, high)
            term = arena.seq(arena.tag(owner[0], repeat, owner[1]) if owner else repeat, tail)
            kept[term.id] = term
    return kept


def bounds(term: Term) -> tuple[int, int | None]:
    """How often what a term repeats may stand there; once if it is no repetition."""
    return (term.low, term.high) if isinstance(term, Repeat) else (1, 1)


def have_no_gaps(body: Repeat, low: int) -> bool:
    """Whether `low` or more times what `body` counts leaves out no number in between."""
    if low == 0:
        return body.low <= 1
    return body.high is None or low * body.high + 1 >= (low + 1) * body.low


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
