"""From logits and a mask to one token.

Masked tokens have probability exactly 0.0 in everything that is drawn from. A draw depends on the seed and the position
alone (a counter-based generator), so a run can be resumed, replayed or branched at any step and draws the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.decoding.errors import DecodingError
from engine.decoding.records import Sampler
from engine.decoding.softmax import locate, rank_of, softmax, sums, survey, uniform

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


FAVOURITES = 24
"""How many of the model's favourites, and how many of the allowed ones, a step keeps."""

_FAR = 32.0  # below the largest logit; sums of what is farther are made by themselves, or they would lose digits


@dataclass(frozen=True, eq=False)
class Distributions:
    """The three distributions of a step, float64 (logits,), over all ids.

    raw: the model's at temperature 1; renormalised: raw of the allowed tokens, divided by their mass z; sampling: after
    temperature, top-k, top-p and min-p, in this order. The first two are made when they are asked for: a step needs
    their sums, and the shares of a few tokens. `cost`: -ln z, finite also where z underflows to 0. Entropies in nats.
    `favourites` and `allowed_favourites`: at most FAVOURITES ids by their logits, the lower id first among equals;
    `top` and `allowed_top`: the logits of the first ones; `total` and `allowed_total`: the sums of exp(logit - top),
    and of exp(logit - allowed_top) where it is allowed.
    """

    logits: Floats
    allowed: Bools
    sampling: Floats
    z: float
    cost: float
    raw_entropy: float
    renormalised_entropy: float
    sampling_entropy: float
    favourites: tuple[int, ...]
    top: float
    total: float
    allowed_favourites: tuple[int, ...]
    allowed_top: float
    allowed_total: float
    allowed_count: int

    @cached_property
    def raw(self) -> Floats:
        return _softmax(self.logits, np.ones_like(self.allowed), self.top, 1.0).shares

    @cached_property
    def renormalised(self) -> Floats:
        return _softmax(self.logits, self.allowed, self.allowed_top, 1.0).shares

    def raw_of(self, logit: float) -> float:
        """The raw probability of a token with this logit."""
        return math.exp(logit - self.top) / self.total

    def renormalised_of(self, logit: float) -> float:
        """The renormalised probability of an allowed token with this logit."""
        return math.exp(logit - self.allowed_top) / self.allowed_total


@dataclass(frozen=True, slots=True)
class Draw:
    """A drawn token. `distance`: how far the random number was from the next token's share, 1.0 for a greedy choice."""

    token_id: int
    distance: float


def distributions(logits: NDArray[np.floating], allowed: Bools, sampler: Sampler) -> Distributions:
    """The distributions of one step. `logits` (n,); `allowed` (at most n,): ids beyond it are masked.

    Raises DecodingError if the logits are not numbers or leave no allowed token a chance.
    """
    mask, values = _covering(allowed, len(logits)), logits.astype(np.float64)
    favourites, allowed_favourites, count = survey(values, mask, FAVOURITES)
    top, allowed_top = (float(values[ids[0]]) if len(ids) else -math.inf for ids in (favourites, allowed_favourites))
    if not math.isfinite(top):
        raise DecodingError("the model's logits are not finite numbers")
    if allowed_top == -math.inf:
        raise DecodingError("the model gives every allowed token the probability zero")
    total, raw_entropy, allowed_total, renormalised_entropy = sums(values, mask, top)
    if allowed_top < top - _FAR:
        _, renormalised_entropy, allowed_total = _softmax(values, mask, allowed_top, 1.0)
    else:
        allowed_total *= math.exp(top - allowed_top)
    cost = max(0.0, top - allowed_top + math.log(total) - math.log(allowed_total)) if count < len(mask) else 0.0
    if sampler.temperature == 0:
        sampling = _certain(int(allowed_favourites[0]), len(values))
    else:
        sampling = _truncated(_softmax(values, mask, allowed_top, sampler.temperature), sampler)
    return Distributions(
        logits=values,
        allowed=mask,
        sampling=sampling.shares,
        z=math.exp(-cost),
        cost=cost,
        raw_entropy=raw_entropy,
        renormalised_entropy=renormalised_entropy,
        sampling_entropy=sampling.entropy,
        favourites=tuple(favourites.tolist()),
        top=top,
        total=total,
        allowed_favourites=tuple(allowed_favourites.tolist()),
        allowed_top=allowed_top,
        allowed_total=allowed_total,
        allowed_count=count,
    )


def draw(sampling: Floats, sampler: Sampler, position: int) -> Draw:
    """Draw a token by inverting the cumulative distribution in the order of ids."""
    if sampler.temperature == 0:
        return Draw(int(sampling.argmax()), 1.0)
    taken, distance = locate(sampling, uniform(sampler.seed, position))
    return Draw(taken, min(distance, 1.0))


def make_ready() -> None:
    """Have the loops compiled, or read from where they are kept; else the first step waits for that."""
    found = distributions(np.zeros(2, np.float32), np.array([True, False]), Sampler(temperature=0.5))
    draw(found.sampling, Sampler(temperature=0.5), 0)
    rank_of(found.logits, 0)


class _Softmax(NamedTuple):
    """Probabilities, their entropy, and the sum by which they were divided."""

    shares: Floats
    entropy: float
    total: float = 1.0


def _softmax(values: Floats, mask: Bools, top: float, temperature: float) -> _Softmax:
    shares = np.empty(len(values))
    total, entropy = softmax(values, mask, top, float(temperature), shares)  # an int would be compiled for itself
    return _Softmax(shares, entropy, total)


def _certain(token_id: int, size: int) -> _Softmax:
    """All of the probability at one id."""
    shares = np.zeros(size)
    shares[token_id] = 1.0
    return _Softmax(shares, 0.0)


def _covering(allowed: Bools, size: int) -> Bools:
    """What is allowed among `size` ids."""
    if len(allowed) >= size:
        return np.ascontiguousarray(allowed[:size])
    mask = np.zeros(size, dtype=np.bool_)
    mask[: len(allowed)] = allowed
    return mask


def _truncated(given: _Softmax, sampler: Sampler) -> _Softmax:
    """Keep the top_k largest, then the fewest largest that hold top_p of what is left, then those of at least min_p
    times the largest; lower ids win ties."""
    if not sampler.top_k and sampler.top_p >= 1 and sampler.min_p <= 0:
        return given
    shares = given.shares
    ids = np.flatnonzero(shares)
    if 0 < sampler.top_k < len(ids):
        ids = _largest_first(shares, ids, np.partition(shares[ids], -sampler.top_k)[-sampler.top_k])[: sampler.top_k]
    if sampler.top_p < 1:
        whole = shares[ids].sum()
        # All smaller ones together hold less than what is cut, so only the others need an order.
        ids = _largest_first(shares, ids, min((1 - sampler.top_p) * whole / len(ids), shares[ids].max()))
        ids = ids[: int(np.searchsorted(np.cumsum(shares[ids]), sampler.top_p * whole)) + 1]
    ids = ids[shares[ids] >= sampler.min_p * shares[ids].max()]
    held = shares[ids] / shares[ids].sum()
    kept = np.zeros(len(shares))
    kept[ids] = held
    return _Softmax(kept, float(-(held * np.log(held)).sum()) + 0.0)


def _largest_first(shares: Floats, ids: NDArray[np.intp], least: float) -> NDArray[np.intp]:
    """Those of the ids whose share is at least `least`; among equals the order stays."""
    ids = ids[shares[ids] >= least]
    return ids[np.argsort(-shares[ids], kind="stable")]
