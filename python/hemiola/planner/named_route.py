# SPDX-License-Identifier: Apache-2.0
"""A plan's route in words, where it is unusual: links that share a message, or a link left aside."""

from __future__ import annotations

import numpy as np

from hemiola._core import Schedule, Topology, routes
from hemiola.units import format_bytes

#: The links of one hop, each with its share of a message.
_Hop = list[tuple[int, float]]


def named_route(topology: Topology, schedule: Schedule, nbytes: int) -> str:
    """Name the route of the two ranks that exchange most bytes by an unusual route; nothing where there is none."""
    n, moved = topology.rank_count, np.asarray(schedule.transfers)
    weights = np.asarray(schedule.chunk_weights, np.float64)
    exchanged = nbytes * (n if schedule.collective.kind == "all_to_all" else 1)
    largest = float(exchanged * weights.max() / weights.sum())
    carried = np.bincount(moved["src"].astype(np.int64) * n + moved["dst"], weights[moved["chunk"]], n * n)
    pairs = [(int(pair) // n, int(pair) % n) for pair in np.flatnonzero(carried) if pair // n != pair % n]
    links = np.asarray(topology.links)
    linked = set(zip(links["src"].tolist(), links["dst"].tolist(), strict=True))
    told = [
        (carried[src * n + dst], src, dst, hops)
        for (src, dst), hops in zip(pairs, routes(topology, pairs, largest), strict=True)
        if any(len(hop) > 1 for hop in hops) or (len(hops) > 1 and (src, dst) in linked)
    ]
    if not told:
        return ""
    _, src, dst, hops = max(told, key=lambda one: one[0])
    aside = ", past the link between the two" if len(hops) > 1 and (src, dst) in linked else ""
    way = ", then ".join(_named(hop) for hop in hops)
    return f"Messages of {format_bytes(round(largest))} from rank {src} to rank {dst} take {way}{aside}."


def _named(hop: _Hop) -> str:
    if len(hop) == 1:
        return f"link {hop[0][0]}"
    each = [f"{link} ({100 * share:.3g} %)" for link, share in hop]
    return f"links {', '.join(each[:-1])} and {each[-1]}"
