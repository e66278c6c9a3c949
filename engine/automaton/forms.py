"""Forms: the same term seen as a run, a picture or a mask needs it.

A run keeps every owner and every captured text. A picture forgets captured texts and large counters, so that open
objects and long strings have few states. A mask forgets owners too, and does not tell apart counters farther from their
bounds than the longest token: states that differ in nothing else share their mask.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.automaton.terms import (
    EXACT,
    FORGOTTEN,
    PLAIN,
    Alt,
    And,
    Bytes,
    Call,
    Capture,
    Empty,
    Epsilon,
    Form,
    Literal,
    Not,
    Repeat,
    Seq,
    Tag,
    Term,
    Words,
)

if TYPE_CHECKING:
    from engine.automaton.arena import Arena


MOST_SHOWN = 12
"""Repetitions that a picture shows one by one; more are drawn as a loop, as if there were no bound."""


def to_form(arena: Arena, term: Term, form: Form) -> Term:
    """The same term with owners, captured texts and far counters kept or dropped as the form says."""
    return term if form is EXACT else _formed(arena, term, form, arena.formed_in(form))


def _formed(arena: Arena, term: Term, form: Form, known: dict[int, Term]) -> Term:
    """`known`: what terms are in this form, by id."""
    formless = arena.formless
    result = term if term.id in formless else known.get(term.id)
    if result is not None:
        return result
    if not isinstance(term, Seq):
        result = known[term.id] = _make_form(arena, term, form, known)
        return result
    spine: list[tuple[int, Term]] = []
    while isinstance(term, Seq) and term.id not in formless and term.id not in known:
        head = term.head
        if isinstance(head, Tag) and not form.tags:
            head = head.body
        spine.append((term.id, head if isinstance(head, Literal) else _formed(arena, head, form, known)))
        term = term.tail
    result = _formed(arena, term, form, known)
    for whole, head in reversed(spine):
        result = known[whole] = arena.seq(head, result)
    return result


def formless(terms: Iterable[Term]) -> frozenset[int]:
    """The terms that are the same in every form, by id; parts come before what is made of them."""
    found: set[int] = set()
    for term in terms:
        parts: tuple[Term, ...] = ()
        if isinstance(term, Alt):
            parts = term.members
        elif isinstance(term, Seq):
            parts = term.head, term.tail
        elif isinstance(term, Repeat) and term.low <= 1 and term.high in (None, 1):
            parts = (term.body,)
        elif not isinstance(term, (Empty, Epsilon, Bytes, Literal, Words)):
            continue
        if all(part.id in found for part in parts):
            found.add(term.id)
    return frozenset(found)


def _make_form(arena: Arena, term: Term, form: Form, known: dict[int, Term]) -> Term:
    if isinstance(term, Tag):
        inner = _formed(arena, term.body, form, known)
        return arena.tag(term.origin, inner, term.label) if form.tags else inner
    if isinstance(term, (Literal, Bytes, Words)):
        return term
    if isinstance(term, Alt):
        return arena.alt([_formed(arena, member, form, known) for member in term.members])
    if isinstance(term, Repeat):
        low, high = term.low, term.high
        if form.longest is not None:
            near = form.longest + 1
            high = None if high is None else min(high, max(low, near) if form.owing else near)
            if low > near and not form.owing:
                low = near
                arena.hides_owed = True
        elif form.text is FORGOTTEN and high is not None and high > MOST_SHOWN:
            low, high = min(low, 1), None
            arena.hides_counts = True
        return arena.repeat(_formed(arena, term.body, form, known), low, high)
    if isinstance(term, (And, Not)):
        # Whether a conjunction can still be completed depends on exact counts: only the owners may go.
        inner_form = form if form.longest is None else PLAIN
        if isinstance(term, Not):
            return arena.complement(to_form(arena, term.body, inner_form))
        return arena.both(to_form(arena, member, inner_form) for member in term.members)
    if isinstance(term, Call):
        args = term.rule.forget(term.args) if form.text is FORGOTTEN else term.args
        return arena.call(term.rule, args, form)
    if isinstance(term, Capture):
        args = term.rule.forget(term.args) if form.text is FORGOTTEN else term.args
        return arena.capture(term.rule, args, _formed(arena, term.language, form, known), form.text, form)
    return term
