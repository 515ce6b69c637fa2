# SPDX-License-Identifier: Apache-2.0
"""Schedules from integer programs: right, and as short as the in-degree or the diameter proves to be possible."""

from collections import Counter
from collections.abc import Callable

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError, TimeoutError
from hemiola.synthesis.optimal import Outcome, sccl, taccl
from hemiola.synthesis.optimal.integer_program import MOST_VARIABLES, Deadline, IntegerProgram

COST = {"latency_s": 1e-6, "bandwidth": 1e9}
KINDS = ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce"]


def slower_at(topology: hm.Topology, rank: int) -> hm.Topology:
    """Return a copy in which a rank's links have half the bandwidth."""
    rows = [
        (src, dst, latency_s, bandwidth / (2 if rank in (src, dst) else 1))
        for src, dst, latency_s, bandwidth, _ in topology.links.tolist()
    ]
    return hm.Topology(topology.rank_count, rows)


@pytest.mark.parametrize("make", [sccl, taccl])
@pytest.mark.parametrize("kind", KINDS)
def test_every_collective_is_right_and_keeps_to_the_links(make: Callable[..., Outcome], kind: str) -> None:
    topology = slower_at(hm.topologies.mesh([2, 3], **COST), 1)
    schedule = make(topology, kind, 2, root=4).schedule
    assert schedule.collective.kind == kind
    assert hm.verify(schedule, topology=topology, report_redundant=True) == []


@pytest.mark.parametrize(
    ("topology", "rounds"),
    [
        (hm.topologies.ring(2, **COST), 1),
        (hm.topologies.ring(6, **COST), 3),  # 5 chunks arrive over 2 links
        (hm.topologies.ring(5, bidirectional=False, **COST), 4),
        (hm.topologies.fully_connected(4, **COST), 1),
        (hm.topologies.mesh([3, 3], **COST), 4),  # a corner receives 8 chunks over 2 links
        (hm.topologies.torus([3, 3], **COST), 2),  # 8 chunks over 4 links
    ],
    ids=lambda value: value.name if isinstance(value, hm.Topology) else str(value),
)
def test_sccl_needs_as_many_rounds_as_the_in_degree_bound(topology: hm.Topology, rounds: int) -> None:
    outcome = sccl(topology)
    assert outcome.proved
    assert outcome.schedule.step_count == rounds
    rows = outcome.schedule.transfers
    used = Counter(zip(rows["step"].tolist(), rows["src"].tolist(), rows["dst"].tolist(), strict=True))
    assert max(used.values()) == 1


def test_sccl_adds_rounds_where_the_in_degree_bound_is_out_of_reach() -> None:
    """Given two triangles joined by one cable each way.

    Derivation: every rank could receive its 5 chunks over 2 links in 3 rounds, but 3 chunks must cross the cable
    one after the other, and the last must go on to the two ranks behind it: 4 rounds.
    """
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)]
    rows = [(*pair, 1e-6, 1e9) for a, b in pairs for pair in ((a, b), (b, a))]
    outcome = sccl(hm.Topology(6, rows))
    assert outcome.proved
    assert outcome.schedule.step_count == 4


def test_sccl_without_extra_steps_has_as_many_steps_as_the_diameter() -> None:
    """Given a path of 3 ranks with 2 chunks each: 2 steps; every rank is 2 links away at most."""
    outcome = sccl(hm.topologies.mesh([3], **COST), chunks_per_rank=2, extra_steps=0)
    assert outcome.proved
    assert outcome.schedule.step_count == 2
    assert hm.verify(outcome.schedule) == []


def test_sccl_counts_parallel_links() -> None:
    """Given a path 0 = 1 = 2 of double links: 2 chunks fit through an end's links in one round each; 2 rounds by
    distance."""
    pairs = [(0, 1), (1, 0), (1, 2), (2, 1)] * 2
    outcome = sccl(hm.Topology(3, [(*pair, 1e-6, 1e9) for pair in pairs]), chunks_per_rank=1)
    assert outcome.schedule.step_count == 2


