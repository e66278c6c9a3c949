"""Attention of the bundled network's rows to their texts, over the pages of a pool.

What a row looks at comes from memory, megabytes for a text of a few hundred tokens, and that takes longer than what is
computed with it. So keys and values are integers of 16 bits, each head of a token with a scale of its own (as numbers
are in `products`); the query heads that share a key head go through them together; and a page is fetched while the one
before it is worked on.

Compiled code is cached by the file it begins in: whoever changes this one has to touch `llama_kernel` as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from engine.model.blocks import Floats
from engine.model.kv_pool import PAGE
from engine.model.products import largest, prefetch, to_integers

Ints = NDArray[np.int32]

_CACHE_LINE = 64

_LOWEST = np.float32(-1e30)
"""A score whose exponential is nothing beside any other's, before and after it is divided."""

_FLOAT, _SHORT, _INT, _SIZE = ir.FloatType(), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_FUSED = ("contract",)
_FLOATS, _SHORTS = ir.VectorType(_FLOAT, PAGE), ir.VectorType(_SHORT, PAGE)


class Rows(NamedTuple):
    """The rows of a pass, int32: token, position and text of each (rows,); `pages` (texts, most pages of one)."""

    tokens: Ints
    positions: Ints
    texts: Ints
    pages: Ints


class Held(NamedTuple):
    """Keys and values, see `pages_of`: the same memory twice, read as int16 and as float32."""

    numbers: NDArray[np.int16]
    floats: Floats


