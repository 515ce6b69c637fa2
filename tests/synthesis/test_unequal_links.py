# SPDX-License-Identifier: Apache-2.0
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


@pytest.mark.parametrize("kind", ["all_gather", "broadcast", "scatter"])
@pytest.mark.parametrize("latency", ["pipelined", "occupies"])
@pytest.mark.parametrize(
    "topology",
    [grid([3, 4], [50e9, 75e9]), grid([4, 4], [16e9, 73e9]), grid([2, 2, 2], [1e9, 2e9, 9e9])],
    ids=str,
)
def test_links_that_send_only_what_their_source_holds_take_the_time_that_the_search_claims(
    topology: hm.Topology, latency: str, kind: str
) -> None:
    nbytes = topology.rank_count**2 * 10_000
    found = search(topology, kind, 2, nbytes=nbytes, latency=latency, seed=3)
    replayed = replayed_s(topology, found.schedule, nbytes, occupies=latency == "occupies")
    assert replayed == pytest.approx(found.seconds, rel=1e-6)


def replayed_s(topology: hm.Topology, schedule: hm.Schedule, nbytes: int, *, occupies: bool) -> float:
    """Play a schedule without reductions, each link in the order of the steps: it waits until its source holds the
    chunk, and is taken for the serialization, or with `occupies` until the chunk has arrived."""
    link = {
        (src, dst): (latency_s, bandwidth) for src, dst, latency_s, bandwidth, _ in topology.links.tolist()
    }
    chunk_bytes = nbytes / schedule.chunk_count
    collective = schedule.collective
    owners = (
        collective.owner.tolist() if collective.root is None else [collective.root] * schedule.chunk_count
    )
    held = {(rank, chunk): 0.0 for chunk, rank in enumerate(owners)}
    free = dict.fromkeys(link, 0.0)
    for _, src, dst, chunk, _ in schedule.transfers.tolist():
        latency_s, bandwidth = link[src, dst]
        start = max(free[src, dst], held[src, chunk])  # KeyError: it is sent before it is there
        arrival = start + chunk_bytes / bandwidth + latency_s
        free[src, dst] = arrival if occupies else arrival - latency_s
        held[dst, chunk] = min(arrival, held.get((dst, chunk), arrival))
    return max(held.values())


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
