# SPDX-License-Identifier: Apache-2.0
"""Times of the messages of real operations: how a rank tells them, and how those of all ranks are put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import ArgumentError

#: A rank's messages, as `Communicator.transfers` returns them.
TRANSFER_DTYPE = np.dtype(
    [
        *(("operation", "<i8"), ("step", "<i4"), ("src", "<i4"), ("dst", "<i4"), ("chunk", "<i4")),
        *(("chunk_count", "<i4"), ("reduce", "?"), ("sent", "?"), ("nbytes", "<i8")),
        *(("begin_s", "<f8"), ("end_s", "<f8")),
    ]
)
#: Messages of all ranks in one operation, real or simulated, by their beginning: when one began, had left its rank, and
#: had landed. Real ones in seconds after the first of them was posted.
MESSAGE_DTYPE = np.dtype(
    [
        *(("step", "<i4"), ("src", "<i4"), ("dst", "<i4"), ("chunk", "<i4"), ("chunk_count", "<i4")),
        *(("reduce", "?"), ("begin_s", "<f8"), ("leave_s", "<f8"), ("land_s", "<f8")),
    ]
)
#: RecordedTransfer of the core.
_CORE_DTYPE = np.dtype(
    {
        "names": [
            "operation",
            "nbytes",
            "begin",
            "end",
            "peer",
            "step",
            "chunk",
            "chunk_count",
            "sent",
            "reduce",
        ],
        "formats": ["<i8", "<i8", "<i8", "<i8", "<i4", "<i4", "<i4", "<i4", "?", "?"],
        "offsets": [0, 8, 16, 24, 32, 36, 40, 44, 48, 49],
        "itemsize": 56,
    }
)


def of_core(rows: bytes, rank: int) -> NDArray[np.void]:
    """Return a rank's messages from the core's bytes."""
    told = np.frombuffer(rows, _CORE_DTYPE)
    found = np.zeros(len(told), TRANSFER_DTYPE)
    for name in ("operation", "nbytes", "step", "chunk", "chunk_count", "sent", "reduce"):
        found[name] = told[name]
    found["src"] = np.where(told["sent"], rank, told["peer"])
    found["dst"] = np.where(told["sent"], told["peer"], rank)
    found["begin_s"] = told["begin"] * 1e-9
    found["end_s"] = np.where(told["end"] > 0, told["end"] * 1e-9, np.nan)
    return found


def whole_operations(ranks: Sequence[NDArray[np.void]]) -> dict[int, NDArray[np.void]]:
    """Put the ranks' messages together.

    Parameters
    ----------
    ranks : the results of `Communicator.transfers`, by rank, with times of one clock.

    Returns
    -------
    dict of operation to array of MESSAGE_DTYPE: the operations of which every message has both ends. They are in order.

    Raises
    ------
    ArgumentError
        for arrays of another type.
    """
    for rank, rows in enumerate(ranks):
        if not isinstance(rows, np.ndarray) or rows.dtype != TRANSFER_DTYPE:
            raise ArgumentError(
                f"expected of each rank an array of Communicator.transfers(), found "
                f"{getattr(rows, 'dtype', type(rows).__name__)} of rank {rank}"
            )
    rows = np.concatenate([np.zeros(0, TRANSFER_DTYPE), *ranks])
    found = {}
    for operation in np.unique(rows["operation"]).tolist():
        messages = _messages(rows[rows["operation"] == operation])
        if messages is not None:
            found[operation] = messages
    return found


def _messages(rows: NDArray[np.void]) -> NDArray[np.void] | None:
    """Join both ends of an operation's messages; None where one lacks an end. Those of a pair are in one order."""
    ends = []
    for sent in (True, False):
        own = rows[rows["sent"] == sent]
        ends.append(own[np.lexsort((np.arange(len(own)), own["dst"], own["src"]))])
    leaving, landing = ends
    same = len(leaving) == len(landing) and all(
        np.array_equal(leaving[name], landing[name]) for name in ("src", "dst", "step", "chunk")
    )
    if not same or not (np.isfinite(leaving["end_s"]).all() and np.isfinite(landing["end_s"]).all()):
        return None
    found = np.zeros(len(leaving), MESSAGE_DTYPE)
    for name in ("step", "src", "dst", "chunk", "chunk_count", "reduce"):
        found[name] = landing[name]
    start = min(leaving["begin_s"].min(initial=np.inf), landing["begin_s"].min(initial=np.inf))
    found["begin_s"] = leaving["begin_s"] - start
    found["leave_s"] = leaving["end_s"] - start
    # A receiver may see the end of a message before its sender sees that it has left.
    found["land_s"] = np.maximum(landing["end_s"] - start, found["begin_s"])
    return found[np.lexsort((found["dst"], found["src"], found["begin_s"]))]


def measured_operation(ranks: Sequence[NDArray[np.void]], rank_count: int) -> NDArray[np.void]:
    """Return the messages of the latest whole operation of so many ranks.

    Raises
    ------
    ArgumentError
        where there is none, or there are other ranks.
    """
    if len(ranks) != rank_count:
        raise ArgumentError(f"expected the messages of {rank_count:,} ranks, found those of {len(ranks):,}")
    found = whole_operations(ranks)
    if not found:
        raise ArgumentError(
            "expected all messages of one operation, found none that every rank has kept; set "
            "HEMIOLA_RECORD_TRANSFERS to more messages before hemiola.init()"
        )
    return found[max(found)]
