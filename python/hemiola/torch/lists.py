# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors as gloo takes them: its demands on each, and its way to make one tensor of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import torch
from torch.distributed import ReduceOp

from hemiola._core import Complaint
from hemiola.torch.tensors import described

#: By the hash of a reduction: how a rank combines tensors of its own.
_LOCALLY: dict[int, Callable[[Any, Any], Any]] = {
    hash(op): function
    for op, function in (
        (ReduceOp.SUM, torch.add),
        (ReduceOp.PREMUL_SUM, torch.add),
        (ReduceOp.PRODUCT, torch.mul),
        (ReduceOp.MIN, torch.minimum),
        (ReduceOp.MAX, torch.maximum),
        (ReduceOp.BAND, torch.bitwise_and),
        (ReduceOp.BOR, torch.bitwise_or),
        (ReduceOp.BXOR, torch.bitwise_xor),
    )
}


def unlike(tensors: Sequence[Any], what: str = "tensor") -> Complaint | None:
    """Return the complaint about tensors that must be of one type and size, as they are of one rank's part."""
    return unlike_types(tensors, what) or next(
        (
            Complaint(
                f"invalid {what} size at index {place}: expected {list(tensors[0].shape)}, as at index 0, found "
                f"{described(tensor)}"
            )
            for place, tensor in enumerate(tensors[1:], 1)
            if tensor.shape != tensors[0].shape
        ),
        None,
    )


def unlike_types(tensors: Sequence[Any], what: str = "tensor") -> Complaint | None:
    """Return the complaint about tensors that must all have the same type and layout."""
    if not tensors:
        return Complaint(f"requires non-empty {what} list: expected a tensor, found none")
    first = tensors[0]
    for place, tensor in enumerate(tensors[1:], 1):
        wrong = ""
        if tensor.layout != first.layout:
            wrong = f"invalid {what} layout at index {place}:"
        elif (tensor.dtype, tensor.device) != (first.dtype, first.device):
            wrong = f"invalid {what} type at index {place}: tensors must all have the same type,"
        if wrong:
            return Complaint(f"{wrong} expected {described(first)}, as at index 0, found {described(tensor)}")
    return None


def wrong_root(root: int, rank_count: int, root_tensor: int, tensor_count: int) -> Complaint | None:
    """Return the complaint about the rank and the tensor that an operation begins or ends with."""
    if not 0 <= root < rank_count:
        return Complaint(f"invalid root rank: {root}; expected a root in 0 … {rank_count - 1}, found {root}")
    if not 0 <= root_tensor < tensor_count:
        return Complaint(
            f"invalid root tensor: {root_tensor}; expected the index of one of {tensor_count} tensors"
        )
    return None


def combined(tensors: Sequence[Any], reduction: Any) -> Any:
    """Return a new tensor that combines several of this rank's; or that it cannot be done."""
    if reduction == ReduceOp.AVG:
        return Complaint(
            "AVG of several tensors is not supported, of which gloo divides the first alone; use SUM and divide"
        )
    function = _LOCALLY.get(hash(reduction))
    if function is None:
        return Complaint(f"expected one of PyTorch's reductions, found {reduction!r}")
    try:
        return reduce(function, tensors[1:], tensors[0].detach().clone(memory_format=torch.contiguous_format))
    except (RuntimeError, NotImplementedError) as error:
        return Complaint(
            f"expected one tensor, or several that PyTorch can combine, found {len(tensors)}: {error}"
        )


def flat(tensors: Sequence[Any]) -> Any:
    """Return the elements of several tensors in a new one, one behind the other."""
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def copy_to_all(tensors: Sequence[Any], value: Any) -> None:
    """Overwrite every tensor."""
    for tensor in tensors:
        tensor.detach().copy_(value)


def copy_in_pieces(tensors: Sequence[Any], elements: Any) -> None:
    """Overwrite tensors by the pieces of `flat`'s result."""
    pieces = elements.split([tensor.numel() for tensor in tensors])
    for tensor, piece in zip(tensors, pieces, strict=True):
        tensor.detach().copy_(piece.view(tensor.shape))
