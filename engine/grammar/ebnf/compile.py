"""From a grammar as it was read to a constraint."""

from __future__ import annotations

import time
from collections.abc import Collection

from engine.automaton.arena import Arena
from engine.automaton.automaton import Automaton
from engine.constraint import Constraint, Report
from engine.errors import BudgetError, ConstraintError
from engine.grammar.ebnf.rules import Grammar, refs, unknown
from engine.grammar.ebnf.terms import RuleTerms, rules_that_hold


def compile_rules(grammar: Grammar, started: float) -> Constraint:
    """The constraint of a grammar whose reading started at `started` (a monotonic time).

    Raises `ConstraintError` for undefined rules and for a grammar without texts; `BudgetError` beyond the budget.
    """
    _check_references(grammar)
    budget = grammar.source.budget
    arena = Arena(budget, clock=grammar.source.clock)
    begin = grammar.defined[grammar.start]
    with arena.lifetime:
        try:
            terms = RuleTerms(arena, grammar)
            automaton = Automaton(arena, terms.root)
            arena.moves(terms.root)  # else what is nested too deeply would only fail at the first byte
            _check_patterns(grammar, terms, automaton)
            dead = grammar.bodies.keys() - rules_that_hold(grammar.bodies, True, arena.check_time)
        except RecursionError as error:
            message = "the grammar is nested too deeply: use fewer groups in groups, fewer rules that begin with rules."
            raise grammar.source.over_budget(begin, message) from error
        except BudgetError as error:
            raise grammar.source.over_budget(begin, str(error)) from error
        if automaton.start < 0:
            raise _endless(grammar, dead)
    arena.clock.stop()
    report = Report(
        grammar.kind,
        time.monotonic() - started,
        len(arena),
        notes=grammar.notes,
        find_unsatisfiable=lambda: tuple(sorted(dead)),
    )
    return Constraint(grammar.kind, automaton, report)


def _check_references(grammar: Grammar) -> None:
    for body in grammar.bodies.values():
        for ref in refs(body):
            if ref.name not in grammar.bodies:
                raise grammar.source.error(ref.offset, unknown(ref.name, grammar.bodies))


def _check_patterns(grammar: Grammar, terms: RuleTerms, automaton: Automaton) -> None:
    for pattern, term in terms.patterns():
        if term.nullable:
            message = "this matches the empty text, which a terminal may not: make it optional where it is used."
            raise grammar.source.error(pattern.offset, message)
        if not automaton.liveness.alive(term):
            raise grammar.source.error(pattern.offset, "no text matches this regex: correct it, or leave it out.")


def _endless(grammar: Grammar, dead: Collection[str]) -> ConstraintError:
    """The error for a grammar without texts: the rules that lead from one to the next without end."""
    path = [grammar.start]
    while path.count(path[-1]) == 1:
        path.append(next(ref.name for ref in refs(grammar.bodies[path[-1]]) if ref.name in dead))
    cycle = path[path.index(path[-1]) :]
    where = grammar.source.place(grammar.defined[cycle[0]])
    message = f"Unsatisfiable: rule {cycle[0]!r} never ends ({' -> '.join(cycle)}). Give it an alternative that ends."
    return ConstraintError(f"L{where[1:]}: {message}", pointer=where, unsatisfiable=True)
