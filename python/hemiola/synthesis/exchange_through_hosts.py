# SPDX-License-Identifier: Apache-2.0
"""An all-to-all between hosts of several ranks whose blocks differ: a host's NICs share its blocks evenly, whichever of
its ranks has how much to send [FAST]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule

Integers = NDArray[np.int64]


def exchange_through_hosts(table: Integers, turn: Integers, ranks_per_host: int, slices: int = 1) -> Schedule:
    """Have ranks of one number carry as much as those of any other number, from every host to every other.

    ::

        sender ──► ranks of its host ──► rank of the same number on the receiver's host ──► receiver

    Parameters
    ----------
    table : array of int >= 0, of shape (n, n), not all 0: the bytes from each rank to each.
    turn : array of int >= 1, of shape (hosts, hosts); entry [a, b] says when host a sends to host b.
    ranks_per_host : int >= 1; ranks are numbered host by host.
    slices : int >= 1; a rank passes on its part in so many, one after the other.

    Returns
    -------
    Schedule of an all_to_all of chunks of these weights. Blocks within a host go directly, in step 1.

    Notes
    -----
    The blocks of two hosts lie side by side by sender, and are cut into a part for each rank of a host. So a rank
    mostly carries blocks of its own, and few blocks are cut. Between two hosts there is a message for each rank and
    slice. While one slice is between the hosts, the next is on its way to its NIC, and the last one to its receiver.
    """
    n, per_host = len(table), ranks_per_host
    src, dst, number, cut, size = _pieces(table, per_host, per_host * slices)
    part, part_slice = np.divmod(cut, slices)
    most = int(number.max(initial=0)) + 1
    chunk = (src * n + dst) * most + number
    weights = np.zeros((n * n, most), np.int64)
    weights[:, 0] = table.ravel()
    weights.ravel()[chunk - number] = 0
    weights.ravel()[chunk] = size
    sends, receives = src // per_host * per_host + part, dst // per_host * per_host + part
    step = (turn[src // per_host, dst // per_host] - 1) * slices + part_slice + 1
    legs = ((step - 1, src, sends), (step, sends, receives), (step + 1, receives, dst))
    rows = [np.stack([at, a, b, chunk], axis=1)[a != b] for at, a, b in legs]
    # Within hosts, and what has no bytes, which must be named all the same.
    rest = np.setdiff1d(np.arange(weights.size), chunk)
    a, b = np.divmod(rest // most, n)
    rows.append(np.stack([np.ones_like(a), a, b, rest], axis=1)[a != b])
    collective = Collective.make("all_to_all", n, weights.size)
    return Schedule.from_transfers(collective, np.concatenate(rows), chunk_weights=weights.ravel().tolist())


def _pieces(table: Integers, per_host: int, parts: int) -> Integers:
    """Cut the blocks between every two hosts into so many equal parts.

    Returns
    -------
    array of int of five rows, by piece: the ranks whose block it is of, its number in that block, its part, its bytes.
    """
    hosts = len(table) // per_host
    found = [np.empty((5, 0), np.int64)]
    for a, b in zip(*np.nonzero(~np.eye(hosts, dtype=bool)), strict=True):
        ends = np.cumsum(table[a * per_host : (a + 1) * per_host, b * per_host : (b + 1) * per_host])
        cuts = ends[-1] * np.arange(1, parts) // parts
        edges = np.unique(np.concatenate([[0], ends, cuts]))
        block = np.searchsorted(ends, edges[:-1], side="right")
        number = np.arange(len(block)) - np.searchsorted(block, block)
        part = np.searchsorted(cuts, edges[:-1], side="right")
        src, dst = a * per_host + block // per_host, b * per_host + block % per_host
        found.append(np.stack([src, dst, number, part, np.diff(edges)]))
    return np.concatenate(found, axis=1)
