"""The memory of tensors, as the core takes arrays: without a copy, or the sentence that says why not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import torch

from hemiola._core import Complaint
from hemiola.communicator.kinds import Array

#: PyTorch's types that NumPy has not: as what of its own PyTorch shows them to NumPy, and what they are there.
_OTHERS: dict[Any, tuple[Any, Any]] = {torch.bfloat16: (torch.int16, ml_dtypes.bfloat16)} | {
    getattr(torch, name): (torch.uint8, getattr(ml_dtypes, name))
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
    if hasattr(torch, name) and hasattr(ml_dtypes, name)
}
_BYTE = np.dtype(np.uint8)


def values(tensor: Any) -> Array | Complaint:
    """Return the elements in the order in which they lie in memory, to be reduced or overwritten there.

    Parameters
    ----------
    tensor : torch.Tensor on the CPU, contiguous or dense and permuted, as in `torch.channels_last`.

    Returns
    -------
    Array of one axis that is the tensor's memory; or what is wrong with it, for all ranks to hear.
    """
    flat = _flat(tensor)
    if isinstance(flat, Complaint):
        return flat
    other = _OTHERS.get(tensor.dtype)
    try:
        if other is None:
            return flat.numpy().reshape(-1)  # type: ignore[no-any-return]
        return flat.view(other[0]).numpy().view(other[1]).reshape(-1)  # type: ignore[no-any-return]
    except (RuntimeError, TypeError) as error:
        return Complaint(f"expected a tensor whose memory NumPy can show, found {described(tensor)}: {error}")


def content(tensor: Any) -> Array | Complaint:
    """Return the same for what is only moved: types that nobody adds are bytes."""
    flat = _flat(tensor)
    if isinstance(flat, Complaint):
        return flat
    other = _OTHERS.get(tensor.dtype)
    try:
        if other is not None:
            return flat.view(other[0]).numpy().reshape(-1)  # type: ignore[no-any-return]
        if tensor.dtype is torch.complex32:
            return torch.view_as_real(flat).numpy().reshape(-1)  # type: ignore[no-any-return]
        return flat.numpy().reshape(-1)  # type: ignore[no-any-return]
    except (RuntimeError, TypeError) as error:
        return Complaint(f"expected a tensor whose memory NumPy can show, found {described(tensor)}: {error}")


def _flat(tensor: Any) -> Any:
    """Return a tensor over the same memory, in its order, that NumPy takes."""
    if not tensor.is_cpu:
        return Complaint(f"expected a tensor on the CPU, found one on {tensor.device}: {described(tensor)}")
    return side_by_side(tensor.detach() if tensor.requires_grad else tensor)


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
    """Return whether elements lie side by side, in whatever order of the axes."""
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
