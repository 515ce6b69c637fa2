# SPDX-License-Identifier: Apache-2.0
"""Schedules as Chakra execution traces, which ASTRA-sim runs as a custom collective: a file per rank.

A transfer is a SEND at one rank and a RECV at the other. A reduction is a COMP behind its RECV. A transfer waits for
its data dependencies: the node that made the slot that it reads, and for a copy the nodes that have
read the slot that it overwrites. Steps order a port: a SEND also waits for the SENDs of the port's step before.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology, paths
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.export import chakra_messages as messages
from hemiola.export.layout import refuse_wrong

_WHAT = "Chakra trace"
#: The schema that ASTRA-sim's feeder knows.
_VERSION = "0.0.4"
_MOST_TAG = 2**31 - 1

_Slot = tuple[int, int]  # chunk, and which of a rank's slots for it


@typed
def chakra_traces(
    schedule: Schedule,
    nbytes: int,
    *,
    topology: Topology | None = None,
    reduce_bandwidth: float | None = None,
) -> list[bytes]:
    """Write a schedule as Chakra execution traces for ASTRA-sim's custom collectives.

    Parameters
    ----------
    schedule : Schedule, of any collective.
    nbytes : int >= 1, the buffer's size in bytes. ASTRA-sim takes messages' sizes from the trace, and not from the
        workload.
    topology : Topology, which says by which of a rank's ports a message leaves; None where a rank has one port.
    reduce_bandwidth : float > 0, bytes per second that a rank adds; None where adding takes no time.

    Returns
    -------
    list of bytes, one per rank: the content of the file PREFIX.RANK.et.

    Raises
    ------
    ArgumentError
        If the schedule is wrong, the topology has another rank count or no way for a transfer, or a number is out of
        range.
    MissingPackageError
        If protobuf is not installed: pip install 'hemiola[traces]'.

    Notes
    -----
    A node has `is_cpu_op`, and that of a message `comm_size` in bytes, `comm_tag` and `comm_dst` or `comm_src`. Times
    of COMP nodes are whole microseconds, rounded up; ASTRA-sim takes 1 ns for 0.
    Costs O(transfers) time, and about 165 bytes a transfer.
    """
    if nbytes < 1:
        raise ArgumentError(f"{_WHAT}: expected a buffer of at least 1 byte, found {nbytes}")
    if reduce_bandwidth is not None and not reduce_bandwidth > 0:
        raise ArgumentError(f"{_WHAT}: expected a reduce_bandwidth above 0, found {reduce_bandwidth:g}")
    refuse_wrong(schedule, _WHAT)
    ports = {} if topology is None else _ports(schedule, topology)
    return _Traces(schedule, chunk_bytes(schedule, nbytes), ports, reduce_bandwidth).written()


def _ports(schedule: Schedule, topology: Topology) -> dict[tuple[int, int], int]:
    """Return by which link messages between two ranks leave the first."""
    if topology.rank_count != schedule.rank_count:
        raise ArgumentError(
            f"{_WHAT}: expected a topology of {schedule.rank_count} ranks, as the schedule has, found "
            f"{topology.rank_count}"
        )
    pairs = sorted({(src, dst) for src, dst in np.asarray(schedule.pairs).tolist() if src != dst})
    return {pair: int(route[0]) for pair, route in zip(pairs, paths(topology, pairs), strict=True)}


def chunk_bytes(schedule: Schedule, nbytes: int) -> NDArray[np.int64]:
    """Return each chunk's size in a buffer of `nbytes`; in an all-to-all that is a rank's input."""
    weights = np.asarray(schedule.chunk_weights, np.float64)
    whole = nbytes * (schedule.rank_count if schedule.collective.kind == "all_to_all" else 1)
    ends = np.floor(np.cumsum(weights) / max(weights.sum(), 1.0) * whole + 0.5).astype(np.int64)
    return np.asarray(np.diff(ends, prepend=0), np.int64)


class _Rank:
    """A rank's nodes so far, and which node made and which read each slot."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.made: dict[_Slot, int] = {}
        self.read: defaultdict[_Slot, list[int]] = defaultdict(list)
        #: By port, the sends of the latest step that used it, and of the one before.
        self._sends: dict[int, tuple[int, list[int], list[int]]] = {}

    def add(self, kind: int, name: str, after: Iterable[int], microseconds: int = 0) -> Any:
        number = len(self.nodes)
        node = messages.new_node(
            id=number, name=name, type=kind, data_deps=sorted(set(after)), duration_micros=microseconds
        )
        messages.add_attribute(node, "is_cpu_op", "bool_val", False)
        self.nodes.append(node)
        return node

    def earlier_sends(self, port: int, step: int) -> list[int]:
        """Return the sends of the last step before this one that used the port."""
        last, sends, before = self._sends.get(port, (-1, [], []))
        return before if last == step else sends

    def sends(self, port: int, step: int, node: Any) -> None:
        last, sends, before = self._sends.get(port, (-1, [], []))
        now = (sends, before) if last == step else ([], sends)
        now[0].append(node.id)
        self._sends[port] = step, *now

    def reads(self, slot: _Slot, node: Any) -> None:
        self.read[slot].append(node.id)

    def makers(self, slot: _Slot) -> list[int]:
        return [self.made[slot]] if slot in self.made else []

    def makes(self, slot: _Slot, node: Any) -> None:
        self.made[slot] = node.id
        self.read.pop(slot, None)


