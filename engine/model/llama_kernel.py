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

Ints = NDArray[np.int32]

_WIDTH = 16
"""Numbers in a vector of the compiled code; a processor with shorter ones takes several for it."""

_FLOAT, _BYTE, _INT, _SIZE = ir.FloatType(), ir.IntType(8), ir.IntType(32), ir.IntType(64)


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
    size, middle = 2 * half, weights.mlp_out.whole.shape[2]
    heads = weights.attention_out.whole.shape[2] // size
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
        _multiply(normed, weights.queries_keys_values, layer, mixed)
        _rotate(mixed, rows.positions, heads + kv_heads, weights.cosines, weights.sines)
        _keep(mixed, rows, layer, heads, pool)
        _take_turn(turn, layer)
        _attend(mixed, rows, layer, heads, pool, attended)
        _multiply(attended, weights.attention_out, layer, change)
        text += change
        _normalise(text, weights.norms[layer, 1], weights.epsilon[0], normed)
        _multiply(normed, weights.gates_ups, layer, gated)
        _activate(gated, active)
        _multiply(active, weights.mlp_out, layer, change)
        text += change
    last = np.empty((len(wanted), width), np.float32)
    for place, row in enumerate(wanted):
        last[place] = text[row]
    _normalise(last, weights.last_norm, weights.epsilon[0], last)
    found = np.empty((len(wanted), weights.embedding.whole.shape[1] * LANES), np.float32)
    _multiply(last, weights.embedding, 0, found)
    return found


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _multiply(given: Floats, matrix: Packed, layer: int, out: Floats) -> None:
    """out[r] = matrix @ given[r]. Up to four rows go through it together: an integer is unpacked once for them."""
    whole, step, least = matrix.whole[layer], matrix.step[layer], matrix.least[layer]
    count, inputs = given.shape
    blocks = step.shape[1]
    block = inputs // blocks
    sums = np.empty((count, blocks), np.float32)
    for row in range(count):
        for place in range(blocks):
            sums[row, place] = given[row, place * block : (place + 1) * block].sum()
    total = np.empty((4, LANES), np.float32)
    part = np.empty((4, LANES), np.float32)
    into, rows, numbers = part.ctypes.data, given.ctypes.data, whole.ctypes.data
    for lanes in range(whole.shape[0]):
        row = 0
        while row < count:
            together = min(4, count - row)
            total[:together] = 0
            for place in range(blocks):
                part[:together] = 0
                first = rows + (row * inputs + place * block) * 4
                start = numbers + (lanes * inputs + place * block) * LANES
                if together == 4:
                    _add_four(into, first, inputs, start, LANES, block)
                elif together == 3:
                    _add_three(into, first, inputs, start, LANES, block)
                elif together == 2:
                    _add_two(into, first, inputs, start, LANES, block)
                else:
                    _add_one(into, first, inputs, start, LANES, block)
                for i in range(together):
                    here = sums[row + i, place]
                    for lane in range(LANES):
                        total[i, lane] += step[lanes, place, lane] * part[i, lane] + least[lanes, place, lane] * here
            for i in range(together):
                for lane in range(LANES):
                    out[row + i, lanes * LANES + lane] = total[i, lane]
            row += together


