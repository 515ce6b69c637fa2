# SPDX-License-Identifier: Apache-2.0
"""Replays Chakra traces by the rules of ASTRA-sim's custom collectives, on a network whose messages share links.

From ASTRA-sim's CustomAlgorithm: a node is issued as soon as all its data dependencies have finished. A SEND is done
when its message has left, a RECV when it is there, whichever came first; a message is known by source, destination and
tag. A COMP takes its microseconds, or 1 ns where it has none. Messages under way share each link of their routes
max-min fairly, and arrive after their routes' latencies.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import hemiola as hm
from hemiola._core import paths
from hemiola.export import chakra_messages as messages

_Key = tuple[int, int, int]


@dataclass
class _Flow:
    rank: int
    node: int
    key: _Key
    left: float
    route: list[int]
    latency_s: float
    rate: float = 0.0


class Replay:
    """One run; `seconds` is when the last node is done, None where nodes wait for ever."""

    def __init__(self, traces: list[bytes], topology: hm.Topology) -> None:
        self._nodes = [list(messages.separated(trace, f"rank {rank}")) for rank, trace in enumerate(traces)]
        self._topology = topology
        self._bandwidth = topology.links["bandwidth"].tolist()
        self._latency_s = topology.links["latency_s"].tolist()
        self._routes: dict[tuple[int, int], list[int]] = {}
        self._flows: list[_Flow] = []
        self._events: list[tuple[float, int, int]] = []  # a node is done
        self._arrived: dict[_Key, float] = {}
        self._posted: dict[_Key, int] = {}
        self._after: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in traces]
        self._missing = [{node.id: len(node.data_deps) for node in nodes} for nodes in self._nodes]
        self._now = 0.0
        self.seconds = self._run()

    def _run(self) -> float | None:
        for rank, nodes in enumerate(self._nodes):
            for node in nodes:
                for dep in node.data_deps:
                    self._after[rank][dep].append(node.id)
            for node in nodes:
                if not node.data_deps:
                    self._issue(rank, node)
        done = 0
        while self._events or self._flows:
            self._share()
            ends = min((flow.left / flow.rate for flow in self._flows), default=float("inf"))
            when = min(self._now + ends, self._events[0][0] if self._events else float("inf"))
            self._advance(when)
            while self._events and self._events[0][0] <= self._now:
                _, rank, number = heapq.heappop(self._events)
                done += 1
                self._finish(rank, number)
        return self._now if done == sum(map(len, self._nodes)) else None

    def _advance(self, when: float) -> None:
        for flow in self._flows:
            flow.left -= flow.rate * (when - self._now)
        self._now = when
        ended = [flow for flow in self._flows if flow.left <= 1e-9 * flow.rate * max(when, 1e-6)]
        self._flows = [flow for flow in self._flows if flow not in ended]
        for flow in ended:
            self._done(when, flow.rank, flow.node)
            self._arrived[flow.key] = when + flow.latency_s
            if flow.key in self._posted:
                self._done(when + flow.latency_s, flow.key[1], self._posted[flow.key])

    def _share(self) -> None:
        """Give each flow its rate: fill links until one is full, fix its flows, and go on with the others."""
        room = {link: self._bandwidth[link] for flow in self._flows for link in flow.route}
        open_flows = list(self._flows)
        while open_flows:
            users = defaultdict(int)
            for flow in open_flows:
                for link in flow.route:
                    users[link] += 1
            rate, full = min((room[link] / count, link) for link, count in users.items())
            for flow in [flow for flow in open_flows if full in flow.route]:
                flow.rate = rate
                open_flows.remove(flow)
                for link in flow.route:
                    room[link] -= rate

    def _done(self, when: float, rank: int, number: int) -> None:
        heapq.heappush(self._events, (when, rank, number))

    def _finish(self, rank: int, number: int) -> None:
        for other in self._after[rank][number]:
            self._missing[rank][other] -= 1
            if self._missing[rank][other] == 0:
                self._issue(rank, self._nodes[rank][other])

    def _issue(self, rank: int, node: Any) -> None:
        told = messages.attributes(node)
        if node.type == messages.COMP_NODE:
            self._done(self._now + (node.duration_micros * 1e-6 or 1e-9), rank, node.id)
        elif node.type == messages.SEND_NODE:
            peer = told["comm_dst"]
            if (rank, peer) not in self._routes:
                self._routes[rank, peer] = paths(self._topology, [(rank, peer)])[0]
            route, key = self._routes[rank, peer], (rank, peer, told["comm_tag"])
            latency_s = sum(self._latency_s[link] for link in route)
            self._flows.append(_Flow(rank, node.id, key, told["comm_size"], route, latency_s))
        else:
            key = told["comm_src"], rank, told["comm_tag"]
            if key in self._arrived:
                self._done(max(self._now, self._arrived[key]), rank, node.id)
            else:
                self._posted[key] = node.id
