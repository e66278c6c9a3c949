"""A forward pass of the Llama blocks, written out: rows of many texts in, logits out, without returning to Python.

A pass through the layers of a small network is hundreds of calls; made from Python, each of them waits for the
interpreter's lock, and with it for every other session. Here the whole pass is one compiled call that does not hold it.

The rows of a pass are tokens of any number of texts, at any positions. Matrices are multiplied for all rows together;
only attention looks at the text a row belongs to, through the table of its pages (see `kv_pool`).
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from engine.model.blocks import LANES, Floats, Packed
from engine.model.kv_pool import PAGE
from engine.model.products import multiply

Ints = NDArray[np.int32]

_FLOAT, _INT, _SIZE = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_PAGE = ir.VectorType(_FLOAT, PAGE)


class Weights(NamedTuple):
    """All of a network. First axis of the matrices and of `norms` (layers, 2, width): the layer.

    `embedding` gives the logits as well. `queries_keys_values` and `gates_ups` are matrices that read the same input,
    one below the other. `epsilon` (1,) is added to squares. `cosines` and `sines`: float32 (context, half a head), the
    rotation by position.
    """

    embedding: Packed
    queries_keys_values: Packed
    attention_out: Packed
    gates_ups: Packed
    mlp_out: Packed
    norms: Floats
    last_norm: Floats
    epsilon: Floats
    cosines: Floats
    sines: Floats


class Rows(NamedTuple):
    """The rows of a pass, int32: token, position and text of each (rows,); `pages` (texts, most pages of one)."""

    tokens: Ints
    positions: Ints
    texts: Ints
    pages: Ints


class Turn(NamedTuple):
    """A thread's place among those that share a pass. `done`: int64 (threads,), in how many layers the keys and values
    of each one's rows are in the pool; `first` is the first thread whose rows this one's look at, `me` its own place.
    """

    done: NDArray[np.int64]
    first: int
    me: int


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def forward(weights: Weights, rows: Rows, pool: Floats, wanted: Ints, turn: Turn) -> Floats:
    """Read the rows, put their keys and values into the pool, and give the logits after the `wanted` ones.

    `pool`: float32 (pages, layers, 2, key heads, PAGE * head size); keys lie (head size, PAGE), values (PAGE, head
    size). Returns float32 (len(wanted), vocabulary size).
    """
    count, width = len(rows.tokens), weights.last_norm.shape[0]
    kv_heads, half = pool.shape[3], weights.cosines.shape[1]
    size, middle = 2 * half, 2 * weights.mlp_out.whole.shape[2]
    heads = 2 * weights.attention_out.whole.shape[2] // size
    text = np.empty((count, width), np.float32)
    _embed(weights.embedding, rows.tokens, text)
    normed = np.empty((count, width), np.float32)
    mixed = np.empty((count, (heads + 2 * kv_heads) * size), np.float32)
    attended = np.empty((count, heads * size), np.float32)
    change = np.empty((count, width), np.float32)
    gated = np.empty((count, 2 * middle), np.float32)
    active = np.empty((count, middle), np.float32)
    for layer in range(weights.norms.shape[0]):
        _normalise(text, weights.norms[layer, 0], weights.epsilon[0], normed)
        multiply(normed, weights.queries_keys_values, layer, mixed)
        _rotate(mixed, rows.positions, heads + kv_heads, weights.cosines, weights.sines)
        _keep(mixed, rows, layer, heads, pool)
        _take_turn(turn, layer)
        _attend(mixed, rows, layer, heads, pool, attended)
        multiply(attended, weights.attention_out, layer, change)
        text += change
        _normalise(text, weights.norms[layer, 1], weights.epsilon[0], normed)
        multiply(normed, weights.gates_ups, layer, gated)
        _activate(gated, active)
        multiply(active, weights.mlp_out, layer, change)
        text += change
    last = np.empty((len(wanted), width), np.float32)
    for place, row in enumerate(wanted):
        last[place] = text[row]
    _normalise(last, weights.last_norm, weights.epsilon[0], last)
    found = np.empty((len(wanted), weights.embedding.whole.shape[1] * LANES), np.float32)
    multiply(last, weights.embedding, 0, found)
    return found


@intrinsic  # type: ignore[untyped-decorator]
def _add_numbers(typing: Any, sums: Any, given: Any, numbers: Any, width: Any, count: Any) -> Any:
    """For compiled code, by addresses: sums[lane] += given[i] * numbers[i, lane] over `count` i.

    `sums` float32 (PAGE,), `given` float32, `numbers` float32 lines of `width`. Written in the compiler's own language
    because the sums have to stay in registers while i goes on, which it does not see by itself.
    """

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _add_lines(builder, *values)

    return types.void(*[types.intp] * 5), instructions


def _add_lines(builder: Any, sums: Any, given: Any, numbers: Any, width: Any, count: Any) -> Any:
    """The instructions of `_add_numbers`: load the sums, go round for each i, store the sums."""

    def pointer(start: Any, offset: Any, of: Any) -> Any:
        return builder.inttoptr(builder.add(start, builder.mul(offset, _SIZE(4))), of.as_pointer())

    before = builder.load(pointer(sums, _SIZE(0), _PAGE), align=4)
    entry, around, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(around)
    builder.position_at_end(around)
    i, found = builder.phi(_SIZE), builder.phi(_PAGE)
    line = builder.load(pointer(numbers, builder.mul(i, width), _PAGE), align=4)
    value = builder.insert_element(_PAGE(ir.Undefined), builder.load(pointer(given, i, _FLOAT)), _INT(0))
    value = builder.shuffle_vector(value, value, ir.VectorType(_INT, PAGE)([0] * PAGE))
    product = builder.fmul(line, value, flags=("contract",))
    added = builder.fadd(found, product, flags=("contract",))
    following = builder.add(i, _SIZE(1))
    builder.cbranch(builder.icmp_signed("<", following, count), around, after)
    for phi, first, then in zip((i, found), (_SIZE(0), before), (following, added), strict=True):
        phi.add_incoming(first, entry)
        phi.add_incoming(then, around)
    builder.position_at_end(after)
    builder.store(added, pointer(sums, _SIZE(0), _PAGE), align=4)


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _embed(embedding: Packed, tokens: Ints, out: Floats) -> None:
    width = out.shape[1]
    block = width // embedding.step.shape[2]
    for row, token in enumerate(tokens):
        lanes, lane = token // LANES, token % LANES
        for i in range(width):
            step, least = embedding.step[0, lanes, i // block, lane], embedding.least[0, lanes, i // block, lane]
            out[row, i] = least + step * np.float32(embedding.whole[0, lanes, i // 2, lane, i % 2])


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _normalise(given: Floats, weight: Floats, epsilon: float, out: Floats) -> None:
    """Root mean square normalisation (Zhang and Sennrich 1910.07467)."""
    for row in range(given.shape[0]):
        squares = np.float32(0)
        for i in range(given.shape[1]):
            squares += given[row, i] * given[row, i]
        factor = np.float32(1 / np.sqrt(squares / given.shape[1] + epsilon))
        for i in range(given.shape[1]):
            out[row, i] = given[row, i] * factor * weight[i]


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _rotate(mixed: Floats, positions: Ints, heads: int, cosines: Floats, sines: Floats) -> None:
    """Rotary positions (Su et al. 2104.09864) on the first `heads` heads, a half of each head with the other."""
    half = cosines.shape[1]
    for row, position in enumerate(positions):
        for head in range(heads):
            start = head * 2 * half
            for i in range(start, start + half):
                cosine, sine = cosines[position, i - start], sines[position, i - start]
                left, right = mixed[row, i], mixed[row, i + half]
                mixed[row, i] = left * cosine - right * sine
                mixed[row, i + half] = right * cosine + left * sine


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _keep(mixed: Floats, rows: Rows, layer: int, heads: int, pool: Floats) -> None:
    """Put the keys and values of the rows where their texts have them."""
    kv_heads, size = pool.shape[3], pool.shape[4] // PAGE
    for row, position in enumerate(rows.positions):
        page, place = rows.pages[rows.texts[row], position // PAGE], position % PAGE
        for head in range(kv_heads):
            key, value = (heads + head) * size, (heads + kv_heads + head) * size
            for i in range(size):
                pool[page, layer, 0, head, i * PAGE + place] = mixed[row, key + i]
                pool[page, layer, 1, head, place * size + i] = mixed[row, value + i]


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _take_turn(turn: Turn, layer: int) -> None:
    """Say that this thread's keys and values of a layer can be looked at; wait for those that its own rows look at."""
    place = turn.done.ctypes.data
    _say(place + turn.me * 8, layer + 1)
    for other in range(turn.first, turn.me):
        while _said(place + other * 8) <= layer:
            _give_way()


