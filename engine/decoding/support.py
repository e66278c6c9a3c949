"""What may be taken at a position of a run: the mask, less what the token limit and the policy take away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.decoding.errors import DecodingError
from engine.decoding.records import RunSpec
from engine.decoding.sampler import Bools
from engine.masking import Masker, Narrowing, Place
from engine.masking.canonical_policy import CanonicalOnly
from engine.masking.distance import CloseInTime, Distance
from engine.masking.terminals import Aligned

if TYPE_CHECKING:
    from engine.model.model import Model


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """The tokens that may be taken at a position.

    `allowed`: bool (size,); `narrowed`: how many more the mask alone allows; `fallback`: the policy would have left
    nothing and was put aside; `to_end`: tokens to an accepted end, where the run closes in time.
    """

    allowed: Bools
    narrowed: int
    fallback: bool = False
    to_end: Distance | None = None


class Supports:
    """The supports of one run's positions, by the policy and the limit of its spec."""

    def __init__(self, model: Model, spec: RunSpec, masker: Masker) -> None:
        self._masker = masker
        self._closing = CloseInTime(masker) if spec.close_in_time else None
        self._policy = _policy(model, spec, masker)
        self._latest: tuple[Place, Support] | None = None

    def at(self, place: Place) -> Support:
        """The support at a position. The same place gives the same support."""
        if self._latest is None or self._latest[0] != place:
            self._latest = (place, self._at(place))
        return self._latest[1]

    def check_limit(self, start: int, max_tokens: int) -> None:
        """Raises DecodingError if the run cannot close in time; it says the smallest limit with which it can."""
        if self._closing is None:
            return
        needed = self._closing.distance(start)
        if needed.tokens > max_tokens:
            least = "" if needed.exact else ", or perhaps a little less"
            raise DecodingError(
                f"No text can be completed within {max_tokens} tokens, the end token included. "
                f"The smallest limit that can is {needed.tokens}{least}."
            )

    def _at(self, place: Place) -> Support:
        mask = self._masker.mask(place.state)
        allowed = mask.to_bool()
        if self._closing is None and self._policy is None:
            return Support(allowed, 0)
        fallback, to_end = False, None
        if self._closing is not None:
            allowed = self._closing.narrow(allowed, place)
            to_end = self._closing.distance(place.state)
        if self._policy is not None:
            narrowed = self._policy.narrow(allowed, place)
            fallback = not narrowed.any()
            allowed = allowed if fallback else narrowed
        return Support(allowed, mask.count - int(np.count_nonzero(allowed)), fallback, to_end)


def _policy(model: Model, spec: RunSpec, masker: Masker) -> Narrowing | None:
    if spec.policy == "bridging":
        return None
    if spec.policy == "aligned":
        return Aligned(masker)
    return CanonicalOnly(masker, model.canonical) if spec.policy == "canonical" else None
