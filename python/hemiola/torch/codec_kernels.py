# SPDX-License-Identifier: Apache-2.0
"""Kernels of `hemiola.torch.codecs`, in Triton: a program per tile of 4,096 elements, 64 words of 64 bits. Imported
when a codec is first used, since Triton is there only where somebody has installed it."""

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
def compress(x, starts, values, size, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Put the nonzero elements one after the other, in their order; a tile's from its start on."""
    tile = tl.program_id(0)
    place = tile.to(tl.int64) * TILE + tl.arange(0, TILE)
    element = tl.load(x + place, mask=place < size, other=0)
    found = element != 0
    rank = tl.cumsum(found.to(tl.int32), axis=0) - 1
    tl.store(values + tl.load(starts + tile).to(tl.int64) + rank, element, mask=found)


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
def expand(words, starts, values, out, size, adds: tl.constexpr, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Write every element, or add it, zeros too, so that the sum is a dense message's, bit for bit."""
    tile = tl.program_id(0)
    lane = tl.arange(0, TILE)
    place = tile.to(tl.int64) * TILE + lane
    is_inside = place < size
    word = tl.load(words + place // 64, mask=is_inside, other=0)
    found = ((word >> (lane % 64).to(tl.int64)) & 1) != 0
    rank = tl.cumsum(found.to(tl.int32), axis=0) - 1
    element = tl.load(values + tl.load(starts + tile).to(tl.int64) + rank, mask=found, other=0)
    if adds:
        element = tl.load(out + place, mask=is_inside, other=0) + element
    tl.store(out + place, element, mask=is_inside)
