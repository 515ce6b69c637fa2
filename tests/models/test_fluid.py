# SPDX-License-Identifier: Apache-2.0
"""fluid: concurrent flows share links max-min fairly, a flow holds all links of its path at once, and both of
its ports are used in the order of steps.

Unless a test says otherwise a port has 1 GB/s and it is 1 us from rank to rank. Times in comments are
microseconds, sizes kB, rates GB/s, so that size = rate * time."""

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

#: Microseconds that rounding up may add to 32 ranks' shares of a port: a picosecond a round.
ROUNDED_UP = 5e-6


def incast(*sizes: int, at_once: bool) -> hm.Schedule:
    """Ranks 0, 1, … each send one message to the last rank, in one step or one after the other."""
    last = len(sizes)
    return schedule(last + 1, [(0 if at_once else r, r, last, r) for r in range(last)], sizes)


# ---- sharing ---------------------------------------------------------------------------------------------


def test_a_flow_alone_runs_at_the_speed_of_its_slowest_link_and_pays_every_latency_once():
    # Given 0 -> 1 -> 2 at 1 and 0.5, 2 kB. Derivation: 2 / 0.5 = 4, and two latencies. Stored and
    # forwarded: 8.
    graph = hm.Topology(3, [(0, 1, US, GBPS), (1, 2, US, GBPS / 2)])
    timeline = hm.simulate(schedule(3, [(0, 0, 2, 0)]), graph, 2 * KB)
    assert finishes(timeline) == [4, 0, 6]
    assert [microseconds(s) for s in timeline.link_busy_s] == [2, 4]


def test_three_flows_into_one_port_share_it_and_those_that_remain_take_over():
    # Given 1, 2 and 3 kB into one port. Derivation: a third each until the first has its 1 kB at 3, then a
    # half each until the second has its other 1 kB at 5, then the third's last 1 kB until 6.
    timeline = hm.simulate(incast(1, 2, 3, at_once=True), switch(4), 6 * KB)
    assert finishes(timeline) == [3, 5, 6, 7]


def test_what_one_flow_cannot_use_the_other_gets():
    # Given rank 0 with a port of 0.25 and rank 1 with one of 1, both into a port of 1.
    # Derivation: 0.25 and 0.75; 1 kB and 3 kB both take 4.
    rows = [(0, 3, US, GBPS / 4), (1, 3, US, GBPS), (3, 2, 0, GBPS)]
    timeline = hm.simulate(incast(1, 3, at_once=True), hm.Topology(3, rows, switch_count=1), 4 * KB)
    assert finishes(timeline) == [4, 4, 5]


def test_shares_are_max_min_fair_along_a_line():
    # Given, of 1 kB each, 0 -> 2 over both links of a line, 0 -> 1 over the first, two flows 1 -> 2 over the
    # second. Derivation: the second link gives a third to each of three, so the first has two thirds for
    # 0 -> 1: it leaves by 1.5. The others keep their thirds until 3; 0 -> 2 travels two links.
    s = schedule(3, [(0, 0, 2, 0), (0, 0, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)], 4)
    assert finishes(hm.simulate(s, line(3), 4 * KB)) == [3, 3, 5]
    alone = schedule(3, [(0, 0, 1, 1)], 4)
    assert finishes(hm.simulate(alone, line(3), 4 * KB)) == [1, 2, 0]


def test_flows_in_opposite_directions_do_not_share():
    s = schedule(2, [(0, 0, 1, 0), (0, 1, 0, 1)], 2)
    assert finishes(hm.simulate(s, switch(2), 2 * KB)) == [2, 2]


def test_a_flow_that_joins_later_slows_the_one_that_runs():
    # Given rank 0 that sends 3 kB to 2, and rank 1, which comes at 2, that sends 2 kB.
    # Derivation: 2 kB of the first by 2; then halves: the first's last 1 kB by 4, the second's first 1 kB
    # by 4, its other by 5.
    s = schedule(3, [(0, 0, 2, 0), (0, 1, 2, 1)], [3, 2])
    timeline = hm.simulate(s, switch(3), 5 * KB, hm.Conditions(late={1: 2 * US}))
    assert finishes(timeline) == [4, 5, 6]


