"""Where a run stands when its mask is narrowed, and what may narrow it.

A mask says which tokens keep the constraint completable. A narrowing takes more away: tokens that cross a boundary of
the grammar, tokens off the canonical path, tokens after which the token limit would cut the text short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Place:
    """A position of a run.

    `start`: the state the run began in; `owed`: bytes of the healed prefix, with which `tokens` begin; `tokens`: ids
    written so far; `state`: the state after them; `remaining`: tokens that may still be taken, the next one and the end
    token included.
    """

    start: int
    owed: int
    tokens: tuple[int, ...]
    state: int
    remaining: int


class Narrowing(Protocol):
    """A pure function of the constraint, the vocabulary and the place, whatever was asked of it before."""

    def narrow(self, allowed: NDArray[np.bool_], place: Place) -> NDArray[np.bool_]:
        """Those of the `allowed` tokens, bool (size,), that remain; possibly none."""
