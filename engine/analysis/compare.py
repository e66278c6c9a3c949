"""How two constraints relate: equal, one in the other, overlapping, disjoint; with shortest witnesses.

Two JSON Schemas are compared by satisfiability: a text of the first that is none of the second is a value of "the
first and not the second". Everything else is compared by walking both automata together, as far as the budget goes; for
regular constraints that ends, so the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Literal

from engine.automaton.automaton import DEAD
from engine.automaton.terms import members_of
from engine.constraint import Constraint
from engine.errors import ConstraintError
from engine.grammar.json_schema.relation import Witnesses, schema_witnesses

MOST_PAIRS = 20_000
"""Pairs of states that are looked at before the comparison is given up."""

Kind = Literal["equal", "included", "includes", "overlapping", "disjoint", "undecided"]


@dataclass(frozen=True, slots=True)
class Relation:
    """How constraint a relates to constraint b.

    `kind`: "included" means that every text of a is one of b, "includes" the reverse, "undecided" that the budget ended
    first. Witnesses: a shortest text of a only, of b only, of both; None where there is none (or none was found).
    """

    kind: Kind
    only_a: bytes | None
    only_b: bytes | None
    both: bytes | None


def compare(a: Constraint, b: Constraint, *, most_pairs: int = MOST_PAIRS) -> Relation:
    """The relation of two constraints by the texts that they accept; of two JSON Schemas, by the values.

    Two open JSON Schemas of one draft with the same options are decided, unless that passes their budget; otherwise the
    automata are walked together, up to `most_pairs` pairs of states.
    """
    if a.schema is not None and b.schema is not None:
        try:
            found = schema_witnesses(a.schema, b.schema)
        except ConstraintError:
            found = None
        if found is not None:
            return _relation(found, decided=True)
    return _walk(a, b, most_pairs)


def _relation(found: Witnesses, decided: bool) -> Relation:
    if found.only_a is not None and found.only_b is not None and found.both is not None:
        kind: Kind = "overlapping"
    elif not decided:
        kind = "undecided"
    elif found.both is None:
        kind = "disjoint"
    elif found.only_a is None:
        kind = "equal" if found.only_b is None else "included"
    else:
        kind = "includes"
    return Relation(kind, found.only_a, found.only_b, found.both)


def _walk(a: Constraint, b: Constraint, most_pairs: int) -> Relation:
    """Both automata together, shortest texts first."""
    witnesses: dict[str, bytes] = {}
    seen = {(a.start, b.start)}
    ticket = count()
    pending: list[tuple[int, int, bytes, int, int]] = [(0, next(ticket), b"", a.start, b.start)]
    while pending and len(witnesses) < 3:
        _, _, text, left, right = heappop(pending)
        if left == DEAD or right == DEAD:
            # One side cannot follow any more: each text of the other is a witness.
            name = "only_b" if left == DEAD else "only_a"
            rest = b.shortest(right) if left == DEAD else a.shortest(left)
            _keep(witnesses, name, text + rest)
            continue
        here = _accepted_by(a, left, b, right)
        if here:
            _keep(witnesses, here, text)
        for byte, one, other in _joint_moves(a, left, b, right):
            if (one, other) not in seen:
                if len(seen) >= most_pairs:
                    return _relation(_found(witnesses), decided=False)
                seen.add((one, other))
                heappush(pending, (len(text) + 1, next(ticket), text + bytes([byte]), one, other))
    return _relation(_found(witnesses), decided=True)


def _accepted_by(a: Constraint, left: int, b: Constraint, right: int) -> str:
    names = {(True, True): "both", (True, False): "only_a", (False, True): "only_b"}
    return names.get((a.is_accepting(left), b.is_accepting(right)), "")


def _keep(witnesses: dict[str, bytes], name: str, text: bytes) -> None:
    if name not in witnesses or len(text) < len(witnesses[name]):
        witnesses[name] = text


def _found(witnesses: dict[str, bytes]) -> Witnesses:
    return Witnesses(witnesses.get("only_a"), witnesses.get("only_b"), witnesses.get("both"))


def _joint_moves(a: Constraint, left: int, b: Constraint, right: int) -> list[tuple[int, int, int]]:
    """(a byte of a class that both sides treat alike, state of a, state of b); DEAD for the side that cannot follow."""
    ours, theirs = a.moves(left), b.moves(right)
    joint = []
    for members, one in ours:
        alone = members
        for others, other in theirs:
            common = members & others
            alone &= ~others
            if common:
                joint.append((members_of(common)[0], one, other))
        if alone:
            joint.append((members_of(alone)[0], one, DEAD))
    reach = sum(members for members, _ in ours)  # the sets are disjoint
    joint += [(members_of(others & ~reach)[0], DEAD, other) for others, other in theirs if others & ~reach]
    return joint
