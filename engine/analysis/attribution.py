"""Who pays -ln Z: the parts of a constraint that killed the probability a step lost.

A masked token dies at some byte, in some state, and that state's origins say whose rule it was. The raw probability of
every masked token goes there, in equal parts where several rules speak at once; -ln Z of the step is then split in
proportion. Tokens that begin alike die together, so this walks the vocabulary's trie with the sums of its subtrees,
the heaviest first, and leaves alone what can no longer matter.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from engine.analysis.masses import below, running
from engine.decoding.softmax import survey
from engine.errors import Origin
from engine.masking import Masker

LEFT_OVER = 1e-3
"""The part of the masked mass that may stay unexplained; it is spread over the others in proportion."""

MOST_NODES = 4_000
"""Nodes of the trie that are looked at before the rest is left over, however much it is."""

CONSIDERED = 32
"""How many of the likeliest masked tokens are asked where they die, for `Paid.wanted`."""

WANTED = 3
"""How many tokens `Paid.wanted` names at most."""

ROOT = Origin("")

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Paid:
    """What one part of the constraint took from the model at one step.

    `origin`: the part; None where the constraint allows the tokens and the policy or the token limit took them away.
    `mass`: raw probability that died there; `share`: its part of all masked mass, so that `share` times the step's cost
    are the nats it pays. `wanted`: (token id, raw probability) of the likeliest tokens that died there, best first.
    """

    origin: Origin | None
    mass: float
    share: float
    wanted: tuple[tuple[int, float], ...] = ()


def who_pays(masker: Masker, state: int, raw: Floats, allowed: Bools) -> tuple[Paid, ...]:
    """The parts that masked something in `state`, the dearest first; their shares add up to 1. Empty if nothing was.

    `raw`: float64 (n,), the model's probabilities at temperature 1; `allowed`: bool (n,), what could be taken after
    policy and limit. All but `LEFT_OVER` of the masked mass is followed to where it dies, unless that takes more than
    `MOST_NODES` nodes. Raises BudgetError when the constraint's budget is used up.
    """
    trie = masker.vocabulary.trie
    with masker.automaton.lock:
        lawful = np.zeros(len(raw), dtype=np.bool_)
        lawful[: masker.vocabulary.size] = masker.mask(state).to_bool()[: len(raw)]
        before, total, refused = running(raw, allowed, lawful, trie.token_ids)
        if total <= 0:
            return ()
        masses: dict[Origin | None, float] = defaultdict(float)
        for where, mass in _deaths(masker, state, before, refused).items():
            origins = masker.constraint.origins(where) or (ROOT,)
            for origin in origins:
                masses[origin] += mass / len(origins)
        wanted = _wanted(masker, state, raw, ~allowed, lawful)
    if total > refused:
        masses[None] = total - refused
    whole = sum(masses.values())
    paid = [Paid(o, mass / whole * total, mass / whole, tuple(wanted.get(o, ()))) for o, mass in masses.items() if mass]
    return tuple(sorted(paid, key=lambda part: -part.mass))


def _deaths(masker: Masker, state: int, before: Floats, total: float) -> dict[int, float]:
    """The refused mass by the state in which it dies; what is left over is spread, so the sum is the whole.

    `before`: the mass of the tokens before each in the trie; `total`: all of it.
    """
    trie, automaton, alphabet = masker.vocabulary.trie, masker.automaton, masker.vocabulary.one_byte
    dead: dict[int, float] = defaultdict(float)
    spelled = float(before[-1])
    if total - spelled > 0:
        dead[state] = total - spelled  # end tokens, control tokens and ids beyond the vocabulary
    unexplained, looked_at = spelled, 0
    pending = [(-spelled, 0, state, state)]  # mass, node, the state it is read from, the last one that can be completed
    while pending and unexplained > LEFT_OVER * total and looked_at < MOST_NODES:
        looked_at += 1
        mass, node, here, alive = heappop(pending)
        if node:
            after = automaton.step(here, int(trie.byte[node]))
            if after < 0:
                dead[here] -= mass
                unexplained += mass
                continue
            here, alive = after, after if automaton.spellable(after, alphabet) else alive
        own, nodes, masses = below(node, trie.skip, trie.token_start, before)
        if own > 0:  # all its bytes can be read, and no end can be spelled after them
            dead[alive] += own
            unexplained -= own
        for child, further in zip(nodes.tolist(), masses.tolist(), strict=True):
            heappush(pending, (-further, child, here, alive))
    explained = sum(dead.values())
    if not explained:
        return {state: total}
    return {where: mass * total / explained for where, mass in dead.items()}


def _wanted(
    masker: Masker, state: int, raw: Floats, masked: Bools, lawful: Bools
) -> dict[Origin | None, list[tuple[int, float]]]:
    """The likeliest masked tokens by the part that masked them."""
    found: dict[Origin | None, list[tuple[int, float]]] = defaultdict(list)
    for token_id in survey(raw, masked, CONSIDERED)[1].tolist():
        if raw[token_id] <= 0:
            break
        known = token_id < masker.vocabulary.size
        died_at = masker.blame(state, token_id) if known else masker.constraint.origins(state)
        origins: tuple[Origin | None, ...] = (None,) if lawful[token_id] else died_at or (ROOT,)
        for origin in origins:
            if len(found[origin]) < WANTED:
                found[origin].append((token_id, float(raw[token_id])))
    return found