# ---- what meets before a link ---------------------------------------------------------------------------


def to_rank_2(*rows: tuple[int, int]) -> hm.Timeline:
    """Messages of 2 kB to rank 2 by (step, src), over 0 -> 1 of 3 us and 1 -> 2 without latency."""
    graph = hm.Topology(3, [(0, 1, 3 * US, GBPS), (1, 2, 0, GBPS)])
    s = schedule(3, [(step, src, 2, chunk) for chunk, (step, src) in enumerate(rows)], len(rows))
    return hm.simulate(s, graph, 2 * KB * len(rows))


def test_what_meets_before_a_link_at_more_than_it_carries_waits_there():
    # Given 0 -> 2 and, when that has left at 2, 1 -> 2.
    # Derivation: the second link gets the one at 3-5 and the other at 2-4, so 1 kB more at 3-4 than it carries. The
    # other's last byte comes at 4 and waits 1, the one's comes at 5 and waits 1: from 2 on the link carries 4 kB.
    timeline = to_rank_2((0, 0), (1, 1))
    assert finishes(timeline) == [2, 4, 6]
    assert [microseconds(t) for t in timeline.landed_s] == [6, 5]
    assert [microseconds(t) for t in timeline.spans["arrival_s"]] == [6, 5]


def test_what_waits_goes_on_as_soon_as_less_comes():
    # The other order: 1 -> 2 at 0-2; 0 -> 2 leaves at 2-4 and comes at 5-7, when nothing else does.
    assert finishes(to_rank_2((0, 1), (1, 0))) == [4, 2, 7]
    # In one step each has half of the link until 4: halves at 3-7 and 0-4 fit side by side.
    assert finishes(to_rank_2((0, 0), (0, 1))) == [4, 4, 7]
    # 0, then 1 twice: 0-2, 2-4, 4-6. At 3-4 a kB too much comes, at 4-5 too: the link carries 6 kB from 2 on.
    assert finishes(to_rank_2((0, 0), (1, 1), (2, 1))) == [2, 6, 8]


def test_a_queue_is_never_longer_than_the_latencies_before_the_link_differ():
    # 0 -> 2 and 1 -> 2 in turn, thirty times: the link idles until 3 or carries, so it is done by 3 + 60 + 3 at most.
    timeline = to_rank_2(*((step, step % 2) for step in range(30)))
    assert microseconds(timeline.seconds) <= 2 * 30 + 3 + 3


# ---- ports -----------------------------------------------------------------------------------------------


def test_what_leaves_through_one_port_leaves_in_the_order_of_steps():
    # Given rank 0 that sends 2 kB to 1 and then 1 kB to 2. Derivation: 0-2, 3; 2-3, 4.
    s = schedule(3, [(0, 0, 1, 0), (1, 0, 2, 1)], [2, 1])
    assert finishes(hm.simulate(s, switch(3), 3 * KB)) == [3, 3, 4]


def test_what_leaves_through_two_ports_does_not():
    s = schedule(3, [(0, 0, 1, 0), (1, 0, 2, 1)], [2, 1])
    assert finishes(hm.simulate(s, fully_connected(3), 3 * KB)) == [2, 3, 2]


def test_a_receiver_takes_one_step_after_the_other():
    # Given the incast of above in three steps. Derivation: 0-1, 1-3, 3-6, 7.
    timeline = hm.simulate(incast(1, 2, 3, at_once=False), switch(4), 6 * KB)
    assert finishes(timeline) == [1, 3, 6, 7]


def test_a_message_that_its_receiver_does_not_grant_yet_holds_up_what_follows_it():
    # Given 1 -> 2, 3 kB, in step 0; 0 -> 2 in step 1; 0 -> 3 in step 2.
    # Derivation: 2's port is free for 0 at 3: 3-4, 5. Only then does 0 go on: 4-5, 6.
    s = schedule(4, [(0, 1, 2, 0), (1, 0, 2, 1), (2, 0, 3, 2)], [3, 1, 1])
    assert finishes(hm.simulate(s, switch(4), 5 * KB)) == [5, 3, 5, 6]


