"""The table form of transfers: its NumPy type, and its making from what people have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import ArgumentError

TRANSFER_DTYPE = np.dtype(
    [("step", np.int32), ("src", np.int32), ("dst", np.int32), ("chunk", np.int32), ("reduce", np.bool_)]
)


def transfer_rows(rows: NDArray[Any] | Iterable[Any]) -> NDArray[np.int64]:
    """Bring transfers into an int64 array of shape (n, 5): step, src, dst, chunk, reduce.

    Raises ArgumentError unless `rows` is a structured array with these fields, an integer array of shape
    (n, 4) or (n, 5), or an iterable of tuples of 4 or 5 integers.
    """
    if isinstance(rows, np.ndarray) and rows.dtype.names is not None:
        return _from_fields(rows)
    if isinstance(rows, np.ndarray):
        return _from_table(rows)
    if not isinstance(rows, Iterable):
        raise ArgumentError(
            f"transfers: expected an array or an iterable of rows, found {type(rows).__name__}"
        )
    listed = [row if len(row) == 5 else (*row, False) for row in map(_as_row, rows)]
    return _from_table(np.array(listed) if listed else np.empty((0, 5), np.int64))


def _from_fields(rows: NDArray[Any]) -> NDArray[np.int64]:
    absent = [name for name in TRANSFER_DTYPE.names or () if name not in (rows.dtype.names or ())]
    if absent:
        raise ArgumentError(
            f"transfers: expected the fields step, src, dst, chunk, reduce; {absent[0]} is not there"
        )
    return _from_table(np.stack([rows[name].ravel() for name in TRANSFER_DTYPE.names or ()], axis=1))


def _from_table(table: NDArray[Any]) -> NDArray[np.int64]:
    if table.ndim != 2 or table.shape[1] not in (4, 5):
        raise ArgumentError(f"transfers: expected an array of shape (n, 4) or (n, 5), found {table.shape}")
    if table.dtype.kind not in "iub" or not np.can_cast(table.dtype, np.int64, "same_kind"):
        raise ArgumentError(f"transfers: expected integers of at most 64 bits, found {table.dtype}")
    wide = np.zeros((table.shape[0], 5), np.int64)
    wide[:, : table.shape[1]] = table
    return wide


def _as_row(row: Any) -> tuple[Any, ...]:
    try:
        values = tuple(row)
    except TypeError:
        values = ()
    if len(values) not in (4, 5):
        raise ArgumentError(f"transfers: expected rows (step, src, dst, chunk[, reduce]), found {row!r:.80}")
    return values
