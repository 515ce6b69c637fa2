# SPDX-License-Identifier: Apache-2.0
"""The parts of a network that could be slow, and the pairs of ranks that would notice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hemiola._core import Topology, paths
from hemiola.diagnosis.evidence import Floats, Pair, Way

#: The links, by their places in Topology.links, between each two ranks.
Paths = Mapping[Pair, Sequence[int]]


def paths_between(topology: Topology, pairs: Sequence[Pair]) -> Paths:
    """Return the links on the way of each pair."""
    return dict(zip(pairs, paths(topology, list(pairs)), strict=True))


def ways_of(topology: Topology, way_of_pair: Paths) -> tuple[Way, ...]:
    """List the ports of each rank, each link, and each link with its way back, with the pairs that use them."""
    of_rank: dict[int, set[Pair]] = {}
    of_link: dict[Pair, set[Pair]] = {}
    links = topology.links
    for pair, path in way_of_pair.items():
        for link in path:
            ends = int(links["src"][link]), int(links["dst"][link])
            of_link.setdefault(ends, set()).add(pair)
            for end in ends:
                if end < topology.rank_count:
                    of_rank.setdefault(end, set()).add(pair)
    found = [Way(rank, None, frozenset(pairs)) for rank, pairs in sorted(of_rank.items())]
    for (src, dst), pairs in sorted(of_link.items()):
        if src < dst:
            found.append(Way(None, (src, dst), frozenset(pairs | of_link.get((dst, src), set()))))
        found.append(Way(None, (src, dst), frozenset(pairs)))
    return tuple(found)


def without_relayed(topology: Topology, share: Floats, way_of_pair: Paths) -> Floats:
    """Leave out pairs that other ranks relay for, and those that may have had to share a link with such a pair.

    A pair that shares a link with others does not show its speed: a rank knows the other traffic of its own ports, but
    not that of a link further on.
    """
    links, ranks = topology.links, topology.rank_count
    kept = share.copy()
    busy: set[int] = set()
    for pair, path in way_of_pair.items():
        if len(path) > 1 and any(links["dst"][link] < ranks for link in path[:-1]):
            kept[pair] = np.nan
            busy.update(path)
    for pair, path in way_of_pair.items():
        if busy.intersection(path):
            kept[pair] = np.nan
    return kept
