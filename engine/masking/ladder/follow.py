"""What may follow a frame: the texts that stacks of a constraint can go on with.

A stack is not any text. Behind a JSON value come a comma with another value or name, closing brackets, white space; and
behind a rule of a grammar what the other rules put behind its calls. XGrammar calls it context expansion (2411.15100,
section 3.2). Without it hardly a token would be decided inside a number, which may end anywhere.
"""

from __future__ import annotations

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.automaton.terms import Alt, Call, Repeat, Seq, Tag, Term, byte_set
from engine.constraint import Constraint

RULELESS = frozenset(("regex", "choices", "text", "bytes"))
"""Kinds of constraints without rules."""

SPACE = byte_set(b" \t\n\r")
VALUE_STARTS = byte_set(b'"-0123456789[{tfn')
AFTER_A_VALUE = SPACE | byte_set(b",]}")


def follow(constraint: Constraint) -> Term:
    """A language with everything that stacks of the constraint can go on with (and more, but no stack is left out).

    Nothing for kinds without rules; anything where texts of several kinds are joined. Raises `BudgetError` as the
    automaton does.
    """
    automaton = constraint.automaton
    with automaton.lock, automaton.arena.clock.running():
        if constraint.kind in RULELESS:
            return automaton.arena.epsilon
        if constraint.kind == "json_schema":
            return _behind_values(automaton.arena)
        if constraint.kind in ("gbnf", "lark"):
            return _behind_calls(automaton)
        return automaton.arena.anything


def _behind_values(arena: Arena) -> Term:
    """Closing brackets and white space, then perhaps a comma and the beginning of a value or a name."""
    closing = arena.star(arena.bytes(SPACE | byte_set(b"]}")))
    space = arena.star(arena.bytes(SPACE))
    more = arena.concat([arena.literal(b","), space, arena.bytes(VALUE_STARTS), arena.anything])
    return arena.seq(closing, arena.repeat(more, 0, 1))


def _behind_calls(automaton: Automaton) -> Term:
    """Any sequence of what stands behind calls in the bodies of the rules."""
    arena = automaton.arena
    found: dict[Term, None] = {}
    pending: list[tuple[Term, Term]] = [(automaton.root, arena.epsilon)]
    seen = set(pending)
    while pending:
        term, behind = pending.pop()
        inner: list[tuple[Term, Term]] = []
        if isinstance(term, Call):
            found[behind] = None
            inner = [(arena.body(term), arena.epsilon)]
        elif isinstance(term, Seq):
            inner = [(term.head, arena.seq(term.tail, behind)), (term.tail, behind)]
        elif isinstance(term, Alt):
            inner = [(member, behind) for member in term.members]
        elif isinstance(term, Repeat):
            more = None if term.high is None else term.high - 1
            inner = [(term.body, arena.seq(arena.repeat(term.body, 0, more), behind))]
        elif isinstance(term, Tag):
            inner = [(term.body, behind)]
        pending += [pair for pair in inner if pair not in seen]
        seen.update(inner)
    return arena.star(arena.alt(found))
