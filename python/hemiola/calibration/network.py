# SPDX-License-Identifier: Apache-2.0
"""Makes a topology of the measured figures: ranks behind a switch in their node, and behind NICs at one switch between
nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.calibration.rounds import Nodes

_Link = tuple[int, int, float, float, float]


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
