# SPDX-License-Identifier: Apache-2.0
"""The judgement on evidence made up by hand: each cause is told from the others, and chance is no cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

import hemiola as hm
from hemiola.diagnosis import Cause, Diagnosis, Evidence, judge
from hemiola.diagnosis.evidence import Floats, Nic, Pair
from hemiola.diagnosis.network import paths_between, ways_of, without_relayed
from hemiola.diagnosis.ports import slow_ports, suspects
from hemiola.diagnosis.prospect import Step

RANKS = 8
OPERATIONS = 48
STEP_S = 0.02
SWITCH = hm.topologies.switch(RANKS, latency_s=20e-6, bandwidth=20e6)
CUBE = hm.topologies.mesh([2, 2, 2], latency_s=20e-6, bandwidth=20e6)
SEEDS = range(20)


def evidence(network: hm.Topology = SWITCH, seed: int = 0, *, spread_s: float = 1e-3) -> Evidence:
    """Return what ranks would see with nothing wrong: own times that vary, work and shares that do a little."""
    rng = np.random.default_rng(seed)
    pairs = [(s, d) for s in range(RANKS) for d in range(RANKS) if s != d]
    ways = paths_between(network, pairs)
    share = np.full((RANKS, RANKS), np.nan)
    for pair in pairs:
        share[pair] = rng.uniform(0.9, 1.0)
    share = without_relayed(
        network, share, {pair: way for pair, way in ways.items() if len(way) == 1 or network is SWITCH}
    )
    measured = {pair: way for pair, way in ways.items() if network is SWITCH or len(way) == 1}
    share = np.where([[(s, d) in measured for d in range(RANKS)] for s in range(RANKS)], share, np.nan)
    return Evidence(
        host_of=tuple(int(host) for host in network.nodes),
        step_s=STEP_S,
        own_s=1e-3 + rng.exponential(spread_s, (OPERATIONS, RANKS)),
        work_s=rng.uniform(1.0e-3, 1.1e-3, RANKS),
        waited_s=rng.uniform(0, 1e-3, RANKS),
        ran_s=np.full(RANKS, 2e-3),
        share=share,
        ways=ways_of(network, measured),
        core_count=2,
    )


def verdict(seen: Evidence, network: hm.Topology = SWITCH) -> Diagnosis:
    return judge(seen, Step(network, "all_reduce", 1 << 18))


def with_late(seen: Evidence, late_s: Mapping[int, float]) -> Evidence:
    own_s = seen.own_s.copy()
    for rank, seconds in late_s.items():
        own_s[:, rank] += seconds
    return replace(seen, own_s=own_s)


def with_slow(seen: Evidence, factor: float, *pairs: Pair) -> Evidence:
    share = seen.share.copy()
    for pair in pairs:
        share[pair] /= factor
    return replace(seen, share=share)


def touching(rank: int) -> list[Pair]:
    return [pair for other in range(RANKS) if other != rank for pair in ((rank, other), (other, rank))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("network", [SWITCH, CUBE], ids=["switch", "cube"])
def test_chance_is_no_cause(network: hm.Topology, seed: int) -> None:
    found = verdict(evidence(network, seed), network)
    assert not found.findings
    assert "nothing is wrong" in str(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rank_that_takes_longer_itself_is_late(seed: int) -> None:
    rank = seed % RANKS
    (one,) = verdict(with_late(evidence(seed=seed), {rank: 5e-3})).findings
    assert (one.cause, one.ranks) == (Cause.COMPUTE_LATE, (rank,))
    # Given exponential own times of mean 1 ms. Expect the added 5 ms, as the median of stretches of six shows them.
    assert one.amount == pytest.approx(5e-3, abs=1e-3)
    assert 0 < one.cost_s < 6e-3


def test_a_rank_that_is_late_once_is_not_late() -> None:
    seen = evidence()
    own_s = seen.own_s.copy()
    own_s[10:14, 3] += 1.0
    assert not verdict(replace(seen, own_s=own_s)).findings


def test_few_operations_make_nobody_late_and_it_is_said() -> None:
    seen = with_late(evidence(), {2: 5e-3})
    found = verdict(replace(seen, own_s=seen.own_s[:4]))
    assert not found.findings
    assert "too few" in str(found)


def test_a_slow_host_is_told_from_a_late_rank_by_what_the_same_work_takes() -> None:
    seen = with_late(evidence(), {5: 5e-3})
    work_s = seen.work_s.copy()
    work_s[5] *= 2
    (one,) = verdict(replace(seen, work_s=work_s)).findings
    assert (one.cause, one.host, one.ranks) == (Cause.HOST_SLOW, 5, (5,))
    assert "the same piece of work" in one.evidence


def test_a_rank_that_is_later_than_its_processor_explains_is_late_itself() -> None:
    seen = with_late(evidence(), {5: 40e-3})
    work_s = seen.work_s.copy()
    work_s[5] *= 1.3  # as another process on its core may make it
    (one,) = verdict(replace(seen, work_s=work_s)).findings
    assert (one.cause, one.ranks) == (Cause.COMPUTE_LATE, (5,))


def test_all_ranks_of_a_host_late_is_the_host_and_one_of_them_is_the_rank() -> None:
    seen = replace(evidence(), host_of=(0, 0, 1, 1, 2, 2, 3, 3))
    (one,) = verdict(with_late(seen, {2: 5e-3, 3: 6e-3})).findings
    assert (one.cause, one.host, one.ranks) == (Cause.HOST_SLOW, 1, (2, 3))
    (one,) = verdict(with_late(seen, {2: 5e-3})).findings
    assert (one.cause, one.ranks) == (Cause.COMPUTE_LATE, (2,))


@pytest.mark.parametrize("rank", range(RANKS))
def test_a_nic_is_slow_where_all_that_goes_in_and_out_is(rank: int) -> None:
    (one,) = verdict(with_slow(evidence(), 2.0, *touching(rank))).findings
    assert (one.cause, one.ranks) == (Cause.NIC_SLOW, (rank,))
    assert one.amount == pytest.approx(2.0, rel=0.12)
    assert one.cost_s > 0
    assert 0 < one.gain_s < one.cost_s
    assert one.schedule


def test_two_slow_nics_are_both_found() -> None:
    found = verdict(with_slow(evidence(), 3.0, *({*touching(1), *touching(6)}))).findings
    assert {(one.cause, one.ranks) for one in found} == {(Cause.NIC_SLOW, (1,)), (Cause.NIC_SLOW, (6,))}


def test_a_link_is_slow_where_the_other_links_of_its_ends_are_not() -> None:
    (one,) = verdict(with_slow(evidence(CUBE), 4.0, (3, 7), (7, 3)), CUBE).findings
    assert (one.cause, one.link, one.ranks) == (Cause.LINK_SLOW, (3, 7), (3, 7))
    assert one.amount == pytest.approx(4.0, rel=0.12)
    assert one.cost_s > 0


def test_one_direction_of_a_cable_is_a_link() -> None:
    # What rank 4 sends is slow, what it receives is not: the link from it to the switch, which is vertex 8.
    (one,) = verdict(
        with_slow(evidence(), 2.0, *[(4, other) for other in range(RANKS) if other != 4])
    ).findings
    assert (one.cause, one.link, one.where) == (Cause.LINK_SLOW, (4, 8), "link 4 to switch 8")


def test_the_ends_of_a_slow_link_have_the_topologys_names() -> None:
    seen = with_slow(evidence(), 2.0, *[(4, other) for other in range(RANKS) if other != 4])
    named = replace(seen, vertex_names=(*(f"GPU{rank}" for rank in range(RANKS)), "NVSwitch"))
    (one,) = verdict(named).findings
    assert one.where == "link rank 4 (GPU4) to NVSwitch"


def surveyed(count: int, seed: int, spread: float = 0.1) -> Evidence:
    """Return what a survey of hosts with a rank each shows where nothing is wrong."""
    rng = np.random.default_rng(seed)
    speeds = 50e6 * rng.uniform(1 - spread, 1, (count, count))
    np.fill_diagonal(speeds, np.nan)
    return replace(
        evidence(hm.topologies.switch(RANKS, latency_s=20e-6, bandwidth=50e6), seed),
        host_names=tuple(f"node{host}" for host in range(count)),
        nics=tuple(Nic("eth1", host, (host,)) for host in range(count)),
        speeds=speeds,
        expected=np.ones(count),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_of_a_survey_chance_is_no_cause(seed: int) -> None:
    assert not verdict(surveyed(RANKS, seed, spread=0.3)).findings


@pytest.mark.parametrize("factor", [2.0, 10.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_slow_nic_is_named_as_its_host_calls_it_and_by_its_factor(seed: int, factor: float) -> None:
    seen = surveyed(RANKS, seed)
    port = seed % RANKS
    seen.speeds[port] /= factor
    seen.speeds[:, port] /= factor
    (one,) = verdict(seen).findings
    assert (one.cause, one.where) == (Cause.NIC_SLOW, f"eth1 of node{port} (rank {port})")
    assert one.amount == pytest.approx(factor, rel=0.15)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_slow_pair_accuses_neither_of_its_nics(seed: int) -> None:
    seen = surveyed(RANKS, seed)
    a, b = sorted(np.random.default_rng(seed).choice(RANKS, 2, replace=False).tolist())
    seen.speeds[a, b] /= 4
    seen.speeds[b, a] /= 4
    (one,) = verdict(seen).findings
    assert (one.cause, one.link) == (Cause.LINK_SLOW, (a, b))
    assert one.where == f"node{a} (rank {a}) to node{b} (rank {b})"
    assert one.amount == pytest.approx(4, rel=0.15)


def test_for_the_sake_of_a_port_what_it_is_compared_with_is_measured_again() -> None:
    def speeds_with(of_last: float) -> Floats:
        speeds = np.full((4, 4), 35.0)  # of 50: cores were busy
        speeds[3] = speeds[:, 3] = of_last
        np.fill_diagonal(speeds, np.nan)
        return speeds

    everything = {(a, b) for a in range(4) for b in range(4) if a != b}
    near, certain, well = speeds_with(25 * 0.95), speeds_with(3.5), speeds_with(35)
    assert not slow_ports(near).ports
    assert suspects(near, is_early=True) == suspects(near, is_early=False) == everything
    assert suspects(certain, is_early=True) == everything
    assert suspects(certain, is_early=False) == set()
    well[1, 2] = 15
    assert suspects(well, is_early=True) == {(1, 2)}


def test_one_direction_that_lost_packets_is_no_slow_pair() -> None:
    seen = surveyed(RANKS, 0)
    seen.speeds[1, 2] /= 2
    assert not verdict(seen).findings
    seen.speeds[1, 2] /= 2
    (one,) = verdict(seen).findings
    assert (one.cause, one.link) == (Cause.LINK_SLOW, (1, 2))


def test_where_a_topology_says_what_nics_carry_they_are_compared_with_that() -> None:
    seen = surveyed(RANKS, 0)
    seen.speeds[0] /= 4
    seen.speeds[:, 0] /= 4
    (one,) = verdict(seen).findings
    assert one.ranks == (0,)
    assert not verdict(replace(seen, expected=np.array([0.25, *[1.0] * (RANKS - 1)]))).findings


def test_what_health_has_noticed_and_a_survey_leaves_open_is_a_finding_too() -> None:
    (one,) = verdict(replace(surveyed(RANKS, 0), noticed={3: 1.4})).findings
    assert (one.cause, one.ranks, one.amount) == (Cause.NIC_SLOW, (3,), 1.4)


def test_of_two_hosts_nobody_is_accused() -> None:
    seen = surveyed(2, 0)
    seen.speeds[0, 1] /= 10
    assert not verdict(replace(seen, host_of=(0, 1) * (RANKS // 2))).findings


def test_a_host_whose_ranks_wait_for_cores_is_busy_and_its_ways_say_nothing() -> None:
    seen = with_late(surveyed(RANKS, 0), {5: 8e-3})
    waited_s = seen.waited_s.copy()
    waited_s[5] = 8e-3
    seen.speeds[5, 6] /= 4
    (one,) = verdict(replace(seen, waited_s=waited_s)).findings
    assert (one.cause, one.where) == (Cause.HOST_SLOW, "node5 (rank 5)")
    assert "have no core" in one.evidence


def test_where_all_wait_for_cores_whose_turn_comes_later_is_late_by_chance() -> None:
    all_work_longer = dict.fromkeys(range(RANKS), 10e-3)
    seen = with_late(evidence(), {**all_work_longer, 5: 14e-3})
    assert [one.ranks for one in verdict(seen).findings] == [(5,)]
    found = verdict(replace(seen, waited_s=np.full(RANKS, 9e-3))).findings
    assert [one.cause for one in found] == [Cause.OVERSUBSCRIBED]


def test_pairs_that_others_relay_for_say_nothing() -> None:
    pairs = [(s, d) for s in range(RANKS) for d in range(RANKS) if s != d]
    share = np.where(np.eye(RANKS, dtype=bool), np.nan, 1.0)
    assert np.isnan(without_relayed(CUBE, share, paths_between(CUBE, pairs))).all()
    assert not np.isnan(
        without_relayed(SWITCH, share, paths_between(SWITCH, pairs))[~np.eye(RANKS, dtype=bool)]
    ).any()


def test_a_machine_is_oversubscribed_where_most_ranks_wait_for_cores() -> None:
    (one,) = verdict(replace(evidence(), waited_s=np.full(RANKS, 8e-3))).findings
    assert (one.cause, one.ranks, one.amount) == (Cause.OVERSUBSCRIBED, (), pytest.approx(0.4))
    assert one.cost_s == pytest.approx(8e-3)
    # One rank that waits has a neighbour on its core; that is not the machine.
    alone = np.zeros(RANKS)
    alone[2] = 15e-3
    assert not verdict(replace(evidence(), waited_s=alone)).findings


def test_the_costliest_comes_first() -> None:
    seen = with_slow(with_late(evidence(), {0: 2.5e-3}), 6.0, *touching(3))
    found = verdict(seen).findings
    assert [one.cause for one in found] == [Cause.NIC_SLOW, Cause.COMPUTE_LATE]
    assert found[0].cost_s > found[1].cost_s


def test_what_shared_memory_cannot_show_is_said() -> None:
    seen = replace(evidence(), share=np.full((RANKS, RANKS), np.nan), ways=(), host_of=(0,) * RANKS)
    found = verdict(seen)
    assert not found.findings
    assert "shared memory" in str(found)
    assert "one host" in str(found)


def test_a_diagnosis_is_plain_data_for_json() -> None:
    told = verdict(with_late(evidence(), {1: 5e-3})).as_dict()
    assert told["findings"][0]["cause"] == "compute late"
    assert told["findings"][0]["where"] == "rank 1"
    assert told["operation_count"] == OPERATIONS