class _Traces:
    def __init__(
        self,
        schedule: Schedule,
        sizes: NDArray[np.int64],
        ports: dict[tuple[int, int], int],
        reduce_bandwidth: float | None,
    ) -> None:
        self._schedule, self._sizes, self._ports = schedule, sizes, ports
        self._reduce_bandwidth = reduce_bandwidth
        self._ranks = [_Rank() for _ in range(schedule.rank_count)]
        self._tags: Counter[tuple[int, int]] = Counter()

    def written(self) -> list[bytes]:
        rows = np.asarray(self._schedule.transfers)
        ends = np.asarray(self._schedule.step_offset).tolist()
        for step, (first, end) in enumerate(pairwise(ends)):
            self._step(
                step, [(*row[1:], *((0, 0) if len(row) == 5 else ())) for row in rows[first:end].tolist()]
            )
        return [messages.joined(rank.nodes, _VERSION) for rank in self._ranks]

    def _step(self, step: int, rows: list[tuple[Any, ...]]) -> None:
        """Add a step's nodes: all that read before all that write."""
        sent = []
        for src, dst, chunk, reduce, from_slot, to_slot in rows:
            rank, slot, tag = self._ranks[src], (chunk, from_slot), self._tags[src, dst]
            if src == dst:
                node = rank.add(messages.COMP_NODE, "COPY", rank.makers(slot))
            else:
                port = self._ports.get((src, dst), 0)
                node = rank.add(
                    messages.SEND_NODE, "SEND", [*rank.makers(slot), *rank.earlier_sends(port, step)]
                )
                self._address(node, chunk, tag, "comm_dst", dst)
                rank.sends(port, step, node)
                self._tags[src, dst] = self._next_tag(src, dst)
            rank.reads(slot, node)
            sent.append((src, dst, (chunk, to_slot), reduce, tag, node))
        for src, dst, slot, reduce, tag, node in sent:
            self._arrive(src, dst, slot, bool(reduce), tag, node)

    def _next_tag(self, src: int, dst: int) -> int:
        if self._tags[src, dst] == _MOST_TAG:
            raise ArgumentError(f"{_WHAT}: expected at most 2^31 messages from rank {src} to rank {dst}")
        return self._tags[src, dst] + 1

    def _arrive(self, src: int, dst: int, slot: _Slot, reduce: bool, tag: int, copy: Any) -> None:
        rank = self._ranks[dst]
        earlier = [*rank.makers(slot), *rank.read[slot]]
        node = copy
        if src != dst:
            node = rank.add(messages.RECV_NODE, "RECV", () if reduce else earlier)
            self._address(node, slot[0], tag, "comm_src", src)
        if reduce or src == dst:
            took = self._microseconds(slot[0]) if reduce else 0
            name = "REDUCE" if reduce else "COPY"
            node = rank.add(
                messages.COMP_NODE, name, [node.id, *(each for each in earlier if each != node.id)], took
            )
        rank.makes(slot, node)

    def _address(self, node: Any, chunk: int, tag: int, end: str, peer: int) -> None:
        messages.add_attribute(node, "comm_size", "int64_val", int(self._sizes[chunk]))
        messages.add_attribute(node, "comm_tag", "int32_val", tag)
        messages.add_attribute(node, end, "int32_val", peer)

    def _microseconds(self, chunk: int) -> int:
        if self._reduce_bandwidth is None:
            return 0
        return int(np.ceil(float(self._sizes[chunk]) / self._reduce_bandwidth * 1e6))