def test_steps_are_no_barriers():
    # Given 0 -> 1, 5 kB, in step 0 and 2 -> 3 in step 1: they have nothing in common.
    s = schedule(4, [(0, 0, 1, 0), (1, 2, 3, 1)], [5, 1])
    assert finishes(hm.simulate(s, switch(4), 6 * KB)) == [5, 6, 1, 2]


# ---- published algorithms on a switch, one port per rank -------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 8, 17, 64])
def test_ring_all_reduce(n):
    # 2 (n-1) (alpha + s/n): 2 us each, on its ring and on a switch alike.
    s = hm.algorithms.all_reduce_ring(n)
    for graph in one_way_ring(n), switch(n):
        timeline = hm.simulate(s, graph, n * KB)
        assert finishes(timeline) == [4 * (n - 1)] * n
        assert {microseconds(b) for b in timeline.link_busy_s} == {2 * (n - 1)}


@pytest.mark.parametrize("n", [2, 3, 8, 17, 64])
def test_direct_all_gather_takes_one_latency_and_n_minus_one_chunks(n):
    # In its one step every port carries n-1 flows in each direction, 1/(n-1) each.
    timeline = hm.simulate(hm.algorithms.all_gather_direct(n), switch(n), n * KB)
    assert finishes(timeline) == [1 + (n - 1)] * n


@pytest.mark.parametrize("n", [2, 3, 8, 17])
def test_direct_all_reduce_takes_two_latencies_and_twice_n_minus_one_chunks(n):
    assert finishes(hm.simulate(hm.algorithms.all_reduce_direct(n), switch(n), n * KB)) == [2 * n] * n


@pytest.mark.parametrize("n", [2, 3, 8, 17])
def test_pairwise_all_to_all_takes_one_latency_as_its_rounds_need_nothing_of_each_other(n):
    # n-1 rounds of 1 kB, port to port without a gap, and the latency of the last.
    assert finishes(hm.simulate(hm.algorithms.all_to_all_pairwise(n), switch(n), n * KB)) == [n] * n


@pytest.mark.parametrize("n", [2, 4, 8, 32])
def test_recursive_doubling_takes_log_n_rounds_of_the_whole_buffer(n):
    timeline = hm.simulate(hm.algorithms.all_reduce_recursive_doubling(n), switch(n), 5 * KB)
    assert finishes(timeline) == [6 * math.log2(n)] * n


@pytest.mark.parametrize("n", [2, 4, 8, 32])
def test_recursive_halving_takes_log_n_latencies_and_n_minus_one_chunks(n):
    # A round's chunks share the port and all arrive at its end; the next round sends what they were added to.
    s = hm.algorithms.reduce_scatter_recursive_halving(n)
    assert finishes(hm.simulate(s, switch(n), n * KB)) == [math.log2(n) + (n - 1)] * n


@pytest.mark.parametrize("n", [2, 4, 8, 32])
@pytest.mark.parametrize("name", ["all_gather_bruck", "all_gather_recursive_doubling"])
def test_doubling_hides_its_latencies_behind_what_a_rank_holds_already(name, n):
    # A round sends 2^k chunks, of which 2^(k-1) were there a round before and leave at once: that takes at
    # least 1, the latency of the others. So the port never idles: n-1 chunks and the last latency.
    s = hm.algorithms.get(name).generate(n)
    assert finishes(hm.simulate(s, switch(n), n * KB)) == pytest.approx([(n - 1) + 1] * n, abs=ROUNDED_UP)


@pytest.mark.parametrize("n", [2, 4, 8, 32])
def test_recursive_halving_and_doubling_is_the_sum_of_its_halves(n):
    s = hm.algorithms.all_reduce_recursive_halving_doubling(n)
    wanted = [math.log2(n) + (n - 1) + (n - 1) + 1] * n
    assert finishes(hm.simulate(s, switch(n), n * KB)) == pytest.approx(wanted, abs=ROUNDED_UP)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 33])
def test_binomial_broadcast_takes_log_n_rounds(n):
    # ceil(log2 n) rounds of alpha + s: the last rank's chain has that many, or its sender sent that many
    # before.
    timeline = hm.simulate(hm.algorithms.broadcast_binomial(n), switch(n, latency_s=0), 3 * KB)
    assert microseconds(timeline.seconds) == 3 * math.ceil(math.log2(n))


