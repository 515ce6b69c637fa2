# SPDX-License-Identifier: Apache-2.0
"""Replays Chakra traces by the rules of ASTRA-sim's custom collectives on its analytical network with congestion.

From CustomAlgorithm: a node is issued as soon as all its data dependencies have finished. Nodes that are free at one
time come in no certain order. A COMP takes its microseconds, or 1 ns where it has none.

From the network: a link carries one message at a time, first come, first served, and hands it on as a whole. SEND and
RECV are both done when the message is there; a RECV may come later. A message is known by source, destination and tag,
and is not empty. Delays are whole nanoseconds, rounded down.
"""

from __future__ import annotations

import heapq
import io
import random
from collections import defaultdict, deque
from dataclasses import dataclass

import hemiola as hm
from hemiola._core import paths
from hemiola.export.chakra_messages import COMP_NODE, SEND_NODE
from hemiola.topology.place import Place
from hemiola.workload.readers.protobuf_wire import fields_of, messages_of, numbers


@dataclass(frozen=True)
class Node:
    """A node of a trace; `told` has its attributes."""

    id: int
    name: str
    kind: int
    deps: list[int]
    microseconds: int
    told: dict[str, int]


def nodes_of(trace: bytes) -> list[Node]:
    """Read a trace's nodes by the reader of `hemiola whatif`, which knows nothing of the writer."""
    where = Place("the trace")
    found = []
    for _, fields in list(messages_of(io.BytesIO(trace), "the trace"))[1:]:
        attributes = [fields_of(value, where) for value in fields[10] if isinstance(value, bytes)]
        told = {bytes(of[1][0]).decode(): int(*of[max(of)]) for of in attributes}
        deps = numbers(fields.get(5, []), where)
        one = {key: int(fields.get(key, [0])[0]) for key in (1, 3, 7)}
        found.append(Node(one[1], bytes(fields[2][0]).decode(), one[3], deps, one[7], told))
    return found


class _Link:
    def __init__(self, bandwidth: float, latency_s: float) -> None:
        self._ns_per_byte, self._latency_ns = 1e9 / bandwidth, latency_s * 1e9
        self.queue: deque[_Message] = deque()
        self.is_busy = False

    def occupied_ns(self, size: int) -> int:
        return int(size * self._ns_per_byte)

    def crossed_ns(self, size: int) -> int:
        return int(self._latency_ns + size * self._ns_per_byte)


@dataclass
class _Message:
    key: tuple[int, int, int]  # source, destination, tag
    node: int
    size: int
    route: list[int]


class Replay:
    """One run; `seconds` is when the last node is done, None where nodes wait for ever.

    seed : of the order of nodes that are free at one time.
    tie_ns : lets messages that come within so many nanoseconds go on by their tags, as `hm.simulate` has it; None: each
        as it comes.
    """

    def __init__(
        self, traces: list[bytes], topology: hm.Topology, seed: int = 0, tie_ns: int | None = None
    ) -> None:
        self._nodes = [nodes_of(trace) for trace in traces]
        self._topology, self._random, self._tie_ns = topology, random.Random(seed), tie_ns
        speeds = topology.links[["bandwidth", "latency_s"]].tolist()
        self._links = [_Link(bandwidth, latency_s) for bandwidth, latency_s in speeds]
        self._routes: dict[tuple[int, int], list[int]] = {}
        self._events: list[tuple[int, int, str, object]] = []
        self._arrived: set[tuple[int, int, int]] = set()
        self._posted: dict[tuple[int, int, int], int] = {}
        self._after: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in traces]
        self._missing = [{node.id: len(node.deps) for node in nodes} for nodes in self._nodes]
        self._now = self._count = self._done = 0
        self._met: list[_Message] = []
        self._run()
        is_over = self._done == sum(map(len, self._nodes))
        self.seconds = self._now * 1e-9 if is_over else None

    def _run(self) -> None:
        for rank, nodes in enumerate(self._nodes):
            for node in nodes:
                for dep in node.deps:
                    self._after[rank][dep].append(node.id)
            self._issue(rank, [node.id for node in nodes if not node.deps])
        while self._events or self._met:
            if self._met and (not self._events or self._events[0][0] > self._now + (self._tie_ns or 0)):
                self._settle()
                continue
            self._now, _, what, subject = heapq.heappop(self._events)
            getattr(self, what)(subject)

    def _at(self, delay_ns: int, what: str, subject: object) -> None:
        self._count += 1
        heapq.heappush(self._events, (self._now + delay_ns, self._count, what, subject))

    def _issue(self, rank: int, free: list[int]) -> None:
        """Issue nodes that are free at one time, in any order."""
        self._random.shuffle(free)
        for node in (self._nodes[rank][number] for number in free):
            if node.kind == COMP_NODE:
                self._at(node.microseconds * 1000 or 1, "_finish", (rank, node.id))
            elif node.kind == SEND_NODE:
                peer = node.told["comm_dst"]
                if (rank, peer) not in self._routes:
                    self._routes[rank, peer] = paths(self._topology, [(rank, peer)])[0]
                assert node.told["comm_size"] > 0
                key = rank, peer, node.told["comm_tag"]
                self._cross(_Message(key, node.id, node.told["comm_size"], list(self._routes[rank, peer])))
            else:
                key = node.told["comm_src"], rank, node.told["comm_tag"]
                if key in self._arrived:
                    self._at(0, "_finish", (rank, node.id))
                else:
                    self._posted[key] = node.id

    def _finish(self, subject: tuple[int, int]) -> None:
        rank, number = subject
        self._done += 1
        free = []
        for other in self._after[rank][number]:
            self._missing[rank][other] -= 1
            if self._missing[rank][other] == 0:
                free.append(other)
        self._issue(rank, free)

    def _cross(self, message: _Message) -> None:
        """Let a message cross its next link, or arrive."""
        if not message.route:
            self._arrived.add(message.key)
            self._finish((message.key[0], message.node))
            if message.key in self._posted:
                self._finish((message.key[1], self._posted[message.key]))
            return
        if self._tie_ns is None:
            self._queue(message)
        else:
            self._met.append(message)

    def _settle(self) -> None:
        """Let messages that came together go on in the order of their tags."""
        met, self._met = sorted(self._met, key=lambda message: message.key[2]), []
        for message in met:
            self._queue(message)

    def _queue(self, message: _Message) -> None:
        link = self._links[message.route[0]]
        link.queue.append(message)
        if not link.is_busy:
            self._serve(link)

    def _serve(self, link: _Link) -> None:
        message = link.queue.popleft()
        link.is_busy = True
        message.route.pop(0)
        self._at(link.occupied_ns(message.size), "_free", link)
        self._at(link.crossed_ns(message.size), "_cross", message)

    def _free(self, link: _Link) -> None:
        link.is_busy = False
        if link.queue:
            self._serve(link)
