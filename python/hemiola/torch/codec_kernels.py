# SPDX-License-Identifier: Apache-2.0
"""Kernels of `hemiola.torch.codecs` and of coded messages between devices, in Triton: a program per tile of 4,096
elements, 64 words of 64 bits. Imported when a codec is first used, since Triton is there only where somebody has
installed it."""

from __future__ import annotations

from hemiola.environment.packages import require

require("triton")

import triton
import triton.language as tl


@triton.jit
def scan(x, words, counts, size, SIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write the bitmap of nonzero elements, and each tile's number of them."""
    tile = tl.program_id(0)
    row = tl.arange(0, SIDE)
    place = (tile * SIDE + row).to(tl.int64)[:, None] * SIDE + row[None, :]
    found = tl.load(x + place, mask=place < size, other=0) != 0
    word = tl.sum(found.to(tl.int64) << row.to(tl.int64)[None, :], axis=1)
    word_place = (tile * SIDE + row).to(tl.int64)
    tl.store(words + word_place, word, mask=word_place * SIDE < size)
    tl.store(counts + tile, tl.sum(tl.sum(found.to(tl.int32), axis=1), axis=0))


@triton.jit
def number(counts, starts, tiles, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write for each tile how many nonzero elements stand before it: one program for all."""
    before = tl.sum(tl.zeros([TILE], tl.int32), axis=0)
    for first in range(0, tiles, TILE):
        tile = first + tl.arange(0, TILE)
        found = tl.load(counts + tile, mask=tile < tiles, other=0)
        tl.store(starts + tile, before + tl.cumsum(found, axis=0) - found, mask=tile < tiles)
        before += tl.sum(found, axis=0)


@triton.jit
def count_between(x, begins, ends, counts, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Count the nonzero elements from each begin to its end, which is at most a tile behind."""
    part = tl.program_id(0)
    place = tl.load(begins + part) + tl.arange(0, TILE)
    found = tl.load(x + place, mask=place < tl.load(ends + part), other=0) != 0
    tl.store(counts + part, tl.sum(found.to(tl.int32), axis=0))


@triton.jit
def compress(x, starts, values, size, capacity, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Put the nonzero elements one after the other, in their order; a tile's from its start on, and none behind the
    capacity."""
    tile = tl.program_id(0)
    place = tile.to(tl.int64) * TILE + tl.arange(0, TILE)
    element = tl.load(x + place, mask=place < size, other=0)
    found = element != 0
    rank = tl.cumsum(found.to(tl.int32), axis=0) - 1
    target = tl.load(starts + tile).to(tl.int64) + rank
    tl.store(values + target, element, mask=found & (target < capacity))


@triton.jit
def count(words, counts, word_count, SIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Count the bits of each tile of a bitmap."""
    tile = tl.program_id(0)
    row = tl.arange(0, SIDE)
    place = tile * SIDE + row
    word = tl.load(words + place, mask=place < word_count, other=0)
    bits = (word[:, None] >> row.to(tl.int64)[None, :]) & 1
    tl.store(counts + tile, tl.sum(tl.sum(bits.to(tl.int32), axis=1), axis=0))


@triton.jit
def expand(words, starts, values, out, size, capacity, adds: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write every element, or add it, zeros too, so that the sum is a dense message's, bit for bit. Nothing behind the
    capacity is read."""
    tile = tl.program_id(0)
    lane = tl.arange(0, TILE)
    place = tile.to(tl.int64) * TILE + lane
    is_inside = place < size
    word = tl.load(words + place // 64, mask=is_inside, other=0)
    found = ((word >> (lane % 64).to(tl.int64)) & 1) != 0
    rank = tl.cumsum(found.to(tl.int32), axis=0) - 1
    source = tl.load(starts + tile).to(tl.int64) + rank
    element = tl.load(values + source, mask=found & (source >= 0) & (source < capacity), other=0)
    if adds:
        element = tl.load(out + place, mask=is_inside, other=0) + element
    tl.store(out + place, element, mask=is_inside)
