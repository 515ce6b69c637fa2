# SPDX-License-Identifier: Apache-2.0
"""A collective on a user's data, such as a gradient, and its expected result, up to rounding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.arguments.names import Kind, Op
from hemiola.errors import ArgumentError
from hemiola.measure.pattern import BLOCKED, REDUCING, Array, Pattern, dtype_named, spacing


@dataclass(frozen=True)
class GivenData(Pattern):
    """Like Pattern, with `rows` for data: rank r brings row r, and row r modulo their number where there are fewer.

    Sums, products and averages of floats may differ from the expected by the rounding of any order: rank_count
    roundings of the sum of magnitudes.
    """

    rows: Array = field(default_factory=lambda: np.zeros((1, 0)))

    @classmethod
    def of(cls, kind: Kind, rank_count: int, rows: Array, op: Op = "sum", root: int = 0) -> GivenData:
        """Take one row per rank, or one array for all; elements beyond equal blocks are left out.

        Raises
        ------
        ArgumentError
            for a dtype that no collective takes, or no rows.
        """
        rows = np.atleast_2d(rows)
        dtype = dtype_named(rows.dtype.name)
        if rows.ndim != 2 or not rows.shape[0]:
            raise ArgumentError(f"expected one array, or one row per rank, found {_shape_of(rows)}")
        count = rows.shape[1] - (rows.shape[1] % rank_count if kind in BLOCKED else 0)
        return cls(kind, rank_count, count, dtype, op, root, np.ascontiguousarray(rows[:, :count]))

    def differs_from(self, brought: Array) -> list[str]:
        """Say which of the given rows are taken more than once, or not at all."""
        count, columns = np.atleast_2d(brought).shape
        n, told = self.rank_count, []
        if count == 1 < n:
            told.append(f"one array for {n} ranks: each of them brings it")
        elif count < n:
            told.append(f"{count} rows for {n} ranks: rank r brings row r modulo {count}")
        elif count > n:
            told.append(
                f"{count} rows for {n} rank{'' if n == 1 else 's'}: the last {count - n} are not used"
            )
        if columns > self.count:
            told.append(
                f"{self.count:,} of {columns:,} elements a row: a multiple of {n}, one block per rank"
            )
        return told

    def wrong(self, rank: int, output: Array) -> int:
        """Count the elements that are further from the expected ones than rounding explains."""
        expected = self.output_of(rank)
        if output.shape != expected.shape:
            return max(output.size, expected.size)
        if self.dtype.kind in "biu" or self.op in ("min", "max") or self.kind not in REDUCING:
            return int(np.count_nonzero(output != expected))
        begin, end = self.block_of(rank) if self.kind == "reduce_scatter" else (0, self.count)
        magnitude = np.zeros(end - begin) if not expected.size else self._magnitude(begin, end)
        distance = np.abs(_wide(output) - _wide(expected))
        return int(np.count_nonzero(~(distance <= self.rank_count * spacing(self.dtype) * magnitude)))

    def _values(self, rank: int, begin: int, end: int) -> Array:
        return self.rows[rank % len(self.rows), begin:end]

    def _reduced(self, begin: int, end: int) -> Array:
        parts = [_wide(self._values(rank, begin, end)) for rank in range(self.rank_count)]
        return self._combine(np.stack(parts)).astype(self.dtype)

    def _magnitude(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return what rounding errors are relative to: the sum (for a product, the product) of the magnitudes."""
        parts = np.stack([np.abs(_wide(self._values(rank, begin, end))) for rank in range(self.rank_count)])
        return np.asarray(parts.prod(axis=0) if self.op == "product" else parts.sum(axis=0), np.float64)


def _wide(values: Array) -> NDArray[Any]:
    """Return values in the type in which expectations are computed: whole numbers as they are, others as float64."""
    if values.dtype.kind in "biu":
        return values
    return values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)


def _shape_of(rows: Array) -> str:
    return f"{rows.dtype}{list(rows.shape)}"
