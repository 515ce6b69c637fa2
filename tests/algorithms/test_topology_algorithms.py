# SPDX-License-Identifier: Apache-2.0
"""Algorithms made for a topology: right, within the capacity of its links, as long as worked out by hand."""

from collections import Counter

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError

COST = {"latency_s": 1e-6, "bandwidth": 1e9}
LINKED = [
    hm.topologies.ring(1, **COST),
    hm.topologies.ring(2, **COST),
    hm.topologies.ring(7, bidirectional=False, **COST),
    hm.topologies.ring(8, **COST),
    hm.topologies.fully_connected(6, **COST),
    hm.topologies.mesh([3, 4], **COST),
    hm.topologies.mesh([2, 3, 4], **COST),
    hm.topologies.torus([4, 4], **COST),
    hm.topologies.torus([3, 3, 3], **COST),
]


def uses_links_once_per_step(schedule: hm.Schedule, topology: hm.Topology) -> bool:
    """Say whether every transfer has a link of its own in its step."""
    capacity = Counter(zip(topology.links["src"].tolist(), topology.links["dst"].tolist(), strict=True))
    rows = schedule.transfers
    used = Counter(zip(rows["step"].tolist(), rows["src"].tolist(), rows["dst"].tolist(), strict=True))
    return all(count <= capacity[src, dst] for (_, src, dst), count in used.items())


@pytest.mark.parametrize("topology", LINKED, ids=lambda t: t.name)
@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter", "all_reduce"])
def test_multitree_is_correct_and_uses_no_link_twice_in_a_step(kind: str, topology: hm.Topology) -> None:
    schedule = getattr(hm.algorithms, f"{kind}_multitree")(topology)
    assert schedule.collective.kind == kind
    assert hm.verify(schedule, report_redundant=True) == []
    assert uses_links_once_per_step(schedule, topology)


@pytest.mark.parametrize(
    ("topology", "steps"),
    [
        (hm.topologies.ring(8, **COST), 4),  # 7 chunks arrive over 2 links
        (hm.topologies.ring(7, bidirectional=False, **COST), 6),
        (hm.topologies.fully_connected(6, **COST), 1),
        (hm.topologies.mesh([4, 4], **COST), 8),  # a corner receives 15 chunks over 2 links
        (hm.topologies.mesh([10, 10], **COST), 50),
    ],
    ids=lambda value: value.name if isinstance(value, hm.Topology) else str(value),
)
def test_multitree_reaches_the_in_degree_bound(topology: hm.Topology, steps: int) -> None:
    assert hm.algorithms.all_gather_multitree(topology).step_count == steps
    assert hm.algorithms.reduce_scatter_multitree(topology).step_count == steps
    assert hm.algorithms.all_reduce_multitree(topology).step_count == 2 * steps


def test_multitree_counts_parallel_links() -> None:
    """Given ranks 0 and 1 with two links each way, and rank 2 behind one link: expect no link used twice."""
    links = [(0, 1), (0, 1), (1, 0), (1, 0), (1, 2), (2, 1)]
    topology = hm.Topology(3, [(src, dst, 1e-6, 1e9) for src, dst in links])
    schedule = hm.algorithms.all_gather_multitree(topology)
    assert hm.verify(schedule) == []
    assert uses_links_once_per_step(schedule, topology)


def test_multitree_refuses_switches() -> None:
    with pytest.raises(ArgumentError, match="switches"):
        hm.algorithms.all_gather_multitree(hm.topologies.switch(4, **COST))


def test_multitree_names_ranks_that_no_path_joins() -> None:
    topology = hm.Topology(3, [(0, 1, 1e-6, 1e9), (1, 0, 1e-6, 1e9), (2, 1, 1e-6, 1e9)])
    with pytest.raises(ArgumentError, match="from rank 0 to rank 2"):
        hm.algorithms.all_gather_multitree(topology)
    with pytest.raises(ArgumentError, match="from rank 0 to rank 2"):
        hm.algorithms.reduce_scatter_multitree(topology)


GRIDS = [
    ([1], ["ring"]),
    ([5], ["ring"]),
    ([2], ["line"]),
    ([4], ["switch"]),
    ([3, 4], ["ring", "ring"]),
    ([2, 1, 3], ["ring", "ring", "line"]),
    ([2, 4, 4], ["ring", "fully_connected", "switch"]),
    ([3, 3, 3], ["ring", "ring", "ring"]),
    ([3, 5], ["fully_connected", "switch"]),
]


