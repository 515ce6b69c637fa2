# SPDX-License-Identifier: Apache-2.0
"""Schedules that keep all links, or all ports, busy where every two ranks are a hop apart, so that nothing is to be
searched for."""

from __future__ import annotations

import numpy as np

from hemiola._core import Schedule, Topology
from hemiola._core import broadcast_through_all as broadcast_made_in_core
from hemiola._core import reduce_through_all as reduce_made_in_core


def is_full_mesh(topology: Topology) -> bool:
    """Say whether every two ranks have one link each way, all of one speed."""
    n, links = topology.rank_count, np.asarray(topology.links)
    if topology.switch_count or len(links) != n * (n - 1):
        return False
    pairs = links["src"].astype(np.int64) * n + links["dst"]
    is_even = (links["bandwidth"] == links["bandwidth"][0]).all() and (
        links["latency_s"] == links["latency_s"][0]
    ).all()
    return bool(is_even) and bool((np.diff(np.sort(pairs)) > 0).all())  # np.unique would import numpy.ma


def is_lone_switch(topology: Topology) -> bool:
    """Say whether all ranks hang on one switch by one link each way, and nothing else joins them."""
    n, links = topology.rank_count, np.asarray(topology.links)
    if topology.switch_count != 1 or len(links) != 2 * n:
        return False
    up, down = links["src"][links["dst"] == n], links["dst"][links["src"] == n]
    return bool(np.array_equal(np.sort(up), np.arange(n)) and np.array_equal(np.sort(down), np.arange(n)))


def broadcast_through_all(rank_count: int, root: int, pieces: int, lag: int = 1) -> Schedule:
    """Let the root give each other rank a share, which hands it on to all others while further pieces of it come.

    In K pieces 2α + (K + 1)/K · N/(n - 1) · β where every two ranks have a link, of which the root's alone take
    N/(n - 1) · β: none carries two things at once. Through one switch (n - 1) times the bytes pass a port. A piece is
    handed on `lag` steps after it was sent, because a port works step by step. A piece that waits for a latency must
    not stand before one that need not, so where one step has both, the bytes of these steps come before it.
    """
    return broadcast_made_in_core(rank_count, root=root, pieces=pieces, lag=lag)


def reduce_through_all(rank_count: int, root: int, pieces: int, lag: int = 1) -> Schedule:
    """Go the ways of that broadcast backwards, as its `reverse` does, which takes several times as long to sort."""
    return reduce_made_in_core(rank_count, root=root, pieces=pieces, lag=lag)
