# SPDX-License-Identifier: Apache-2.0
"""Test data that is a function of (rank, index, dtype), and a collective's expected result, so that an element that is
misplaced, lost or added twice shows.

Element i of rank r is `table[r, code(i)]`: a code from 0 to 255 that looks random, and small whole
numbers that every dtype holds exactly. The result for element i depends on its code alone, so checking costs one lookup
an element for any number of ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hemiola.arguments.names import OPERATIONS, Kind, Op
from hemiola.errors import ArgumentError

Array = NDArray[np.generic]

#: The names of the types of elements.
DTYPES = (
    *("float16", "bfloat16", "float32", "float64"),
    *(f"float8_{kind}" for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")),
    *("bool", "complex64", "complex128"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)

#: Collectives in which every rank has a block of its own, that combine, and that have a root.
BLOCKED = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
REDUCING = ("all_reduce", "reduce_scatter", "reduce")
ROOTED = ("broadcast", "reduce", "gather", "scatter")

_CODES = 256
_BLOCK = 1 << 20

#: The whole numbers that a dtype holds exactly reach at least this far.
_EXACT = {
    "bool": 1,
    "int8": 127,
    "uint8": 255,
    "bfloat16": 256,
    "float16": 2048,
    "float8_e4m3fn": 16,
    "float8_e4m3fnuz": 16,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
}
_DEFAULT_EXACT = 1 << 15

#: The names of dtypes in NCCL, in PyTorch and in speech.
_OTHER_DTYPES = {
    "bf16": "bfloat16",
    "double": "float64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "float": "float32",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "half": "float16",
    "single": "float32",
}


def dtype_named(name: str) -> np.dtype[np.generic]:
    """Return a NumPy dtype by its name, also by NCCL's or PyTorch's; raise ArgumentError for other texts."""
    name = _OTHER_DTYPES.get(plain := name.lower().removeprefix("torch."), plain)
    if name not in DTYPES:
        raise ArgumentError(f"expected a dtype ({', '.join(DTYPES)}), found '{name[:60]}'")
    return np.dtype(getattr(ml_dtypes, name, name))


@dataclass(frozen=True)
class Pattern:
    """The data of one collective: kind and operation, ranks, elements of the whole buffer, dtype.

    `count` is divisible by the number of ranks where every rank has a block of its own.
    """

    kind: Kind
    rank_count: int
    count: int
    dtype: np.dtype[np.generic]
    op: Op = "sum"
    root: int = 0

    def __post_init__(self) -> None:
        if self.op not in OPERATIONS:
            raise ArgumentError(f"expected an operation ({', '.join(OPERATIONS)}), found '{self.op[:60]}'")
        if self.rank_count < 1:
            raise ArgumentError(f"expected at least 1 rank, found {self.rank_count}")
        if not 0 <= self.root < self.rank_count:
            raise ArgumentError(f"expected a root in 0 … {self.rank_count - 1}, found {self.root}")

    @classmethod
    def of_bytes(
        cls,
        kind: Kind,
        rank_count: int,
        nbytes: int,
        dtype: np.dtype[np.generic],
        *,
        op: Op = "sum",
        root: int = 0,
    ) -> Pattern:
        """Make a pattern of at most `nbytes`: whole elements, and equally many per rank where each has a block."""
        count = nbytes // dtype.itemsize
        if kind in BLOCKED:
            count -= count % rank_count
        return cls(kind, rank_count, count, dtype, op, root)

    @property
    def smallest(self) -> str:
        """The number that every buffer is a multiple of, in words."""
        size = self.dtype.itemsize
        if self.kind not in BLOCKED:
            return f"{size} B, one {self.dtype.name}"
        return f"{size * self.rank_count:,} B, one {self.dtype.name} for each of {self.rank_count} ranks"

    @property
    def nbytes(self) -> int:
        """Bytes of the whole buffer."""
        return self.count * self.dtype.itemsize

    def input_of(self, rank: int) -> Array:
        """Return a rank's input; an empty array where it has none."""
        if self.kind in ("all_gather", "gather"):
            return self._values(rank, *self.block_of(rank))
        if self.kind in ("broadcast", "scatter") and rank != self.root:
            return np.empty(0, self.dtype)
        return self._values(rank, 0, self.count)

    def output_of(self, rank: int) -> Array:
        """Return a rank's expected output; an empty array where it has none."""
        if not self.output_size(rank):
            return np.empty(0, self.dtype)
        if self.kind in ("all_reduce", "reduce"):
            return self._reduced(0, self.count)
        if self.kind == "reduce_scatter":
            return self._reduced(*self.block_of(rank))
        if self.kind == "broadcast":
            return self._values(self.root, 0, self.count)
        if self.kind == "scatter":
            return self._values(self.root, *self.block_of(rank))
        ranks = range(self.rank_count)
        if self.kind == "all_to_all":
            return np.concatenate([self._values(src, *self.block_of(rank)) for src in ranks])
        return np.concatenate([self._values(src, *self.block_of(src)) for src in ranks])

    def output_size(self, rank: int) -> int:
        """Return how many elements `output_of` has, without making them."""
        if self.kind in ("reduce", "gather") and rank != self.root:
            return 0
        begin, end = self.block_of(rank)
        if self.kind == "all_to_all":
            return self.rank_count * (end - begin)
        return end - begin if self.kind in ("reduce_scatter", "scatter") else self.count

    def block_of(self, rank: int) -> tuple[int, int]:
        """Return where a rank's block of the whole buffer begins and ends."""
        return self.count * rank // self.rank_count, self.count * (rank + 1) // self.rank_count

    def wrong(self, rank: int, output: Array) -> int:
        """Count the elements that differ from the rank's expected ones; average may be off by two roundings."""
        expected = self.output_of(rank)
        if output.shape != expected.shape:
            return max(output.size, expected.size)
        if self.op != "average":
            return int(np.count_nonzero(output != expected))
        wide = np.complex128 if self.dtype.kind == "c" else np.float64
        distance = np.abs(output.astype(wide) - expected.astype(wide))
        return int(np.count_nonzero(distance > 2 * spacing(self.dtype) * np.abs(expected.astype(wide))))

    def _values(self, rank: int, begin: int, end: int) -> Array:
        return self._lookup(self._table()[rank].astype(self.dtype), begin, end)

    def _reduced(self, begin: int, end: int) -> Array:
        return self._lookup(self._combine(self._table()).astype(self.dtype), begin, end)

    def _combine(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Combine one row per rank into one."""
        match self.op:
            case "sum":
                return np.asarray(rows.sum(axis=0))
            case "average":
                return np.asarray(rows.sum(axis=0) / self.rank_count)
            case "product":
                return np.asarray(rows.prod(axis=0))
            case "min":
                return np.asarray(rows.min(axis=0))
            case "max":
                return np.asarray(rows.max(axis=0))
            case "and":
                return np.asarray(np.bitwise_and.reduce(rows, axis=0))
            case "or":
                return np.asarray(np.bitwise_or.reduce(rows, axis=0))
            case _:
                return np.asarray(np.bitwise_xor.reduce(rows, axis=0))

    def _table(self) -> NDArray[np.int64]:
        """Return one row of whole numbers per rank, small enough that their sum or product is exact."""
        exact = _EXACT.get(self.dtype.name, _DEFAULT_EXACT)
        largest = max(1, min(100, exact // self.rank_count))
        random = np.random.default_rng(20_201)
        table = random.integers(0 if self.dtype.name == "bool" else 1, largest + 1, (self.rank_count, _CODES))
        if self.op == "product" and self.dtype.name != "bool":
            # At most one rank brings a two for a code, all others ones: any order of multiplying is exact.
            table[:] = 1
            table[random.integers(0, self.rank_count, _CODES), np.arange(_CODES)] = 2
        elif self.rank_count > exact and self.dtype.name != "bool":
            # So many ones would not add up exactly: as many ranks as may bring one, all others nothing.
            turn = np.arange(self.rank_count)[:, None] + random.integers(0, self.rank_count, _CODES)
            table[turn % self.rank_count >= exact] = 0
        return table

    def _lookup(self, row: Array, begin: int, end: int) -> Array:
        found = np.empty(end - begin, self.dtype)
        for first in range(begin, end, _BLOCK):
            last = min(first + _BLOCK, end)
            # The codes are in range; unlike "raise", "clip" writes into `out` without a detour.
            np.take(row, _codes(first, last), out=found[first - begin : last - begin], mode="clip")
        return found


def _codes(begin: int, end: int) -> NDArray[np.uint8]:
    """Return the codes of the elements begin … end-1: the top byte of a multiplicative hash of the index."""
    index = np.arange(end - begin, dtype=np.uint32) + np.uint32(begin % 2**32)
    return (index * np.uint32(0x9E3779B9) >> np.uint32(24)).astype(np.uint8)


def spacing(dtype: np.dtype[np.generic]) -> float:
    """Return the distance from 1 to the next number of a dtype; 0 for whole numbers."""
    return 0.0 if dtype.kind in "iub" else float(ml_dtypes.finfo(dtype).eps)