@pytest.mark.parametrize(("dims", "wires"), GRIDS, ids=str)
@pytest.mark.parametrize("chunk_count", [1, 2, 7])
@pytest.mark.parametrize("name", ["all_reduce_blueconnect", "all_reduce_themis"])
def test_grid_all_reduce_is_correct(name: str, chunk_count: int, dims: list[int], wires: list[str]) -> None:
    for nbytes in [0, 1_000_000]:
        schedule = getattr(hm.algorithms, name)(dims, wires, nbytes=nbytes, chunk_count=chunk_count, **COST)
        lanes = 2 if {"ring", "line"} & set(wires) else 1
        assert schedule.chunk_count == chunk_count * lanes * schedule.rank_count
        assert hm.verify(schedule, report_redundant=True) == []


@pytest.mark.parametrize("name", ["all_reduce_blueconnect", "all_reduce_themis"])
def test_grid_all_reduce_uses_the_links_of_the_grid_only(name: str) -> None:
    dims, wires = [3, 4], ["ring", "fully_connected"]
    topology = hm.topologies.grid(dims, wires, **COST)
    linked = set(zip(topology.links["src"].tolist(), topology.links["dst"].tolist(), strict=True))
    rows = getattr(hm.algorithms, name)(dims, wires, nbytes=1 << 20, chunk_count=4, **COST).transfers
    assert set(zip(rows["src"].tolist(), rows["dst"].tolist(), strict=True)) <= linked


def test_blueconnect_of_one_part_takes_the_steps_of_its_dimensions() -> None:
    """Given a 4 x 3 torus. Derivation: rings of 4 and 3, out and back: 2·(3 + 2). Expect 10 steps."""
    schedule = hm.algorithms.all_reduce_blueconnect([4, 3], ["ring", "ring"], nbytes=1 << 20, **COST)
    assert schedule.step_count == 10


def test_blueconnect_in_one_dimension_takes_the_time_of_a_two_way_ring() -> None:
    """Given a ring of 4, 1 µs, 1 GB/s, 8 kB. Derivation: half of the buffer each way in quarters of 1 kB;
    3 steps out and 3 back of 1 + 1 µs. Expect 12 µs."""
    schedule = hm.algorithms.all_reduce_blueconnect([4], ["ring"], nbytes=8000, **COST)
    simulated = hm.simulate(schedule, hm.topologies.ring(4, **COST), 8000, network="fifo")
    assert simulated.seconds == pytest.approx(12e-6, rel=1e-9)


def test_blueconnect_never_takes_longer_than_one_dimension_after_the_other() -> None:
    """Given a 4 x 3 torus, 1 µs, 1 GB/s, 24 kB, one part. Derivation: half each way; out along x 3 steps of
    3 kB, 3·(1 + 3) µs, along y 2 steps of 1 kB, 2·(1 + 1) µs, back alike: 32 µs in all. Chunks of one message
    go on one by one, so it may be less, but no less than 2·9 µs, the bytes along x."""
    dims, wires = [4, 3], ["ring", "ring"]
    schedule = hm.algorithms.all_reduce_blueconnect(dims, wires, nbytes=24_000, **COST)
    simulated = hm.simulate(schedule, hm.topologies.grid(dims, wires, **COST), 24_000, network="fifo")
    assert 18e-6 <= simulated.seconds <= 32e-6


def first_dimension(schedule: hm.Schedule, dims: list[int], part_chunks: list[int]) -> int:
    """Return the dimension along which the given chunks move first."""
    rows = schedule.transfers
    mine = rows[[chunk in part_chunks for chunk in rows["chunk"].tolist()]]
    src, dst = int(mine[0]["src"]), int(mine[0]["dst"])
    return 0 if src // dims[0] == dst // dims[0] else 1


def test_themis_starts_its_second_part_in_the_other_dimension() -> None:
    """Given a 4 x 4 torus and 2 parts. Derivation: part 0 goes x, y and leaves x with four times y's load.
    Expect part 1 to go y, x; BlueConnect sends both x first."""
    dims, wires = [4, 4], ["ring", "ring"]
    parts = [[(owner * 2 + part) * 2 + lane for owner in range(16) for lane in range(2)] for part in range(2)]
    themis = hm.algorithms.all_reduce_themis(dims, wires, nbytes=1 << 20, chunk_count=2, **COST)
    assert [first_dimension(themis, dims, part) for part in parts] == [0, 1]
    blueconnect = hm.algorithms.all_reduce_blueconnect(dims, wires, nbytes=1 << 20, chunk_count=2, **COST)
    assert [first_dimension(blueconnect, dims, part) for part in parts] == [0, 0]


