# SPDX-License-Identifier: Apache-2.0
"""Floats of 8 bits are reduced as ml_dtypes and PyTorch do it, for every pair of them that there is."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from rank_cases import FLOAT8

import hemiola as hm

BITS = np.arange(65536, dtype=np.uint32)
OPERATIONS = ("sum", "product", "min", "max", "average")


def every_pair(index: int, dtype: Any) -> Any:
    """Return one of two arrays that have all pairs of a dtype's numbers side by side."""
    return (BITS >> 8 * index & 0xFF).astype(np.uint8).view(dtype)


def reduced_pairs() -> dict[tuple[str, str], bytes]:
    comm = hm.init(timeout_s=60)
    found = {}
    for name in FLOAT8:
        for op in OPERATIONS:
            found[name, op] = comm.all_reduce(every_pair(comm.rank, getattr(ml_dtypes, name)), op).tobytes()
    return found


def averaged(a: Any, b: Any) -> Any:
    """Return what the docstring of all_reduce says: inputs are scaled so that no sum overflows, and scaled back."""
    scale = a.dtype.type(0.25 if a.dtype == ml_dtypes.float8_e4m3fn else 0.5)
    total = a * scale + b * scale
    return total / (a.dtype.type(2) * scale)


def right(op: str, a: Any, b: Any) -> Any:
    """Return what ml_dtypes makes of two arrays."""
    with np.errstate(all="ignore"):
        return {
            "sum": lambda: a + b,
            "product": lambda: a * b,
            "min": lambda: np.minimum(a, b),
            "max": lambda: np.maximum(a, b),
            "average": lambda: averaged(a, b),
        }[op]()


def test_every_pair_is_reduced_as_ml_dtypes_does() -> None:
    for found in hm.launch(reduced_pairs, 2, timeout_s=120):
        for (name, op), content in found.items():
            dtype = getattr(ml_dtypes, name)
            result = np.frombuffer(content, dtype).astype(np.float32)
            expected = right(op, every_pair(0, dtype), every_pair(1, dtype)).astype(np.float32)
            assert np.array_equal(result, expected, equal_nan=True), (name, op)
            if op not in ("min", "max"):  # which may take either zero
                zero = result == 0
                assert np.array_equal(np.signbit(result[zero]), np.signbit(expected[zero])), (name, op)


@pytest.mark.parametrize("name", FLOAT8)
def test_sums_round_as_pytorch_does_where_they_do_not_overflow(name: str) -> None:
    torch = pytest.importorskip("torch")
    dtype, kind = getattr(ml_dtypes, name), getattr(torch, name)
    a, b = every_pair(0, dtype).astype(np.float32), every_pair(1, dtype).astype(np.float32)
    with np.errstate(all="ignore"):
        wide = a + b
        mine = wide.astype(dtype).astype(np.float32)
    its = torch.from_numpy(wide).to(kind).float().numpy()
    inside = np.isfinite(mine)
    assert np.array_equal(mine[inside], its[inside])
    assert np.isnan(its[np.isnan(wide)]).all()
