# SPDX-License-Identifier: Apache-2.0
"""All groups of a class at once: a schedule in every group as one schedule of all ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule


def side_by_side(schedule: Schedule, groups: NDArray[np.int64], rank_count: int) -> Schedule:
    """Return a schedule of all ranks in which each group runs the given one on chunks of its own.

    Parameters
    ----------
    schedule : Schedule for as many ranks as a group has.
    groups : int64 array of shape (groups, ranks of each).
    rank_count : int, of the whole network.

    Returns
    -------
    Schedule, with as many times the chunks as there are groups. It is no all-reduce of all ranks: simulate it with
    `unchecked=True`, on the groups' buffers together.
    """
    rows, chunks = np.asarray(schedule.transfers), schedule.chunk_count
    made = np.empty((len(groups), len(rows), 5), dtype=np.int64)
    made[:, :, 0], made[:, :, 4] = rows["step"], rows["reduce"]
    made[:, :, 1], made[:, :, 2] = groups[:, rows["src"]], groups[:, rows["dst"]]
    made[:, :, 3] = rows["chunk"] + chunks * np.arange(len(groups))[:, None]
    owners = [chunk % rank_count for chunk in range(chunks * len(groups))]
    weights = schedule.chunk_weights
    repeated = None if weights is None else [int(one) for one in np.tile(np.asarray(weights), len(groups))]
    whole = Collective.with_owners("all_reduce", rank_count, owners)
    return Schedule.from_transfers(whole, made.reshape(-1, 5), repeated or None)
