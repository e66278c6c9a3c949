"""Products of a packed matrix with the rows of a pass, in integers.

The weights are small integers already (see `blocks`). Here each block of a row becomes integers of 16 bits with a scale
of its own, within 1/65534 of its largest number. Of these, two products and their sum are one instruction on every
processor that is used today, so a row takes half the time that it takes in floats. The sum of a block is exact: a row
gives the same whatever else is multiplied.

Compiled code is cached by the file it begins in: whoever changes this one has to touch `llama_kernel` as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from engine.model.blocks import LANES, Floats, Packed

Shorts = NDArray[np.int16]

_LARGEST = 32767

_WIDTH = 16
"""Sums in a vector of the compiled code; a processor with shorter ones takes several for it."""

_FLOAT, _INT, _SIZE = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(_FLOAT, _WIDTH), ir.VectorType(_INT, _WIDTH)
_SHORTS = ir.VectorType(ir.IntType(16), _WIDTH)
_BYTE_PAIRS, _SHORT_PAIRS, _PAIRS = (ir.VectorType(ir.IntType(bits), 2 * _WIDTH) for bits in (8, 16, 32))
_FUSED = ("contract",)
_CACHE_LINE = 64


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def multiply(given: Floats, matrix: Packed, layer: int, out: Floats) -> None:
    """out[r] = matrix @ given[r]."""
    step, least = matrix.step[layer], matrix.least[layer]
    count, inputs = given.shape
    blocks = step.shape[1]
    numbers = np.empty((blocks, count, inputs // blocks), np.int16)
    scales = np.empty((blocks, count), np.float32)
    sums = np.empty((blocks, count), np.float32)
    _blocks_to_integers(given, numbers, scales, sums)
    _multiply(numbers, scales, sums, matrix.whole[layer], step, least, out)


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _blocks_to_integers(given: Floats, numbers: Shorts, scales: Floats, sums: Floats) -> None:
    """given[r, i] = scale * number, by blocks; `sums`: of each block of a row, of what it is now."""
    blocks, count, block = numbers.shape
    for row in range(count):
        for place in range(blocks):
            here = place * count + row
            scale, total = to_integers(given, row * blocks * block + place * block, block, numbers, here * block)
            scales[place, row] = scale
            sums[place, row] = scale * np.float32(total)


@njit(fastmath=True, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _multiply(
    numbers: Shorts, scales: Floats, sums: Floats, whole: NDArray[np.uint8], step: Floats, least: Floats, out: Floats
) -> None:
    """Up to four rows go through a block of the matrix together: its integers are fetched and widened once for them."""
    blocks, count, _ = numbers.shape
    total = np.empty((count, LANES), np.float32)
    for lanes in range(len(whole)):
        total[:] = 0
        for place in range(blocks):
            row = 0
            while row + 4 <= count:
                _add_four(total, numbers, scales, sums, whole, step, least, lanes, place, row)
                row += 4
            if count - row == 3:
                _add_three(total, numbers, scales, sums, whole, step, least, lanes, place, row)
            elif count - row == 2:
                _add_two(total, numbers, scales, sums, whole, step, least, lanes, place, row)
            elif count - row == 1:
                _add_one(total, numbers, scales, sums, whole, step, least, lanes, place, row)
        for row in range(count):
            out[row, lanes * LANES : (lanes + 1) * LANES] = total[row]


def _adder(rows: int) -> Any:
    """For compiled code: add to `total` what one block (`place`) of LANES outputs gives for `rows` rows from `row` on.

    total[r, lane] += scales[r] * step[lane] * (the sum over the block of numbers[r, i] * whole[i, lane])
    + least[lane] * sums[r]. The arrays are those of `_multiply`, one behind the other in memory.

    Written in the compiler's own language because all the sums have to stay in registers while i goes on, and because
    it finds the instruction for two products and their sum only in this form.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def add(
        typing: Any, total: Any, numbers: Any, scales: Any, sums: Any, whole: Any, step: Any, least: Any, lanes: Any,
        place: Any, row: Any,
    ) -> Any:  # fmt: skip
        def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = [
                context.make_array(of)(context, builder, value)
                for of, value in zip(signature.args[:7], values, strict=False)
            ]
            blocks, count, block = cgutils.unpack_tuple(builder, arrays[1].shape)
            line = builder.add(builder.mul(values[7], blocks), values[8])
            here = builder.add(builder.mul(values[8], count), values[9])
            lines, inputs = builder.mul(line, _SIZE(LANES)), builder.mul(line, builder.mul(block, _SIZE(LANES)))
            offsets = (
                builder.mul(values[9], _SIZE(LANES)), builder.mul(here, block), here, here, inputs, lines, lines,
            )  # fmt: skip
            starts = [builder.gep(array.data, [offset]) for array, offset in zip(arrays, offsets, strict=True)]
            _add_rows(builder, rows, block, *starts)

        return types.void(total, numbers, scales, sums, whole, step, least, lanes, place, row), instructions

    return add


