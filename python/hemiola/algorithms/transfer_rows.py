# SPDX-License-Identifier: Apache-2.0
"""The table form of transfers: its NumPy type, and its making from users' rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import ArgumentError

TRANSFER_DTYPE = np.dtype(
    [("step", np.int32), ("src", np.int32), ("dst", np.int32), ("chunk", np.int32), ("reduce", np.bool_)]
)
#: The same of a schedule with scratch slots.
SLOT_TRANSFER_DTYPE = np.dtype([*TRANSFER_DTYPE.descr, ("src_slot", np.int32), ("dst_slot", np.int32)])

#: How many columns a table may have: without and with `reduce`, and with the slots.
_COLUMNS = (4, 5, 7)


def transfer_rows(rows: NDArray[Any] | Iterable[Any]) -> NDArray[np.int64]:
    """Bring transfers into an int64 array: step, src, dst, chunk, reduce, and src_slot and dst_slot if given.

    Raises ArgumentError unless `rows` is a structured array with the fields of TRANSFER_DTYPE or
    SLOT_TRANSFER_DTYPE, an integer array of 4, 5 or 7 columns, or an iterable of tuples of as many integers.
    """
    if isinstance(rows, np.ndarray) and rows.dtype.names is not None:
        return _from_fields(rows)
    if isinstance(rows, np.ndarray):
        return _from_table(rows)
    if not isinstance(rows, Iterable):
        raise ArgumentError(
            f"transfers: expected an array or an iterable of rows, found {type(rows).__name__}"
        )
    listed = list(map(_as_row, rows))
    width = max(5, max(map(len, listed), default=0))
    filled = [(*row, *(0,) * (width - len(row))) for row in listed]
    return _from_table(np.array(filled) if filled else np.empty((0, 5), np.int64))


def _from_fields(rows: NDArray[Any]) -> NDArray[np.int64]:
    absent = [name for name in TRANSFER_DTYPE.names or () if name not in (rows.dtype.names or ())]
    if absent:
        raise ArgumentError(
            f"transfers: expected the fields step, src, dst, chunk, reduce; {absent[0]} is not there"
        )
    has_slots = {"src_slot", "dst_slot"} <= set(rows.dtype.names or ())
    names = (SLOT_TRANSFER_DTYPE if has_slots else TRANSFER_DTYPE).names or ()
    return _from_table(np.stack([rows[name].ravel() for name in names], axis=1))


def _from_table(table: NDArray[Any]) -> NDArray[np.int64]:
    if table.ndim != 2 or table.shape[1] not in _COLUMNS:
        raise ArgumentError(
            f"transfers: expected an array of shape (n, 4), (n, 5) or (n, 7), found {table.shape}"
        )
    if table.dtype.kind not in "iub" or not np.can_cast(table.dtype, np.int64, "same_kind"):
        raise ArgumentError(f"transfers: expected integers of at most 64 bits, found {table.dtype}")
    wide = np.zeros((table.shape[0], max(table.shape[1], 5)), np.int64)
    wide[:, : table.shape[1]] = table
    return wide


def _as_row(row: Any) -> tuple[Any, ...]:
    try:
        values = tuple(row)
    except TypeError:
        values = ()
    if len(values) not in _COLUMNS:
        raise ArgumentError(
            "transfers: expected rows (step, src, dst, chunk[, reduce[, src_slot, dst_slot]]), "
            f"found {row!r:.80}"
        )
    return values
