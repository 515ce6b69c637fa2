# SPDX-License-Identifier: Apache-2.0
"""A call that XLA makes, as src/hemiola/bindings/jax/mpi_wrapper.cpp hands it on: its fields, types and operations."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.arguments.names import Op

WORLD = 1
#: Of a rank that is in no part.
UNDEFINED = -32766
#: By the numbers that the library gives them; the last is of bytes.
_DTYPES = (
    *[None, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64],
    *[np.float32, np.float64, np.complex64, np.complex128, np.uint8],
)
_OPS: dict[int, Op] = {1: "sum", 2: "product", 3: "min", 4: "max"}


class Call(ctypes.Structure):
    """The arguments of a call and its result, which is a number."""

    _fields_ = (
        ("function", ctypes.c_char_p),
        ("input", ctypes.c_void_p),
        ("output", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("type", ctypes.c_int64),
        ("op_number", ctypes.c_int64),
        ("communicator", ctypes.c_int64),
        ("destination", ctypes.c_int64),
        ("source", ctypes.c_int64),
        ("tag", ctypes.c_int64),
        ("request", ctypes.c_int64),
        ("result", ctypes.c_int64),
    )

    @property
    def op(self) -> Op:
        """The reduction, in Hemiola's words."""
        return _OPS[self.op_number]

    def read(self, parts: int = 1) -> NDArray[Any]:
        """Return the input, of `parts` times `count` elements, in place."""
        return self._array(self.input, parts)

    def written(self, parts: int = 1) -> NDArray[Any]:
        """Return the output, in place."""
        return self._array(self.output, parts)

    def _array(self, address: int | None, parts: int) -> NDArray[Any]:
        dtype = np.dtype(_DTYPES[self.type])
        nbytes = self.count * parts * dtype.itemsize
        if not nbytes or address is None:
            return np.empty(0, dtype)
        return np.frombuffer((ctypes.c_char * nbytes).from_address(address), dtype)
