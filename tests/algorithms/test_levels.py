# SPDX-License-Identifier: Apache-2.0
"""Collectives on nodes with several ranks, and on groups of nodes: right, balanced, and as long as predicted."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms import Task
from hemiola.errors import ArgumentError
from hemiola.topology.port_speed import port_speed

KINDS = ("all_gather", "reduce_scatter", "all_reduce")
#: Nodes, ranks a node, slices, groups.
SHAPES = [
    (1, 1, 1, 1),
    (1, 4, 2, 1),
    (2, 1, 1, 1),
    (3, 2, 1, 1),
    (5, 3, 4, 1),
    (8, 2, 3, 1),
    (4, [3, 1, 2, 3], 3, 1),
    (4, [2, 2, 2, 1], 1, 1),
    (6, 2, 2, 3),
    (6, 2, 3, 2),
    (8, 1, 4, 8),
    (12, 1, 5, 3),
    (6, [2, 1, 2, 2, 3, 1], 2, 2),
]


def hierarchical(kind: str, *arguments: object, **named: object) -> hm.Schedule:
    return getattr(hm.algorithms, f"{kind}_hierarchical")(*arguments, **named)


def frontier_like(nodes: int) -> hm.Topology:
    """Return nodes of 8 ranks, of which two share each of 4 NICs."""
    return hm.topologies.hosts(
        nodes, 8, 4, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9
    )


def candidates(kind: str, pattern: str, network: hm.Topology, nbytes: int) -> list[hm.algorithms.Candidate]:
    task = Task(kind, network.rank_count, nbytes, port_speed(network), hm.Conditions(), 0, network)
    return hm.algorithms.get(f"{kind}_{pattern}").candidates(task)


def tapered(groups: int, nodes_per_group: int, taper: float) -> hm.Topology:
    """Return nodes of one rank; a group's switch has an uplink of its nodes' NICs together, over `taper`."""
    nodes, nic, latency_s = groups * nodes_per_group, 25e9, 0.25e-6
    core, links = nodes + groups, []
    for node in range(nodes):
        switch = nodes + node // nodes_per_group
        links += [(node, switch, latency_s, nic), (switch, node, latency_s, nic)]
    for switch in range(nodes, core):
        up = nodes_per_group * nic / taper
        links += [(switch, core, latency_s, up), (core, switch, latency_s, up)]
    return hm.Topology(nodes, links, switch_count=groups + 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_hierarchical_schedule_is_right_and_its_parts_are_the_whole(
    kind: str, shape: tuple[int, int | list[int], int, int]
) -> None:
    schedule = hierarchical(kind, *shape)
    assert hm.verify(schedule) == []
    n, slices = schedule.rank_count, shape[2]
    assert schedule.transfer_count == n * (n - 1) * slices * (2 if kind == "all_reduce" else 1)
    parts = getattr(hm.algorithms, f"{kind}_hierarchical_parts")(*shape)
    rows = np.asarray(schedule.transfers)
    for rank in range(n):
        own = rows[(rows["src"] == rank) | (rows["dst"] == rank)]
        assert np.array_equal(parts.part(rank), own)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_may_be_numbered_across_nodes(kind: str) -> None:
    round_robin = [rank % 3 for rank in range(6)]
    for pattern, count in (("hierarchical", 2), ("multi_ring", 2)):
        make = getattr(hm.algorithms, f"{kind}_{pattern}")
        assert hm.verify(make(3, 2, count, node_of_rank=round_robin)) == []
        in_order = make(3, 2, count)
        assert make(3, 2, count, node_of_rank=[0, 0, 1, 1, 2, 2]) == in_order
        place = np.array([0, 3, 1, 4, 2, 5])  # of the rank that is as many in order: node by node
        rows = {tuple(row) for row in np.asarray(in_order.transfers)[["step", "src", "dst"]].tolist()}
        placed = {(step, int(place[src]), int(place[dst])) for step, src, dst in rows}
        found = np.asarray(make(3, 2, count, node_of_rank=round_robin).transfers)[["step", "src", "dst"]]
        assert placed == {tuple(row) for row in found.tolist()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("nodes", [2, 3, 5, 8])
@pytest.mark.parametrize("slices", [1, 3])
def test_every_nic_sends_and_receives_the_least_that_it_can(kind: str, nodes: int, slices: int) -> None:
    # Given nodes with 4 NICs. Derivation: (N-1)/N·m must enter each node, and its own m/N must reach N-1 others, so
    # (N-1)/N·m/4 each way through each NIC; twice that for an all-reduce.
    network, nbytes = frontier_like(nodes), nodes * 8 * slices * 960
    timeline = hm.simulate(hierarchical(kind, nodes, 8, slices), network, nbytes)
    links = np.asarray(network.links)
    core = network.rank_count + network.switch_count - 1
    cards = (links["src"] == core) | (links["dst"] == core)
    assert cards.sum() == 2 * 4 * nodes
    moved = np.asarray(timeline.link_busy_s)[cards] * links["bandwidth"][cards]
    each = (nodes - 1) * nbytes / nodes / 4 * (2 if kind == "all_reduce" else 1)
    assert np.allclose(moved, each, rtol=1e-9, atol=0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "network",
    [
        frontier_like(3),
        frontier_like(5),
        hm.topologies.hosts(
            4, 4, 4, latency_s=2e-6, bandwidth=200e9, nic_latency_s=5e-6, nic_bandwidth=25e9
        ),
        hm.topologies.hosts(4, 2, 1, latency_s=5e-6, bandwidth=4e9, nic_latency_s=60e-6, nic_bandwidth=25e6),
        hm.topologies.hosts(
            3, 4, 4, latency_s=1e-6, bandwidth=50e9, nic_latency_s=3e-6, nic_bandwidth=25e9, rails=True
        ),
        hm.topologies.hosts(
            5, 4, 2, latency_s=1e-6, bandwidth=50e9, nic_latency_s=3e-6, nic_bandwidth=25e9,
            message_s=2e-7, nic_message_s=1e-6,
        ),
        hm.topologies.hosts(
            3, 4, 2, latency_s=1e-6, bandwidth=20e9, nic_latency_s=3e-6, nic_bandwidth=25e9,
            inside="fully_connected",
        ),
    ],
    ids=lambda network: f"{network.name} {network.link_count}",
)  # fmt: skip
def test_what_one_rank_does_tells_what_a_simulation_takes(kind: str, network: hm.Topology) -> None:
    for nbytes in (units * 32 * network.rank_count for units in (128, 1024, 1 << 15)):
        found = candidates(kind, "hierarchical", network, nbytes)
        assert found
        for candidate in found[::2]:
            assert candidate.is_simulation
            seconds = hm.simulate(candidate.generate(), network, nbytes).seconds
            assert candidate.formula_s == pytest.approx(seconds, rel=3e-4), candidate.label


def test_131072_ranks_are_predicted_and_made_rank_by_rank() -> None:
    network = hm.topologies.hosts(
        16384, 8, 4, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9
    )
    found = candidates("all_gather", "hierarchical", network, 1 << 30)
    best = min(found, key=lambda candidate: candidate.formula_s)
    exact_s = (
        16383 / 16384 * (1 << 30) / 100e9 + 14 * 5e-6 + 2e-6
    )  # the NICs' time, fourteen rounds, one hop inside
    assert best.formula_s == pytest.approx(exact_s, rel=0.05)
    part = hm.algorithms.all_gather_hierarchical_parts(16384, 8, 1).part(77_777)
    assert (part["dst"] == 77_777).sum() == 131_071


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("taper", [2.0, 4.0])
def test_groups_behind_tapered_uplinks_keep_nics_busy(kind: str, taper: float) -> None:
    # 4 groups of 8 nodes: 31/32·m passes each NIC, 3/4·m·taper/8 of a NIC's time each uplink, which is less.
    network, nbytes = tapered(4, 8, taper), 1 << 25
    found = {c.variant: c for c in candidates(kind, "hierarchical", network, nbytes)}
    chosen = found["16 slices"]
    assert chosen.arguments["groups"] == 4
    phases = 2 if kind == "all_reduce" else 1
    seconds = hm.simulate(chosen.generate(), network, nbytes).seconds
    assert seconds <= 1.03 * phases * 31 / 32 * nbytes / 25e9
    assert chosen.formula_s == pytest.approx(seconds, rel=0.01)


def test_far_links_carry_every_byte_once() -> None:
    network, nbytes = tapered(3, 4, 2.0), 12 * 4800
    links = np.asarray(network.links)
    uplinks = (links["src"] == 15) | (links["dst"] == 15)
    timeline = hm.simulate(hm.algorithms.all_gather_hierarchical(12, 1, 2, 3), network, nbytes)
    moved = np.asarray(timeline.link_busy_s)[uplinks] * links["bandwidth"][uplinks]
    assert np.allclose(moved, 2 * nbytes / 3, rtol=1e-6)


def test_several_rings_use_every_nic_alike() -> None:
    network, nbytes = frontier_like(3), 24 * 4 * 600
    timeline = hm.simulate(hm.algorithms.all_gather_multi_ring(3, 8, 4), network, nbytes)
    links = np.asarray(network.links)
    core = network.rank_count + network.switch_count - 1
    cards = (links["src"] == core) | (links["dst"] == core)
    moved = np.asarray(timeline.link_busy_s)[cards] * links["bandwidth"][cards]
    assert np.allclose(moved, 23 / 24 * nbytes / 4, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 3, 1), (2, 4, 2), (3, [2, 3, 1], 2), (2, 2, 3)], ids=str)
def test_several_rings_are_right(kind: str, shape: tuple[int, int | list[int], int]) -> None:
    assert hm.verify(getattr(hm.algorithms, f"{kind}_multi_ring")(*shape)) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("nodes", "ranks", "between"),
    [(1, 3, "ring"), (5, 2, "ring"), (4, 3, "recursive"), (8, 1, "recursive"), (1, 1, "recursive")],
)
def test_pccl_is_right(kind: str, nodes: int, ranks: int, between: str) -> None:
    schedule = getattr(hm.algorithms, f"{kind}_pccl")(nodes, ranks, between)
    assert hm.verify(schedule) == []
    rounds = nodes - 1 if between == "ring" else (nodes - 1).bit_length()
    assert schedule.step_count == (rounds + ranks - 1) * (2 if kind == "all_reduce" else 1)


def test_pccl_takes_its_phases_one_after_the_other() -> None:
    # 8 nodes, 64 MiB: 7/8·m at 100 GB/s through the NICs, then the same inside, of which the first seventh overlaps.
    network, nbytes = frontier_like(8), 1 << 26
    bound_s = 7 / 8 * nbytes / 100e9
    for between in ("ring", "recursive"):
        schedule = hm.algorithms.all_gather_pccl(8, 8, between)
        assert 1.8 * bound_s < hm.simulate(schedule, network, nbytes).seconds < 2.1 * bound_s
    best = hm.algorithms.all_gather_hierarchical(8, 8, 16)
    assert hm.simulate(best, network, nbytes).seconds < 1.05 * bound_s


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((4, [2, 2, 2, 1]), "equally many"),
        ((6, 2, "recursive"), "power of two"),
        ((4, 2, "tree"), "'ring' or 'recursive'"),
    ],
)
def test_what_pccl_leaves_open_is_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        hm.algorithms.all_gather_pccl(*arguments)


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ((0, 2), {}, "nodes"),
        ((3, [2, 2]), {}, "ranks_per_node"),
        ((2, [2, 0]), {}, "at least 1 rank"),
        ((2, 2, 0), {}, "slices"),
        ((4, 2, 1, 3), {}, "groups"),
        ((2, 2), {"node_of_rank": [0, 0, 0, 1]}, "node_of_rank"),
        ((2, 2), {"node_of_rank": [0, 0, 3, 3]}, "node_of_rank"),
        ((2, 2), {"node_of_rank": [0, 0, 9, 9]}, "node_of_rank"),
        ((16384, 8, 4), {}, "transfers"),
        ((1 << 19, 1 << 10), {}, "ranks"),
    ],
)
def test_contradictory_layouts_are_refused(
    arguments: tuple[object, ...], named: dict[str, object], words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        hierarchical("all_gather", *arguments, **named)
