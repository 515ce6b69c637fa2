# SPDX-License-Identifier: Apache-2.0
"""A network whose odd cables are like the others: schedules made for its regular shape may serve it best."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from itertools import chain

import numpy as np

from hemiola._core import Topology, hops

#: A link's costs, each the worse the larger: negative bandwidth, latency, and cost of a message.
_Costs = tuple[float, float, float]
#: The links from the lower vertex to the higher one, and back, from the best to the worst.
_Cable = tuple[tuple[_Costs, ...], tuple[_Costs, ...]]
_Cables = dict[tuple[int, int], _Cable]


@lru_cache(maxsize=8)
def levelled(topology: Topology) -> Topology | None:
    """Return the network with its odd cables no better than others. A cable is all links between two vertices.

    The first of these rules that changes anything is applied:

    1. Where links differ by direction, both directions become as slow as the slower one.
    2. A cable like no other becomes the best of the others between such vertices that is nowhere better, unless half of
       all cables are like no other.
    3. If there is only one cable whose ends both have more cables than usual, it is left out, unless ranks need it.

    Parameters
    ----------
    topology : Topology.

    Returns
    -------
    Topology without names, NICs and launch; None where no rule applies.

    Notes
    -----
    O(links), and for each odd cable O(different cables).
    """
    cables = _cables(topology)
    by_costs = _symmetric(cables) or _as_others(cables, topology.rank_count)
    if by_costs is not None:
        return _made(topology, by_costs)
    fewer = _without_extra(cables, topology.rank_count)
    if fewer is None:
        return None
    rest = _made(topology, fewer)
    return rest if (np.asarray(hops(rest, 0))[: topology.rank_count] >= 0).all() else None


def _cables(topology: Topology) -> _Cables:
    found: dict[tuple[int, int], tuple[list[_Costs], list[_Costs]]] = defaultdict(lambda: ([], []))
    for src, dst, latency_s, bandwidth, message_s in topology.links.tolist():
        ends, back = ((src, dst), 0) if src < dst else ((dst, src), 1)
        found[ends][back].append((-bandwidth, latency_s, message_s))
    return {ends: (tuple(sorted(there)), tuple(sorted(back))) for ends, (there, back) in found.items()}


def _made(topology: Topology, cables: _Cables) -> Topology:
    rows = [
        (*way, latency_s, -bandwidth, message_s)
        for (a, b), cable in cables.items()
        for way, links in zip(((a, b), (b, a)), cable, strict=True)
        for bandwidth, latency_s, message_s in links
    ]
    links = np.array(rows, topology.links.dtype)
    nodes = topology.nodes.tolist()
    return Topology(topology.rank_count, links, switch_count=topology.switch_count, nodes=nodes)


def _symmetric(cables: _Cables) -> _Cables | None:
    slower: _Cables = {}
    for ends, (there, back) in cables.items():
        if there and back and there != back:
            both = tuple(_slower(one, other) for one, other in zip(there, back, strict=False))
            slower[ends] = both, both
    return cables | slower if slower else None


def _slower(one: _Costs, other: _Costs) -> _Costs:
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2])


def _as_others(cables: _Cables, rank_count: int) -> _Cables | None:
    alike = defaultdict(list)
    for ends, cable in cables.items():
        alike[(ends[0] < rank_count, ends[1] < rank_count), cable].append(ends)
    odd = [(kind, cable, ends[0]) for (kind, cable), ends in alike.items() if len(ends) == 1]
    if 2 * len(odd) >= len(cables):
        return None
    usual = [key for key, ends in alike.items() if len(ends) > 1]
    lower = {
        ends: max(below, key=_speed)
        for kind, cable, ends in odd
        if (below := [other for like, other in usual if like == kind and _is_below(other, cable)])
    }
    return cables | lower if lower else None


def _is_below(one: _Cable, other: _Cable) -> bool:
    """Say whether a cable has no link that is better in anything than the other's in its place."""
    return all(
        len(own) <= len(others)
        and all(
            mine >= yours
            for pair in zip(own, others, strict=False)
            for mine, yours in zip(*pair, strict=True)
        )
        for own, others in zip(one, other, strict=True)
    )


def _speed(cable: _Cable) -> tuple[float, float]:
    """Return bandwidth and negative latency of all links together."""
    links = [link for way in cable for link in way]
    return -sum(link[0] for link in links), -sum(link[1] for link in links)


def _without_extra(cables: _Cables, rank_count: int) -> _Cables | None:
    degrees = Counter(chain.from_iterable(cables))
    more: set[int] = set()
    for is_rank in (False, True):
        own = {vertex: degree for vertex, degree in degrees.items() if (vertex < rank_count) == is_rank}
        ((usual, _),) = Counter(own.values()).most_common(1) or [(0, 0)]
        more |= {vertex for vertex, degree in own.items() if degree > usual}
    extra = [ends for ends in cables if more.issuperset(ends)]
    return {ends: cable for ends, cable in cables.items() if ends != extra[0]} if len(extra) == 1 else None
