"""What masked samples say about the exact conditional once each is given the weight it deserves.

A masked run writes a token path with probability q; the model alone would with probability p. Their ratio p/q is the
product of Z over the run, known without any other run. Weighted by it, and divided by the sum of the weights
(self-normalised importance sampling), the texts of masked runs estimate P(text | language) without bias in the limit;
counted without it they go to the masked distribution instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from engine.analysis.conditional import TEMPERATURE_ONE, Conditional, kl_divergence, total_variation
from engine.analysis.path_tree import END
from engine.decoding.sampler import Floats, draw


@dataclass(frozen=True, slots=True)
class WeightedRun:
    """A masked run: its text and tokens (the end token included), and ln of the product of Z over it."""

    text: bytes
    tokens: tuple[int, ...]
    log_weight: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """How far the first `runs` runs are from the exact distribution: estimate || exact, nats, and total variation.

    Weighted, and counted without weights. `effective`: the effective sample size (sum w)^2 / sum w^2, at most `runs`.
    """

    runs: int
    effective: float
    kl: float
    total_variation: float
    counted_kl: float
    counted_total_variation: float


@dataclass(frozen=True, slots=True)
class Importance:
    """Masked runs and what they estimate: `shares` and `counted` in the order of `Conditional.texts`, with weights and
    without; `running` after each run."""

    runs: tuple[WeightedRun, ...]
    shares: tuple[float, ...]
    counted: tuple[float, ...]
    running: tuple[Estimate, ...]


def importance(conditional: Conditional, runs: int, seed: int = 0) -> Importance:
    """Estimate the exact conditional from `runs` masked runs at temperature 1.

    Run k draws what a `Decoder` draws with temperature 1 and seed + k (policy bridging where `conditional` is over all
    tokenisations), so any of them can be looked at step by step. Raises ValueError for fewer than one run.
    """
    if runs < 1:
        raise ValueError(f"At least one run is needed, not {runs}.")
    exact = np.array([weighed.log_exact for weighed in conditional.texts])
    places = {weighed.text: place for place, weighed in enumerate(conditional.texts)}
    drawn = tuple(_run(conditional, seed + number) for number in range(runs))
    weighted, counted = np.full(len(exact), -math.inf), np.zeros(len(exact))
    squares = -math.inf
    running = []
    for number, run in enumerate(drawn, 1):
        place = places[run.text]
        weighted[place] = np.logaddexp(weighted[place], run.log_weight)
        counted[place] += 1
        squares = np.logaddexp(squares, 2 * run.log_weight)
        running.append(_estimate(number, weighted, counted, squares, exact))
    shares = np.exp(weighted - np.logaddexp.reduce(weighted))
    return Importance(drawn, tuple(shares.tolist()), tuple((counted / runs).tolist()), tuple(running))


def _run(conditional: Conditional, seed: int) -> WeightedRun:
    sampler = replace(TEMPERATURE_ONE, seed=seed)
    tokens: list[int] = []
    place, log_weight = 0, 0.0
    while place != END:
        prefix, spread = conditional.tree[place], conditional.spreads[place]
        choice = draw(spread.shares, sampler, len(tokens)).token_id  # a place among the prefix's ids
        log_weight -= spread.cost
        tokens.append(prefix.ids[choice])
        place = prefix.after[choice]
    return WeightedRun(prefix.text, tuple(tokens), log_weight)


def _estimate(number: int, weighted: Floats, counted: Floats, squares: float, exact: Floats) -> Estimate:
    total = np.logaddexp.reduce(weighted)
    shares = weighted - total
    with np.errstate(divide="ignore"):
        frequencies = np.log(counted / number)
    return Estimate(
        runs=number,
        effective=min(float(number), math.exp(2 * total - squares)),
        kl=kl_divergence(shares, exact),
        total_variation=total_variation(shares, exact),
        counted_kl=kl_divergence(frequencies, exact),
        counted_total_variation=total_variation(frequencies, exact),
    )
