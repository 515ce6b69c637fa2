# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the test of equal bits do: reduce random bits by every operation, and say what came out."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from rank_cases import COMPLEX, FLOATS, dtypes_and_operations

import hemiola as hm
from all_reduce_schedules import SCHEDULES
from hemiola.measure.pattern import dtype_named

#: Some that do not divide by the ranks, with whole vectors of every instruction set and a rest.
COUNT = 331
#: By bytes of what can be NaN on its own: zeros of both signs, infinities, quiet and signalling NaN of both signs.
SPECIAL = {
    1: (0x00, 0x80, 0x7C, 0xFC, 0x7F, 0xFF, 0x7D, 0xFE),
    2: (0x0000, 0x8000, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x7E01, 0xFE02, 0x7FC3, 0xFFC4, 0x7C05, 0xFF86),
    4: (0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC00002, 0x7F800003, 0xFF800004),
    8: (
        0,
        1 << 63,
        0x7FF << 52,
        0xFFF << 52,
        0x7FF8 << 48 | 1,
        0xFFF8 << 48 | 2,
        0x7FF << 52 | 3,
        0xFFF << 52 | 4,
    ),
}


def random_bits(dtype: Any, rank: int, *, sparse: bool) -> Any:
    """Any bits at all, a third of them special values, or, where it is to be sparse, mostly zeros."""
    random = np.random.default_rng([rank, dtype.itemsize])
    width = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    count = COUNT * dtype.itemsize // width
    bits = np.frombuffer(random.bytes(count * width), f"u{width}").copy()
    chosen = random.random(count) < 1 / 3
    bits[chosen] = random.choice(np.array(SPECIAL[width], f"u{width}"), int(chosen.sum()))
    if dtype.kind == "b":
        bits &= 1
    if sparse:
        bits[random.random(count) < 0.9] = 0
    return bits.view(dtype)


def operations(rank: int) -> list[tuple[str, str | hm.PremulSum]]:
    """Every operation with every dtype; a factor of its own for each rank."""
    products = [(dtype, hm.PremulSum(0.75 + rank)) for dtype in (*FLOATS, *COMPLEX)]
    return [*dtypes_and_operations(), *products]


def digests(sources: list[str], sparse: bool | None) -> dict[str, int]:
    """Return a digest of every result's bytes."""
    comm = hm.init(timeout_s=120)
    found = {}
    for name in sources:
        schedules: Any = [None] if name == "planned" else SCHEDULES[name](comm.rank_count)
        for number, schedule in enumerate(schedules):
            for dtype, op in operations(comm.rank):
                x = random_bits(dtype_named(dtype), comm.rank, sparse=bool(sparse))
                result = comm.all_reduce(x, op, schedule=schedule, sparse=sparse)
                op_name = op if isinstance(op, str) else "premul_sum"
                found[f"{name} {number} {dtype} {op_name}"] = zlib.crc32(result.tobytes())
    return found
