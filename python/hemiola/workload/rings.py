# SPDX-License-Identifier: Apache-2.0
"""The time of rings that are too large to be simulated, from the links of their hops."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.workload.group_network import ways_of
from hemiola.workload.timed import Timed

#: Ranks up to which all hops are looked at, and those that stand for more of them.
_MOST_RANKS, _SAMPLES = 1024, 128


def ring_time(topology: Topology, kind: str, nbytes: int, ring_count: int = 1) -> Timed:
    """Return the time of an all-gather, reduce-scatter or all-reduce by rings.

    Every hop takes its latency and occupies its slowest link for its bytes. A schedule of such steps repeats with the
    larger of two periods: the busiest hop's occupation, and the mean of latency and occupation round a ring. No other
    cycle of the steps' dependencies is longer [baccelli1992, §3.2].

    Parameters
    ----------
    topology : Topology; the messages of a rank go to the next one, and between hosts to the host's first one.
    kind : str, "all_gather", "reduce_scatter" or "all_reduce".
    nbytes : int >= 0, one rank's buffer.
    ring_count : int >= 1, rings at once, each with its share of the buffer; ring i enters a host of L ranks at its rank
        i·L / ring_count.

    Returns
    -------
    Timed

    Notes
    -----
    O(rings × ranks × links of a hop). Of more than 1,024 ranks the first ones stand for all.
    """
    n, links = topology.rank_count, np.asarray(topology.links)
    if n == 1 or nbytes == 0:
        return Timed(0.0, np.zeros(len(links)), "formula")
    each = nbytes / n / ring_count
    loads, hops_links, latency_s = _shape(topology, ring_count)
    occupied = loads * each / links["bandwidth"] + links["message_s"]
    hop_s = np.array([[occupied[list(hop)].max() for hop in hops] for hops in hops_links])
    period_s = max(float(hop_s.max()), float((hop_s + latency_s).mean(axis=1).max()))
    rounds = (2 if kind == "all_reduce" else 1) * (n - 1)
    return Timed(rounds * period_s, rounds * loads * each / links["bandwidth"], "formula")


@lru_cache(maxsize=16)
def _shape(
    topology: Topology, ring_count: int
) -> tuple[NDArray[np.int64], list[list[list[int]]], NDArray[np.float64]]:
    """Return how many hops use each link, the links of each ring's hops, and the latency of each hop."""
    pairs = [_hops(topology, ring * _local(topology) // ring_count) for ring in range(ring_count)]
    known = list(dict.fromkeys(pair for hops in pairs for pair in hops))
    ways = dict(
        zip(known, ways_of(topology, known), strict=True)
    )  # at once: a search serves all hops of its rank
    rings = [[ways[pair] for pair in hops] for hops in pairs]
    used = np.concatenate([np.asarray(hop, dtype=np.int64) for hops in rings for hop in hops])
    loads = np.bincount(used, minlength=topology.link_count)
    each_s = np.asarray(topology.links)["latency_s"]
    latency_s = np.array([[each_s[hop].sum() for hop in hops] for hops in rings])
    return loads, rings, latency_s


def _local(topology: Topology) -> int:
    """Return the ranks of the first host."""
    nodes = topology.nodes
    return int((nodes == nodes[0]).sum())


def _hops(topology: Topology, shift: int) -> list[tuple[int, int]]:
    """Return the ranks of each hop of a ring that goes through each host from so many places on."""
    n, nodes = topology.rank_count, topology.nodes
    places = np.arange(n)
    sampled = places if n <= _MOST_RANKS else places[: max(_SAMPLES, 2 * _local(topology))]
    first = np.searchsorted(nodes, nodes) if (np.diff(nodes) >= 0).all() else places
    size = np.bincount(first, minlength=n)[first]
    order = first + (places - first + shift) % size
    pairs = np.stack([order, np.roll(order, -1)], axis=1)[sampled]
    return [(src, dst) for src, dst in pairs.tolist()]
