"""How far ranks are from each other, roughly: the latency and bandwidth of every path of a schedule."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from hemiola._core import Topology

#: Farther is counted as so far.
_MOST_HOPS = 64


@lru_cache(maxsize=4)
def mean_hops(topology: Topology) -> float:
    """Return how many links lie between two ranks on average, as seen from three of them; at most 64."""
    links, ranks = np.asarray(topology.links), topology.rank_count
    hops = []
    for start in sorted({0, ranks // 3, ranks // 2}):
        reached = np.zeros(ranks + topology.switch_count, bool)
        reached[start] = True
        distance = 0.0
        for _ in range(_MOST_HOPS):
            distance += ranks - int(reached[:ranks].sum())  # each of these is a link farther at least
            before = int(reached.sum())
            reached[links["dst"][reached[links["src"]]]] = True
            if int(reached.sum()) == before:
                break
        hops.append(distance / max(1, ranks - 1))
    return float(np.mean(hops))
