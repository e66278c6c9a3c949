"""How many texts a constraint has, and which: listed where they are few, else counted without listing them.

What remains to be read (a term) is always completable here, so a language is finite exactly where nothing remains twice
on the way through a text; the number of texts is then a sum over what may remain, however large it is. No states are
made for this: those belong to the runs of the constraint.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from engine.automaton.automaton import Automaton
from engine.automaton.explain import origins
from engine.automaton.terms import Term, members_of
from engine.constraint import Constraint
from engine.errors import BudgetError

MOST_TERMS = 2_000
"""Terms that are visited before counting is given up."""

SECONDS = 2.0
"""Time after which counting is given up."""

COUNTED = 10**18
"""Numbers of texts from here on are not told apart."""


class LanguageError(ValueError):
    """A constraint with too many texts for what was asked; the message says how many, and what to do."""


class UncountedError(LanguageError):
    """Counting was given up: there may be an end to the texts or not."""


def list_texts(constraint: Constraint, most: int) -> list[bytes]:
    """All texts of a constraint, the shortest first.

    Raises LanguageError if there are more than `most`, BudgetError if deciding that takes too long.
    """
    with constraint.automaton.lock, constraint.automaton.arena.clock.running():
        found = _shortest(constraint.automaton, most + 1)
    if len(found) <= most:
        return found
    try:
        number = count_texts(constraint)
        shown = f"{number:,}" if number < COUNTED else "10^18 or more"
    except UncountedError:
        shown = f"more than {most:,}"
    raise LanguageError(
        f"The constraint has {shown} texts; {most:,} are the limit. Allow fewer values or shorter ones."
    )


def count_texts(constraint: Constraint, most_terms: int = MOST_TERMS) -> int:
    """The number of texts of a constraint; `COUNTED` stands for itself and everything above.

    Raises LanguageError if there is no end to them, UncountedError if more than `most_terms` terms would be visited or
    it takes too long.
    """
    automaton = constraint.automaton
    with automaton.lock, automaton.arena.clock.running(SECONDS):
        try:
            return _count(automaton, most_terms)
        except BudgetError as error:
            raise UncountedError(f"The texts cannot be counted: {error}") from error


def _count(automaton: Automaton, most_terms: int) -> int:
    counts: dict[Term, int] = {}
    moves: dict[Term, list[tuple[int, Term]]] = {}  # of the terms on the way from the root, and of those counted
    pending = [automaton.root]
    while pending:
        term = pending[-1]
        if term in moves:
            pending.pop()
            onward = sum(members.bit_count() * counts[rest] for members, rest in moves[term])
            counts[term] = min(COUNTED, term.nullable + onward)
            continue
        if len(moves) == most_terms:
            raise UncountedError(f"Counting the texts takes more than {most_terms:,} terms.")
        moves[term] = _moves(automaton, term)
        for _, rest in moves[term]:
            if rest in moves and rest not in counts:
                raise LanguageError(_endless(automaton, term))
            pending.append(rest)
    return counts[automaton.root]


def _shortest(automaton: Automaton, limit: int) -> list[bytes]:
    """Up to `limit` texts, the shortest first: best first by the length that a text has at least, deepest first."""
    liveness, ticket = automaton.liveness, count()
    found: list[bytes] = []
    pending: list[tuple[int, int, bytes, Term | None]] = [(0, 0, b"", automaton.root)]
    while pending and len(found) < limit:
        _, _, text, term = heappop(pending)
        if term is None:
            found.append(text)
            continue
        if term.nullable:
            heappush(pending, (len(text), -next(ticket), text, None))
        for members, rest in _moves(automaton, term):
            least = len(liveness.planned(rest) or b"")
            for byte in members_of(members)[: limit - len(found)]:
                heappush(pending, (len(text) + 1 + least, -next(ticket), text + bytes([byte]), rest))
    return sorted(found, key=lambda text: (len(text), text))


def _moves(automaton: Automaton, term: Term) -> list[tuple[int, Term]]:
    moves = automaton.arena.moves(term)
    return [(members, rest) for members, rest in moves if automaton.liveness.alive(rest)]


def _endless(automaton: Automaton, term: Term) -> str:
    place = ", ".join(map(str, origins(automaton.arena, term)))
    return (
        f"The constraint has infinitely many texts: something repeats without a bound{f' ({place})' if place else ''}. "
        "Give it one (maxLength, maxItems, maximum, {m,n})."
    )
