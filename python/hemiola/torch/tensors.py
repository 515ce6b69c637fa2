# SPDX-License-Identifier: Apache-2.0
"""The memory of tensors, as the core takes arrays: without a copy, or the sentence that says why not."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import torch

from hemiola._core import Complaint
from hemiola.communicator.kinds import Array

#: PyTorch's types that NumPy lacks: the type of its own that their memory is shown as, and their name there.
_OTHERS: dict[Any, tuple[Any, Any]] = {torch.bfloat16: (np.int16, ml_dtypes.bfloat16)} | {
    getattr(torch, name): (np.uint8, getattr(ml_dtypes, name))
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    if hasattr(torch, name) and hasattr(ml_dtypes, name)
}


class _Memory:
    """A tensor's memory as NumPy takes it. `Tensor.numpy()` would keep the tensor from ever being resized."""

    __slots__ = ("__array_interface__", "_tensor")

    def __init__(self, tensor: Any, count: int, type_name: str) -> None:
        self._tensor = tensor
        self.__array_interface__ = {
            "shape": (count,),
            "typestr": type_name,
            "data": (tensor.data_ptr(), False),
            "version": 3,
        }


def values(tensor: Any) -> Array | Complaint:
    """Return the elements in the order in which they lie in memory, to be reduced or overwritten there.

    Parameters
    ----------
    tensor : torch.Tensor on the CPU, contiguous or dense and permuted, as in `torch.channels_last`.

    Returns
    -------
    Array of one axis that is the tensor's memory; or a complaint about the tensor, for all ranks to raise.
    """
    array = _memory(tensor)
    other = _OTHERS.get(tensor.dtype)
    return array if other is None or isinstance(array, Complaint) else array.view(other[1])


def content(tensor: Any) -> Array | Complaint:
    """Return the same for tensors that are only moved: types without an addition are bytes."""
    return _memory(tensor, is_moved=True)


def _memory(tensor: Any, *, is_moved: bool = False) -> Array | Complaint:
    """Return a tensor's memory as what NumPy has for it."""
    wrong = _not_plain(tensor)
    if wrong is not None:
        return wrong
    count = tensor.numel()
    type_name = _type_name(tensor.dtype)
    if type_name is None and is_moved and tensor.dtype is torch.complex32:
        type_name, count = np.dtype(np.float16).str, 2 * count
    if type_name is None:
        return Complaint(f"expected elements of a type that NumPy knows, found {described(tensor)}")
    if count == 0:
        return np.empty(0, type_name)
    try:
        return np.asarray(_Memory(tensor, count, type_name))
    except RuntimeError as error:  # one of no memory, such as a FakeTensor
        return Complaint(f"expected a tensor that has memory, found {described(tensor)}: {error}")


@cache
def _type_name(dtype: Any) -> str | None:
    """Return how NumPy writes a type of PyTorch's; None: it has none."""
    if dtype in _OTHERS:
        return str(np.dtype(_OTHERS[dtype][0]).str)
    try:
        return str(torch.empty(0, dtype=dtype).numpy().dtype.str)
    except (RuntimeError, TypeError):
        return None


def _not_plain(tensor: Any) -> Complaint | None:
    """Return what keeps a tensor's memory from being used as it is."""
    if not tensor.is_cpu:
        return Complaint(f"expected a tensor on the CPU, found one on {tensor.device}: {described(tensor)}")
    for is_view, name in ((tensor.is_conj(), "conj"), (tensor.is_neg(), "neg")):
        if is_view:
            return Complaint(
                f"expected a tensor whose memory holds its values, found a {name}() view of another's: "
                f"{described(tensor)}; pass .resolve_{name}() of it"
            )
    found = side_by_side(tensor)
    return found if isinstance(found, Complaint) else None


def side_by_side(tensor: Any) -> Any:
    """Return a tensor over the same memory, whose elements lie there in its order; or that they do not."""
    if tensor.layout is torch.strided:
        if tensor.is_contiguous():
            return tensor
        if is_dense(tensor.shape, tensor.stride()):
            return tensor.as_strided((tensor.numel(),), (1,))
    return Complaint(
        f"expected a tensor whose elements lie side by side, found {described(tensor)}; pass .contiguous() of it"
    )


def is_dense(shape: Any, strides: Any) -> bool:
    """Return whether elements lie side by side, in any order of the axes."""
    expected = 1
    for stride, extent in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != expected:
            return False
        expected *= extent
    return True


def described(tensor: Any) -> str:
    """Return a tensor's type, shape and strides in words."""
    kind = str(tensor.dtype).removeprefix("torch.")
    strides = (
        f" with strides {list(tensor.stride())}" if tensor.layout is torch.strided else f" ({tensor.layout})"
    )
    return f"{kind}{list(tensor.shape)}{strides}"
