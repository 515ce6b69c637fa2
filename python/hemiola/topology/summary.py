# SPDX-License-Identifier: Apache-2.0
"""The first facts about a topology: its kinds of links, and which ranks reach which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology, hops

#: Searching from every rank costs ranks times links; beyond this product it is left out.
_MOST_SEARCH_STEPS = 5_000_000
#: Ranks that lack something are named up to so many.
_MOST_ODD = 4
#: Ranks that are compared link by link; more take long.
_MOST_COMPARED = 4096
#: The two ends of a link; the first three by the number of switches among them.
_ENDS = ("rank - rank", "rank - switch", "switch - switch", "rank - rank, one host")


@dataclass(frozen=True)
class LinkKind:
    """Links that join the same kinds of vertices at the same cost.

    is_latency_assumed, is_bandwidth_assumed, is_message_assumed : whether the file does not say it.
    """

    ends: str
    latency_s: float
    bandwidth: float
    count: int
    message_s: float = 0.0
    is_latency_assumed: bool = False
    is_bandwidth_assumed: bool = False
    is_message_assumed: bool = False


@dataclass(frozen=True)
class OddRank:
    """A rank without a link that most ranks have.

    ends, bandwidth : of that link.
    name : that of its other end, where it has one.
    others : how many ranks have it.
    """

    rank: int
    ends: str
    bandwidth: float
    name: str
    others: int


@dataclass(frozen=True)
class Summary:
    """Numbers about a topology; seconds and bytes per second.

    out_bandwidth, in_bandwidth : smallest and largest sum of the bandwidths that leave, and enter, a rank.
    hops : most links on the way from one rank to another by the fewest links, through ranks too; None where the
        topology is too large to search, or `cut` is not None.
    cut : None where every rank reaches every other; else a rank and one that it does not reach.
    is_one_way : whether the other reaches that rank all the same.
    odd : ranks that lack a link which most ranks have, a few.
    """

    kinds: list[LinkKind]
    out_bandwidth: tuple[float, float]
    in_bandwidth: tuple[float, float]
    hops: int | None
    cut: tuple[int, int] | None
    is_one_way: bool = False
    odd: tuple[OddRank, ...] = ()


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


def summarize(topology: Topology, assumed: NDArray[np.bool_] | None = None) -> Summary:
    """Count links by kind, add up bandwidths per rank, search who reaches whom.

    `assumed` says per link whether its latency, its bandwidth and its cost of a message are assumed; by default nothing
    is.
    """
    most_hops, cut = _reach(topology)
    return Summary(
        kinds=link_kinds(topology, assumed),
        odd=tuple(_odd_ranks(topology)),
        out_bandwidth=_bandwidth_range(topology, "src"),
        in_bandwidth=_bandwidth_range(topology, "dst"),
        hops=most_hops,
        cut=cut,
        is_one_way=cut is not None and bool(hops(topology, cut[1])[cut[0]] >= 0),
    )


def parted_without(topology: Topology, switch: int) -> tuple[int, int] | None:
    """Return two ranks of one host that only this switch joins; of the first and the last host, None where none are."""
    links, nodes = topology.links, topology.nodes
    rest = Topology(
        topology.rank_count,
        links[(links["src"] != switch) & (links["dst"] != switch)],
        switch_count=topology.switch_count,
        nodes=nodes.tolist(),
    )
    for rank in (0, topology.rank_count - 1):
        beside = np.flatnonzero(nodes == nodes[rank])
        if (missed := beside[hops(rest, rank)[beside] < 0]).size:
            return rank, int(missed[0])
    return None


def _odd_ranks(topology: Topology) -> Iterator[OddRank]:
    """Find ranks that lack a link which all others but a few have, by what it joins and carries."""
    links, n = topology.links, topology.rank_count
    if n > _MOST_COMPARED:
        return
    most = min(_MOST_ODD, (n - 1) // 2)
    out = links[links["src"] < n]
    ends = _ends(topology, out["src"], out["dst"])
    kinds: dict[tuple[str, float], dict[int, int]] = {}
    for src, dst, end, bandwidth in zip(
        out["src"].tolist(), out["dst"].tolist(), ends.tolist(), out["bandwidth"].tolist(), strict=True
    ):
        kinds.setdefault((_ENDS[end], bandwidth), {})[src] = dst
    for (end, bandwidth), leads_to in kinds.items():
        if not 0 < n - len(leads_to) <= most:
            continue
        far = (
            {topology.names[dst].rpartition("/")[2] for dst in leads_to.values()} if topology.names else set()
        )
        name = next(iter(far)) if len(far) == 1 else ""
        for rank in sorted(set(range(n)) - leads_to.keys()):
            yield OddRank(rank, end, bandwidth, name, len(leads_to))


def link_kinds(topology: Topology, assumed: NDArray[np.bool_] | None = None) -> list[LinkKind]:
    """Return kinds of links, fastest first; `assumed` as in `summarize`."""
    links = topology.links
    ends = _ends(topology, links["src"], links["dst"])
    marks = np.zeros((len(links), 3), bool) if assumed is None else assumed
    columns = [ends, links["latency_s"], links["bandwidth"], links["message_s"], *marks.T]
    order = np.lexsort(columns)
    differs = np.zeros(len(links), bool)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[order[1:]] != column[order[:-1]]
    first = np.flatnonzero(differs)
    counts = np.diff(first, append=len(links)).tolist()
    rows = zip(*(column[order[first]].tolist() for column in columns), counts, strict=True)
    kinds = [
        LinkKind(_ENDS[end], latency_s, bandwidth, count, message_s, *marked)
        for end, latency_s, bandwidth, message_s, *marked, count in rows
    ]
    return sorted(kinds, key=lambda kind: (-kind.bandwidth, kind.latency_s, kind.message_s, kind.ends))


def _ends(topology: Topology, src: NDArray[np.int32], dst: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return what each link joins, as an index of _ENDS."""
    ranks, nodes = topology.rank_count, topology.nodes
    ends = (src >= ranks).astype(np.int8) + (dst >= ranks).astype(np.int8)
    direct = np.flatnonzero(ends == 0)
    ends[direct[nodes[src[direct]] == nodes[dst[direct]]]] = _ENDS.index("rank - rank, one host")
    return ends


def _bandwidth_range(topology: Topology, end: str) -> tuple[float, float]:
    links = topology.links
    sums = np.bincount(links[end], weights=links["bandwidth"], minlength=topology.rank_count)
    of_ranks = sums[: topology.rank_count]
    return float(of_ranks.min()), float(of_ranks.max())


def _reach(topology: Topology) -> tuple[int | None, tuple[int, int] | None]:
    """Search from all ranks; in a large topology only from rank 0 and, backwards, to it."""
    is_large = topology.rank_count * (topology.link_count + 1) > _MOST_SEARCH_STEPS
    most = 0
    for start in range(1 if is_large else topology.rank_count):
        far = hops(topology, start)[: topology.rank_count]
        if far.min() < 0:
            return None, (start, int(far.argmin()))
        most = max(most, int(far.max()))
    if not is_large:
        return most, None
    back = hops(topology, 0, against=True)[: topology.rank_count]
    return None, (int(back.argmin()), 0) if back.min() < 0 else None
