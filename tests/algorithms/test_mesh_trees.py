# SPDX-License-Identifier: Apache-2.0
"""Trees of every spine of a mesh: right, all links loaded alike, as long as worked out by hand."""

import math

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError

COST = {"latency_s": 1e-6, "bandwidth": 1e9}


def trees(dims: list[int], **changes: object) -> hm.Schedule:
    """Make the schedule of a mesh, with these arguments changed."""
    arguments = {"wires": ["line"] * len(dims), "nbytes": 1 << 20, "chunk_count": 4, **COST, **changes}
    return hm.algorithms.all_reduce_mesh_trees(dims, **arguments)


def loads(schedule: hm.Schedule, topology: hm.Topology) -> dict[tuple[int, int], float]:
    """Return what share of the buffer each link carries; all transfers must be over links."""
    rows, weights = schedule.transfers, np.asarray(schedule.chunk_weights, float)
    carried = {
        pair: 0.0 for pair in zip(topology.links["src"].tolist(), topology.links["dst"].tolist(), strict=True)
    }
    for src, dst, chunk in zip(
        rows["src"].tolist(), rows["dst"].tolist(), rows["chunk"].tolist(), strict=True
    ):
        carried[src, dst] += weights[chunk] / weights.sum()
    return carried


@pytest.mark.parametrize("nbytes", [0, 1_000_000])
@pytest.mark.parametrize("chunk_count", [1, 2, 7])
@pytest.mark.parametrize(
    "dims",
    [[1], [2], [5], [1, 6], [2, 2], [3, 4], [5, 3], [7, 2], [3, 1, 4], [2, 3, 4], [2, 2, 2, 3]],
    ids=str,
)
@pytest.mark.parametrize("line_count", [None, 1, 2])
def test_mesh_trees_are_correct_and_use_no_link_twice_in_a_step(
    dims: list[int], chunk_count: int, nbytes: int, line_count: int | None
) -> None:
    schedule = trees(dims, chunk_count=chunk_count, nbytes=nbytes, line_count=line_count)
    assert schedule.collective.kind == "all_reduce"
    assert schedule.rank_count == math.prod(dims)
    assert hm.verify(schedule, report_redundant=True) == []
    assert hm.verify(schedule, topology=hm.topologies.mesh(dims, **COST), link_capacity=1) == []


@pytest.mark.parametrize("line_count", [1, 2, 3])
def test_mesh_trees_are_correct_where_links_differ(line_count: int) -> None:
    schedule = trees([4, 3, 5], latency_s=[1e-6, 0.0, 3e-6], bandwidth=[1e9, 4e9, 2e9], line_count=line_count)
    assert hm.verify(schedule, report_redundant=True) == []


@pytest.mark.parametrize(
    "dims",
    [[6], [2, 2], [4, 4], [3, 5], [2, 7], [9, 4], [17, 17], [2, 2, 2], [4, 3, 2], [5, 5, 5], [2, 2, 3, 2]],
    ids=str,
)
def test_every_link_carries_as_little_as_trees_can(dims: list[int]) -> None:
    """Derivation: a tree uses n - 1 cables, each way once; m cables share that evenly. Expect (n - 1)/m on a link."""
    topology = hm.topologies.mesh(dims, **COST)
    least = (topology.rank_count - 1) / (topology.link_count / 2)
    assert list(loads(trees(dims), topology).values()) == pytest.approx([least] * topology.link_count)


def test_fewer_lines_load_their_spines_more() -> None:
    """Given 8 x 8, trees of the 2 middle lines each way. Derivation: half of the buffer goes along every column, and
    half of the other half along a spine. Expect 3/4 on spines, 1/2 elsewhere."""
    carried = loads(trees([8, 8], line_count=2), hm.topologies.mesh([8, 8], **COST))
    for (src, dst), load in carried.items():
        (row, column), is_along_row = divmod(min(src, dst), 8), abs(src - dst) == 1
        is_spine = (row if is_along_row else column) in (3, 4)
        assert load == pytest.approx(0.75 if is_spine else 0.5)


def test_faster_dimensions_carry_more() -> None:
    """Given rows of twice the speed of columns. Expect all links busy for as long."""
    topology = hm.topologies.mesh([5, 4], latency_s=1e-6, bandwidth=[2e9, 1e9])
    carried = loads(trees([5, 4], bandwidth=[2e9, 1e9]), topology)
    speed = dict(
        zip(
            zip(topology.links["src"].tolist(), topology.links["dst"].tolist(), strict=True),
            topology.links["bandwidth"].tolist(),
            strict=True,
        )
    )
    busy = [load / speed[pair] for pair, load in carried.items()]
    assert busy == pytest.approx([busy[0]] * len(busy))


def test_a_dimension_that_is_too_slow_carries_no_more_than_it_must() -> None:
    """Given 3 rows of 4, columns slower by 100. Derivation: each column is a spine and none of its links has more than
    one. Expect a quarter of the buffer on these, all of it on the rows."""
    topology = hm.topologies.mesh([4, 3], latency_s=1e-6, bandwidth=[1e11, 1e9])
    carried = loads(trees([4, 3], bandwidth=[1e11, 1e9]), topology)
    assert all(
        load == pytest.approx(1 if abs(src - dst) == 1 else 1 / 4) for (src, dst), load in carried.items()
    )