def _add_rows(
    builder: Any, rows: int, block: Any, total: Any, numbers: Any, scales: Any, sums: Any, whole: Any, step: Any,
    least: Any,
) -> None:  # fmt: skip
    """The instructions of `_adder`; each of its arrays begins with what is needed."""
    places = range(0, LANES, _WIDTH)

    def load(start: Any, offset: Any, of: Any) -> Any:
        at = builder.bitcast(builder.gep(start, [offset]), of.as_pointer())
        return builder.load(at, align=1 if of == _BYTE_PAIRS else 4)

    entry, around, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(around)
    builder.position_at_end(around)
    i = builder.phi(_SIZE)
    found = [builder.phi(_INTS) for _ in range(rows) for _ in places]
    line, next_block = builder.mul(i, _SIZE(LANES)), builder.mul(block, _SIZE(LANES))
    factors = [builder.zext(load(whole, builder.add(line, _SIZE(2 * place)), _BYTE_PAIRS), _PAIRS) for place in places]
    if rows > 1:  # one row waits for memory anyway, several leave time to fetch the next block meanwhile
        for offset in (0, _CACHE_LINE):
            prefetch(builder, builder.gep(whole, [builder.add(line, builder.add(next_block, _SIZE(offset)))]))
    added: list[Any] = []
    for row in range(rows):
        pair = load(numbers, builder.add(builder.mul(block, _SIZE(row)), i), _INT)
        pairs = builder.sext(builder.bitcast(_spread(builder, pair, _INTS), _SHORT_PAIRS), _PAIRS)
        for factor in factors:
            products = builder.mul(factor, pairs, flags=("nsw",))
            even, odd = (
                builder.shuffle_vector(products, products, _INTS(list(range(first, 2 * _WIDTH, 2)))) for first in (0, 1)
            )
            added.append(builder.add(found[len(added)], builder.add(even, odd, flags=("nsw",))))
    following = builder.add(i, _SIZE(2))
    builder.cbranch(builder.icmp_signed("<", following, block), around, after)
    for phi, then in zip([i, *found], [following, *added], strict=True):
        phi.add_incoming(phi.type(0 if phi is i else [0] * _WIDTH), entry)
        phi.add_incoming(then, around)
    builder.position_at_end(after)
    for row in range(rows):
        scale, sum_ = (_spread(builder, load(of, _SIZE(row), _FLOAT), _FLOATS) for of in (scales, sums))
        for place in places:
            at = builder.bitcast(builder.gep(total, [_SIZE(row * LANES + place)]), _FLOATS.as_pointer())
            value = builder.fmul(builder.sitofp(added.pop(0), _FLOATS), load(step, _SIZE(place), _FLOATS))
            value = builder.fadd(builder.load(at, align=4), builder.fmul(value, scale, flags=_FUSED), flags=_FUSED)
            rest = builder.fmul(load(least, _SIZE(place), _FLOATS), sum_, flags=_FUSED)
            builder.store(builder.fadd(value, rest, flags=_FUSED), at, align=4)


