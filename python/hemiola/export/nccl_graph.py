# SPDX-License-Identifier: Apache-2.0
"""A schedule's rings and chains as the file that NCCL takes for its own search: NCCL_GRAPH_FILE.

NCCL's graph is a list of channels, and a channel an order of the host's GPUs. A ring is closed behind the last of them.
Trees have the patterns 1 to 3, which differ only in the GPUs that talk to other hosts. Within the host the first GPU is
the root, and each has one child, the GPU behind it (ncclTopoPreset in src/graph/connect.cc). So a schedule fits where
each chunk's way is such an order. A chunk whose messages fork has none.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hemiola._core import Schedule, Topology, paths
from hemiola.arguments import typed
from hemiola.errors import ArgumentError
from hemiola.export.layout import refuse_wrong
from hemiola.export.nccl_graph_reader import MOST_CHANNELS, PATTERNS
from hemiola.export.ring_packing import packed_rings
from hemiola.topology import nccl_xml, xml_tree
from hemiola.topology.nccl_devices import host_of, with_each_once
from hemiola.topology.place import Place

_WHAT = "NCCL graph"
#: One thread block does a channel's work; beyond this rate a way is divided among several.
_MOST_OF_A_CHANNEL = 40e9
_RING, _TREE = 0, 1


@dataclass(frozen=True)
class Machine:
    """A host as NCCL's topology file has it: the network, and each rank's number of its GPU."""

    topology: Topology
    devices: tuple[int, ...]


def read_machine(text: str, source: str) -> Machine:
    """Read NCCL's topology file (NCCL_TOPO_DUMP_FILE) of one host; raise FormatError that names source and line."""
    if not text.lstrip().startswith("<"):
        Place(source).fail(
            "expected a machine in NCCL's XML (NCCL_TOPO_DUMP_FILE), which numbers its GPUs, found another format"
        )
    topology = nccl_xml.from_xml(text, source)
    root = with_each_once(xml_tree.parse(text, source))
    hosts = {host_of(cpu) for cpu in root.named("cpu")}
    if len(hosts) > 1:
        root.place.fail(f"expected one host, for whose GPUs the file is, found {len(hosts)}")
    gpus = [gpu for _, gpu in nccl_xml.gpus_in_rank_order(root)]
    return Machine(topology, tuple(int(gpu.number("dev")) for gpu in gpus))