def test_lighter_trees_have_fewer_chunks_of_about_the_same_size() -> None:
    """Given 16 x 8. Derivation: trees of the 8 rows and of the 16 columns share the buffer 8·15 to 16·7. Expect 15
    chunks of a row's tree and 7 of a column's, all alike."""
    schedule = trees([16, 8], chunk_count=15)
    assert schedule.chunk_count == 8 * 15 + 16 * 7
    assert set(schedule.chunk_weights) == {schedule.chunk_weights[0]}


@pytest.mark.parametrize(("chunk_count", "microseconds"), [(1, 4), (2, 5)])
def test_a_line_takes_its_way_up_and_down(chunk_count: int, microseconds: float) -> None:
    """Given 3 ranks in a line, chunks of 1 us and 1 us of latency. Derivation: 2 us into the middle from both ends, 2
    out of it; a second chunk follows 1 us behind."""
    nbytes = 1000 * chunk_count
    schedule = trees([3], nbytes=nbytes, chunk_count=chunk_count)
    found = hm.simulate(schedule, hm.topologies.mesh([3], **COST), nbytes, network="fifo")
    assert found.seconds == pytest.approx(microseconds * 1e-6)


@pytest.mark.parametrize("network", ["fifo", "fluid"])
@pytest.mark.parametrize("latency_s", [0.0, 1e-6, 1e-5])
@pytest.mark.parametrize("dims", [[8, 8], [3, 9], [4, 4, 4]], ids=str)
def test_all_is_over_one_longest_way_after_the_links_are_busy(
    dims: list[int], latency_s: float, network: str
) -> None:
    topology = hm.topologies.mesh(dims, latency_s=latency_s, bandwidth=1e9)
    nbytes = 10_000_000
    schedule = trees(dims, latency_s=latency_s, nbytes=nbytes, chunk_count=16)
    weights = np.asarray(schedule.chunk_weights, float)
    hop_s = latency_s + weights.max() / weights.sum() * nbytes / 1e9
    busy_s = (topology.rank_count - 1) / (topology.link_count / 2) * nbytes / 1e9
    seconds = hm.simulate(schedule, topology, nbytes, network=network).seconds
    assert busy_s <= seconds <= busy_s + 1.5 * sum(dims) * hop_s
    assert seconds >= hm.lower_bound(topology, "all_reduce", nbytes).seconds


def test_the_same_arguments_make_the_same_schedule() -> None:
    assert trees([6, 5], line_count=3) == trees([6, 5], line_count=3)


def test_two_ranks_may_be_joined_by_any_cable() -> None:
    cable = trees([2, 3])
    assert trees([2, 3], wires=["ring", "line"]) == cable
    assert trees([2, 3], wires=["fully_connected", "line"]) == cable


@pytest.mark.parametrize(
    ("dims", "changes", "reason"),
    [
        ([], {}, "dimensions"),
        ([0], {}, "size"),
        ([-1, -1], {}, "size"),
        ([2] * 17, {}, "dimensions"),
        ([4, 4], {"wires": ["line"]}, "wires"),
        ([4, 4], {"wires": ["line", "rope"]}, "rope"),
        ([4, 4], {"wires": ["line", "ring"]}, "lines"),
        ([4, 2], {"wires": ["line", "switch"]}, "lines"),
        ([4, 4], {"nbytes": -1}, "0 bytes"),
        ([4, 4], {"chunk_count": 0}, "chunk_count"),
        ([4, 4], {"line_count": 0}, "line_count"),
        ([64, 64], {"chunk_count": 1_000}, "transfers"),
        ([1024, 1024], {"chunk_count": 1}, "transfers"),
        ([1024, 1024, 1024], {}, "size"),
    ],
)
def test_meshes_that_make_no_sense_are_refused(
    dims: list[int], changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(ArgumentError, match=reason):
        trees(dims, **changes)


@pytest.mark.parametrize("bandwidth", [0.0, -1e9, float("inf"), float("nan"), 1e-300, [1e9, float("inf")]])
def test_links_that_no_topology_has_are_refused(bandwidth: float | list[float]) -> None:
    with pytest.raises(ArgumentError, match=r"expected a (finite )?bandwidth above 0 B/s"):
        hm.algorithms.all_reduce_mesh_trees(
            [3, 3], ["line", "line"], latency_s=1e-6, bandwidth=bandwidth, nbytes=8
        )


def test_trees_whose_share_is_a_rounding_error_are_not_made() -> None:
    # Given columns four times as fast as rows, and four of them: trees with spines along columns get no share.
    def made(fast: float) -> hm.Schedule:
        return hm.algorithms.all_reduce_mesh_trees(
            [5, 4], ["line", "line"], latency_s=1e-6, bandwidth=[7e9, fast], nbytes=1 << 20, chunk_count=1
        )

    assert made(28e9).transfer_count == made(28.0001e9).transfer_count == 2 * 19 * 4