@intrinsic  # type: ignore[untyped-decorator]
def to_integers(typing: Any, given: Any, first: Any, count: Any, numbers: Any, place: Any) -> Any:
    """For compiled code: `count` floats from given[first] on as int16 from numbers[place] on; their scale and sum.

    Places as if the arrays had one axis; `count` is a multiple of 16. In the compiler's own language because a few
    dozen numbers are too few for it to see that they fit into vectors.
    """

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        given, numbers = (context.make_array(signature.args[at])(context, builder, values[at]).data for at in (0, 3))
        given, numbers = builder.gep(given, [values[1]]), builder.gep(numbers, [values[4]])
        most = _largest(builder, given, values[2], magnitude=True)
        scale = builder.fdiv(most, _FLOAT(_LARGEST))
        factor = builder.fdiv(_FLOAT(1), scale)
        factor = builder.select(builder.fcmp_ordered(">", scale, _FLOAT(0)), factor, _FLOAT(0))
        factors = _spread(builder, factor, _FLOATS)

        def convert(i: Any, sums: Any) -> Any:
            part = builder.load(builder.bitcast(builder.gep(given, [i]), _FLOATS.as_pointer()), align=4)
            whole = builder.fptosi(_call(builder, "llvm.rint", builder.fmul(part, factors)), _INTS)
            place = builder.bitcast(builder.gep(numbers, [i]), _SHORTS.as_pointer())
            builder.store(builder.trunc(whole, _SHORTS), place, align=2)
            return builder.add(sums, whole)

        sums = _go_round(builder, values[2], _INTS([0] * _WIDTH), convert)
        total = _call(builder, "llvm.vector.reduce.add", sums)
        return context.make_tuple(builder, signature.return_type, (scale, total))

    return types.Tuple((types.float32, types.int32))(given, types.intp, types.intp, numbers, types.intp), instructions


@intrinsic  # type: ignore[untyped-decorator]
def largest(typing: Any, given: Any, first: Any, count: Any) -> Any:
    """For compiled code: of `count` floats from given[first] on, a multiple of 16."""

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        start = builder.gep(context.make_array(signature.args[0])(context, builder, values[0]).data, [values[1]])
        return _largest(builder, start, values[2], magnitude=False)

    return types.float32(given, types.intp, types.intp), instructions


def _largest(builder: Any, start: Any, count: Any, magnitude: bool) -> Any:
    """The largest of `count` floats, or of what they are without their signs."""

    def compare(i: Any, most: Any) -> Any:
        part = builder.load(builder.bitcast(builder.gep(start, [i]), _FLOATS.as_pointer()), align=4)
        part = _call(builder, "llvm.fabs", part) if magnitude else part
        return builder.select(builder.fcmp_ordered(">", part, most), part, most)

    least = _FLOATS([0.0 if magnitude else float("-inf")] * _WIDTH)
    return _call(builder, "llvm.vector.reduce.fmax", _go_round(builder, count, least, compare), fastmath=("nnan",))


def _go_round(builder: Any, count: Any, value: Any, body: Any) -> Any:
    """For i = 0, _WIDTH and so on up to `count`: value = body(i, value)."""
    entry, around, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(around)
    builder.position_at_end(around)
    i, found = builder.phi(_SIZE), builder.phi(value.type)
    then, following = body(i, found), builder.add(i, _SIZE(_WIDTH))
    builder.cbranch(builder.icmp_signed("<", following, count), around, after)
    for phi, first, next_ in ((i, _SIZE(0), following), (found, value, then)):
        phi.add_incoming(first, entry)
        phi.add_incoming(next_, around)
    builder.position_at_end(after)
    return then


def _call(builder: Any, name: str, value: Any, fastmath: tuple[str, ...] = ()) -> Any:
    """One of the compiler's own functions, of a vector; what reduces gives one number, all else a vector."""
    of = value.type
    result = of.element if "reduce" in name else of
    kind = f"v{of.count}{'f' if of.element == _FLOAT else 'i'}32"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, [of]), f"{name}.{kind}")
    return builder.call(function, [value], fastmath=fastmath)


def _spread(builder: Any, value: Any, of: Any) -> Any:
    """A number in all lanes of a vector."""
    value = builder.insert_element(of(ir.Undefined), value, _INT(0))
    return builder.shuffle_vector(value, value, ir.VectorType(_INT, of.count)([0] * of.count))


def prefetch(builder: Any, address: Any) -> None:
    """Have a line of memory in the cache soon; an address that is not there does no harm."""
    pointer = ir.IntType(8).as_pointer()
    prefetch = ir.FunctionType(ir.VoidType(), [pointer, _INT, _INT, _INT])
    function = cgutils.get_or_insert_function(builder.module, prefetch, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(address, pointer), _INT(0), _INT(2), _INT(1)])


_add_one, _add_two, _add_three, _add_four = map(_adder, (1, 2, 3, 4))