# ---- slices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", ["fifo", "fluid"])
def test_slices_pipeline_a_chunk_along_a_chain(network):
    # Given 12 kB over three hops. Whole: 3 hops of 1 + 12. In four slices: 12 on the first link, then two
    # hops of a slice, and three latencies.
    s = hm.algorithms.broadcast_chain(4, chunk_count=1)
    whole = hm.simulate(s, line(4), 12 * KB, network=network)
    sliced = hm.simulate(s, line(4), 12 * KB, network=network, slices=4)
    assert (microseconds(whole.seconds), microseconds(sliced.seconds)) == (39, 12 + 2 * 3 + 3)
    assert sliced.schedule == s.repeat_per_slice(4, stagger=1)


def test_slices_hide_the_latencies_of_a_ring():
    # Given a ring of 4 and chunks of 4 kB in two slices: 6 rounds of two slices of 2. A slice is there
    # again 1 after it has left, before the other slice has left: no link ever waits. 6 * 4 + 1; whole: 6 *
    # (4 + 1).
    s = hm.algorithms.all_reduce_ring(4)
    whole, sliced = (hm.simulate(s, one_way_ring(4), 16 * KB, slices=k) for k in (1, 2))
    assert (microseconds(whole.seconds), microseconds(sliced.seconds)) == (30, 25)


def test_rejects_no_slices():
    with pytest.raises(errors.ArgumentError, match="slice count"):
        hm.simulate(hm.algorithms.all_reduce_ring(4), one_way_ring(4), KB, slices=0)


# ---- all of them against their cost formula --------------------------------------------------------------

# Those whose every step needs all of the step before, so that nothing can overlap.
STEP_BY_STEP = [
    "all_gather_direct",
    "all_gather_ring",
    "all_gather_ring_two_way",
    "all_reduce_direct",
    "all_reduce_recursive_doubling",
    "all_reduce_ring",
    "all_reduce_ring_two_way",
    "all_to_all_direct",
    "broadcast_binomial",
    "broadcast_direct",
    "gather_direct",
    "reduce_binomial",
    "reduce_direct",
    "reduce_scatter_direct",
    "reduce_scatter_recursive_halving",
    "reduce_scatter_ring",
    "reduce_scatter_ring_two_way",
    "scatter_direct",
]


@pytest.mark.parametrize("name", STEP_BY_STEP)
def test_what_cannot_overlap_takes_exactly_its_cost_formula(name):
    algorithm = hm.algorithms.get(name)
    for n in (2, 4, 8, 16):
        s, nbytes = algorithm.generate(n), 1024 * KB
        expected = microseconds(algorithm.seconds(n, nbytes, US, GBPS))
        assert microseconds(hm.simulate(s, switch(n), nbytes).seconds) == expected, n


@pytest.mark.parametrize("name", hm.algorithms.names())
def test_nothing_takes_longer_than_its_cost_formula(name):
    # The formula lets every step begin when the step before has ended everywhere; here steps are no barriers.
    # 2,304,000 bytes divide by n and n^2 for every n here.
    algorithm = hm.algorithms.get(name)
    for n in filter(algorithm.is_valid, (2, 3, 5, 8, 16)):
        s = algorithm.generate(n)
        formula = algorithm.seconds(n, 2304 * KB, US, GBPS)
        assert hm.simulate(s, switch(n), 2304 * KB).seconds <= formula + s.transfer_count * 1e-12, n


# ---- large ones, for their symmetry ----------------------------------------------------------------------


def test_a_direct_exchange_of_256_ranks_ends_everywhere_at_the_same_picosecond():
    timeline = hm.simulate(hm.algorithms.all_to_all_direct(256), switch(256), 256 * KB)
    assert finishes(timeline) == [256] * 256


def test_sharing_is_exact_where_the_sizes_divide():
    # Seven flows of 1 GB share a port of 7 GB/s for one second, which is 10^12 picoseconds.
    graph = hm.Topology(8, links([(r, 8) for r in range(7)] + [(8, 7)], 0, 7 * GBPS), switch_count=1)
    timeline = hm.simulate(incast(*[10**6] * 7, at_once=True), graph, 7 * 10**9)
    assert timeline.seconds == 1.0
