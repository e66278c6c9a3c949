"""What one step looked like: the favourites before and after the mask, ranks, entropies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict, Unpack

import numpy as np

from engine.decoding.records import Candidate, Step, StepKind
from engine.decoding.sampler import Bools, Distributions, Draw, Floats
from engine.decoding.trace import tidy
from engine.errors import Origin
from engine.vocabulary import Vocabulary

FAVOURITES = 24
"""How many of the model's favourites, and how many of the allowed ones, a step keeps."""


_STRETCH = 256  # neighbours whose largest logit says whether any of them can be a favourite
_LEAST = np.finfo(np.float64).tiny


class Known(TypedDict):
    """The fields of a step that its distributions do not say."""

    index: int
    offset: int
    kind: StepKind
    before: str
    origins: tuple[Origin, ...]
    argmax_origins: tuple[Origin, ...]
    owed: bytes
    narrowed: int
    fallback: bool
    to_end: int | None
    to_end_exact: bool


def rank_of(logits: Floats, token_id: int) -> int:
    """The place of a token in the model's order, 0 is its favourite; the lower id goes first among equal logits."""
    logit = logits[token_id]
    return int(np.count_nonzero(logits > logit)) + int(np.count_nonzero(logits[:token_id] == logit))


def observed(
    found: Distributions,
    drawn: Draw,
    vocabulary: Vocabulary,
    *,
    seconds: dict[str, float],
    **known: Unpack[Known],
) -> Step:
    """The record of a step: what the distributions say, beside what is `known` of it already."""
    taken, argmax = drawn.token_id, int(found.logits.argmax())
    shown = candidates(found, taken, vocabulary)
    return Step(
        token_id=taken,
        token=token_bytes(vocabulary, taken),
        end=taken in vocabulary.end_ids,
        candidates=shown,
        allowed_count=int(np.count_nonzero(found.allowed)),
        z=tidy(found.z),
        cost=tidy(found.cost),
        raw_entropy=tidy(entropy(found.raw)),
        renormalised_entropy=tidy(entropy(found.renormalised)),
        rank=next(candidate.rank for candidate in shown if candidate.token_id == taken),
        raw=tidy(found.raw[taken]),
        renormalised=tidy(found.renormalised[taken]),
        argmax_id=argmax,
        argmax=token_bytes(vocabulary, argmax),
        argmax_masked=not found.allowed[argmax],
        top2_gap=tidy(_top2_gap(found.logits, shown)),
        draw_distance=tidy(drawn.distance),
        seconds={phase: tidy(spent) for phase, spent in seconds.items()},
        **known,
    )


def candidates(found: Distributions, taken: int, vocabulary: Vocabulary) -> tuple[Candidate, ...]:
    """The model's favourites, the allowed favourites and the token taken, by rank."""
    ranks = {token_id: rank for rank, token_id in enumerate(_favourites(found.logits))}
    for token_id in (*_favourites(found.logits, found.allowed), taken):
        if token_id not in ranks:
            ranks[token_id] = rank_of(found.logits, token_id)
    ids = sorted(ranks, key=ranks.__getitem__)
    kinds = (found.raw, found.renormalised, found.sampling, found.allowed)
    raw, renormalised, sampling, allowed = (values[ids].tolist() for values in kinds)
    return tuple(
        Candidate(
            token_id=token_id,
            token=token_bytes(vocabulary, token_id),
            rank=ranks[token_id],
            raw=tidy(raw[place]),
            renormalised=tidy(renormalised[place]),
            sampling=tidy(sampling[place]),
            allowed=allowed[place],
            end=token_id in vocabulary.end_ids,
            name=token_name(vocabulary, token_id),
        )
        for place, token_id in enumerate(ids)
    )


def token_bytes(vocabulary: Vocabulary, token_id: int) -> bytes:
    """The token's bytes; logits may reach beyond the vocabulary, and what lies there spells nothing."""
    return vocabulary.tokens[token_id] if token_id < vocabulary.size else b""


def token_name(vocabulary: Vocabulary, token_id: int) -> str:
    """How a token without bytes is shown, "" for every other."""
    if token_bytes(vocabulary, token_id):
        return ""
    return (vocabulary.name(token_id) if token_id < vocabulary.size else "") or f"<{token_id}>"


def entropy(probabilities: Floats) -> float:
    """In nats."""
    logarithms = np.log(np.maximum(probabilities, _LEAST))  # 0 times a finite number is the 0 that is meant
    return float(-(probabilities * logarithms).sum()) + 0.0


def _top2_gap(logits: Floats, shown: Sequence[Candidate]) -> float:
    """The difference of the two largest allowed logits, infinite where only one token can be drawn."""
    allowed = [candidate.token_id for candidate in shown if candidate.allowed][:2]
    if len(allowed) < 2:
        return math.inf
    first, second = logits[allowed].tolist()
    return float(first - second)


def _favourites(logits: Floats, among: Bools | None = None) -> list[int]:
    """The largest logits, in their order; lower ids first among equals."""
    values = logits if among is None else np.where(among, logits, -math.inf)
    heads = np.maximum.reduceat(values, np.arange(0, len(values), _STRETCH))
    edge = np.partition(heads, -FAVOURITES)[-FAVOURITES] if len(heads) > FAVOURITES else -math.inf
    ids = np.flatnonzero(values >= edge)  # at least as many as are wanted, as each stretch has one
    if among is not None:
        ids = ids[among[ids]]
    order = np.argsort(-logits[ids], kind="stable")
    favourites: list[int] = ids[order[:FAVOURITES]].tolist()
    return favourites
