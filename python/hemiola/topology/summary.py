"""What one wants to know first about a topology: which kinds of links it has, and who reaches whom."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

import numpy as np

from hemiola import Topology

#: Searching from every rank costs ranks times links; beyond this product it is left out.
_MOST_SEARCH_STEPS = 5_000_000


@dataclass(frozen=True)
class LinkKind:
    """Links that join the same kinds of vertices at the same cost."""

    ends: str
    latency_s: float
    bandwidth: float
    count: int


@dataclass(frozen=True)
class Summary:
    """Numbers about a topology; seconds and bytes per second.

    out_bandwidth, in_bandwidth : smallest and largest sum of what leaves, and enters, a rank.
    hops : most links on the way from one rank to another by the fewest links, through ranks too; None where
        the topology is too large to search, or `cut` is not None.
    cut : None where every rank reaches every other; else a rank and one that it does not reach.
    """

    kinds: list[LinkKind]
    out_bandwidth: tuple[float, float]
    in_bandwidth: tuple[float, float]
    hops: int | None
    cut: tuple[int, int] | None


def size_in_words(topology: Topology) -> str:
    """Return how many ranks, switches, hosts and links there are; hosts only where ranks share them."""
    counts = {"rank": topology.rank_count, "switch": topology.switch_count, "link": topology.link_count}
    if topology.node_count != topology.rank_count:
        counts["host"] = topology.node_count
    return ", ".join(_counted(count, noun) for noun, count in counts.items() if count or noun != "switch")


def _counted(count: int, noun: str) -> str:
    if count != 1:
        noun += "es" if noun.endswith("ch") else "s"
    return f"{count:,} {noun}"


def summarize(topology: Topology) -> Summary:
    """Count links by kind, add up bandwidths per rank, search who reaches whom."""
    hops, cut = _reach(topology)
    return Summary(
        kinds=_link_kinds(topology),
        out_bandwidth=_bandwidth_range(topology, "src"),
        in_bandwidth=_bandwidth_range(topology, "dst"),
        hops=hops,
        cut=cut,
    )


def _link_kinds(topology: Topology) -> list[LinkKind]:
    """Return kinds of links, fastest first."""
    nodes = topology.nodes.tolist()

    def ends(src: int, dst: int) -> str:
        switches = (src >= topology.rank_count) + (dst >= topology.rank_count)
        if switches == 0:
            return "rank - rank, one host" if nodes[src] == nodes[dst] else "rank - rank"
        return "rank - switch" if switches == 1 else "switch - switch"

    counts = Counter(
        (ends(src, dst), latency_s, bandwidth) for src, dst, latency_s, bandwidth in topology.links.tolist()
    )
    kinds = [LinkKind(*key, count) for key, count in counts.items()]
    return sorted(kinds, key=lambda kind: (-kind.bandwidth, kind.latency_s, kind.ends))


def _bandwidth_range(topology: Topology, end: str) -> tuple[float, float]:
    links = topology.links
    sums = np.bincount(links[end], weights=links["bandwidth"], minlength=topology.rank_count)
    of_ranks = sums[: topology.rank_count]
    return float(of_ranks.min()), float(of_ranks.max())


def _reach(topology: Topology) -> tuple[int | None, tuple[int, int] | None]:
    """Search from all ranks; in a large topology only from rank 0 and, backwards, to it."""
    src, dst = topology.links["src"].tolist(), topology.links["dst"].tolist()
    forwards = _neighbours(topology, src, dst)
    is_large = topology.rank_count * (topology.link_count + 1) > _MOST_SEARCH_STEPS
    most = 0
    for start in range(1 if is_large else topology.rank_count):
        hops = _hops_from(start, forwards)[: topology.rank_count]
        if -1 in hops:
            return None, (start, hops.index(-1))
        most = max(most, max(hops))
    if not is_large:
        return most, None
    back = _hops_from(0, _neighbours(topology, dst, src))[: topology.rank_count]
    return None, (back.index(-1), 0) if -1 in back else None


def _neighbours(topology: Topology, src: list[int], dst: list[int]) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in range(topology.rank_count + topology.switch_count)]
    for a, b in zip(src, dst, strict=True):
        neighbours[a].append(b)
    return neighbours


def _hops_from(start: int, forwards: list[list[int]]) -> list[int]:
    hops = [-1] * len(forwards)
    hops[start] = 0
    waiting = deque([start])
    while waiting:
        vertex = waiting.popleft()
        for neighbour in forwards[vertex]:
            if hops[neighbour] < 0:
                hops[neighbour] = hops[vertex] + 1
                waiting.append(neighbour)
    return hops
