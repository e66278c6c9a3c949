"""How many different values there are: enough to tell whether the items of an array can all differ.

A domain is the set of values that a conjunction admits, as normal JSON texts, or `MANY` if there are more than anybody
needs.
"""

from __future__ import annotations

from collections.abc import Sequence

MANY = None
Domain = frozenset[str] | None
"""Normal JSON texts, or MANY."""


def can_differ(domains: Sequence[Domain], used: frozenset[str]) -> frozenset[str] | None:
    """Which values the first of some items may not take, if all are to differ from each other and from `used`.

    `domains` are those of the items that must come, the next one first. Returns None if they cannot all differ. An item
    with MANY values always finds one that is free.
    """
    left = [domain - used for domain in domains if domain is not MANY]
    if not _all_differ(left):
        return None
    if not domains:
        return frozenset()
    others = left[1:] if domains[0] is not MANY else left
    critical = frozenset(value for domain in others for value in domain)
    return frozenset(value for value in critical if not _all_differ([domain - {value} for domain in others]))


def _all_differ(domains: Sequence[frozenset[str]]) -> bool:
    """Whether one value can be chosen from each domain, all different (augmenting paths, Hall's condition)."""
    chosen: dict[str, int] = {}
    return all(_choose(index, domains, chosen, set()) for index in range(len(domains)))


def _choose(index: int, domains: Sequence[frozenset[str]], chosen: dict[str, int], tried: set[str]) -> bool:
    """Whether a value can be chosen from one more domain; `tried`: values not to be tried again."""
    for value in domains[index]:
        if value not in tried:
            tried.add(value)
            if value not in chosen or _choose(chosen[value], domains, chosen, tried):
                chosen[value] = index
                return True
    return False
