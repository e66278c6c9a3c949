"""Inside one step: a token read byte by byte, the distributions between the logits and the draw, the model's own wish.

Everything here is computed from a trace and a constraint (and the model, where its logits are asked for), so that a
recorded run can be looked into as well as a live one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from engine.constraint import Constraint
from engine.decoding.observe import token_bytes, token_name
from engine.decoding.records import Sampler, Step, Trace
from engine.decoding.sampler import Distributions, Floats, distributions
from engine.errors import Origin
from engine.masking import Masker
from engine.masking.masker import Explanation

if TYPE_CHECKING:
    from engine.model.model import Model


def state_before(constraint: Constraint, trace: Trace, index: int) -> int | None:
    """The automaton's state before step `index`, a healed prefix included; None if the constraint refuses the trace.

    Raises BudgetError as the constraint does.
    """
    prefix = trace.healed.prefix if trace.healed else b""
    start = constraint.after_prefix(prefix) if prefix else constraint.start
    return constraint.advance(start, b"".join(step.token for step in trace.steps[:index] if not step.end))


@dataclass(frozen=True, slots=True)
class Hop:
    """One byte of a token: what remains in the state before it, in words, and who speaks there.

    `after`: what remains behind the byte; None where the byte cannot be read, and then `expected` is what could.
    """

    byte: int
    before: str
    origins: tuple[Origin, ...]
    expected: tuple[str, ...]
    after: str | None


def walk(constraint: Constraint, state: int, token: bytes) -> tuple[Hop, ...]:
    """The token's bytes from `state` on, up to and with the first that cannot be read."""
    hops: list[Hop] = []
    words = constraint.describe(state)
    for byte in token:
        after = constraint.advance(state, bytes([byte]))
        reached = None if after is None else constraint.describe(after)
        hops.append(Hop(byte, words, constraint.origins(state), constraint.expected(state), reached))
        if after is None or reached is None:
            break
        state, words = after, reached
    return tuple(hops)


def explain_bytes(
    constraint: Constraint, state: int, token_id: int, token: bytes, *, end: bool, allowed: bool
) -> Explanation:
    """What `Masker.explain` says, without a vocabulary and so without nearest tokens.

    `allowed`: whether the mask lets the token through.
    """
    there, offset = state, 0
    while offset < len(token) and (after := constraint.advance(there, token[offset : offset + 1])) is not None:
        there, offset = after, offset + 1
    if end:
        reason = "the text is complete here" if allowed else "the text is not complete yet"
    elif not token:
        reason = "a control token spells no text"
    elif offset < len(token):
        reason = f"byte {offset + 1} of {len(token)} cannot be read here"
    else:
        reason = "all its bytes can be read here"
    expected, origins = constraint.expected(there), constraint.origins(there)
    return Explanation(token_id, token, allowed, reason, offset, there, expected, origins, nearest=())


def tempered(found: Distributions, sampler: Sampler) -> Floats:
    """The distribution after temperature and before top-k, top-p and min-p: float64 (logits,)."""
    return _untruncated(found, sampler).sampling


def _untruncated(found: Distributions, sampler: Sampler) -> Distributions:
    untruncated = replace(sampler, top_k=0, top_p=1.0, min_p=0.0)
    return found if sampler == untruncated else distributions(found.logits, found.allowed, untruncated)


@dataclass(frozen=True, slots=True)
class Entropies:
    """Of a step's distributions, in nats, in the order in which they are made from each other.

    The last two are None where they are not known, or nothing is drawn (temperature 0).
    """

    raw: float
    renormalised: float
    tempered: float | None
    sampling: float | None


def entropies(step: Step, sampler: Sampler, found: Distributions | None = None) -> Entropies:
    """Entropies of a step; those after the renormalised one need the whole distribution."""
    if found is None or sampler.temperature == 0:
        return Entropies(step.raw_entropy, step.renormalised_entropy, None, None)
    warm = _untruncated(found, sampler).sampling_entropy
    return Entropies(step.raw_entropy, step.renormalised_entropy, warm, found.sampling_entropy)


@dataclass(frozen=True, slots=True)
class Wish:
    """One token of what the model would have written without the mask; `raw`: its probability at temperature 1.

    `allowed`: whether the constraint would have let it through, and all before it.
    """

    token_id: int
    token: bytes
    name: str
    end: bool
    raw: float
    allowed: bool


def free_continuation(
    model: Model,
    read: Sequence[int],
    count: int,
    masker: Masker,
    state: int,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[Wish, ...]:
    """The model's favourites, one after the other, after it has `read` prompt and output; no mask takes any away.

    At most `count` of them and none behind an end token; one forward pass each. `state` is the automaton's after what
    was read: the wishes are compared with it, never bound by it.
    """
    cache, pending, wishes = model.new_cache(), list(read), []
    place: int | None = state
    for _ in range(min(count, model.context - len(read) + 1)):
        if cancelled():
            break
        logits = model.extend(cache, pending, keep=1)[-1].astype(np.float64)
        token_id = int(logits.argmax())
        place = None if place is None else masker.advance(place, token_id)
        wishes.append(
            Wish(
                token_id,
                token_bytes(model.vocabulary, token_id),
                token_name(model.vocabulary, token_id),
                end=token_id in model.vocabulary.end_ids,
                raw=float(1 / np.exp(logits - logits[token_id]).sum()),
                allowed=place is not None,
            )
        )
        if wishes[-1].end:
            break
        pending = [token_id]
    return tuple(wishes)
