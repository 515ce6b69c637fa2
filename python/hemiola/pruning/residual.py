# SPDX-License-Identifier: Apache-2.0
"""The part of a gradient that waits for the next call."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def unlike(x: NDArray[Any], residual: NDArray[Any] | None, out: NDArray[Any] | None) -> str | None:
    """Say how an array differs from its residual, or from its result, in shape or dtype; None where it does not."""
    for name, other in (("the residual", residual), ("out", out)):
        if other is not None and (other.shape, other.dtype) != (x.shape, x.dtype):
            expected, found = f"{other.shape} of {other.dtype}", f"{x.shape} of {x.dtype}"
            return f"x: expected shape and dtype of {name}, {expected}, found {found}"
    return None
