# SPDX-License-Identifier: Apache-2.0
"""An all-reduce with a late rank on hosts with a NIC per rank: right, near the bound beside slow ranks, and run."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import late_rails

NIC = 12.5e9
NBYTES = 256 << 20
LATE = 1.0


def hosts(
    count: int, per_host: int, *, rail_switches: bool = False, bandwidth: float = NIC, inside: float = 80e9
) -> hm.Topology:
    """Ranks with a link to their host's switch and a NIC to one switch between hosts, or to one for each rail."""
    ranks, links = count * per_host, []
    for rank in range(ranks):
        host, rail = divmod(rank, per_host)
        for vertex, speed in (
            (ranks + host, inside),
            (ranks + count + (rail if rail_switches else 0), bandwidth),
        ):
            links += [(rank, vertex, 0.5e-6, speed), (vertex, rank, 0.5e-6, speed)]
    switches = count + (per_host if rail_switches else 1)
    return hm.Topology(ranks, links, switch_count=switches, nodes=[rank // per_host for rank in range(ranks)])


@pytest.mark.parametrize("rail_switches", [False, True])
@pytest.mark.parametrize(("count", "per_host"), [(2, 2), (3, 2), (2, 5), (4, 4)])
def test_whoever_is_late_is_added_exactly_once(count: int, per_host: int, rail_switches: bool) -> None:
    network = hosts(count, per_host, rail_switches=rail_switches)
    for late_rank in (0, per_host, network.rank_count - 1):
        for pieces in (1, 3):
            schedule = late_rails(network, late_rank, pieces=pieces)
            assert hm.verify(schedule, topology=network) == []
            rows = schedule.transfers
            assert late_rank not in schedule.collective.owner
            # It gives its part of each chunk once, and nothing of its is there before.
            own = rows[(rows["src"] == late_rank) & rows["reduce"]]
            assert sorted(own["chunk"]) == list(range(schedule.chunk_count))
            first = rows["step"][rows["src"] == late_rank].min()
            assert rows["step"][rows["dst"] == late_rank].min() >= first


def test_rails_carry_what_their_slowest_nic_leaves_time_for() -> None:
    # Given four rails of which one has a NIC slower by 2: shares of 2, 2, 1 and 2 of 7.
    schedule = late_rails(hosts(4, 4).degraded({6: 2.0}), 0, pieces=1)
    shares = np.asarray(schedule.chunk_weights) / sum(schedule.chunk_weights)
    assert shares == pytest.approx(np.array([2, 2, 1, 2]) / 7, rel=1e-5)


def test_slow_nics_come_last_on_their_rail() -> None:
    schedule = late_rails(hosts(4, 2).degraded({4: 3.0}), 1, pieces=1)
    rows = schedule.transfers
    assert not (~rows["reduce"] & (rows["src"] == 4) & (rows["dst"] // 2 != 2)).any()


#: Who is slow and by how much, times the bound after the arrival: rank 5 is late.
SLOW = [({}, 1.02), ({2: 1.5}, 1.02), ({6: 1.5}, 1.02), ({5: 1.5}, 1.02), ({2: 1.5, 3: 1.5}, 1.02)]


@pytest.mark.parametrize(("slow", "most"), SLOW, ids=str)
def test_after_a_long_wait_it_takes_what_the_narrowest_host_needs(
    slow: dict[int, float], most: float
) -> None:
    # Derivation: the host with slow NICs takes 256 MiB through (4 - m + m/l) · 12.5 GB/s.
    network, now = hosts(4, 4), hm.Conditions(late={5: LATE}, slow=slow)
    rate = (4 - len(slow) + sum(1 / factor for factor in slow.values())) * NIC
    bound_s = hm.lower_bound(network, "all_reduce", NBYTES, now).seconds - LATE
    assert bound_s == pytest.approx(NBYTES / rate, rel=1e-3)
    schedule = late_rails(network.degraded(slow) if slow else network, 5, pieces=256)
    for model in ("fluid", "fifo"):
        seconds = hm.simulate(schedule, network, NBYTES, now, model).seconds - LATE
        # In fifo networks a message is on two links one after the other: some pieces more.
        assert bound_s <= seconds <= bound_s * (most if model == "fluid" else most + 0.015)


@pytest.mark.parametrize(
    ("count", "per_host", "most", "before_ms"),
    [(4, 4, 1.03, 8.13), pytest.param(8, 8, 1.3, 6.94, marks=pytest.mark.long)],
)
def test_the_planner_takes_it_where_a_late_and_a_slow_rank_meet(
    count: int, per_host: int, most: float, before_ms: float
) -> None:
    # Given hosts with a NIC a rank, one rank slow by 1.5. Bounds: 5.86 ms and, of the slow rank's two ports, 4.35.
    now = hm.Conditions(late={5: LATE}, slow={2: 1.5})
    plan = hm.plan(hosts(count, per_host), "all_reduce", NBYTES, now)
    assert plan.name == "late_rails"
    assert 1 <= (plan.seconds - LATE) / (plan.bound_s - LATE) <= most
    assert (plan.seconds - LATE) * 1e3 < before_ms
    assert hm.verify(plan.schedule) == []


@pytest.mark.parametrize(
    ("network", "late_rank", "pieces", "named"),
    [
        (hosts(2, 2), 4, 4, "0 … 3"),
        (hosts(2, 2), -1, 4, "0 … 3"),
        (hosts(2, 2), 0, 0, "pieces"),
        (hosts(3, 1), 0, 4, "hosts of as many ranks"),
        (hm.topologies.switch(4, latency_s=1e-6, bandwidth=NIC), 0, 4, "hosts of as many ranks"),
        (
            hm.topologies.hosts(2, 2, latency_s=1e-6, bandwidth=80e9, nic_latency_s=1e-6, nic_bandwidth=NIC),
            0,
            4,
            "one link to and from switches between hosts",
        ),
    ],
)
def test_what_cannot_be_is_refused(network: hm.Topology, late_rank: int, pieces: int, named: str) -> None:
    with pytest.raises(ArgumentError, match=named):
        late_rails(network, late_rank, pieces=pieces)


def reduced() -> tuple[str, bool]:
    comm = hm.init()
    x = np.arange(60_000, dtype=np.int64) * (comm.rank + 1)
    comm.all_reduce(x)
    return comm.plan("all_reduce", x.nbytes).name, bool((x == np.arange(60_000) * 10).all())


def test_a_communicator_runs_it() -> None:
    network = hosts(2, 2, bandwidth=1e7, inside=1e8)
    now = hm.Conditions(late={1: 0.2}, slow={2: 1.5})
    assert hm.launch(reduced, 4, emulate=network, conditions=now, timeout_s=60) == [("late_rails", True)] * 4