@typed
def nccl_graph(schedule: Schedule | None, machine_xml: str, *, channels: int | None = None) -> str:
    """Write a schedule's rings or chains for NCCL_GRAPH_FILE, or rings packed for the machine.

    Parameters
    ----------
    schedule : Schedule of all the machine's GPUs, whose chunks go along rings or chains; None for rings over the
        machine's direct links, as many as these have room for.
    machine_xml : text of NCCL's topology file, as NCCL_TOPO_DUMP_FILE writes it on the machine.
    channels : int in 1 … 64, at least one per ring; by default as many as keep a channel at 40 GB/s or below.

    Returns
    -------
    str, the graphs of rings and trees; of trees alone where a chain's ends are not joined.

    Raises
    ------
    ArgumentError
        If the schedule is wrong or for another number of ranks, a chunk's messages fork or leave out a rank, or there
        are more than 64 rings.
    FormatError
        If the machine is no XML of NCCL's, or has several hosts.

    Notes
    -----
    A channel's speed is the least share of a link that it uses. Shares are equal among the channels of a link.
    """
    machine = read_machine(machine_xml, "the machine's XML")
    if schedule is None:
        orders = [_Order(ring, True) for ring in packed_rings(machine.topology, MOST_CHANNELS)]
    else:
        _refuse_others(schedule, machine)
        orders = _orders(schedule)
    if channels is not None and not len(orders) <= channels <= MOST_CHANNELS:
        raise ArgumentError(
            f"{_WHAT}: expected channels of {len(orders)} … {MOST_CHANNELS}, found {channels}"
        )
    if len(orders) > MOST_CHANNELS:
        raise ArgumentError(f"{_WHAT}: expected at most {MOST_CHANNELS} different rings, found {len(orders)}")
    closed = all(order.is_ring for order in orders)
    ways = [(*order.ranks, order.ranks[0]) if closed else order.ranks for order in orders]
    speed = _speed(machine.topology, ways)
    copies = max(1, min(MOST_CHANNELS // len(ways), math.ceil(speed / _MOST_OF_A_CHANNEL)))
    total = channels or copies * len(ways)
    repeated = [orders[place % len(orders)].ranks for place in range(total)]
    share = speed / math.ceil(total / len(orders))
    kind = _path_type(machine.topology, ways)
    graphs = [_RING, _TREE] if closed else [_TREE]
    lines = [line for graph in graphs for line in _graph(graph, repeated, machine.devices, share, kind)]
    return "\n".join(['<graphs version="1">', *lines, "</graphs>", ""])


def _refuse_others(schedule: Schedule, machine: Machine) -> None:
    if machine.topology.rank_count != schedule.rank_count:
        raise ArgumentError(
            f"{_WHAT}: expected a schedule of {machine.topology.rank_count} ranks, one per GPU of the machine, found "
            f"{schedule.rank_count}"
        )
    refuse_wrong(schedule, _WHAT)


@dataclass(frozen=True)
class _Order:
    ranks: tuple[int, ...]
    is_ring: bool


def _orders(schedule: Schedule) -> list[_Order]:
    """Return the different orders in which chunks go from rank to rank."""
    rows = np.asarray(schedule.transfers)
    found: dict[tuple[tuple[int, ...], bool], _Order] = {}
    for chunk in range(schedule.chunk_count):
        of_chunk = rows[rows["chunk"] == chunk]
        pairs = {(a, b) for a, b in of_chunk[["src", "dst"]].tolist() if a != b}
        order = _order(chunk, pairs, schedule.rank_count)
        if not order.is_ring:
            order = _from_its_root(chunk, order, set(of_chunk["src"][of_chunk["reduce"]].tolist()))
        found.setdefault((order.ranks, order.is_ring), order)
    return list(found.values())


def _order(chunk: int, pairs: set[tuple[int, int]], rank_count: int) -> _Order:
    """Return the order in which a chunk's messages join all ranks; rings begin with rank 0."""
    there: defaultdict[int, list[int]] = defaultdict(list)
    for a, b in sorted(pairs):
        there[a].append(b)
    goes_both_ways = any((b, a) in pairs for a, b in pairs)
    neighbours = {
        rank: sorted({*there[rank], *(a for a, b in pairs if b == rank)}) for rank in range(rank_count)
    }
    for rank, others in neighbours.items():
        if len(others) > 2 or (not goes_both_ways and len(there[rank]) > 1):
            raise ArgumentError(
                f"{_WHAT}: chunk {chunk} forks at rank {rank}, to ranks {', '.join(map(str, others))}; in a graph of "
                "NCCL each GPU of a host has one child, the GPU behind it, so use a ring or a chain"
            )
    ends = [rank for rank, others in neighbours.items() if len(others) < 2]
    if not goes_both_ways:
        ends = [rank for rank in range(rank_count) if not any(b == rank for _, b in pairs)] or [0]
    order = [ends[0] if ends else 0]
    while True:
        onward = [rank for rank in (neighbours if goes_both_ways else there)[order[-1]] if rank not in order]
        if not onward:
            break
        order.append(onward[0])
    if len(order) != rank_count:
        missing = min(set(range(rank_count)) - set(order))
        raise ArgumentError(
            f"{_WHAT}: expected chunk {chunk} to go by way of all {rank_count} ranks, found that it does not join "
            f"ranks {order[0]} and {missing}"
        )
    if goes_both_ways and len(ends) == 2:
        return _Order(tuple(order), False)
    first = order.index(0)
    return _Order((*order[first:], *order[:first]), True)


def _from_its_root(chunk: int, chain: _Order, sent_to_be_added: set[int]) -> _Order:
    """Return a chain in NCCL's order, which begins with the rank that makes the sum."""
    ranks, roots = chain.ranks, [rank for rank in chain.ranks if rank not in sent_to_be_added]
    if roots not in ([ranks[0]], [ranks[-1]]):
        where = f"rank {', '.join(map(str, roots))}" if roots else "no rank"
        raise ArgumentError(
            f"{_WHAT}: chunk {chunk} is summed at {where} of the chain {', '.join(map(str, ranks))}; NCCL sums at a "
            "chain's first GPU, so let an end make the sum"
        )
    return chain if roots == [ranks[0]] else _Order(ranks[::-1], False)


def _hops(ways: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    return (pair for way in ways for pair in pairwise(way))


def _speed(topology: Topology, ways: Sequence[Sequence[int]]) -> float:
    """Return the bytes per second of the slowest way where all share links equally."""
    pairs = list(_hops(ways))
    routes = paths(topology, pairs)
    use = Counter(int(link) for route in routes for link in route)
    bandwidth = topology.links["bandwidth"]
    return min(float(bandwidth[link]) / count for link, count in use.items())


def _path_type(topology: Topology, ways: Sequence[Sequence[int]]) -> str:
    """Return NCCL's word for the longest way between two GPUs that follow one another."""
    kinds = ("NVL", "PIX", "PXB", "PHB", "SYS")
    worst, names, links = 0, topology.names, topology.links
    for route in paths(topology, list(_hops(ways))):
        between = [names[int(links["dst"][link])] for link in route[:-1]]
        sockets, bridges = sum("CPU" in name for name in between), sum("PCIe" in name for name in between)
        by_bridges = 0 if not bridges else 1 if bridges == 1 else 2
        worst = max(worst, 4 if sockets > 1 else 3 if sockets else by_bridges)
    return kinds[worst]


def _graph(
    graph: int, orders: Sequence[Sequence[int]], devices: Sequence[int], share: float, kind: str
) -> Iterator[str]:
    """Yield the lines of a graph."""
    speed, same = f"{share / 1e9:.6g}", int(len(set(map(tuple, orders))) == 1)
    yield (
        f'  <graph id="{graph}" pattern="{PATTERNS[graph]}" crossnic="0" nchannels="{len(orders)}" '
        f'speedintra="{speed}" speedinter="{speed}" latencyinter="0" typeintra="{kind}" typeinter="PIX" '
        f'samechannels="{same}">'
    )
    for order in orders:
        yield "    <channel>"
        yield from (f'      <gpu dev="{devices[rank]:#x}" rank="{rank}"/>' for rank in order)
        yield "    </channel>"
    yield "  </graph>"
