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

from engine.model.attention import Held, Ints, Rows, attend, exp, keep
from engine.model.blocks import LANES, Floats, Packed
from engine.model.products import multiply

_INT, _SIZE = ir.IntType(32), ir.IntType(64)


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


class Turn(NamedTuple):
    """A thread's place among those that share a pass. `done`: int64 (threads,), in how many layers the keys and values
    of each one's rows are in the pool; `first` is the first thread whose rows this one's look at, `me` its own place.
    """

    done: NDArray[np.int64]
    first: int
    me: int


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def forward(weights: Weights, rows: Rows, pool: Held, wanted: Ints, turn: Turn) -> Floats:
    """Read the rows, put their keys and values into the pool, and give the logits after the `wanted` ones.

    Returns float32 (len(wanted), vocabulary size).
    """
    count, width = len(rows.tokens), weights.last_norm.shape[0]
    kv_heads, half = pool.numbers.shape[3], weights.cosines.shape[1]
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
        keep(mixed, rows, layer, heads, pool)
        _take_turn(turn, layer)
        attend(mixed, rows, layer, heads, pool, attended)
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


# With "numpy" nobody asks whether the divisor is 0 before each division, so that vectors can be divided.
@njit(fastmath=True, error_model="numpy", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _activate(gated: Floats, out: Floats) -> None:
    """SwiGLU (Shazeer 2002.05202): the first half, through x * sigmoid(x), times the second."""
    middle = out.shape[1]
    for row in range(out.shape[0]):
        for i in range(middle):
            gate = gated[row, i]
            out[row, i] = gate / (np.float32(1) + exp(-gate)) * gated[row, middle + i]
