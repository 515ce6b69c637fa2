"""How elements combine: PyTorch's names and ours."""

from __future__ import annotations

from typing import Any

from torch.distributed import ReduceOp

from hemiola._core import Complaint

#: By the hash of a reduction, which is its number: comparing them takes as long as reducing a kilobyte.
_NAMES: dict[int, str] = {
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
        (ReduceOp.PREMUL_SUM, "sum"),
    )
}
_PREMUL_SUM = hash(ReduceOp.PREMUL_SUM)


def name_of(op: Any) -> Any:
    """Return our name of a torch.distributed.ReduceOp, or that it has none."""
    return _NAMES.get(hash(op)) or Complaint(f"expected one of PyTorch's reductions, found {op!r}")


def factor_of(op: Any) -> Any:
    """Return by what PREMUL_SUM multiplies this rank's elements, a number or a tensor; None for all others."""
    return op.__getstate__()[1] if hash(op) == _PREMUL_SUM else None