def pages_of(count: int, layers: int, key_heads: int, size: int) -> NDArray[np.int16]:
    """Memory for `count` pages: (count, layers, 2, key heads, PAGE * (size + 2)).

    Last axis: PAGE * size numbers, where keys lie (size, PAGE), values (PAGE, size); behind them, as PAGE float32, what
    to multiply them by. It begins where a line of the processor's cache does: vectors across two of them take longer.
    """
    shape = (count, layers, 2, key_heads, PAGE * (size + 2))
    length = int(np.prod(shape))
    memory = np.empty(length + _CACHE_LINE, np.int16)
    start = -memory.ctypes.data % _CACHE_LINE // memory.itemsize
    return memory[start : start + length].reshape(shape)


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def keep(mixed: Floats, rows: Rows, layer: int, heads: int, pool: Held) -> None:
    """Put the keys and values of the rows where their texts have them; in `mixed` they lie behind `heads` queries."""
    kv_heads, size = pool.numbers.shape[3], pool.numbers.shape[4] // PAGE - 2
    key = np.empty(size, np.int16)
    for row, position in enumerate(rows.positions):
        page, place = rows.pages[rows.texts[row], position // PAGE], position % PAGE
        for head in range(kv_heads):
            start = row * mixed.shape[1] + (heads + head) * size
            pool.floats[page, layer, 0, head, size * PAGE // 2 + place], _ = to_integers(mixed, start, size, key, 0)
            for i in range(size):
                pool.numbers[page, layer, 0, head, i * PAGE + place] = key[i]
            start, values = start + kv_heads * size, _start(pool, page, layer, 1, head) + place * size
            scale, _ = to_integers(mixed, start, size, pool.numbers, values)
            pool.floats[page, layer, 1, head, size * PAGE // 2 + place] = scale


@njit(fastmath=True, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def attend(mixed: Floats, rows: Rows, layer: int, heads: int, pool: Held, out: Floats) -> None:
    """Each head of each row looks at its text up to the row's own position. A head's size is a multiple of PAGE."""
    size = pool.numbers.shape[4] // PAGE - 2
    scores = np.empty((heads, rows.pages.shape[1] * PAGE), np.float32)
    for row, position in enumerate(rows.positions):
        length, pages = position + 1, rows.pages[rows.texts[row]]
        following = rows.pages[rows.texts[min(row + 1, len(rows.texts) - 1)], 0]
        _score(mixed[row], pages, length, layer, pool, scores)
        totals = _share(scores, length, np.float32(1 / np.sqrt(size)))
        out[row] = 0
        _mix(scores, pages, length, layer, pool, following, out[row])
        for head in range(heads):
            for i in range(head * size, (head + 1) * size):
                out[row, i] /= totals[head]


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _score(queries: Floats, pages: Ints, length: int, layer: int, pool: Held, scores: Floats) -> None:
    """scores[head, place]: of each query head with the key at each place; `_LOWEST` from `length` to its page's end."""
    kv_heads, size = pool.numbers.shape[3], pool.numbers.shape[4] // PAGE - 2
    shared, last = len(scores) // kv_heads, (length - 1) // PAGE
    for query in range(len(scores)):
        scores[query, : (last + 1) * PAGE] = 0
    for number in range(last + 1):
        start, page = number * PAGE, pages[number]
        for head in range(kv_heads):
            keys = _start(pool, page, layer, 0, head)
            fetch = _start(pool, pages[number + 1 if number < last else 0], layer, int(number == last), head)
            first = head * shared
            _add(
                shared, scores, first * scores.shape[1] + start, scores.shape[1], queries, first * size, size,
                pool.numbers, keys, PAGE, size, fetch,
            )  # fmt: skip
            for query in range(first, first + shared):
                _scale(scores, query * scores.shape[1] + start, pool.floats, keys // 2 + size * PAGE // 2)
    scores[:, length : (last + 1) * PAGE] = _LOWEST


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _share(scores: Floats, length: int, factor: float) -> Floats:
    """Turn scores into their exponentials, and give the sum of these for each head."""
    totals = np.empty(len(scores), np.float32)
    end = (length + PAGE - 1) // PAGE * PAGE
    for head in range(len(scores)):
        highest = largest(scores, head * scores.shape[1], end)
        total = np.float32(0)
        for place in range(end):
            scores[head, place] = exp((scores[head, place] - highest) * factor)
            total += scores[head, place]
        totals[head] = total
    return totals


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _mix(shares: Floats, pages: Ints, length: int, layer: int, pool: Held, following: int, out: Floats) -> None:
    """Add each place's values to `out`, by each head's share in it. `following`: the page that is needed after that."""
    kv_heads, size = pool.numbers.shape[3], pool.numbers.shape[4] // PAGE - 2
    shared, last = len(shares) // kv_heads, (length - 1) // PAGE
    for number in range(last + 1):
        start, page = number * PAGE, pages[number]
        for head in range(kv_heads):
            values = _start(pool, page, layer, 1, head)
            fetch = _start(pool, pages[number + 1] if number < last else following, layer, int(number < last), head)
            first = head * shared
            for query in range(first, first + shared):
                _scale(shares, query * shares.shape[1] + start, pool.floats, values // 2 + size * PAGE // 2)
            for i in range(0, size, PAGE):
                _add(
                    shared, out, first * size + i, size, shares, first * shares.shape[1] + start, shares.shape[1],
                    pool.numbers, values + i, size, min(PAGE, length - start), fetch + i,
                )  # fmt: skip


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _start(pool: Held, page: int, layer: int, kind: int, head: int) -> int:
    """Where one head's keys or values begin among all numbers of the pool."""
    _, layers, kinds, kv_heads, length = pool.numbers.shape
    return (((page * layers + layer) * kinds + kind) * kv_heads + head) * length  # type: ignore[no-any-return]


@intrinsic  # type: ignore[untyped-decorator]
def _scale(typing: Any, numbers: Any, number: Any, factors: Any, factor: Any) -> Any:
    """numbers[number + lane] *= factors[factor + lane] for PAGE lanes."""

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        arrays = [context.make_array(signature.args[at])(context, builder, values[at]).data for at in (0, 2)]
        place, other = (
            builder.bitcast(builder.gep(array, [values[at]]), _FLOATS.as_pointer())
            for array, at in zip(arrays, (1, 3), strict=True)
        )
        builder.store(builder.fmul(builder.load(place, align=4), builder.load(other, align=4)), place, align=4)

    return types.void(numbers, types.intp, factors, types.intp), instructions


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _add(
    heads: int, sums: Floats, sum_: int, next_sums: int, given: Floats, value: int, next_values: int,
    numbers: NDArray[np.int16], line: int, width: int, count: int, fetch: int,
) -> None:  # fmt: skip
    """sums[head, lane] += given[head, i] * numbers[i, lane] for `heads` heads, PAGE lanes and `count` i.

    The sums begin at the place `sum_` of an array, `next_sums` of one head after the other; the values given likewise;
    the numbers, in lines of `width`, at `line`. As many are fetched from `fetch` on: they are needed soon.
    """
    while heads >= 3:
        _add_three(sums, sum_, next_sums, given, value, next_values, numbers, line, width, count, fetch)
        heads, sum_, value = heads - 3, sum_ + 3 * next_sums, value + 3 * next_values
    if heads == 2:
        _add_two(sums, sum_, next_sums, given, value, next_values, numbers, line, width, count, fetch)
    elif heads == 1:
        _add_one(sums, sum_, next_sums, given, value, next_values, numbers, line, width, count, fetch)


def _adder(heads: int) -> Any:
    """`_add` for a fixed number of heads, written in the compiler's own language because the sums have to stay in
    registers while i goes on, which it does not see by itself."""

    @intrinsic  # type: ignore[untyped-decorator]
    def add(
        typing: Any, sums: Any, sum_: Any, next_sums: Any, given: Any, value: Any, next_values: Any, numbers: Any,
        line: Any, width: Any, count: Any, fetch: Any,
    ) -> Any:  # fmt: skip
        def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = [context.make_array(signature.args[at])(context, builder, values[at]).data for at in (0, 3, 6)]
            sums, given, numbers, fetched = (
                builder.gep(array, [values[at]]) for array, at in zip((*arrays, arrays[2]), (1, 4, 7, 10), strict=True)
            )
            _add_heads(builder, heads, sums, values[2], given, values[5], numbers, values[8], values[9], fetched)

        integers = types.intp, types.intp
        return types.void(sums, *integers, given, *integers, numbers, *integers, *integers), instructions

    return add


def _add_heads(
    builder: Any, heads: int, sums: Any, next_sums: Any, given: Any, next_values: Any, numbers: Any, width: Any,
    count: Any, fetch: Any,
) -> None:  # fmt: skip
    """The instructions of `_adder`; its arrays begin with what is needed."""
    places = [
        builder.bitcast(builder.gep(sums, [builder.mul(next_sums, _SIZE(head))]), _FLOATS.as_pointer())
        for head in range(heads)
    ]
    before = [builder.load(place, align=4) for place in places]
    starts = [builder.gep(given, [builder.mul(next_values, _SIZE(head))]) for head in range(heads)]
    entry, around, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(around)
    builder.position_at_end(around)
    i, *found = [builder.phi(_SIZE), *(builder.phi(_FLOATS) for _ in range(heads))]
    offset = builder.mul(i, width)
    line = builder.load(builder.bitcast(builder.gep(numbers, [offset]), _SHORTS.as_pointer()), align=2)
    factors = builder.sitofp(line, _FLOATS)
    prefetch(builder, builder.gep(fetch, [offset]))
    added = []
    for start, sum_ in zip(starts, found, strict=True):
        value = builder.insert_element(_FLOATS(ir.Undefined), builder.load(builder.gep(start, [i])), _INT(0))
        value = builder.shuffle_vector(value, value, ir.VectorType(_INT, PAGE)([0] * PAGE))
        added.append(builder.fadd(sum_, builder.fmul(factors, value, flags=_FUSED), flags=_FUSED))
    following = builder.add(i, _SIZE(1))
    builder.cbranch(builder.icmp_signed("<", following, count), around, after)
    for phi, start, then in zip((i, *found), (_SIZE(0), *before), (following, *added), strict=True):
        phi.add_incoming(start, entry)
        phi.add_incoming(then, around)
    builder.position_at_end(after)
    for place, sum_ in zip(places, added, strict=True):
        builder.store(sum_, place, align=4)


_add_one, _add_two, _add_three = map(_adder, (1, 2, 3))


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def exp(x: np.float32) -> np.float32:
    """To 1e-6 of itself. A loop over this becomes vector instructions; over the library's function it does not."""
    scaled = min(max(x, np.float32(-87)), np.float32(87)) * np.float32(1 / np.log(2))
    whole = np.rint(scaled)
    part = (scaled - whole) * np.float32(np.log(2))
    power = np.float32(1 / 720)
    for coefficient in (1 / 120, 1 / 24, 1 / 6, 1 / 2, 1.0, 1.0):
        power = power * part + np.float32(coefficient)
    return power * _power_of_two(np.int32(whole))  # type: ignore[no-any-return]


@intrinsic  # type: ignore[untyped-decorator]
def _power_of_two(typing: Any, exponent: Any) -> Any:
    """For exponents from -126 to 127: as the exponent of a float32."""

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.bitcast(builder.shl(builder.add(values[0], _INT(127)), _INT(23)), _FLOAT)

    return types.float32(types.int32), instructions
