# SPDX-License-Identifier: Apache-2.0
"""What a transfer waits for in the slots it reads and writes, in both network models. Every two ranks share a
link of 1 us and 1 GB/s, so that nothing else is in the way; comments are in us and kB."""

import pytest
from networks import KB, US, finishes, fully_connected, line, one_way_ring, schedule, switch

import hemiola as hm
from hemiola import errors

pytestmark = pytest.mark.parametrize("network", ["fifo", "fluid"])


def test_a_transfer_waits_for_what_it_passes_on(network):
    # 0-1, 2; 2-3, 4.
    s = schedule(3, [(0, 0, 1, 0), (1, 1, 2, 0)])
    assert finishes(hm.simulate(s, fully_connected(3), KB, network=network)) == [1, 3, 4]


def test_it_does_not_wait_for_other_chunks(network):
    # Rank 1 sends its own chunk at once, in a later step than 5 kB come in.
    s = schedule(3, [(0, 0, 1, 0), (1, 1, 2, 1)], [5, 1])
    assert finishes(hm.simulate(s, fully_connected(3), 6 * KB, network=network)) == [5, 6, 2]


def test_in_one_step_reads_come_before_writes(network):
    # Two ranks exchange a chunk: neither waits for the other.
    s = schedule(2, [(0, 0, 1, 0), (0, 1, 0, 0)])
    assert finishes(hm.simulate(s, line(2), KB, network=network)) == [2, 2]


def test_a_read_waits_for_every_write_of_an_earlier_step(network):
    # Given 0 -> 3 and 1 -> 3 in step 0; rank 1 comes at 4: 4-5, 6. Then 3 -> 2: 6-7, 8.
    s = schedule(4, [(0, 0, 3, 0), (0, 1, 3, 0), (1, 3, 2, 0)])
    late = hm.Conditions(late={1: 4 * US})
    # Two copies into one slot in one step are no schedule that anybody should run.
    timeline = hm.simulate(s, fully_connected(4), KB, late, network, unchecked=True)
    assert finishes(timeline) == [1, 5, 8, 7]


def test_a_write_lands_when_the_slot_has_been_read(network):
    # Given 1 -> 2 in step 0, which waits for nothing but its port, busy with 5 kB of another chunk in the
    # same link's step before; and 0 -> 1 into the same slot, there at 2.
    # Derivation: 1 -> 2: 0-5 and 5-6, 7. The write lands when the read has left: at 6.
    s = schedule(3, [(0, 1, 2, 1), (1, 1, 2, 0), (1, 0, 1, 0)], [1, 5])
    assert finishes(hm.simulate(s, fully_connected(3), 6 * KB, network=network)) == [1, 6, 7]


def test_what_waits_to_land_does_not_hold_up_the_port(network):
    # As above; then 0 sends chunk 2 to 1 over the same link: 1-2, 3, long before chunk 0 lands at 6; rank 1
    # passes it on to 3: 3-4, 5.
    rows = [(0, 1, 2, 1), (1, 1, 2, 0), (1, 0, 1, 0), (2, 0, 1, 2), (3, 1, 3, 2)]
    s = schedule(4, rows, [1, 5, 1])
    assert finishes(hm.simulate(s, fully_connected(4), 7 * KB, network=network)) == [2, 6, 7, 5]


def test_writes_land_in_the_order_of_steps(network):
    # Given step 0: 0 -> 2, where 0 comes at 9: 9-10, 11; step 1: 1 -> 2, there at 2; step 2: 2 -> 3 reads
    # what step 1 wrote. Derivation: the write of step 1 lands after that of step 0, at 11; 2 -> 3: 11-12,
    # 13.
    s = schedule(4, [(0, 0, 2, 0), (1, 1, 2, 0), (2, 2, 3, 0)])
    late = hm.Conditions(late={0: 9 * US})
    assert finishes(hm.simulate(s, fully_connected(4), KB, late, network)) == [10, 1, 12, 13]


def test_many_writes_that_wait_for_the_first_land_with_it(network):
    # Ranks 1 … 6 send into one slot in steps 1 … 6, rank 0 comes at 20 with step 0: 20-21, 22.
    s = schedule(8, [(r, r, 7, 0) for r in range(7)])
    late = hm.Conditions(late={0: 20 * US})
    timeline = hm.simulate(s, fully_connected(8), KB, late, network)
    assert finishes(timeline) == [21] + [1] * 6 + [22]


def test_a_late_rank_delays_exactly_what_depends_on_it(network):
    # Given a chain 0 -> 1 -> 2 of chunk 0, and 3 -> 2 of chunk 1; rank 0 comes at 10.
    s = schedule(4, [(0, 0, 1, 0), (1, 1, 2, 0), (0, 3, 2, 1)], 2)
    late = hm.Conditions(late={0: 10 * US})
    assert finishes(hm.simulate(s, fully_connected(4), 2 * KB, late, network)) == [11, 13, 14, 1]


