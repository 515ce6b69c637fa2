# SPDX-License-Identifier: Apache-2.0
"""Kernels of the device executor, in Triton: they do the same to elements as the host's core, bit for bit. Imported
when a program is first made ready, since Triton is there only where somebody has installed it."""

from __future__ import annotations

from hemiola.environment.packages import require

require("triton")

import triton
import triton.language as tl

TILE = 4096


@triton.jit
def _wide(x, kind: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return elements as what they are computed in: numbers of 16 bits as float32."""
    if kind == "bfloat16":
        wide = (x.to(tl.int32) << 16).to(tl.float32, bitcast=True)
    elif kind == "float16":
        wide = x.to(tl.float32)
    else:
        wide = x
    return wide


@triton.jit
def _narrow(x, kind: tl.constexpr):  # type: ignore[no-untyped-def]
    """Return them as they are stored, rounded to nearest even, NaN with all bits set: bfloat16 by integers, since
    Triton's interpreter cuts it off."""
    if kind == "bfloat16":
        bits = x.to(tl.uint32, bitcast=True)
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
        stored = tl.where(is_nan, 0xFFFF, rounded).to(tl.uint16).to(tl.int16, bitcast=True)
    elif kind == "float16":
        stored = tl.where(x != x, -1, x.to(tl.float16).to(tl.int16, bitcast=True)).to(tl.int16)
        stored = stored.to(tl.float16, bitcast=True)
    elif kind == "float32":
        stored = tl.where(x != x, -1, x.to(tl.int32, bitcast=True)).to(tl.float32, bitcast=True)
    elif kind == "float64":
        stored = tl.where(x != x, -1, x.to(tl.int64, bitcast=True)).to(tl.float64, bitcast=True)
    else:
        stored = x
    return stored


@triton.jit
def combine(to, left, right, size, op: tl.constexpr, kind: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Combine the present elements with the received ones: a tile a program."""
    place = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    is_inside = place < size
    a = _wide(tl.load(left + place, mask=is_inside, other=0), kind)
    b = _wide(tl.load(right + place, mask=is_inside, other=0), kind)
    if op == "sum":
        c = a + b
    elif op == "product":
        c = a * b
    elif op == "min":
        c = tl.where((a < b) | (a != a), a, b)
    elif op == "max":
        c = tl.where((a > b) | (a != a), a, b)
    elif op == "and":
        c = a & b
    elif op == "or":
        c = a | b
    else:
        c = a ^ b
    tl.store(to + place, _narrow(c, kind), mask=is_inside)


@triton.jit
def multiply(to, of, factor, size, kind: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Multiply by a power of two."""
    place = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    is_inside = place < size
    a = _wide(tl.load(of + place, mask=is_inside, other=0), kind)
    tl.store(to + place, _narrow(a * factor, kind), mask=is_inside)


@triton.jit
def scale(to, divisor, size, kind: tl.constexpr, LARGEST: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Divide, rounded to nearest even; finite values stay finite."""
    place = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    is_inside = place < size
    a = _wide(tl.load(to + place, mask=is_inside, other=0), kind)
    c = a / divisor if kind == "float64" else tl.div_rn(a, tl.full([TILE], 1.0, tl.float32) * divisor)
    bounded = tl.where(c > LARGEST, LARGEST, tl.where(c < -LARGEST, -LARGEST, c))
    c = tl.where((a <= LARGEST) & (a >= -LARGEST), bounded, c)
    tl.store(to + place, _narrow(c, kind), mask=is_inside)
