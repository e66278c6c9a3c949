"""What one step looked like: the favourites before and after the mask, ranks, entropies."""

from __future__ import annotations

import math
from typing import TypedDict, Unpack

import numpy as np

from engine.decoding.records import Candidate, Step, StepKind
from engine.decoding.sampler import Bools, Distributions, Draw, Floats
from engine.decoding.trace import tidy
from engine.errors import Origin
from engine.vocabulary import Vocabulary

FAVOURITES = 24
"""How many of the model's favourites, and how many of the allowed ones, a step keeps."""


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


class Ranking:
    """The place of every token in the model's order; the lower id goes first among equal logits."""

    def __init__(self, logits: Floats) -> None:
        self._logits = logits
        self._ascending = np.sort(logits)

    def rank(self, token_id: int) -> int:
        """0 is the model's favourite."""
        logit = self._logits[token_id]
        better = len(self._ascending) - int(np.searchsorted(self._ascending, logit, side="right"))
        return better + int(np.count_nonzero(self._logits[:token_id] == logit))


def observed(
    found: Distributions,
    drawn: Draw,
    vocabulary: Vocabulary,
    *,
    seconds: dict[str, float],
    **known: Unpack[Known],
) -> Step:
    """The record of a step: what the distributions say, beside what is `known` of it already."""
    ranking, taken, argmax = Ranking(found.logits), drawn.token_id, int(found.logits.argmax())
    return Step(
        token_id=taken,
        token=token_bytes(vocabulary, taken),
        end=taken in vocabulary.end_ids,
        candidates=candidates(found, taken, vocabulary, ranking),
        allowed_count=int(np.count_nonzero(found.allowed)),
        z=tidy(found.z),
        cost=tidy(found.cost),
        raw_entropy=tidy(entropy(found.raw)),
        renormalised_entropy=tidy(entropy(found.renormalised)),
        rank=ranking.rank(taken),
        raw=tidy(found.raw[taken]),
        renormalised=tidy(found.renormalised[taken]),
        argmax_id=argmax,
        argmax=token_bytes(vocabulary, argmax),
        argmax_masked=not found.allowed[argmax],
        top2_gap=tidy(top2_gap(found)),
        draw_distance=tidy(drawn.distance),
        seconds={phase: tidy(spent) for phase, spent in seconds.items()},
        **known,
    )


def candidates(found: Distributions, taken: int, vocabulary: Vocabulary, ranking: Ranking) -> tuple[Candidate, ...]:
    """The model's favourites, the allowed favourites and the token taken, by rank."""
    everyone = np.ones(len(found.logits), dtype=np.bool_)
    ids = {taken, *_favourites(found.logits, everyone), *_favourites(found.logits, found.allowed)}
    shown = [
        Candidate(
            token_id=token_id,
            token=token_bytes(vocabulary, token_id),
            rank=ranking.rank(token_id),
            raw=tidy(found.raw[token_id]),
            renormalised=tidy(found.renormalised[token_id]),
            sampling=tidy(found.sampling[token_id]),
            allowed=bool(found.allowed[token_id]),
            end=token_id in vocabulary.end_ids,
            name=token_name(vocabulary, token_id),
        )
        for token_id in ids
    ]
    return tuple(sorted(shown, key=lambda candidate: candidate.rank))


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
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum()) + 0.0


def top2_gap(found: Distributions) -> float:
    """The difference of the two largest allowed logits, infinite where only one token can be drawn."""
    values = found.logits[found.allowed]
    if len(values) < 2:
        return math.inf
    second, first = np.partition(values, -2)[-2:]
    return float(first - second)


def _favourites(logits: Floats, among: Bools) -> list[int]:
    ids = np.flatnonzero(among)
    if len(ids) > FAVOURITES:
        edge = np.partition(logits[ids], -FAVOURITES)[-FAVOURITES]
        ids = ids[logits[ids] >= edge]  # equal logits at the edge are cut by id below
    order = np.argsort(-logits[ids], kind="stable")
    favourites: list[int] = ids[order[:FAVOURITES]].tolist()
    return favourites