def _adder(rows: int, lanes: int, number: Any) -> Any:
    """A function for compiled code, by addresses: sums[r, lane] += given[r, i] * numbers[i, lane] over `count` i.

    `sums` float32 (rows, lanes), `given` float32 rows of `stride` numbers, `numbers` lines of `width`. Written in the
    compiler's own language because all the sums have to stay in registers while i goes on, which it does not see by
    itself; that makes the whole pass twice as fast.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def add(typing: Any, sums: Any, given: Any, stride: Any, numbers: Any, width: Any, count: Any) -> Any:
        def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return _add_rows(builder, rows, lanes, number, *values)

        return types.void(*[types.intp] * 6), instructions

    return add


def _add_rows(
    builder: Any,
    rows: int,
    lanes: int,
    number: Any,
    sums: Any,
    given: Any,
    stride: Any,
    numbers: Any,
    width: Any,
    count: Any,
) -> Any:
    """The instructions of `_adder`: load the sums, go round for each i, store the sums."""
    places, wide = range(0, lanes, _WIDTH), ir.VectorType(_FLOAT, _WIDTH)

    def pointer(start: Any, offset: Any, of: Any) -> Any:
        """To a number, or to the first of a vector."""
        element = of.element if isinstance(of, ir.VectorType) else of
        at = builder.add(start, builder.mul(offset, _SIZE(1 if element == _BYTE else 4)))
        return builder.inttoptr(at, of.as_pointer())

    targets = [pointer(sums, _SIZE(row * lanes + place), wide) for row in range(rows) for place in places]
    before = [builder.load(target, align=4) for target in targets]
    entry, around, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(around)
    builder.position_at_end(around)
    i = builder.phi(_SIZE)
    found = [builder.phi(wide) for _ in targets]
    line = builder.mul(i, width)
    loaded = [
        builder.load(pointer(numbers, builder.add(line, _SIZE(place)), ir.VectorType(number, _WIDTH)), align=1)
        for place in places
    ]
    if number == _BYTE:
        loaded = [builder.uitofp(packed, wide) for packed in loaded]
    added = []
    for row in range(rows):
        value = builder.load(pointer(given, builder.add(i, builder.mul(stride, _SIZE(row))), _FLOAT))
        value = builder.insert_element(wide(ir.Undefined), value, _INT(0))
        value = builder.shuffle_vector(value, value, ir.VectorType(_INT, _WIDTH)([0] * _WIDTH))
        for place, factor in enumerate(loaded):
            product = builder.fmul(factor, value, flags=("contract",))
            added.append(builder.fadd(found[row * len(loaded) + place], product, flags=("contract",)))
    following = builder.add(i, _SIZE(1))
    builder.cbranch(builder.icmp_signed("<", following, count), around, after)
    for phi, first, then in zip([i, *found], [_SIZE(0), *before], [following, *added], strict=True):
        phi.add_incoming(first, entry)
        phi.add_incoming(then, around)
    builder.position_at_end(after)
    for target, value in zip(targets, added, strict=True):
        builder.store(value, target, align=4)


_add_one, _add_two, _add_three, _add_four = (_adder(rows, LANES, _BYTE) for rows in (1, 2, 3, 4))
_add_numbers = _adder(1, PAGE, _FLOAT)


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _embed(embedding: Packed, tokens: Ints, out: Floats) -> None:
    width = out.shape[1]
    block = width // embedding.step.shape[2]
    for row, token in enumerate(tokens):
        lanes, lane = token // LANES, token % LANES
        for i in range(width):
            step, least = embedding.step[0, lanes, i // block, lane], embedding.least[0, lanes, i // block, lane]
            out[row, i] = least + step * np.float32(embedding.whole[0, lanes, i, lane])


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
                _add_numbers(scores.ctypes.data + number * PAGE * 4, query, 0, keys, PAGE, size)
            highest = scores[:length].max()
            total = np.float32(0)
            for place in range(length):
                scores[place] = np.exp((scores[place] - highest) * factor)
                total += scores[place]
            found[:] = 0
            for number in range(count):
                values = pool[pages[number], layer, 1, key_head].ctypes.data
                shares, here = scores.ctypes.data + number * PAGE * 4, min(PAGE, length - number * PAGE)
                for first in range(0, size, PAGE):
                    _add_numbers(found.ctypes.data + first * 4, shares, 0, values + first * 4, size, here)
            out[row, head * size : (head + 1) * size] = found / total


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _activate(gated: Floats, out: Floats) -> None:
    """SwiGLU (Shazeer 2002.05202): the first half, through x * sigmoid(x), times the second."""
    middle = out.shape[1]
    for row in range(out.shape[0]):
        for i in range(middle):
            gate = gated[row, i]
            out[row, i] = gate / (np.float32(1) + np.exp(-gate)) * gated[row, middle + i]