def test_themis_is_faster_than_blueconnect_on_a_torus_with_a_large_buffer() -> None:
    """BlueConnect keeps one dimension busy with most of the bytes; Themis shares them out."""
    dims, wires, nbytes = [4, 4, 4], ["ring"] * 3, 1 << 28
    topology = hm.topologies.grid(dims, wires, latency_s=0.7e-6, bandwidth=25e9)
    seconds = [
        hm.simulate(
            make(dims, wires, latency_s=0.7e-6, bandwidth=25e9, nbytes=nbytes, chunk_count=16),
            topology,
            nbytes,
            network="fifo",
        ).seconds
        for make in [hm.algorithms.all_reduce_themis, hm.algorithms.all_reduce_blueconnect]
    ]
    assert seconds[0] < 0.6 * seconds[1]


@pytest.mark.parametrize("name", ["all_reduce_blueconnect", "all_reduce_themis"])
@pytest.mark.parametrize(
    ("dims", "wires", "nbytes", "chunk_count"),
    [
        ([], [], 1, 1),
        ([0], ["ring"], 1, 1),
        ([-1, -1], ["ring", "ring"], 1, 1),
        ([4], ["ring", "ring"], 1, 1),
        ([4], ["rope"], 1, 1),
        ([4], ["ring"], -1, 1),
        ([4], ["ring"], 1, 0),
        ([1024, 1024, 1024], ["ring"] * 3, 1, 1),
        ([4096], ["ring"], 1, 64),
        ([2] * 17, ["ring"] * 17, 1, 1),
    ],
)
def test_grids_that_make_no_sense_are_refused(
    name: str, dims: list[int], wires: list[str], nbytes: int, chunk_count: int
) -> None:
    with pytest.raises(ArgumentError):
        getattr(hm.algorithms, name)(dims, wires, nbytes=nbytes, chunk_count=chunk_count, **COST)


# GPU to GPU NVLinks of a DGX-1 (V100): how many join each pair.
DGX1 = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 1,
    (2, 6): 2, (3, 7): 2, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 1,
}  # fmt: skip


def dgx1(latency_s: float, bandwidth: float) -> hm.Topology:
    """Return the eight GPUs and their NVLinks."""
    links = [(a, b) for pair, count in DGX1.items() for a, b in [pair, pair[::-1]] for _ in range(count)]
    return hm.Topology(8, [(src, dst, latency_s, bandwidth) for src, dst in links])


@pytest.mark.parametrize("chunk_count", [2, 4, 16, 64])
def test_c_cube_is_correct_and_each_tree_has_links_of_its_own(chunk_count: int) -> None:
    schedule = hm.algorithms.all_reduce_c_cube(chunk_count=chunk_count)
    assert hm.verify(schedule, report_redundant=True) == []
    assert schedule.step_count == chunk_count // 2 + 5
    assert uses_links_once_per_step(schedule, dgx1(1e-6, 1e9))
    rows = schedule.transfers
    tree = rows["chunk"] % 2
    pairs = [set(zip(rows["src"][tree == t], rows["dst"][tree == t], strict=True)) for t in range(2)]
    assert not pairs[0] & pairs[1]


def test_c_cube_takes_the_time_of_its_longest_path() -> None:
    """Given 16 chunks of 1 µs, latency 1 µs. Derivation: the first chunk of a tree takes 3 hops up and 3 down.
    One of the three is a pair of NVLinks, which halves its serialization: 2·(2 + 2 + 1.5) µs. 7 more chunks follow.
    Expect 18 µs."""
    schedule = hm.algorithms.all_reduce_c_cube(chunk_count=16)
    assert hm.simulate(schedule, dgx1(1e-6, 1e9), 16_000, network="fifo").seconds == pytest.approx(18e-6)


@pytest.mark.parametrize("chunk_count", [0, -2, 1, 3])
def test_c_cube_refuses_chunk_counts_that_two_trees_cannot_share(chunk_count: int) -> None:
    with pytest.raises(ArgumentError, match=str(chunk_count)):
        hm.algorithms.all_reduce_c_cube(chunk_count=chunk_count)
