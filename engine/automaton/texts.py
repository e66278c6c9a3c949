"""The texts of a term one by one, the shortest first."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count

from engine.automaton.liveness import Liveness
from engine.automaton.terms import Term


def texts(liveness: Liveness, term: Term, limit: int) -> Iterator[bytes]:
    """Up to `limit` different texts of a term, the shortest first; fewer only if there are no more."""
    found = 0
    ticket = count()  # terms do not compare
    best = liveness.planned(term)
    pending: list[tuple[int, int, bytes, Term | None]] = [] if best is None else [(len(best), next(ticket), b"", term)]
    while pending and found < limit:
        liveness.arena.check_time()
        _, _, text, rest = heappop(pending)
        if rest is None:
            found += 1
            yield text
            continue
        if rest.nullable:
            heappush(pending, (len(text), next(ticket), text, None))
        for members, after in liveness.in_order(liveness.arena.moves(rest, liveness.alphabet)):
            best = liveness.planned(after)
            if best is not None:
                for byte in liveness.ranked(members)[: limit - found]:
                    longer = text + bytes([byte])
                    heappush(pending, (len(longer) + len(best), next(ticket), longer, after))
