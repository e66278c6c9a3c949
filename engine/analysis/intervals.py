"""What a few trials can tell, and what trying again costs.

A share that was seen in n trials comes with Wilson's interval (Wilson 1927): unlike the textbook's plus-or-minus it
stays within 0 and 1 and is no point where nothing, or everything, succeeded.

Retries are independent trials: a call fails with probability f, and is made again until one succeeds. Percentiles of
the number of calls sit on the steps of a staircase, and at f = 5 % the 95th sits on the very edge of one. So they are
worked out in fractions, where a rate means what its decimals say.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

Rate = float | Fraction
"""A probability. A float means the shortest decimal that gives it: 0.05 is 1/20."""


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share of successes with its interval: `low` <= successes / n <= `high`, all within 0 and 1."""

    successes: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """Successes per trial; 0.0 before the first."""
        return self.successes / self.n if self.n else 0.0


def wilson(successes: int, n: int, confidence: float = 0.95) -> Proportion:
    """Wilson's score interval, two-sided, without continuity correction. Without trials it is all of [0, 1].

    Raises ValueError where there are more successes than trials, or the confidence is not between 0 and 1.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes in {n} trials.")
    if not 0 < confidence < 1:
        raise ValueError(f"A confidence of {confidence} is not between 0 and 1.")
    if n == 0:
        return Proportion(0, 0, 0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exactly, whatever the last bits say
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Proportion(successes, n, low, high)


def failures_left(rate: Rate, tries: int) -> Fraction:
    """The share of requests that still have failed after `tries` calls: rate ** tries."""
    return _rate(rate) ** tries


def calls_per_success(rate: Rate) -> Fraction:
    """Calls made for each answer got, on average: 1 / (1 - rate), also where one gives up after some tries.

    (With k tries a request makes 1 + f + ... + f^(k-1) calls and succeeds with 1 - f^k; their ratio is the same.)
    """
    return 1 / (1 - _rate(rate))


def calls_per_request(rate: Rate, tries: int) -> Fraction:
    """Calls made for each request, on average, where one gives up after `tries`: 1 + f + ... + f^(tries-1)."""
    return (1 - failures_left(rate, tries)) * calls_per_success(rate)


def calls_quantile(rate: Rate, share: Rate) -> int:
    """The fewest calls within which at least `share` of the requests have succeeded."""
    failing, wanted = _rate(rate), Fraction(str(share))
    if not 0 <= wanted < 1:
        raise ValueError(f"A share of {share} is not at least 0 and less than 1.")
    calls, left = 1, failing
    while left > 1 - wanted:
        calls, left = calls + 1, left * failing
    return calls


def done_within(rate: Rate, calls: int) -> Fraction:
    """The share of requests that succeed within `calls` calls: the edges between which `calls_quantile` is flat."""
    return 1 - failures_left(rate, calls)


def _rate(rate: Rate) -> Fraction:
    exact = Fraction(str(rate))
    if not 0 <= exact < 1:
        raise ValueError(f"A failure rate of {rate} is not at least 0 and less than 1.")
    return exact
