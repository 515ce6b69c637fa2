# SPDX-License-Identifier: Apache-2.0
"""What ranks find when they reduce every type by every reduction of PyTorch's, in both layouts."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

TYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
)
OPS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
FACTOR = 0.5


def own(rank: int, dtype: Any) -> Any:
    """Return what a rank brings, as 64-bit numbers: small whole ones, whose results are exact in every type but float8,
    where those of two ranks are rounded once."""
    wide = torch.complex128 if dtype.is_complex else torch.int64
    x = (torch.arange(24).reshape(2, 3, 4) * (3 + rank)) % 5 + 1
    return (x > 3).long() if dtype is torch.bool else (x + (1j if dtype.is_complex else 0) * rank).to(wide)


def expected(op: str, dtype: Any, rank_count: int) -> Any:
    """Return what comes of it."""
    every = torch.stack([own(rank, dtype) for rank in range(rank_count)])
    if dtype is torch.bool and op in ("SUM", "PRODUCT"):  # as NCCL has it
        op = {"SUM": "MAX", "PRODUCT": "MIN"}[op]
    if op == "PREMUL_SUM":
        return every.sum(0) * FACTOR
    if op == "AVG":
        return every.sum(0) / rank_count
    folds = {"SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum}
    bits = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
    total = every[0]
    for one in every[1:]:
        total = (folds | bits)[op](total, one)
    return total


def reduction(op: str) -> Any:
    if op == "PREMUL_SUM":
        return dist._make_nccl_premul_sum(FACTOR)
    return getattr(dist.ReduceOp, op)


def what_is_reduced() -> dict[tuple[str, str], str]:
    """Return by type and reduction "yes", or the error that all ranks get; results are compared here."""
    rank, rank_count = dist.get_rank(), dist.get_world_size()
    found = {}
    for name in TYPES:
        dtype = getattr(torch, name)
        for op in OPS:
            for permuted in (False, True):
                x = own(rank, dtype).to(dtype)
                x = x.permute(2, 0, 1).contiguous().permute(1, 2, 0) if permuted else x
                assert x.is_contiguous() is not permuted
                try:
                    dist.all_reduce(x, op=reduction(op))
                except ValueError as error:
                    found[name, op] = type(error).__name__
                else:
                    right = expected(op, dtype, rank_count)
                    right, wide = right.to(dtype).to(right.dtype), x.to(right.dtype)
                    assert torch.equal(wide, right), (name, op, permuted, x, right)
                    found[name, op] = "yes"
    return found
