# SPDX-License-Identifier: Apache-2.0
"""Late and slow ranks, in both network models. Links have 1 us and 1 GB/s; comments are in us and kB."""

import math

import pytest
from networks import (
    GBPS,
    KB,
    US,
    finishes,
    fully_connected,
    line,
    links,
    microseconds,
    one_way_ring,
    schedule,
    switch,
)

import hemiola as hm
from hemiola import errors
from hemiola.topology.port_speed import PortSpeed

BOTH = pytest.mark.parametrize("network", ["fifo", "fluid"])


@BOTH
def test_a_late_rank_sends_after_it_arrives(network):
    timeline = hm.simulate(schedule(2, [(0, 0, 1, 0)]), line(2), KB, hm.Conditions(late={0: 5 * US}), network)
    assert finishes(timeline) == [6, 7]


def test_a_message_may_be_in_flight_to_a_late_rank_and_lands_when_it_arrives():
    # fifo: 0-1, 2, and in its slot at 5. The sender has been free since 1: to rank 2 at 1-2, 3.
    s = schedule(3, [(0, 0, 1, 0), (1, 0, 2, 1)], 2)
    rows = links([(0, 3), (3, 1), (3, 2)], latency_s=0, bandwidth=2 * GBPS)
    graph = hm.Topology(3, rows, switch_count=1)
    late = hm.Conditions(late={1: 5 * US})
    assert finishes(hm.simulate(s, graph, 4 * KB, late, "fifo")) == [2, 5, 3]


def test_a_late_receiver_grants_when_it_arrives_and_holds_up_its_sender_s_port():
    # fluid: rank 1 grants at 5: 5-6, 7. What 0 sends next follows at 6-7, 8.
    s = schedule(3, [(0, 0, 1, 0), (1, 0, 2, 1)], 2)
    timeline = hm.simulate(s, switch(3), 2 * KB, hm.Conditions(late={1: 5 * US}), "fluid")
    assert finishes(timeline) == [7, 7, 8]


@BOTH
def test_a_late_rank_relays_for_others_before_it_arrives(network):
    # Given 0 -> 2 through rank 1's links. The rank is late, its links are there.
    now = hm.Conditions(late={1: 50 * US})
    timeline = hm.simulate(schedule(3, [(0, 0, 2, 0)]), line(3), KB, now, network)
    assert finishes(timeline) == [1, 50, 4 if network == "fifo" else 3]


@BOTH
def test_a_ring_all_reduce_is_late_by_as_much_as_its_latest_rank(network):
    # The chunk that the late rank sends first goes round twice: 2 (n-1) hops of 2 us after its arrival.
    late = hm.Conditions(late={2: 7 * US, 3: 3 * US})
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(5), one_way_ring(5), 5 * KB, late, network)
    assert timeline.seconds == pytest.approx((7 + 2 * 4 * 2) * US, rel=1e-12)


@BOTH
def test_a_rank_that_takes_no_part_is_done_when_it_arrives(network):
    timeline = hm.simulate(schedule(3, [(0, 0, 1, 0)]), line(3), KB, hm.Conditions(late={2: 9 * US}), network)
    assert finishes(timeline) == [1, 2, 9]
    assert timeline.seconds == pytest.approx(9 * US, rel=1e-12)


@BOTH
def test_links_of_a_slow_rank_are_slower_in_both_directions(network):
    # 2 kB at a third of the speed, in and out of rank 1; 0 and 2 are healthy.
    s = schedule(3, [(0, 0, 1, 0), (0, 1, 2, 1), (0, 2, 0, 2)], 3)
    slow = hm.Conditions(slow={1: 3})
    timeline = hm.simulate(s, fully_connected(3), 6 * KB, slow, network)
    assert finishes(timeline) == [6, 7, 7]
    assert sorted(set(timeline.link_busy_s.tolist())) == pytest.approx([0, 2 * US, 6 * US], rel=1e-12)


