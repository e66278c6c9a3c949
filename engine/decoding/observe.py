"""What one step looked like: the favourites before and after the mask, ranks, entropies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TypedDict, Unpack

from engine.decoding.records import Candidate, Step, StepKind
from engine.decoding.sampler import Distributions, Draw
from engine.decoding.softmax import rank_of
from engine.decoding.trace import tidy
from engine.errors import Origin
from engine.vocabulary import Vocabulary


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


def observed(
    found: Distributions,
    drawn: Draw,
    vocabulary: Vocabulary,
    *,
    seconds: dict[str, float],
    **known: Unpack[Known],
) -> Step:
    """The record of a step: what the distributions say, beside what is `known` of it already."""
    taken, argmax = drawn.token_id, found.favourites[0]
    shown = candidates(found, taken, vocabulary)
    itself = next(candidate for candidate in shown if candidate.token_id == taken)
    return Step(
        token_id=taken,
        token=itself.token,
        end=itself.end,
        candidates=shown,
        allowed_count=found.allowed_count,
        z=tidy(found.z),
        cost=tidy(found.cost),
        raw_entropy=tidy(found.raw_entropy),
        renormalised_entropy=tidy(found.renormalised_entropy),
        rank=itself.rank,
        raw=itself.raw,
        renormalised=itself.renormalised,
        argmax_id=argmax,
        argmax=token_bytes(vocabulary, argmax),
        argmax_masked=not found.allowed[argmax],
        top2_gap=tidy(_top2_gap(found)),
        draw_distance=tidy(drawn.distance),
        seconds={phase: tidy(spent) for phase, spent in seconds.items()},
        **known,
    )


def candidates(found: Distributions, taken: int, vocabulary: Vocabulary) -> tuple[Candidate, ...]:
    """The model's favourites, the allowed favourites and the token taken, by rank."""
    ranks = {token_id: rank for rank, token_id in enumerate(found.favourites)}
    for token_id in (*found.allowed_favourites, taken):
        if token_id not in ranks:
            ranks[token_id] = rank_of(found.logits, token_id)
    ids = sorted(ranks, key=ranks.__getitem__)
    logits, allowed, sampling = (values[ids].tolist() for values in (found.logits, found.allowed, found.sampling))
    tokens = [token_bytes(vocabulary, token_id) for token_id in ids]
    return tuple(
        Candidate(
            token_id,
            token,
            ranks[token_id],
            tidy(found.raw_of(logit)),
            tidy(found.renormalised_of(logit)) if lawful else 0.0,
            tidy(share),
            lawful,
            token_id in vocabulary.end_ids,
            "" if token else token_name(vocabulary, token_id),
        )
        for token_id, token, logit, lawful, share in zip(ids, tokens, logits, allowed, sampling, strict=True)
    )


def token_bytes(vocabulary: Vocabulary, token_id: int) -> bytes:
    """The token's bytes; logits may reach beyond the vocabulary, and what lies there spells nothing."""
    return vocabulary.tokens[token_id] if token_id < vocabulary.size else b""


def token_name(vocabulary: Vocabulary, token_id: int) -> str:
    """How a token without bytes is shown, "" for every other."""
    if token_bytes(vocabulary, token_id):
        return ""
    return (vocabulary.name(token_id) if token_id < vocabulary.size else "") or f"<{token_id}>"


def spelled(vocabulary: Vocabulary, ids: Iterable[int]) -> tuple[tuple[int, bytes], ...]:
    """The tokens, each with its bytes; with its name where it has none."""
    return tuple((i, token_bytes(vocabulary, i) or token_name(vocabulary, i).encode()) for i in ids)


def _top2_gap(found: Distributions) -> float:
    """The difference of the two largest allowed logits, infinite where only one token can be drawn."""
    if found.allowed_count < 2:
        return math.inf
    return found.allowed_top - float(found.logits[found.allowed_favourites[1]])
