"""Wanted tokens by a bonus instead of a mask: what a number added to logits can promise, and what it can't."""

from __future__ import annotations

import math


def kept_under_bonus(z: float, bonus: float) -> float:
    """The probability of the wanted tokens, together `z` before, when `bonus` is added to the logit of each.

    Every other token keeps its logit, so e^bonus multiplies their odds. A mask is the limit of an infinite bonus.
    Raises ValueError unless 0 <= z <= 1.
    """
    if not 0 <= z <= 1:
        raise ValueError(f"A probability is wanted, not {z}.")
    if z in (0.0, 1.0):
        return z
    odds = math.log(z) - math.log1p(-z) + bonus
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0
