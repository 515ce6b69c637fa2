# SPDX-License-Identifier: Apache-2.0
"""Plans of ranks that share cores, by hand: what counts is hops, messages, and the cores' work."""

import sys
from unittest import mock

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms import Task
from hemiola.conditions import Conditions
from hemiola.planner import memory_speeds
from hemiola.planner.machine_model import memory_network
from hemiola.planner.memory_speeds import MemorySpeeds
from hemiola.planner.on_cores import plan_on_cores
from hemiola.planner.outcome import Plan
from hemiola.topology.port_speed import PortSpeed

KIB, MIB = 1 << 10, 1 << 20

#: Two cores that copy 10 GB/s each and add as fast as they copy; a hop takes 10 us, a message 1.
SPEEDS = MemorySpeeds(
    latency_s=1e-6, bandwidth=2.5e9, combined=10e9, copied=40e9, cores=2.0, hop_s=10e-6, message_s=1e-6
)


def planned(kind: str, nbytes: int, rank_count: int = 8) -> Plan:
    # bandwidths of ports sum up to what the cores do
    port = PortSpeed(1e-6, 20e9 / rank_count)
    network = hm.topologies.switch(rank_count, latency_s=port.latency_s, bandwidth=port.bandwidth)
    costs = MemorySpeeds(port.latency_s, port.bandwidth, 10e9, 40e9, 2.0, 10e-6, 1e-6).engine_costs(
        rank_count
    )
    assert costs is not None
    task = Task(kind, rank_count, nbytes, port, Conditions(), 0, network)
    return plan_on_cores(task, costs, memory_network(rank_count, 40e9))


@pytest.mark.parametrize("nbytes", [8, 64 * KIB, MIB, 16 * MIB])
def test_all_read_from_a_root_at_once(nbytes: int) -> None:
    """Derivation: every schedule copies 7 buffers, at 20 GB/s of both cores; the direct one has one hop, and 7 messages
    at the root, less than any other's."""
    plan = planned("broadcast", nbytes)
    assert plan.name == "broadcast_direct"
    assert plan.seconds == pytest.approx(10e-6 + 7e-6 + 7 * nbytes / 20e9, rel=1e-3)


def test_a_port_of_its_own_for_each_would_relay_in_pieces() -> None:
    """The same ports on a network: there the root sends one after the other, and a pipeline is worth its messages."""
    network = hm.topologies.switch(8, latency_s=1e-6, bandwidth=2.5e9)
    assert hm.plan(network, "broadcast", MIB).name != "broadcast_direct"


@pytest.mark.parametrize(
    ("nbytes", "name"), [(KIB, "all_reduce_recursive_doubling"), (MIB, "all_reduce_direct")]
)
def test_small_all_reduces_have_few_messages_and_large_ones_little_work(nbytes: int, name: str) -> None:
    """Derivation, 8 ranks: doubling has 3 hops, 6 messages a rank and combines 3 buffers; direct has 2 hops, 28
    messages, and combines and copies 7/8 each. 36 us beside 48, and 1.25 buffers a rank of additional additions."""
    assert planned("all_reduce", nbytes).name == name


def test_a_root_that_adds_alone_leaves_a_core_idle() -> None:
    """Derivation: 7 buffers of 4 MiB at the root's 5 GB/s take 5.9 ms, and 10 GB/s of both cores take 2.9 in any
    schedule in which others add, too; of 1 KiB a root that has everything in one hop is done first."""
    assert planned("reduce", 4 * MIB).name != "reduce_direct"
    assert planned("reduce", KIB).name == "reduce_direct"


def test_it_says_what_was_counted() -> None:
    plan = planned("all_reduce", KIB)
    told = plan.explain()
    assert plan.is_on_cores
    assert "share cores" in told
    assert "by its hops, messages and bytes" in told
    assert plan.seconds >= plan.bound_s


def test_no_prediction_is_below_the_bound() -> None:
    for kind in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "reduce", "gather", "scatter"):
        plan = planned(kind, 4 * MIB)
        assert all(one.seconds >= plan.bound_s for one in plan.alternatives), kind


def test_ranks_with_a_core_each_are_planned_by_their_ports() -> None:
    assert SPEEDS.engine_costs(2) is None
    assert SPEEDS.engine_costs(3) is not None


def test_what_all_cores_do_is_what_their_ports_did_together() -> None:
    """Given ports of 2.5 GB/s, 4 of them: 10 GB/s are copied; what is added takes that and the addition at 20."""
    costs = SPEEDS.engine_costs(4)
    assert costs is not None
    assert costs.together.copied == pytest.approx(10e9)
    assert costs.together.combined == pytest.approx(1 / (1 / 10e9 + 1 / 20e9))
    assert costs.alone.copied == pytest.approx(5e9)


def _simulated() -> float:
    comm = hm.init()
    plan = comm.plan("all_reduce", KIB)
    return hm.simulate(plan.schedule, comm.topology, plan.nbytes, network=plan.network).seconds


def test_its_schedule_can_be_simulated_on_its_network() -> None:
    assert all(seconds > 0 for seconds in hm.launch(_simulated, 5))


def _loaded_by_a_first_call() -> list[str]:
    comm = hm.init()
    comm.all_reduce(np.ones(2, np.float32))
    return [name for name in ("numpy.ma", "highspy", "rich") if name in sys.modules]


def test_a_first_call_loads_nothing_slow() -> None:
    assert hm.launch(_loaded_by_a_first_call, 4) == [[]] * 4


def _choices() -> tuple[int, bool, bool]:
    comm = hm.init()
    small, large = comm.plan("broadcast", 64 * KIB), comm.plan("broadcast", 64 * MIB)
    memory = comm._plans.memory
    assert memory is not None
    return int(memory.cores), small.is_on_cores, large.is_on_cores


@pytest.mark.parametrize("rank_count", [2, 5])
def test_a_communicator_counts_on_cores_where_there_are_fewer(rank_count: int) -> None:
    """What passes the caches is left to ports, since relaying it through a cache beats reading it anew."""
    found = hm.launch(_choices, rank_count)
    assert len(set(found)) == 1
    cores, small, large = found[0]
    assert small == (rank_count > cores)
    assert not large


def _choice_with_a_quota_of_one_core() -> tuple[float, bool]:
    with mock.patch.object(memory_speeds, "core_quota", return_value=1):
        comm = hm.init()
    memory = comm._plans.memory
    assert memory is not None
    return memory.cores, comm.plan("broadcast", 64 * KIB).is_on_cores


def test_a_cgroup_quota_leaves_ranks_fewer_cores_than_their_affinity_says() -> None:
    assert hm.launch(_choice_with_a_quota_of_one_core, 2) == [(1.0, True)] * 2
