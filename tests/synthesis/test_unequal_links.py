"""Links of different speed, and links shared behind switches: causal schedules near the bounds."""

from __future__ import annotations

import pytest
from grids import GIB, LATENCY_S, boxes, grid, star

import hemiola as hm
from hemiola.synthesis import search

KINDS = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce")


def in_rate_bound_s(chunks: int, link_times_s: list[float]) -> float:
    """The least time in which links of these times per chunk bring that many chunks."""
    multiples = sorted(k * t for t in link_times_s for k in range(1, chunks + 1))
    return next(at for at in multiples if sum(int(at / t + 1e-9) for t in link_times_s) >= chunks)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "topology",
    [grid([3, 4], [50 * GIB, 75 * GIB]), star(5), boxes(2, 3, 100e9, 10e9), grid([2, 2, 2], [1e9, 2e9, 9e9])],
    ids=["mesh", "star", "boxes", "cube"],
)
def test_every_schedule_keeps_its_promise(topology: hm.Topology, kind: str) -> None:
    assert hm.verify(hm.synthesize(topology, kind, 3, seed=5)) == []


@pytest.mark.parametrize(
    ("sides", "gib_per_s", "chunks_per_rank"),
    [((5, 5), (50, 75), 1), ((8, 8), (50, 37), 1), ((10, 7), (16, 73), 3)],
)
def test_a_causal_schedule_reaches_the_in_rate_bound_of_a_mesh_with_two_speeds(
    sides: tuple[int, int], gib_per_s: tuple[int, int], chunks_per_rank: int
) -> None:
    ranks = sides[0] * sides[1]
    chunk = GIB / (ranks * chunks_per_rank)
    bound = in_rate_bound_s((ranks - 1) * chunks_per_rank, [chunk / (b * GIB) + LATENCY_S for b in gib_per_s])
    topology = grid(sides, [b * GIB for b in gib_per_s])
    found = search(topology, "all_gather", chunks_per_rank, latency="occupies", nbytes=GIB)
    assert hm.verify(found.schedule) == []
    assert found.seconds <= 1.005 * bound
    assert found.bound_s == pytest.approx(bound, rel=1e-6)


@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter"])
@pytest.mark.parametrize(
    "topology", [grid([4, 6], [50 * GIB, 20 * GIB]), star(7), boxes(3, 4, 100e9, 10e9)], ids=str
)
def test_the_simulator_gives_the_time_that_the_search_claims(topology: hm.Topology, kind: str) -> None:
    nbytes = topology.rank_count * 4 * 100_000
    found = search(topology, kind, 4, nbytes=nbytes)
    simulated = hm.simulate(found.schedule, topology, nbytes, network="fifo").seconds
    assert simulated == pytest.approx(found.seconds, rel=0.01)


def test_a_switch_is_used_at_full_rate_on_every_port() -> None:
    # Given 8 ranks on one switch, 1 GB/s, 1 us; 8 MB in 8 chunks.
    # Derivation: 7 chunks of 1 ms enter each rank; the first is 1 ms on its way to the switch, plus 1 us.
    # Expect 8 ms + 1 us.
    found = search(star(8), "all_gather", nbytes=8_000_000)
    assert found.seconds == pytest.approx(8e-3 + 1e-6)


def test_small_messages_behind_a_switch_go_straight_to_their_destinations() -> None:
    # Given 16 ranks on one switch, 1 us, chunks of one byte (1 ns).
    # Derivation: a ring needs 15 latencies; sent directly, 15 chunks leave within 15 ns.
    found = search(star(16), "all_gather", nbytes=16)
    assert found.seconds < 2e-6


def test_slow_ports_of_a_box_bring_every_foreign_chunk_once() -> None:
    # Given 4 boxes of 4 ranks, 10 times faster inside than outside.
    # Derivation: the 12 foreign chunks of a box enter through its 4 ports: at least 3 chunk times each.
    # Expect no chunk to enter a box twice while the ports are what everything waits for.
    schedule = hm.synthesize(boxes(4, 4, 100e9, 10e9), "all_gather", 4)
    entered = [(t["dst"] // 4, t["chunk"]) for t in schedule.transfers if t["src"] // 4 != t["dst"] // 4]
    assert len(entered) <= 1.1 * 4 * 12 * 4
