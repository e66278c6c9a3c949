"""From logits and a mask to one token.

Masked tokens have probability exactly 0.0 in everything that is drawn from. A draw depends on the seed and the position
alone (a counter-based generator), so a run can be resumed, replayed or branched at any step and draws the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.decoding.errors import DecodingError
from engine.decoding.records import Sampler

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Distributions:
    """The three distributions of a step, float64 (logits,), over all ids.

    raw: the model's at temperature 1; renormalised: raw of the allowed tokens, divided by their mass z; sampling: after
    temperature, top-k, top-p and min-p, in this order. `cost`: -ln z, finite also where z underflows to 0.
    """

    logits: Floats
    allowed: Bools
    raw: Floats
    renormalised: Floats
    sampling: Floats
    z: float
    cost: float


@dataclass(frozen=True, slots=True)
class Draw:
    """A drawn token. `distance`: how far the random number was from the next token's share, 1.0 for a greedy choice."""

    token_id: int
    distance: float


def distributions(logits: NDArray[np.floating], allowed: Bools, sampler: Sampler) -> Distributions:
    """The distributions of one step. `logits` (n,); `allowed` (at most n,): ids beyond it are masked.

    Raises DecodingError if the logits are not numbers or leave no allowed token a chance.
    """
    values = logits.astype(np.float64)
    mask = np.zeros(len(values), dtype=np.bool_)
    mask[: len(allowed)] = allowed[: len(values)]
    top, allowed_values = values.max(initial=-math.inf), np.where(mask, values, -math.inf)
    if not math.isfinite(top):  # the maximum is NaN if any value is
        raise DecodingError("the model's logits are not finite numbers")
    allowed_top = allowed_values.max()
    if allowed_top == -math.inf:
        raise DecodingError("the model gives every allowed token the probability zero")
    weights = np.exp(values - top)
    allowed_weights = np.where(mask, weights, 0.0) if allowed_top == top else _weights(allowed_values, mask, 1.0)
    total, allowed_total = weights.sum(), allowed_weights.sum()
    cost = 0.0 if mask.all() else float(top + np.log(total) - allowed_top - np.log(allowed_total))
    return Distributions(
        logits=values,
        allowed=mask,
        raw=weights / total,
        renormalised=allowed_weights / allowed_total,
        sampling=_sampling(allowed_values, mask, sampler),
        z=math.exp(-max(cost, 0.0)),
        cost=max(cost, 0.0),
    )


def draw(sampling: Floats, sampler: Sampler, position: int) -> Draw:
    """Draw a token by inverting the cumulative distribution in the order of ids."""
    if sampler.temperature == 0:
        return Draw(int(sampling.argmax()), 1.0)
    edges = np.cumsum(sampling)
    point = uniform(sampler.seed, position) * edges[-1]
    taken = int(np.searchsorted(edges, point, side="right"))  # its edge is not the one before it: it has a share
    if taken == len(edges):
        taken = int(np.flatnonzero(sampling)[-1])
    before = edges[taken - 1] if taken else 0.0
    lower = before if before > 0 else -math.inf
    upper = edges[taken] if edges[taken] < edges[-1] else math.inf
    return Draw(taken, float(min(point - lower, upper - point, 1.0)))


def uniform(seed: int, position: int) -> float:
    """A number in [0, 1) that depends on its two arguments alone."""
    return float(np.random.Generator(np.random.Philox(key=seed, counter=position)).random())


def _sampling(allowed_values: Floats, mask: Bools, sampler: Sampler) -> Floats:
    if sampler.temperature == 0:
        greedy = np.zeros(len(allowed_values))
        greedy[allowed_values.argmax()] = 1.0  # the lowest id among equals
        return greedy
    weights = _weights(allowed_values, mask, sampler.temperature)
    if sampler.top_k or sampler.top_p < 1 or sampler.min_p > 0:
        weights = _truncated(weights, sampler)
    shares: Floats = weights / weights.sum()
    return shares


def _weights(allowed_values: Floats, mask: Bools, temperature: float) -> Floats:
    """exp of the allowed logits, the largest of them being 1; 0.0 where the mask is not set."""
    with np.errstate(over="ignore"):  # a tiny temperature sends all but the favourite to -inf, rightly
        scaled = (allowed_values - allowed_values.max()) / temperature
    # exp takes ten times as long where it meets infinities, and there are tens of thousands of them
    weights: Floats = np.exp(scaled, where=mask, out=np.zeros(len(mask)))
    return weights


def _truncated(weights: Floats, sampler: Sampler) -> Floats:
    """Keep the top_k largest weights, then the fewest largest that hold top_p of what is left, then those of at least
    min_p times the largest; lower ids win ties."""
    order = np.argsort(-weights, kind="stable")
    if sampler.top_k:
        order = order[: sampler.top_k]
    if sampler.top_p < 1:
        shares = np.cumsum(weights[order])
        order = order[: int(np.searchsorted(shares, sampler.top_p * shares[-1])) + 1]
    order = order[weights[order] >= sampler.min_p * weights[order[0]]]
    kept = np.zeros(len(weights))
    kept[order] = weights[order]
    return kept
