# SPDX-License-Identifier: Apache-2.0
"""Makes a topology of the measured figures: ranks behind a switch in their node, and behind NICs at one switch between
nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.calibration.rounds import Nodes

_Link = tuple[int, int, float, float, float]

#: The bandwidth of ways that nobody goes, such as a rank's inside a node that it has alone.
NO_LIMIT = 1e12


@dataclass(frozen=True)
class Figures:
    """Measured figures; times in seconds, bandwidths in bytes per second, arrays with an entry for each rank.

    `nic` numbers a node's NICs from 0 and names each rank's one. `message_s` is a message's cost to a rank's port while
    others of its node are silent, `busy_message_s` while all work: of a NIC that is shared, each of its ranks' messages
    takes its part.
    """

    inside_latency_s: float
    inside_message_s: float
    inside_bandwidth: NDArray[np.float64]
    latency_s: float
    message_s: float
    busy_message_s: float
    nic: NDArray[np.int64]
    nic_bandwidth: NDArray[np.float64]

    def to_numbers(self) -> NDArray[np.float64]:
        """Return all of it in one array."""
        times = [
            self.inside_latency_s,
            self.inside_message_s,
            self.latency_s,
            self.message_s,
            self.busy_message_s,
        ]
        return np.concatenate([times, self.inside_bandwidth, self.nic, self.nic_bandwidth])

    @classmethod
    def from_numbers(cls, numbers: NDArray[np.float64]) -> Figures:
        """Read the numbers that `to_numbers` made."""
        inside_latency_s, inside_message_s, latency_s, message_s, busy_message_s = map(float, numbers[:5])
        inside_bandwidth, nic, nic_bandwidth = np.split(numbers[5:], 3)
        return cls(
            inside_latency_s,
            inside_message_s,
            inside_bandwidth,
            latency_s,
            message_s,
            busy_message_s,
            nic.astype(np.int64),
            nic_bandwidth,
        )

    def among(
        self, known: Sequence[int | None], nodes: Sequence[int], nodes_before: Sequence[int]
    ) -> Figures | None:
        """Return the figures of other ranks of the job; None where there is a kind of link that nobody has measured.

        Parameters
        ----------
        known : the number of each of them among these ranks; None of a newcomer, which counts as a median one.
        nodes, nodes_before : the node of each of them, and of each of these ranks.
        """
        shares_before, shares = (len(set(of)) < len(of) for of in (nodes_before, nodes))
        spans_before, spans = (len(set(of)) > 1 for of in (nodes_before, nodes))
        if (shares and not shares_before) or (spans and not spans_before):
            return None
        # By node and NIC; of nodes by their numbers now.
        bandwidth: dict[tuple[int, int], float] = {}
        users: Counter[tuple[int, int]] = Counter()
        for number, node in zip(known, nodes, strict=True):
            if number is not None:
                place = (node, int(self.nic[number]))
                bandwidth[place] = float(self.nic_bandwidth[number])
                users[place] += 1
        inside, nic = [], []
        for number, node in zip(known, nodes, strict=True):
            if number is not None:
                inside.append(float(self.inside_bandwidth[number]))
                nic.append(int(self.nic[number]))
                continue
            here = [place for place in bandwidth if place[0] == node] or [(node, 0)]
            place = min(here, key=lambda one: (users[one], one))
            users[place] += 1
            bandwidth.setdefault(place, _median_limit(self.nic_bandwidth))
            inside.append(_median_limit(self.inside_bandwidth))
            nic.append(place[1])
        return replace(
            self,
            inside_bandwidth=np.array(inside),
            nic=np.array(nic, np.int64),
            nic_bandwidth=np.array([bandwidth[place] for place in zip(nodes, nic, strict=True)]),
        )


def _median_limit(bandwidths: NDArray[np.float64]) -> float:
    """Return the median of those that have a limit; nobody has measured the others."""
    limited = np.sort(
        bandwidths[bandwidths < NO_LIMIT]
    )  # np.median imports numpy.ma, for which all would wait
    middle = limited.size // 2
    return float((limited[middle] + limited[-1 - middle]) / 2) if limited.size else NO_LIMIT


def network_of(places: Nodes, figures: Figures) -> Topology:
    """Make the topology, as `hemiola.topologies.cluster` does, of ranks that may be numbered in any order.

    Returns
    -------
    Topology. A NIC that several ranks share is a vertex of its own.
    """
    return _Wiring(places, figures).topology()


class _Wiring:
    """Lays links, and numbers the vertices that are not ranks: first those of nodes, last the switch between nodes."""

    def __init__(self, places: Nodes, figures: Figures) -> None:
        self._figures = figures
        self._places = places
        self._links: list[_Link] = []
        self._nics: list[tuple[str, int, list[int]]] = []
        self._next = places.rank_count
        self._shared = {
            (node, nic): users
            for node, ranks in enumerate(places.ranks)
            for nic, users in _users(ranks, figures.nic).items()
        }
        inner = sum(len(ranks) > 1 for ranks in places.ranks)
        shared = sum(len(users) > 1 for users in self._shared.values())
        self._core = places.rank_count + inner + (shared if places.count > 1 else 0)

    def topology(self) -> Topology:
        """Lay everything."""
        nodes = {rank: node for node, ranks in enumerate(self._places.ranks) for rank in ranks}
        for node, ranks in enumerate(self._places.ranks):
            if len(ranks) > 1:
                self._join_inside(ranks)
            if self._places.count > 1:
                self._plug_in(node, ranks)
        return Topology(
            self._places.rank_count,
            self._links,
            switch_count=self._core + (self._places.count > 1) - self._places.rank_count,
            nodes=[nodes[rank] for rank in range(self._places.rank_count)],
            nics=self._nics,
            name=f"measured: {self._places.rank_count} ranks on {self._places.count} "
            f"host{'s' if self._places.count > 1 else ''}",
        )

    def _join_inside(self, ranks: Sequence[int]) -> None:
        switch = self._take_vertex()
        of = self._figures
        for rank in ranks:
            self._port(
                rank, switch, of.inside_latency_s, float(of.inside_bandwidth[rank]), of.inside_message_s
            )

    def _plug_in(self, node: int, ranks: Sequence[int]) -> None:
        of = self._figures
        for nic, users in _users(ranks, of.nic).items():
            first = len(self._links)
            bandwidth = float(of.nic_bandwidth[users[0]])
            if len(users) == 1:
                self._port(users[0], self._core, of.latency_s, bandwidth, of.busy_message_s)
            else:
                # All of the latency before the card, so that ranks of a node do not find a loop through it shorter.
                card = self._take_vertex()
                for rank in users:
                    self._port(rank, card, of.latency_s, bandwidth, of.message_s)
                self._port(card, self._core, 0.0, bandwidth, of.busy_message_s / len(users))
            self._nics.append((f"nic{nic}", node, list(range(first, len(self._links)))))

    def _port(self, a: int, b: int, latency_s: float, bandwidth: float, message_s: float) -> None:
        """Join two vertices both ways; the latency is that of going there and on by another such port."""
        self._links += [(src, dst, latency_s / 2, bandwidth, message_s) for src, dst in ((a, b), (b, a))]

    def _take_vertex(self) -> int:
        self._next += 1
        return self._next - 1


def _users(ranks: Sequence[int], nic: NDArray[np.int64]) -> dict[int, list[int]]:
    """Return the ranks of each of a node's NICs."""
    users: dict[int, list[int]] = {}
    for rank in ranks:
        users.setdefault(int(nic[rank]), []).append(rank)
    return users