def test_even_a_schedule_that_keeps_no_promise_ends(network):
    # Everybody overwrites everybody's only slot, in every step.
    rows = [(step, a, b, 0) for step in range(5) for a in range(4) for b in range(4) if a != b]
    timeline = hm.simulate(schedule(4, rows), one_way_ring(4), KB, network=network, unchecked=True)
    assert timeline.seconds > 0
    assert not timeline.is_verified


def test_messages_without_bytes_are_left_out(network):
    # As in the engine: chunk 0 has no bytes, so its chain through the late rank 1 holds up nothing.
    s = schedule(4, [(0, 0, 1, 0), (1, 1, 2, 0), (2, 2, 3, 0), (3, 2, 3, 1)], [0, 3])
    late = hm.Conditions(late={1: 50 * US})
    assert finishes(hm.simulate(s, fully_connected(4), 3 * KB, late, network)) == [0, 50, 3, 4]


def test_no_bytes_take_no_time(network):
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(4), one_way_ring(4), 0, network=network)
    assert timeline.seconds == 0


def test_an_empty_schedule_takes_no_time(network):
    timeline = hm.simulate(schedule(3, []), line(3), KB, network=network)
    assert timeline.seconds == 0
    assert finishes(timeline) == [0, 0, 0]
    assert timeline.link_busy_s.tolist() == [0] * 4


def test_one_rank_alone_is_done_at_once(network):
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(1), hm.Topology(1, []), KB, network=network)
    assert timeline.seconds == 0


@pytest.mark.parametrize("nbytes", [-1, 2**60])
def test_rejects_sizes_out_of_range(nbytes, network):
    with pytest.raises(errors.ArgumentError):
        hm.simulate(hm.algorithms.all_reduce_ring(4), one_way_ring(4), nbytes, network=network)


def test_rejects_a_topology_of_another_size(network):
    with pytest.raises(errors.ArgumentError, match="4 in the schedule and 5 in topology"):
        hm.simulate(hm.algorithms.all_reduce_ring(4), one_way_ring(5), KB, network=network)


def test_rejects_ranks_without_a_path(network):
    graph = hm.Topology(3, [(0, 1, US, 1e9)], name="broken")
    with pytest.raises(errors.ArgumentError, match="'broken' has no path from rank 1 to rank 2") as caught:
        hm.simulate(hm.algorithms.all_reduce_ring(3), graph, KB, network=network)
    assert "no link leads from rank 1 to ranks 0, 2." in str(caught.value)


def test_rejects_times_beyond_reason(network):
    with pytest.raises(errors.ArgumentError, match="units"):
        hm.simulate(hm.algorithms.all_reduce_ring(2), one_way_ring(2, 0, 1e-3), 10**12, network=network)


def test_rejects_schedules_that_add_up_to_times_beyond_reason(network):
    # 1,000 messages of 20 days each.
    s = schedule(2, [(step, 0, 1, 0) for step in range(1000)])
    with pytest.raises(errors.ArgumentError, match="50 days"):
        hm.simulate(s, line(2, 0, 1), 20 * 86400, network=network)


def test_rejects_latencies_beyond_reason(network):
    # 5,000 hops of 1,000 s each.
    with pytest.raises(errors.ArgumentError, match="units"):
        hm.simulate(schedule(5001, [(0, 0, 5000, 0)]), line(5001, 1000), KB, network=network)


def test_rejects_shares_that_take_beyond_reason(network):
    # 1,000 messages of a day each into one port, at once.
    s = schedule(1001, [(0, r, 1000, r) for r in range(1000)], 1000)
    with pytest.raises(errors.ArgumentError, match="50 days"):
        hm.simulate(s, switch(1001, 0, 1), 1000 * 86400, network=network)


def test_rejects_an_unknown_network(network):
    with pytest.raises(errors.ArgumentError, match="fluid, fifo"):
        hm.simulate(hm.algorithms.all_reduce_ring(4), one_way_ring(4), KB, network=network + "s")


def test_a_wrong_schedule_is_refused_with_rule_step_rank_and_chunk(network):
    # Derivation: of an all-reduce, rank 0's chunk 0 goes to rank 1 and nothing else moves; "step 1" is the end.
    wrong = hm.Schedule.from_transfers(hm.Collective.make("all_reduce", 4, 4), [(0, 0, 1, 0, True)])
    for slices in (1, 2):
        with pytest.raises(errors.ArgumentError, match="missing_contribution at step 1, rank 0, chunk 0 "):
            hm.simulate(wrong, one_way_ring(4), 4 * KB, network=network, slices=slices)
    # 1 kB at 1 kB/us and 1 us of latency.
    unchecked = hm.simulate(wrong, one_way_ring(4), 4 * KB, network=network, unchecked=True)
    assert finishes(unchecked) == [1, 2, 0, 0]
    assert not unchecked.is_verified
    assert hm.simulate(hm.algorithms.all_reduce_ring(4), one_way_ring(4), KB, network=network).is_verified
