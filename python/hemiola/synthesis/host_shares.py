# SPDX-License-Identifier: Apache-2.0
"""Broadcasts and reductions between hosts of several ranks, each with a port of its own: shares that pass all ranks."""

from __future__ import annotations

from hemiola._core import Schedule
from hemiola._core import broadcast_through_hosts as broadcast_made_in_core
from hemiola._core import reduce_through_hosts as reduce_made_in_core


def broadcast_through_hosts(host_count: int, ranks_per_host: int, root: int, pieces: int = 1) -> Schedule:
    """Cut the buffer into a slice for each rank of a host, and a slice into a share for each other host.

    ::

        root ──► ranks of its host, a slice each ──► rank of the same number on each other host, a share of it each
             ──► ranks of that number on all hosts ──► all ranks of a host

    Let ranks be numbered host by host, and each of g have a port of N/(g · t) beyond its host. Then K pieces take three
    latencies between ranks, one within a host, and 2t beside the slices' time within hosts. Trees would take a latency
    for each level.
    """
    return broadcast_made_in_core(host_count, ranks_per_host, root=root, pieces=pieces)


def reduce_through_hosts(host_count: int, ranks_per_host: int, root: int, pieces: int = 1) -> Schedule:
    """Go the ways of that broadcast backwards, as its `reverse` does, which takes several times as long to sort."""
    return reduce_made_in_core(host_count, ranks_per_host, root=root, pieces=pieces)
