# SPDX-License-Identifier: Apache-2.0
"""MPI's types and operations, and buffers as mpi4py's upper-case calls take them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hemiola._core import bytes_of_array
from hemiola.errors import ArgumentError
from hemiola.mpi.errors import Facade

IN_PLACE: Any = "MPI.IN_PLACE"


@dataclass(frozen=True)
class Datatype(Facade):
    """A type of elements."""

    dtype: np.dtype[Any]

    def Get_size(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.itemsize


@dataclass(frozen=True)
class Op:
    """A reduction: a function, for objects, and its name in Hemiola, for arrays."""

    function: Callable[[Any, Any], Any]
    name: Any = None
    is_logical: bool = False

    def __call__(self, a: Any, b: Any) -> Any:
        return self.function(a, b)

    @classmethod
    def Create(cls, function: Callable[[Any, Any], Any], commute: bool = False) -> Op:
        """Return a reduction of objects."""
        return cls(function)


_CODES = {
    "BYTE": "u1", "CHAR": "i1", "SIGNED_CHAR": "i1", "UNSIGNED_CHAR": "u1", "SHORT": "i2", "UNSIGNED_SHORT": "u2",
    "INT": "i4", "UNSIGNED": "u4", "LONG": "i8", "UNSIGNED_LONG": "u8", "LONG_LONG": "i8", "FLOAT": "f4",
    "DOUBLE": "f8", "BOOL": "?", "C_BOOL": "?", "COMPLEX": "c8", "DOUBLE_COMPLEX": "c16", "INT8_T": "i1",
    "INT16_T": "i2", "INT32_T": "i4", "INT64_T": "i8", "UINT8_T": "u1", "UINT16_T": "u2", "UINT32_T": "u4",
    "UINT64_T": "u8",
}  # fmt: skip
TYPES = {name: Datatype(np.dtype(code)) for name, code in _CODES.items()}
OPS = {
    "SUM": Op(operator.add, "sum"),
    "PROD": Op(operator.mul, "product"),
    "MAX": Op(max, "max"),
    "MIN": Op(min, "min"),
    "BAND": Op(operator.and_, "and"),
    "BOR": Op(operator.or_, "or"),
    "BXOR": Op(operator.xor, "xor"),
    "LAND": Op(lambda a, b: bool(a) and bool(b), "min", is_logical=True),
    "LOR": Op(lambda a, b: bool(a) or bool(b), "max", is_logical=True),
    "MAXLOC": Op(lambda a, b: a if (a[0], -a[1]) >= (b[0], -b[1]) else b),
    "MINLOC": Op(lambda a, b: a if (a[0], a[1]) <= (b[0], b[1]) else b),
}


class Buffer:
    """A buffer of an upper-case call: data, or a list of data, count or counts with displacements, and type."""

    def __init__(self, spec: Any) -> None:
        data, *how = spec if isinstance(spec, (list, tuple)) else (spec,)
        dtype: Any
        try:
            memory, _, dtype = bytes_of_array(data)
        except ArgumentError as error:
            raise ArgumentError(f"{error}. Lower-case calls take any object") from None
        if how and isinstance(how[-1], (Datatype, str)):
            kind = how.pop()
            dtype = kind.dtype if isinstance(kind, Datatype) else kind
        sizes = how[0] if how and isinstance(how[0], tuple) else how
        self._whole = memory.view(dtype)
        self._counts, self._begins = [*sizes, None, None][:2]

    @property
    def array(self) -> Any:
        """The elements that count, in one axis."""
        return self._whole[: self._counts]

    def blocks(self, rank_count: int) -> list[Any]:
        """Return the block of each rank; a single count is that of each."""
        size, counts, begins = len(self._whole), self._counts, self._begins
        if counts is None and size % rank_count:
            raise ArgumentError(
                f"expected a buffer with as many elements for each of {rank_count} ranks, found {size}; pass counts"
            )
        if np.ndim(counts) == 0:
            counts = [size // rank_count if counts is None else counts] * rank_count
        if begins is None:
            begins = [sum(counts[:rank]) for rank in range(rank_count)]
        return [self._whole[at : at + count] for at, count in zip(begins, counts, strict=True)]
