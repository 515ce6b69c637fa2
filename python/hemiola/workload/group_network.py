# SPDX-License-Identifier: Apache-2.0
"""The network as one group of a class sees it while its siblings do the same.

Siblings are alike. So one group on links that carry as much less as there are siblings on them stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology, paths
from hemiola.conditions import Conditions
from hemiola.workload.cut_network import CutNetwork, cut_out

#: Ranks up to which the ways of all are looked at. Above, those around one rank stand for all links like theirs.
MOST_RANKS = 1024


@dataclass(frozen=True, eq=False)
class GroupNetwork:
    """One group and its class.

    Attributes
    ----------
    whole : Topology of all ranks.
    groups : int64 array of shape (groups, ranks of each), in the whole network's numbers.
    ranks : int64 array, the group that stands for its class.
    cut : CutNetwork of that group, with its share of links that siblings use, too.
    """

    whole: Topology
    groups: NDArray[np.int64]
    ranks: NDArray[np.int64]
    cut: CutNetwork

    @property
    def topology(self) -> Topology:
        """The group's own network."""
        return self.cut.topology

    def conditions(self, told: Conditions, *, late_s: float = 0.0, density: float = 1.0) -> Conditions:
        """Return the conditions of this group, in its own numbers; a late rank of it comes so many seconds late.

        Parameters
        ----------
        told : Conditions of the whole network.
        late_s : float >= 0, seconds.
        density : float in (0, 1].

        Returns
        -------
        Conditions
        """
        own = {int(rank): place for place, rank in enumerate(self.ranks)}
        slow = {own[rank]: factor for rank, factor in told.slow_ranks.items() if rank in own}
        late = {own[rank]: late_s for rank in told.late if rank in own and late_s > 0}
        if late_s > 0 and not late:
            late = {len(self.ranks) - 1: late_s}
        return Conditions(late=late, slow=slow, density=density)


def group_network(whole: Topology, groups: NDArray[np.int64], told: Conditions) -> GroupNetwork:
    """Choose the group that stands for its class, the one with the worst links or conditions, and cut out its network.

    Parameters
    ----------
    whole : Topology.
    groups : int64 array of shape (groups, ranks of each), one rank in one group at most.
    told : Conditions, late and slow ranks of the whole network.

    Returns
    -------
    GroupNetwork

    Raises
    ------
    ArgumentError
        Two ranks of a group have no way to each other.

    Notes
    -----
    The ways between neighbours of a group, and between its ranks of one place in neighbouring hosts, say which links
    it uses. O(ranks × links).
    """
    ranks = groups[_worst(whole, groups, told)]
    if groups.size == len(ranks) == whole.rank_count and (np.diff(ranks) == 1).all():
        places = np.arange(whole.link_count)
        return GroupNetwork(whole, groups, ranks, CutNetwork(whole, places, places, np.ones(len(places))))
    links = np.array(whole.links)
    links["bandwidth"] /= np.maximum(_users(whole, groups, ranks), 1)
    return GroupNetwork(whole, groups, ranks, cut_out(whole, links, ranks))


def ways_of(whole: Topology, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the links on the way of each pair of ranks, by their places."""
    order = sorted(range(len(pairs)), key=lambda place: pairs[place])  # the core wants them so
    found = paths(whole, [pairs[place] for place in order])
    result: list[list[int]] = [[] for _ in pairs]
    for place, links in zip(order, found, strict=True):
        result[place] = links
    return result


def _worst(whole: Topology, groups: NDArray[np.int64], told: Conditions) -> int:
    """Return the group with a slow or late rank, or with the weakest host and port; the first of equals."""
    links = np.asarray(whole.links)
    ports = np.bincount(
        links["src"], weights=links["bandwidth"], minlength=whole.rank_count + whole.switch_count
    )
    hosts = np.asarray(whole.host_bandwidths())[np.asarray(whole.nodes)]
    odd = np.zeros(whole.rank_count, dtype=bool)
    odd[[*told.slow_ranks, *told.late]] = True
    standing = np.lexsort((ports[groups].min(axis=1), hosts[groups].min(axis=1), ~odd[groups].any(axis=1)))
    return int(standing[0])


def _users(whole: Topology, groups: NDArray[np.int64], ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many groups of a class use each link."""
    count = groups.shape[1]
    nodes = np.asarray(whole.nodes)
    beside = int((nodes[ranks] == nodes[ranks[0]]).sum())
    offsets = [offset for offset in dict.fromkeys((1, beside)) if 0 < offset < count]
    near = np.ones(groups.shape, dtype=bool)
    if whole.rank_count > MOST_RANKS:
        near = nodes[groups] == nodes[ranks[0]]
    pairs: list[tuple[int, int]] = []
    owners: list[int] = []
    for offset in offsets:
        partners = np.roll(groups, -offset, axis=1)
        pairs += list(zip(groups[near].tolist(), partners[near].tolist(), strict=True))
        owners += np.nonzero(near)[0].tolist()
    used = {(owner, link) for owner, way in zip(owners, ways_of(whole, pairs), strict=True) for link in way}
    links = np.array([link for _, link in used], dtype=np.int64)
    users = np.bincount(links, minlength=whole.link_count)
    return users if near.all() else _of_alike(whole, users)


def _of_alike(whole: Topology, users: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each link the most users of those like it: of equal speed, between vertices of equal kinds."""
    links = np.asarray(whole.links)
    kinds = np.stack(
        [
            links["bandwidth"],
            links["latency_s"],
            links["src"] < whole.rank_count,
            links["dst"] < whole.rank_count,
        ],
        axis=1,
    )
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    most = np.zeros(kind.max() + 1, dtype=np.int64)
    np.maximum.at(most, kind.ravel(), users)
    return most[kind.ravel()]
