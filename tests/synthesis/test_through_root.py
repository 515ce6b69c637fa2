"""All-reduces through a root: right for any root and chunk count, and there and back at the same time."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.through_root import all_reduce_through_root

COST = {"latency_s": 1e-6, "bandwidth": 1e9}


@pytest.mark.parametrize("root", [None, 0, 4])
@pytest.mark.parametrize("chunks", [1, 3, 16])
@pytest.mark.parametrize(
    "topology",
    [
        hm.topologies.mesh([5], **COST),
        hm.topologies.torus([3, 3], **COST),
        hm.topologies.switch(5, **COST),
        hm.topologies.dgx1(),
    ],
    ids=["line", "torus", "switch", "DGX-1"],
)
def test_every_schedule_is_a_right_all_reduce(topology: hm.Topology, chunks: int, root: int | None) -> None:
    schedule = all_reduce_through_root(topology, chunks, root=root)
    assert schedule.collective.kind == "all_reduce"
    assert schedule.chunk_count == chunks
    assert schedule.transfer_count == 2 * chunks * (topology.rank_count - 1)
    assert hm.verify(schedule) == []


def test_on_a_line_results_come_back_while_parts_still_come_in() -> None:
    # Given 4 ranks in a line, 100 chunks of 1 us, no latency; the root is rank 0.
    # Derivation: the last part of the first chunk reaches rank 0 at 3, that of the last at 102; its sum is back at rank
    # 3 at 105.
    line = hm.topologies.mesh([4], latency_s=0, bandwidth=1e9)
    schedule = all_reduce_through_root(line, 100, nbytes=100_000)
    assert hm.simulate(schedule, line, 100_000, network="fifo").seconds == pytest.approx(105e-6)


@pytest.mark.parametrize("options", [{"root": 5}, {"root": -1}, {"chunk_count": 0}, {"nbytes": -1}])
def test_numbers_out_of_range_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ArgumentError):
        all_reduce_through_root(**{"topology": hm.topologies.mesh([5], **COST), "chunk_count": 4, **options})