@intrinsic  # type: ignore[untyped-decorator]
def _say(typing: Any, address: Any, number: Any) -> Any:
    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        builder.store_atomic(values[1], builder.inttoptr(values[0], _SIZE.as_pointer()), "release", 8)

    return types.void(types.intp, types.int64), instructions


@intrinsic  # type: ignore[untyped-decorator]
def _said(typing: Any, address: Any) -> Any:
    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(values[0], _SIZE.as_pointer()), "acquire", 8)

    return types.int64(types.intp), instructions


@intrinsic  # type: ignore[untyped-decorator]
def _give_way(typing: Any) -> Any:
    """Let another thread have this core, where the system has a word for it."""

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        if os.name == "posix":
            function = ir.FunctionType(_INT, [])
            builder.call(cgutils.get_or_insert_function(builder.module, function, "sched_yield"), [])

    return types.void(), instructions


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _attend(mixed: Floats, rows: Rows, layer: int, heads: int, pool: Floats, out: Floats) -> None:
    """Each head of each row looks at its text up to the row's own position. A head's size is a multiple of PAGE."""
    kv_heads, size = pool.shape[3], pool.shape[4] // PAGE
    scores = np.empty(rows.pages.shape[1] * PAGE, np.float32)
    found = np.empty(size, np.float32)
    factor = np.float32(1 / np.sqrt(size))
    for row, position in enumerate(rows.positions):
        length, pages = position + 1, rows.pages[rows.texts[row]]
        count = (length + PAGE - 1) // PAGE
        for head in range(heads):
            key_head = head * kv_heads // heads
            query = mixed.ctypes.data + (row * mixed.shape[1] + head * size) * 4
            scores[: count * PAGE] = 0
            for number in range(count):
                keys = pool[pages[number], layer, 0, key_head].ctypes.data
                _add_numbers(scores.ctypes.data + number * PAGE * 4, query, keys, PAGE, size)
            highest = scores[:length].max()
            total = np.float32(0)
            for place in range(length):
                scores[place] = _exp((scores[place] - highest) * factor)
                total += scores[place]
            found[:] = 0
            for number in range(count):
                values = pool[pages[number], layer, 1, key_head].ctypes.data
                shares, here = scores.ctypes.data + number * PAGE * 4, min(PAGE, length - number * PAGE)
                for first in range(0, size, PAGE):
                    _add_numbers(found.ctypes.data + first * 4, shares, values + first * 4, size, here)
            out[row, head * size : (head + 1) * size] = found / total


# With "numpy" nobody asks whether the divisor is 0 before each division, so that vectors can be divided.
@njit(fastmath=True, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _activate(gated: Floats, out: Floats) -> None:
    """SwiGLU (Shazeer 2002.05202): the first half, through x * sigmoid(x), times the second."""
    middle = out.shape[1]
    for row in range(out.shape[0]):
        for i in range(middle):
            gate = gated[row, i]
            out[row, i] = gate / (np.float32(1) + _exp(-gate)) * gated[row, middle + i]


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _exp(x: np.float32) -> np.float32:
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
