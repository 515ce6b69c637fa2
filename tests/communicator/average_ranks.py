# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the test of averages do: average large, small and infinite values, in every way there is."""

from __future__ import annotations

from typing import Any

import numpy as np
from rank_cases import COMPLEX, FLOATS

import hemiola as hm
from all_reduce_schedules import SCHEDULES
from hemiola.measure.pattern import dtype_named

LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
}
COUNT = 67


def largest_of(name: str) -> float:
    return LARGEST.get(name) or float(np.finfo(np.dtype(name)).max)


def as_numbers(x: Any) -> Any:
    parts = x.view(f"f{x.itemsize // 2}") if x.dtype.kind == "c" else x
    return parts.astype(np.float64)


def averages(sources: list[str], sparse: bool | None = None) -> dict[str, list[float]]:
    """Return the least and the largest of averages of each type's largest value, which every rank brings."""
    comm = hm.init(timeout_s=120)
    found = {}
    for source in sources:
        schedules: Any = [None] if source == "planned" else SCHEDULES[source](comm.rank_count)
        for number, schedule in enumerate(schedules):
            for name in (*FLOATS, *COMPLEX):
                most = largest_of(name)
                x = np.full(COUNT, most, np.float64).astype(dtype_named(name))
                if name in COMPLEX:
                    x += 1j * x
                mine, out = x.copy(), np.empty_like(x)
                kept = [comm.all_reduce(x, "average", out=out, schedule=schedule, sparse=sparse)]
                assert x.tobytes() == mine.tobytes(), "the input is as it was"
                kept.append(comm.all_reduce(x, "average", schedule=schedule, sparse=sparse))
                values = np.concatenate([as_numbers(one) for one in kept]) / most
                found[f"{source} {number} {name}"] = [float(values.min()), float(values.max())]
    return found


def placed_averages() -> dict[str, Any]:
    """Return averages by the other collectives that reduce, of infinities, of small values, and of 1 to 3."""
    comm = hm.init(timeout_s=120)
    n = comm.rank_count
    big = np.full(n * COUNT, 3e38, np.float32)
    part = comm.reduce_scatter(big, "average")
    assert (big == np.float32(3e38)).all(), "the input is as it was"
    whole = np.full(n * COUNT, 40000, np.float16)
    block = whole[comm.rank * COUNT : (comm.rank + 1) * COUNT]
    comm.reduce_scatter(whole, "average", out=block)
    rooted = comm.reduce(np.full(COUNT, 1e308), "average", root=n - 1)
    infinite = np.array([np.inf if comm.rank == 0 else 1.0, -np.inf, np.nan], np.float32)
    return {
        "part": part.tolist(),
        "block": block.tolist(),
        "others": whole.tolist(),
        "rooted": None if rooted is None else rooted.tolist(),
        "infinite": comm.all_reduce(infinite, "average").tolist(),
        "small": comm.all_reduce(np.full(3, 1e-30, np.float32), "average").tolist(),
        "count": comm.all_reduce(np.full(3, comm.rank + 1.0, np.float32), "average").tolist(),
    }
