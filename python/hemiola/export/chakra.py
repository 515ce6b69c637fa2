# SPDX-License-Identifier: Apache-2.0
"""Schedules as Chakra execution traces, which ASTRA-sim runs as a custom collective: a file per rank.

A transfer is a SEND at one rank and a RECV at the other. A reduction is a COMP behind its RECV. A transfer waits for
its data dependencies: the node that made the slot that it reads, and for a copy the nodes that have
read the slot that it overwrites.

A port has an order: that of steps, and within a step that of a simulation. A SEND also waits for a COMP of 1 ns, its
turn. The turn waits for all that the SEND before waits for. So the message comes into the link's queue behind that one.
To wait for the SEND itself would leave the link idle: it is done when its message is there.
"""

from __future__ import annotations

from collections import defaultdict
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
from hemiola.simulate import simulate

_WHAT = "Chakra trace"
#: The schema that ASTRA-sim's feeder knows.
_VERSION = "0.0.4"
_MOST_TAGS = 2**31

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
    topology : Topology, for the ports of ranks and for the order in which a step's messages leave; None where a rank
        has one port, whose order is that of steps alone.
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
    A node has `is_cpu_op`. A message's node has `comm_size` in bytes, at least 1, `comm_tag`, the transfer's index, and
    `comm_dst` or `comm_src`. Times of COMP nodes are whole microseconds, rounded up; ASTRA-sim takes 1 ns for 0.
    Costs O(transfers) time, with a topology that of a simulation too, and about 200 bytes a transfer.
    """
    if nbytes < 1:
        raise ArgumentError(f"{_WHAT}: expected a buffer of at least 1 byte, found {nbytes}")
    if reduce_bandwidth is not None and not reduce_bandwidth > 0:
        raise ArgumentError(f"{_WHAT}: expected a reduce_bandwidth above 0, found {reduce_bandwidth:g}")
    if schedule.transfer_count > _MOST_TAGS:
        raise ArgumentError(f"{_WHAT}: expected at most 2^31 transfers, found {schedule.transfer_count}")
    refuse_wrong(schedule, _WHAT)
    ports, order = {}, np.zeros(schedule.transfer_count, np.int64)
    if topology is not None:
        ports, order = _ports(schedule, topology), _order(schedule, topology, nbytes)
    return _Traces(schedule, chunk_bytes(schedule, nbytes), ports, order, reduce_bandwidth).written()


def _ports(schedule: Schedule, topology: Topology) -> dict[tuple[int, int], int]:
    """Return by which link messages between two ranks leave the first."""
    if topology.rank_count != schedule.rank_count:
        raise ArgumentError(
            f"{_WHAT}: expected a topology of {schedule.rank_count} ranks, as the schedule has, found "
            f"{topology.rank_count}"
        )
    pairs = sorted({(src, dst) for src, dst in np.asarray(schedule.pairs).tolist() if src != dst})
    return {pair: int(route[0]) for pair, route in zip(pairs, paths(topology, pairs), strict=True)}


def _order(schedule: Schedule, topology: Topology, nbytes: int) -> NDArray[np.int64]:
    """Return each transfer's place in the order in which messages leave, as links serve them one by one."""
    spans = simulate(schedule, topology, nbytes, network="fifo", unchecked=True).spans
    begin_s = np.full(schedule.transfer_count, np.inf)
    np.minimum.at(begin_s, spans["transfer"], spans["start_s"])
    place = np.empty(schedule.transfer_count, np.int64)
    place[np.argsort(begin_s, kind="stable")] = np.arange(schedule.transfer_count)
    return place


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
        #: By port: the latest place of its order, the turn of that, and the nodes that its sends wait for.
        self._turns: dict[int, tuple[tuple[int, int], list[int], set[int]]] = {}

    def add(self, kind: int, name: str, after: Iterable[int], microseconds: int = 0) -> Any:
        number = len(self.nodes)
        node = messages.new_node(
            id=number, name=name, type=kind, data_deps=sorted(set(after)), duration_micros=microseconds
        )
        messages.add_attribute(node, "is_cpu_op", "bool_val", False)
        self.nodes.append(node)
        return node

    def send(self, port: int, place: tuple[int, int], slot: _Slot) -> Any:
        """Add a send behind the maker of its slot, and behind the turn of its place in the port's order."""
        last, turn, awaited = self._turns.get(port, (place, [], set()))
        if last != place:
            turn, awaited = [self.add(messages.COMP_NODE, "TURN", awaited).id], set()
        after = [*self.makers(slot), *turn]
        awaited.update(after)
        self._turns[port] = place, turn, awaited
        return self.add(messages.SEND_NODE, "SEND", after)

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
        order: NDArray[np.int64],
        reduce_bandwidth: float | None,
    ) -> None:
        self._schedule, self._sizes, self._ports, self._order = schedule, sizes, ports, order
        self._reduce_bandwidth = reduce_bandwidth
        self._ranks = [_Rank() for _ in range(schedule.rank_count)]

    def written(self) -> list[bytes]:
        rows = np.asarray(self._schedule.transfers)
        ends = np.asarray(self._schedule.step_offset).tolist()
        for step, (first, end) in enumerate(pairwise(ends)):
            all_of = [(*row[1:], *((0, 0) if len(row) == 5 else ())) for row in rows[first:end].tolist()]
            self._step(dict(enumerate(all_of, first)), step)
        return [messages.joined(rank.nodes, _VERSION) for rank in self._ranks]

    def _step(self, rows: dict[int, tuple[Any, ...]], step: int) -> None:
        """Add a step's nodes: all that read, in the order in which they leave, before all that write."""
        sent: dict[int, Any] = {}
        for tag in sorted(rows, key=self._order.__getitem__):
            src, dst, chunk, _, from_slot, _ = rows[tag]
            rank, slot = self._ranks[src], (chunk, from_slot)
            if src == dst:
                node = rank.add(messages.COMP_NODE, "COPY", rank.makers(slot))
            else:
                place = step, int(self._order[tag])
                node = rank.send(self._ports.get((src, dst), 0), place, slot)
                self._address(node, chunk, tag, "comm_dst", dst)
            rank.reads(slot, node)
            sent[tag] = node
        for tag, (src, dst, chunk, reduce, _, to_slot) in rows.items():
            self._arrive(src, dst, (chunk, to_slot), bool(reduce), tag, sent[tag])

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
        messages.add_attribute(node, "comm_size", "int64_val", max(1, int(self._sizes[chunk])))
        messages.add_attribute(node, "comm_tag", "int32_val", tag)
        messages.add_attribute(node, end, "int32_val", peer)

    def _microseconds(self, chunk: int) -> int:
        if self._reduce_bandwidth is None:
            return 0
        return int(np.ceil(float(self._sizes[chunk]) / self._reduce_bandwidth * 1e6))
