"""The loops over all logits of a step, compiled.

A step looks at tens of thousands of logits a dozen times: their maximum, their exponentials, sums, entropies, the
favourites. In numpy each look is a call with arrays of its own, and gives up Python's lock, for which it then waits
again among all sessions. Here a look is one pass, and the lock is kept: a pass takes less time than getting it back.

Logits are walked in stretches of `_STRETCH`. That keeps what is being worked on in the fastest memory, leaves out
stretches in which everything is masked, and lets the compiler see that places are never negative, without which it
makes no vector instructions.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

_STRETCH = 256
_INFINITY = math.inf

_LEAST = -708.0
"""exp of less is 0: it would not be a normal number."""

_LOG2_E = 1 / math.log(2)
_LN_2 = (float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40"))
"""ln 2 in two parts, so that whole multiples of the first are exact (Cody and Waite 1980)."""

_ROUNDING = 1.5 * 2.0**52
"""Added to a small float64 it leaves the nearest whole number, which is then in the lowest bits."""

_EXPONENT, _ONE = np.int64(52), np.int64(1023 << 52)
_SERIES = tuple(1 / math.factorial(power) for power in range(13, 1, -1))


@njit(cache=True)  # type: ignore[untyped-decorator]
def survey(values: Floats, mask: Bools, most: int) -> tuple[Ints, Ints, int]:
    """The ids of the `most` (up to 256) largest values and of the `most` largest where the mask is set, in their order,
    the lower id first among equals; and how many ids the mask has. Of values among which is a NaN none are the largest.
    """
    highest, highest_allowed = np.full(_STRETCH, -_INFINITY), np.full(_STRETCH, -_INFINITY)
    broken, count = 0, 0
    for start in range(0, len(values), _STRETCH):
        row, let = values[start : start + _STRETCH], mask[start : start + _STRETCH]
        for i in range(len(row)):
            value = row[i]
            broken += value != value
            count += let[i]
            highest[i] = value if value > highest[i] else highest[i]
            lawful = value if let[i] else -_INFINITY
            highest_allowed[i] = lawful if lawful > highest_allowed[i] else highest_allowed[i]
    ids, allowed_ids = np.full(most, -1), np.full(most, -1)
    if broken:
        return ids[:0], allowed_ids[:0], count
    edge, allowed_edge = _edge(highest, most), _edge(highest_allowed, most)
    found, allowed_found = 0, 0
    for start in range(0, len(values), _STRETCH):
        row, let = values[start : start + _STRETCH], mask[start : start + _STRETCH]
        near, allowed_near = 0, 0
        for i in range(len(row)):
            near += row[i] >= edge
        for i in range(len(row)):
            allowed_near += (row[i] >= allowed_edge) & let[i]
        for i in range(len(row) if near else 0):
            if row[i] >= edge:
                _enter(values, start + i, ids)
        for i in range(len(row) if allowed_near else 0):
            if let[i] and row[i] >= allowed_edge:
                _enter(values, start + i, allowed_ids)
        found += near
        allowed_found += allowed_near
    return ids[:found], allowed_ids[:allowed_found], count


@njit(cache=True)  # type: ignore[untyped-decorator]
def _edge(highest: Floats, most: int) -> float:
    """The smallest of the `most` largest: as many values as are wanted are not below it."""
    ids = np.full(most, -1)
    for place in range(len(highest)):
        _enter(highest, place, ids)
    return highest[ids[-1]]  # type: ignore[no-any-return]


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator]
def sums(values: Floats, mask: Bools, top: float) -> tuple[float, float, float, float]:
    """The sum of exp(value - top), and the entropy in nats of the probabilities that are in proportion to these; both
    again of the values where the mask is set. `top`: the largest value."""
    total, weighted, allowed_total, allowed_weighted = 0.0, 0.0, 0.0, 0.0
    for i in range(len(values)):
        below = values[i] - top
        weight = _exp(below)
        product = weight * max(below, _LEAST)
        total = _sum(total, weight)
        weighted = _sum(weighted, product)
        allowed_total = _sum(allowed_total, weight if mask[i] else 0.0)
        allowed_weighted = _sum(allowed_weighted, product if mask[i] else 0.0)
    return total, _entropy(total, weighted), allowed_total, _entropy(allowed_total, allowed_weighted)


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator]
def softmax(values: Floats, mask: Bools, top: float, temperature: float, shares: Floats) -> tuple[float, float]:
    """Fill `shares` with the probabilities of `values` at a temperature, exactly 0.0 where the mask is not set.

    `top`: the largest value where it is set. Returns the sum of exp((value - top) / temperature), and the entropy in
    nats.
    """
    factor = min(1 / temperature, 1e300)  # a temperature near 0 leaves what equals the largest
    total, weighted = 0.0, 0.0
    for start in range(0, len(values), _STRETCH):
        row, let = values[start : start + _STRETCH], mask[start : start + _STRETCH]
        out = shares[start : start + _STRETCH]
        count = 0
        for i in range(len(row)):
            count += let[i]
        if not count:
            for i in range(len(out)):
                out[i] = 0.0
            continue
        for i in range(len(row)):
            scaled = (row[i] - top) * factor
            weight = _exp(scaled) if let[i] else 0.0
            out[i] = weight
            total = _sum(total, weight)
            weighted = _sum(weighted, weight * min(max(scaled, _LEAST), 0.0))  # masked ones may be inf
    share = 1 / total
    for i in range(len(shares)):
        shares[i] *= share
    return total, _entropy(total, weighted)


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def locate(shares: Floats, part: float) -> tuple[int, float]:
    """The first id up to which the shares add up to more than `part` (from 0 up to, not with, 1) of their sum.

    Returns the id, and how far that part of the sum is from what belongs to the next id with a share, before or behind
    it (inf if there is none).
    """
    sums = np.empty((len(shares) + _STRETCH - 1) // _STRETCH)
    whole, last = 0.0, 0
    for number in range(len(sums)):
        row = shares[number * _STRETCH : (number + 1) * _STRETCH]
        total = 0.0
        for i in range(len(row)):
            total = _sum(total, row[i])
        sums[number] = total
        whole += total
        last = number if total > 0 else last
    point, before, number = part * whole, 0.0, 0
    while number < last and before + sums[number] <= point:
        before += sums[number]
        number += 1
    row = shares[number * _STRETCH : (number + 1) * _STRETCH]
    taken, behind = 0, before
    for i in range(len(row)):
        if row[i] > 0:
            taken, before, behind = i, behind, behind + row[i]
            if behind > point:
                break
    lower = point - before if before > 0 else _INFINITY
    more = number < last
    for i in range(taken + 1, len(row)):
        more |= row[i] > 0
    upper = behind - point if more else _INFINITY
    return number * _STRETCH + taken, max(0.0, min(lower, upper))  # rounding may put the point a little off


@njit(cache=True)  # type: ignore[untyped-decorator]
def uniform(seed: int, position: int) -> float:
    """The first number in [0, 1) of the counter-based generator Philox-4x64-10 (Salmon et al. 2011), as numpy's
    `Philox(key=seed, counter=position)` gives it."""
    key, other_key = np.uint64(seed), np.uint64(0)
    one, two, three, four = np.uint64(position) + np.uint64(1), np.uint64(0), np.uint64(0), np.uint64(0)
    for _ in range(10):
        high_one, low_one = _product(np.uint64(0xD2E7470EE14C6C93), one)
        high_three, low_three = _product(np.uint64(0xCA5A826395121157), three)
        one, two, three, four = high_three ^ two ^ key, low_three, high_one ^ four ^ other_key, low_one
        key += np.uint64(0x9E3779B97F4A7C15)
        other_key += np.uint64(0xBB67AE8584CAA73B)
    return np.float64(one >> np.uint64(11)) * 2.0**-53


@njit(cache=True)  # type: ignore[untyped-decorator]
def _product(left: np.uint64, right: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The upper and the lower 64 bits of a product."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    upper_left, lower_left, upper_right, lower_right = left >> half, left & low, right >> half, right & low
    middle = upper_left * lower_right + (lower_left * lower_right >> half)
    other = lower_left * upper_right + (middle & low)
    return upper_left * upper_right + (middle >> half) + (other >> half), left * right


@njit(cache=True)  # type: ignore[untyped-decorator]
def rank_of(values: Floats, token_id: int) -> int:
    """The place of an id in the order of the values, 0 is the largest; the lower id goes first among equals."""
    value, count = values[token_id], 0
    before, behind = values[:token_id], values[token_id + 1 :]
    for i in range(len(before)):
        count += before[i] >= value
    for i in range(len(behind)):
        count += behind[i] > value
    return count


@njit(cache=True)  # type: ignore[untyped-decorator]
def _enter(values: Floats, new: int, ids: Ints) -> None:
    """Put an id among others that are ordered by their values, -1 behind them; without room the last one goes."""
    place = len(ids)
    while place and (ids[place - 1] < 0 or values[ids[place - 1]] < values[new]):
        if place < len(ids):
            ids[place] = ids[place - 1]
        place -= 1
    if place < len(ids):
        ids[place] = new


@njit(cache=True, error_model="numpy", fastmath={"contract"})  # type: ignore[untyped-decorator]
def _exp(x: float) -> float:
    """exp of a number that is at most 0, to a few units in the last place; 0.0 below `_LEAST`.

    Without branches or calls, so that a loop over it becomes vector instructions: x is a whole multiple of ln 2, which
    becomes the exponent, and a rest, which goes through the Taylor series.
    """
    shifted = max(x, _LEAST) * _LOG2_E + _ROUNDING
    whole = shifted - _ROUNDING
    rest = max(x, _LEAST) - whole * _LN_2[0] - whole * _LN_2[1]
    power = _SERIES[0]
    for coefficient in _SERIES[1:]:
        power = power * rest + coefficient
    power = power * rest * rest + rest + 1.0
    exponent = (np.float64(shifted).view(np.int64) << _EXPONENT) + _ONE
    return power * np.int64(exponent).view(np.float64) if x >= _LEAST else 0.0


@njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _entropy(total: float, weighted: float) -> float:
    """Of probabilities exp(x) / total, where `weighted` is the sum of x exp(x)."""
    return max(0.0, math.log(total) - weighted / total)


@njit(cache=True, fastmath={"reassoc", "nsz"})  # type: ignore[untyped-decorator]
def _sum(left: float, right: float) -> float:
    """A sum that may be added up in any order, and so in vectors."""
    return left + right
