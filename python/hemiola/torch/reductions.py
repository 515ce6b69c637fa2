# SPDX-License-Identifier: Apache-2.0
"""How elements combine: PyTorch's names and ours."""

from __future__ import annotations

from typing import Any

from torch.distributed import ReduceOp

from hemiola._core import Complaint, PremulSum

#: By the hash of a reduction, which is its number: comparing them takes as long as reducing a kilobyte.
NAMES: dict[int, str] = {
    hash(kind): name
    for kind, name in (
        (ReduceOp.SUM, "sum"),
        (ReduceOp.AVG, "average"),
        (ReduceOp.PRODUCT, "product"),
        (ReduceOp.MIN, "min"),
        (ReduceOp.MAX, "max"),
        (ReduceOp.BAND, "and"),
        (ReduceOp.BOR, "or"),
        (ReduceOp.BXOR, "xor"),
    )
}
_PREMUL_SUM = hash(ReduceOp.PREMUL_SUM)


def meant(op: Any) -> Any:
    """Return the core's operation for a torch.distributed.ReduceOp; or a complaint that there is none."""
    if hash(op) == _PREMUL_SUM:
        return _premul_sum(op.__getstate__()[1])
    return NAMES.get(hash(op)) or Complaint(f"expected one of PyTorch's reductions, found {op!r}")


def _premul_sum(factor: Any) -> PremulSum | Complaint:
    """Return the sum that multiplies by a number, or by a tensor that is one."""
    try:
        return PremulSum(float(factor))
    except (TypeError, ValueError, RuntimeError):
        return Complaint(f"expected a number as PREMUL_SUM's factor, found {factor!r}")
