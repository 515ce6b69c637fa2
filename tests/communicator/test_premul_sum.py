# SPDX-License-Identifier: Apache-2.0
"""Sums of what each rank has multiplied by a factor of its own; inputs stay, also where an operation fails."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from rank_cases import COMPLEX, FLOATS

import hemiola as hm

RANKS = 3
FACTORS = (
    0.5,
    2.0,
    -1.0,
)  # by rank; products and sums of the small whole numbers here are exact in every type
SIZE = 9 * 64


def own(rank: int, name: str) -> Any:
    x = np.arange(SIZE) // (rank + 1) % 2 * 2
    return x.astype(np.dtype(getattr(ml_dtypes, name, name)))


def total(name: str) -> Any:
    wide = np.complex128 if name in COMPLEX else np.float64
    return sum(factor * own(rank, name).astype(wide) for rank, factor in enumerate(FACTORS))


def wrong_sums() -> list[str]:
    """Return the calls whose result is not the sum, or that have changed what they were not to change."""
    comm = hm.init(timeout_s=60)
    op, found = hm.PremulSum(FACTORS[comm.rank]), []
    mine = slice(comm.rank * SIZE // RANKS, (comm.rank + 1) * SIZE // RANKS)
    for name in (*FLOATS, *COMPLEX):
        right, x = total(name), own(comm.rank, name)
        calls = {
            "in place": lambda x=x: comm.all_reduce(x.copy(), op),
            "sparse": lambda x=x: comm.all_reduce(x.copy(), op, sparse=True),
            "apart": lambda x=x: comm.all_reduce(x, op, out=np.zeros_like(x)),
            "later": lambda x=x: comm.start_all_reduce(x.copy(), op).wait(),
            "ring": lambda x=x: comm.all_reduce(x.copy(), op, schedule="all_reduce_ring"),
        }
        for call, reduce in calls.items():
            if not np.array_equal(reduce().astype(right.dtype), right):
                found.append(f"{name} {call}")
        part = comm.reduce_scatter(x, op)
        whole = x.copy()
        comm.reduce_scatter(whole, op, out=whole[mine])
        rooted = comm.reduce(x.copy(), op, root=1)
        for call, result in (("part", part), ("own block", whole[mine])):
            if not np.array_equal(result.astype(right.dtype), right[mine]):
                found.append(f"{name} {call}")
        if comm.rank == 1 and not np.array_equal(rooted.astype(right.dtype), right):
            found.append(f"{name} reduce")
        if x.tobytes() != own(comm.rank, name).tobytes():
            found.append(f"{name}: the input has changed")
    return found


def failed_sums() -> list[tuple[str, bool]]:
    """Return what each mistake raises here, and whether the input is as it was."""
    comm = hm.init(timeout_s=60)
    found = []
    for mistake in ("size", "op", "dtype"):
        op: Any = "sum" if mistake == "op" and comm.rank == 0 else hm.PremulSum(0.5)
        size = 300_001 if mistake == "size" and comm.rank == 0 else 300_000
        x = np.full(size, 3, np.int32 if mistake == "dtype" else np.float32)
        kind = ""
        try:
            comm.all_reduce(x, op)
        except hm.HemiolaError as error:
            kind = type(error).__name__
        found.append((kind, bool(np.all(x == 3))))
    return found


def test_each_rank_multiplies_by_its_own_factor() -> None:
    assert hm.launch(wrong_sums, RANKS, timeout_s=120) == [[]] * RANKS


def test_an_operation_that_fails_leaves_its_input_as_it_was() -> None:
    expected = [("MismatchError", True), ("MismatchError", True), ("ArgumentError", True)]
    assert hm.launch(failed_sums, RANKS, timeout_s=120) == [expected] * RANKS


def test_a_factor_is_a_number_and_ops_compare_by_it() -> None:
    assert hm.PremulSum(0.5) == hm.PremulSum(0.5) != hm.PremulSum(1)
    assert repr(hm.PremulSum(2)) == "PremulSum(2.0)"
    assert len({hm.PremulSum(2), hm.PremulSum(2.0)}) == 1
    with pytest.raises(hm.ArgumentTypeError, match="factor"):
        hm.PremulSum("half")  # type: ignore[arg-type]