@BOTH
def test_between_two_slow_ranks_the_slower_decides(network):
    slow = hm.Conditions(slow={0: 2, 1: 3})
    assert finishes(hm.simulate(schedule(2, [(0, 0, 1, 0)]), line(2), KB, slow, network)) == [3, 4]


def test_a_flow_into_a_slow_rank_leaves_the_rest_of_the_port_to_others():
    # Given 0 -> 1 (slow by 4) and 0 -> 2 in one step, 1 kB and 3 kB.
    # Derivation: 1/4 and 3/4 of 0's port: both take 4.
    s = schedule(3, [(0, 0, 1, 0), (0, 0, 2, 1)], [1, 3])
    assert finishes(hm.simulate(s, switch(3), 4 * KB, hm.Conditions(slow={1: 4}))) == [4, 5, 5]


@BOTH
def test_a_slow_rank_relays_all_the_same_where_another_way_would_be_faster_now(network):
    # Given 0 -> 3 through rank 1 or rank 2, equal ways. Routes are those of the network, whatever its ranks are like at
    # the moment: through the lower-numbered one. A topology that is itself degraded has other routes.
    graph = hm.Topology(4, links([(0, 1), (0, 2), (1, 3), (2, 3)]))
    s = schedule(4, [(0, 0, 3, 0)])
    now = hm.simulate(s, graph, KB, hm.Conditions(slow={1: 10}), network)
    assert [microseconds(b) for b in now.link_busy_s] == [10, 0, 10, 0]
    cabled = hm.simulate(s, graph.degraded({1: 10.0}), KB, network=network)
    assert [microseconds(b) for b in cabled.link_busy_s] == [0, 1, 0, 1]


def test_a_factor_need_not_be_whole():
    timeline = hm.simulate(schedule(2, [(0, 0, 1, 0)]), line(2), 4 * KB, hm.Conditions(slow={0: 1.25}))
    assert finishes(timeline) == [5, 6]


@BOTH
@pytest.mark.parametrize(
    "conditions",
    [
        hm.Conditions(late={4: US}),
        hm.Conditions(late={-1: US}),
        hm.Conditions(slow={4: 2}),
    ],
)
def test_rejects_conditions_of_ranks_that_do_not_exist(conditions, network):
    with pytest.raises(errors.ArgumentError):
        hm.simulate(hm.algorithms.all_reduce_ring(4), one_way_ring(4), KB, conditions, network)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"late": {3: -US}}, r"late\[3\] >= 0 seconds, found -1e-06"),
        ({"late": {0: math.nan}}, r"late\[0\]"),
        ({"late": {0: math.inf}}, r"late\[0\]"),
        ({"slow": {1: 2.0, 2: 0.99}}, r"slow\[2\] >= 1, found 0.99"),
        ({"slow": {0: math.inf}}, r"slow\[0\]"),
        ({"slow": {0: math.nan}}, r"slow\[0\]"),
        ({"density": 0.0}, "density"),
        ({"density": 1.5}, "density"),
        ({"density": math.nan}, "density"),
    ],
)
def test_a_value_that_cannot_be_is_refused_at_once_and_named(values, named):
    with pytest.raises(errors.ArgumentError, match=named):
        hm.Conditions(**values)


@pytest.mark.parametrize(
    "use",
    [
        lambda now: hm.launch(print, 2, emulate=line(2), conditions=now),
        lambda now: hm.algorithms.candidates(
            hm.algorithms.Task("all_reduce", 2, KB, PortSpeed(US, GBPS), now, 0, line(2))
        ),
    ],
    ids=["launch", "candidates"],
)
def test_a_density_is_refused_where_it_would_be_ignored(use):
    with pytest.raises(errors.ArgumentError, match=r"density 0\.01, on which nothing here depends"):
        use(hm.Conditions(density=0.01))


def test_nobody_late_and_nobody_slow_may_be_said_in_numbers() -> None:
    conditions = hm.Conditions(late={0: 0.0}, slow={1: 1.0, "nic:a": 1.0}, density=1.0)
    assert (conditions.late, conditions.slow_ranks, conditions.slow_nics) == ({0: 0.0}, {1: 1.0}, {"a": 1.0})