def test_taccl_balances_the_load_of_a_square() -> None:
    """Given a ring of 4 with 2 chunks each: of an opposite rank's chunks one comes each way round, so a link carries
    2 · (1 + 1/2) = 3 of 12 chunks, which takes 3 chunk times and, from end to end, no more than one more."""
    topology = hm.topologies.ring(4, latency_s=0.0, bandwidth=1e9)
    outcome = taccl(topology, "all_gather", 2, nbytes=8_000_000_000)
    assert outcome.proved
    loads = Counter(
        zip(
            outcome.schedule.transfers["src"].tolist(),
            outcome.schedule.transfers["dst"].tolist(),
            strict=True,
        )
    )
    assert set(loads.values()) == {3}
    assert 3 <= hm.simulate(outcome.schedule, topology, 8_000_000_000, network="fifo").seconds <= 4


def test_taccl_with_extra_hops_avoids_a_slow_link() -> None:
    """Given a triangle whose link 0 -> 1 is 100 times slower: by way of 2 a chunk takes 2 s instead of 100 s."""
    rows = [
        (src, dst, 0.0, 1e7 if (src, dst) == (0, 1) else 1e9)
        for src in range(3)
        for dst in range(3)
        if src != dst
    ]
    topology = hm.Topology(3, rows)
    direct = taccl(topology, "broadcast", nbytes=1_000_000_000)
    around = taccl(topology, "broadcast", nbytes=1_000_000_000, extra_hops=1)
    assert hm.simulate(direct.schedule, topology, 1_000_000_000).seconds == pytest.approx(100)
    assert hm.simulate(around.schedule, topology, 1_000_000_000).seconds == pytest.approx(2)


@pytest.mark.parametrize("make", [sccl, taccl])
def test_bad_input_is_refused(make: Callable[..., Outcome]) -> None:
    ring = hm.topologies.ring(4, **COST)
    with pytest.raises(ArgumentError, match="1 switches"):
        make(hm.topologies.switch(4, **COST))
    with pytest.raises(ArgumentError, match="no path from rank 0 to rank 2"):
        make(hm.Topology(4, [(a, b, 0, 1) for a, b in ((0, 1), (1, 0), (2, 3), (3, 2))]))
    with pytest.raises(ArgumentError, match="all_gather"):
        make(ring, "all_to_all")
    with pytest.raises(ArgumentError, match="at least 1 chunk"):
        make(ring, chunks_per_rank=0)
    with pytest.raises(ArgumentError, match="time limit above 0"):
        make(ring, time_limit_s=0)
    with pytest.raises(ArgumentError, match="extra"):
        make(ring, extra_steps=-1) if make is sccl else make(ring, extra_hops=-1)


@pytest.mark.parametrize("make", [sccl, taccl])
def test_a_program_that_is_too_large_is_refused_before_it_is_built(make: Callable[..., Outcome]) -> None:
    with pytest.raises(ArgumentError, match=f"{MOST_VARIABLES:,} variables"):
        make(hm.topologies.torus([16, 16], **COST))


def test_a_time_limit_that_is_reached_names_the_topology() -> None:
    with pytest.raises(TimeoutError, match="mesh 4x4"):
        sccl(hm.topologies.mesh([4, 4], **COST), time_limit_s=1e-3)


def test_a_single_rank_needs_no_transfers() -> None:
    alone = hm.Topology(1, [])
    assert sccl(alone).schedule.transfer_count == 0
    assert taccl(alone).schedule.transfer_count == 0


def test_integer_program_finds_the_best_of_a_knapsack() -> None:
    """Given weights 3, 4, 5 and values 4, 5, 6 and room for 7: the first two are worth 9."""
    program = IntegerProgram()
    items = program.binaries(3)
    program.require(zip(items, (3.0, 4.0, 5.0), strict=True), high=7)
    program.minimize(zip(items, (-4.0, -5.0, -6.0), strict=True))
    answer = program.solve(Deadline(10))
    assert answer is not None
    assert answer.proved
    assert [round(value) for value in answer.values] == [1, 1, 0]


def test_variables_stay_in_their_range_where_no_row_says_more() -> None:
    program = IntegerProgram()
    variables = [*program.binaries(2), *program.integers(1, high=5.0), *program.reals(1, high=2.5)]
    for sign, expected in ((-1.0, [1, 1, 5, 2.5]), (1.0, [0, 0, 0, 0])):
        program.minimize((variable, sign) for variable in variables)
        answer = program.solve(Deadline(10))
        assert answer is not None
        assert answer.values.tolist() == pytest.approx(expected)


def test_integer_program_without_an_answer_says_so() -> None:
    program = IntegerProgram()
    (x,) = program.binaries(1)
    program.require([(x, 2.0)], low=1, high=1)
    assert program.solve(Deadline(10)) is None
