# SPDX-License-Identifier: Apache-2.0
"""MPI's types and operations, and buffers as mpi4py's upper-case calls take them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hemiola.mpi.errors import Exception, missing

IN_PLACE: Any = "MPI.IN_PLACE"


@dataclass(frozen=True)
class Datatype:
    """A type of elements."""

    name: str
    dtype: np.dtype[Any]

    def Get_size(self) -> int:
        """Return the bytes of an element."""
        return self.dtype.itemsize

    def __getattr__(self, name: str) -> Any:
        raise missing(f"Datatype.{name}")


@dataclass(frozen=True)
class Op:
    """A reduction: its name in Hemiola, for arrays, and a function, for objects."""

    function: Callable[[Any, Any], Any]
    name: Any = None
    is_logical: bool = False

    def __call__(self, a: Any, b: Any) -> Any:
        return self.function(a, b)

    @classmethod
    def Create(cls, function: Callable[[Any, Any], Any], commute: bool = False) -> Op:
        """Return a reduction of objects."""
        return cls(function)


def _types(**codes: str) -> dict[str, Datatype]:
    return {name: Datatype(name, np.dtype(code)) for name, code in codes.items()}


TYPES = _types(
    BYTE="u1", CHAR="i1", SIGNED_CHAR="i1", UNSIGNED_CHAR="u1", SHORT="i2", UNSIGNED_SHORT="u2", INT="i4",
    UNSIGNED="u4", LONG="i8", UNSIGNED_LONG="u8", LONG_LONG="i8", FLOAT="f4", DOUBLE="f8", BOOL="?",
    C_BOOL="?", COMPLEX="c8",
    DOUBLE_COMPLEX="c16", INT8_T="i1", INT16_T="i2", INT32_T="i4", INT64_T="i8", UINT8_T="u1", UINT16_T="u2",
    UINT32_T="u4", UINT64_T="u8",
)  # fmt: skip
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
        parts = list(spec) if isinstance(spec, (list, tuple)) else [spec]
        data, rest = parts[0], parts[1:]
        kinds = [each for each in rest if isinstance(each, (Datatype, str))]
        sizes = [each for each in rest if not isinstance(each, (Datatype, str)) and each is not None]
        self.counts: Sequence[int] | None = None
        self.displacements: Sequence[int] | None = None
        array = np.empty(0, np.uint8) if data is None else _array(data)
        if kinds:
            kind = kinds[0]
            array = array.view(
                kind.dtype if isinstance(kind, Datatype) else TYPES["BYTE"].dtype if kind == "B" else kind
            )
        if len(sizes) == 2 or (sizes and isinstance(sizes[0], tuple) and len(sizes[0]) == 2):
            self.counts, self.displacements = sizes if len(sizes) == 2 else sizes[0]
        elif sizes and not isinstance(sizes[0], (int, np.integer)):
            self.counts = sizes[0]
        self.count = int(sizes[0]) if sizes and isinstance(sizes[0], (int, np.integer)) else None
        self.whole = array

    @property
    def array(self) -> Any:
        """The elements that count, in one axis."""
        return self.whole if self.count is None else self.whole[: self.count]

    def for_ranks(self, rank_count: int) -> Any:
        """Return the elements of a buffer that has a block for each rank; its count is that of a block."""
        return self.whole if self.count is None else self.whole[: self.count * rank_count]

    def blocks(self, rank_count: int) -> list[Any]:
        """Return the block of each rank, of its own size."""
        if self.counts is None:
            return list(self.for_ranks(rank_count).reshape(rank_count, -1))
        begins = self.displacements
        if begins is None:
            begins = [sum(self.counts[:rank]) for rank in range(rank_count)]
        return [self.whole[at : at + count] for at, count in zip(begins, self.counts, strict=True)]


def _array(data: Any) -> Any:
    """Return memory as an array of one axis that shares it."""
    try:
        array = data if isinstance(data, np.ndarray) else np.asarray(memoryview(data))
    except TypeError:
        raise Exception(
            f"expected a buffer, found {type(data).__name__}; lower-case calls take any object"
        ) from None
    if not array.flags.c_contiguous:
        raise Exception(f"expected a buffer that is contiguous, found strides {array.strides}; pass a copy")
    return array.reshape(-1)
