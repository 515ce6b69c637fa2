# SPDX-License-Identifier: Apache-2.0
"""The rules of a network of queues, as ASTRA-sim's congestion-aware analytical backend has them: store and
forward, one message on a link at a time, first come first served, latency pipelined behind the serialization.

Unless a test says otherwise a link has 1 us of latency and 1 GB/s, so a message of k kB occupies it for k us.
Times in comments are microseconds; "0-1, 2" means: leaves from 0 to 1, is at the far end at 2."""

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


def fifo(s: hm.Schedule, t: hm.Topology, nbytes: int, conditions: hm.Conditions | None = None) -> hm.Timeline:
    return hm.simulate(s, t, nbytes, conditions, network="fifo")


# ---- rules of a link -------------------------------------------------------------------------------------


def test_a_message_takes_its_serialization_and_the_latency():
    # 0-3, 4.
    timeline = fifo(schedule(2, [(0, 0, 1, 0)]), line(2), 3 * KB)
    assert finishes(timeline) == [3, 4]
    assert microseconds(timeline.seconds) == 4


def test_latency_is_pipelined_behind_the_serialization():
    # Given two messages in two steps over one link of 10 us. Derivation: 0-1, 11 and 1-2, 12; not 22.
    slow_link = hm.Topology(2, [(0, 1, 10 * US, GBPS)])
    timeline = fifo(schedule(2, [(0, 0, 1, 0), (1, 0, 1, 1)], 2), slow_link, 2 * KB)
    assert finishes(timeline) == [2, 12]
    assert [microseconds(s) for s in timeline.link_busy_s] == [2]


def test_a_message_is_stored_and_forwarded_at_every_hop():
    # Given 0 -> 1 -> 2 -> 3 and 2 kB. Derivation: 0-2, 3; 3-5, 6; 6-8, 9. Cut-through would take 5.
    assert finishes(fifo(schedule(4, [(0, 0, 3, 0)]), line(4), 2 * KB)) == [2, 0, 0, 9]


def test_messages_follow_one_another_through_the_hops():
    # Derivation: first 0-1, 2; 2-3, 4. Second 1-2, 3; 3-4, 5.
    timeline = fifo(schedule(3, [(0, 0, 2, 0), (1, 0, 2, 1)], 2), line(3), 2 * KB)
    assert finishes(timeline) == [2, 0, 5]


def test_two_messages_that_contend_for_a_link_go_one_after_the_other():
    # Given 0 and 1 that each send 1 kB to 2 through a switch. Derivation: both are at the switch at 2; its
    # link to 2 carries one at 2-3, 4 and the other at 3-4, 5. Sharing would have both arrive at 5.
    ends = [(0, 3), (1, 3), (3, 2)]
    graph = hm.Topology(3, links(ends), switch_count=1)
    timeline = fifo(schedule(3, [(0, 0, 2, 0), (0, 1, 2, 1)], 2), graph, 2 * KB)
    assert finishes(timeline) == [1, 1, 5]
    assert [microseconds(s) for s in timeline.link_busy_s] == [1, 1, 2]


def test_the_link_serves_whoever_comes_first_not_whoever_has_the_lower_rank():
    # Given 0 with 3 kB and 1 with 1 kB to rank 2, and from there 2 -> 3 only for what came from 1.
    # Derivation: at the switch 1's message comes at 2, 0's at 4. The link to 2 carries 1's at 2-3, 4 and
    # 0's at 4-7, 8; rank 2 passes 1's on at 4-5, 6. Had 0's gone first, 1's would have arrived at 9, and at
    # 3 at 11.
    graph = hm.Topology(4, links([(0, 4), (1, 4), (4, 2), (2, 3)]), switch_count=1)
    s = schedule(4, [(0, 0, 2, 0), (0, 1, 2, 1), (1, 2, 3, 1)], chunks=[3, 1])
    assert finishes(fifo(s, graph, 4 * KB)) == [3, 1, 8, 6]


def test_a_short_message_waits_for_the_long_one_before_it():
    # Given 3 kB from 0 and, later at the switch, 1 kB from 1 over a first link of 3.5 us of latency.
    # Derivation: 0's message is at the switch at 4, occupies 4-7, 8. 1's is there at 4.5, waits, 7-8, 9.
    rows = [(0, 3, US, GBPS), (1, 3, 3.5 * US, GBPS), (3, 2, US, GBPS)]
    graph = hm.Topology(3, rows, switch_count=1)
    s = schedule(3, [(0, 0, 2, 0), (0, 1, 2, 1)], chunks=[3, 1])
    assert finishes(fifo(s, graph, 4 * KB)) == [3, 1, 9]


def test_a_queue_forms_before_a_slower_link():
    # Given 0 -> 1 at 1 GB/s and 1 -> 2 at 0.5 GB/s, three messages of 1 kB.
    # Derivation: at rank 1 at 2, 3, 4; then 2-4, 5; 4-6, 7; 6-8, 9.
    graph = hm.Topology(3, [(0, 1, US, GBPS), (1, 2, US, GBPS / 2)])
    s = schedule(3, [(step, 0, 2, step) for step in range(3)], 3)
    timeline = fifo(s, graph, 3 * KB)
    assert finishes(timeline) == [3, 0, 9]
    assert [microseconds(b) for b in timeline.link_busy_s] == [3, 6]


def test_what_a_rank_forwards_queues_with_what_it_sends():
    # Given 0 -> 2 through 1, 1 kB, and 1's own 3 kB to 2.
    # Derivation: 1's own occupies 1 -> 2 at 0-3, 4. 0's is at rank 1 at 2, waits: 3-4, 5.
    s = schedule(3, [(0, 0, 2, 0), (0, 1, 2, 1)], chunks=[1, 3])
    assert finishes(fifo(s, line(3), 4 * KB)) == [1, 3, 5]


def test_what_a_rank_forwards_may_come_before_its_own_next_step():
    # Given 1's own 3 kB to 2 in step 0 and 1 kB in step 1, and 0 -> 2 through 1, 1 kB, at rank 1 at 2.
    # Derivation: own 0-3, 4. At 3 the forwarded message, there since 2, goes before the one whose turn comes
    # at 3: forwarded 3-4, 5; own second 4-5, 6.
    s = schedule(3, [(0, 1, 2, 1), (0, 0, 2, 0), (1, 1, 2, 2)], chunks=[1, 3, 1])
    timeline = fifo(s, line(3), 5 * KB)
    assert finishes(timeline) == [1, 5, 6]


# ---- direct exchange where ranks share no link -----------------------------------------------------------


def test_direct_all_reduce_over_a_ring_of_three():
    # Given 0 -> 1 -> 2 -> 0, chunks of 1 kB; in step 0 all reduce to all, in step 1 all copy to all. Each
    # link carries first its rank's own two messages (by receiver), then what the rank forwards. "a>b" is a
    # link.
    # Step 0  on 0>1: 0 to 1 at 0-1, 2; 0 to 2 at 1-2, 3;  forwards 2 to 1 at 3-4, 5.
    #         on 1>2: 1 to 0 at 0-1, 2; 1 to 2 at 1-2, 3;  forwards 0 to 2 at 3-4, 5.
    #         on 2>0: 2 to 0 at 0-1, 2; 2 to 1 at 1-2, 3;  forwards 1 to 0 at 2-3, 4.
    # Sums are complete: chunk 0 on rank 0 at 4, chunk 1 on rank 1 at 5, chunk 2 on rank 2 at 5.
    # Step 1  on 0>1: 0 to 1 at 4-5, 6; 0 to 2 at 5-6, 7;  forwards 2 to 1 at 8-9, 10.
    #         on 1>2: 1 to 0 at 5-6, 7; 1 to 2 at 6-7, 8;  forwards 0 to 2 at 7-8, 9.
    #         on 2>0: 2 to 0 at 5-6, 7; 2 to 1 at 6-7, 8;  forwards 1 to 0 at 7-8, 9.
    timeline = fifo(hm.algorithms.all_reduce_direct(3), one_way_ring(3), 3 * KB)
    assert finishes(timeline) == [9, 10, 9]
    assert [microseconds(s) for s in timeline.link_busy_s] == [6, 6, 6]


def test_direct_all_gather_over_a_line_of_three():
    # 0 to 1 at 0-1, 2; 0 to 2 at 1-2, 3, forwarded at 3-4, 5 (1's own message to 2 had 0-1).
    # 2 sends to 0 first: at 0-1, 2, forwarded at 2-3, 4; 2 to 1 at 1-2, 3.
    timeline = fifo(hm.algorithms.all_gather_direct(3), line(3), 3 * KB)
    assert finishes(timeline) == [4, 3, 5]


def test_direct_all_gather_through_a_switch_serializes_twice():
    # Given 4 ranks and chunks of 1 kB; the rank's link and the switch's each carry 3 messages.
    # Derivation: a rank's messages are at the switch at 1.5, 2.5, 3.5. Rank 0 is sent to first by 1, 2 and 3:
    # its three leave the switch 1.5-4.5, 5. Rank 1 is first for 0, second for 2 and 3: 1.5-2.5, 2.5-4.5, 5.
    # Rank 2 is second for 0 and 1, third for 3: 2.5-5.5, 6. Rank 3 is third for all: 3.5-6.5, 7.
    timeline = fifo(hm.algorithms.all_gather_direct(4), switch(4), 4 * KB)
    assert finishes(timeline) == [5, 5, 6, 7]


# ---- published algorithms on their own topologies --------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 8, 17, 64])
def test_ring_all_reduce_takes_two_times_n_minus_one_latencies_and_chunks(n):
    # 2 (n-1) rounds of alpha + chunk: 2 us each.
    timeline = fifo(hm.algorithms.all_reduce_ring(n), one_way_ring(n), n * KB)
    assert finishes(timeline) == [4 * (n - 1)] * n
    assert [microseconds(s) for s in timeline.link_busy_s] == [2 * (n - 1)] * n


@pytest.mark.parametrize("n", [2, 3, 8, 17])
@pytest.mark.parametrize("kind", ["all_gather", "reduce_scatter"])
def test_ring_all_gather_and_reduce_scatter_take_n_minus_one_rounds(kind, n):
    algorithm = hm.algorithms.get(f"{kind}_ring")
    assert finishes(fifo(algorithm.generate(n), one_way_ring(n), n * KB)) == [2 * (n - 1)] * n


@pytest.mark.parametrize("n", [2, 3, 8, 17])
def test_direct_all_reduce_on_a_full_mesh_takes_two_latencies_and_two_chunks(n):
    assert finishes(fifo(hm.algorithms.all_reduce_direct(n), fully_connected(n), n * KB)) == [4] * n


@pytest.mark.parametrize("n", [2, 4, 8, 32])
def test_recursive_doubling_takes_log_n_rounds_of_the_whole_buffer(n):
    # log2 n (alpha + s / bandwidth), s = 5 kB: 6 us a round.
    timeline = fifo(hm.algorithms.all_reduce_recursive_doubling(n), fully_connected(n), 5 * KB)
    assert finishes(timeline) == [6 * math.log2(n)] * n


@pytest.mark.parametrize(("ranks", "chunks"), [(2, 1), (5, 1), (5, 7), (9, 4)])
def test_a_pipelined_chain_pays_each_latency_once(ranks, chunks):
    # In rounds it would be (ranks - 2 + chunks) times alpha + chunk. But steps are no barriers: the last
    # chunk has left the root at `chunks`, each of ranks - 1 hops adds a latency, each of ranks - 2 relays a
    # serialization.
    s = hm.algorithms.broadcast_chain(ranks, chunk_count=chunks)
    timeline = fifo(s, line(ranks), chunks * KB)
    assert microseconds(timeline.seconds) == chunks + (ranks - 1) + (ranks - 2)


# ---- paths -----------------------------------------------------------------------------------------------


def test_the_path_with_fewest_links_is_taken_even_if_it_is_slower():
    rows = [(0, 2, 9 * US, GBPS / 9), (0, 1, US, GBPS), (1, 2, US, GBPS)]
    timeline = fifo(schedule(3, [(0, 0, 2, 0)]), hm.Topology(3, rows), KB)
    assert [microseconds(s) for s in timeline.link_busy_s] == [9, 0, 0]


def test_among_paths_of_equally_many_links_the_one_with_least_latency_is_taken():
    rows = [(0, 1, 2 * US, GBPS), (1, 3, US, GBPS), (0, 2, US, GBPS), (2, 3, US, GBPS)]
    timeline = fifo(schedule(4, [(0, 0, 3, 0)]), hm.Topology(4, rows), KB)
    assert [microseconds(s) for s in timeline.link_busy_s] == [0, 0, 1, 1]


def test_then_the_one_with_most_bandwidth():
    rows = [(0, 1, US, GBPS / 2), (1, 3, US, GBPS), (0, 2, US, GBPS), (2, 3, US, GBPS)]
    timeline = fifo(schedule(4, [(0, 0, 3, 0)]), hm.Topology(4, rows), KB)
    assert [microseconds(s) for s in timeline.link_busy_s] == [0, 0, 1, 1]


def test_parallel_links_take_turns_among_the_receivers():
    # Given two rails from 0 to a switch, messages to 1, 2, 3 and 4: 1 and 3 take one, 2 and 4 the other.
    rows = links([(0, 5), (0, 5), (5, 1), (5, 2), (5, 3), (5, 4)])
    timeline = fifo(
        schedule(5, [(0, 0, r, 0) for r in (1, 2, 3, 4)]), hm.Topology(5, rows, switch_count=1), KB
    )
    assert [microseconds(s) for s in timeline.link_busy_s] == [2, 2, 1, 1, 1, 1]


def test_equal_switches_share_every_message():
    # Given a rail of its own switch each, instead of parallel links: half of each message goes over each.
    rows = links([(0, 3), (0, 4), (3, 1), (4, 1), (3, 2), (4, 2)])
    timeline = fifo(schedule(3, [(0, 0, 1, 0), (0, 0, 2, 0)]), hm.Topology(3, rows, switch_count=2), KB)
    assert [microseconds(s) for s in timeline.link_busy_s] == [1, 1, 0.5, 0.5, 0.5, 0.5]


def test_ranks_that_relay_do_not_take_turns():
    # Given a 2 x 2 grid 0 1 / 2 3, the rows' links listed first: 0 reaches 3, and 2 reaches 1, along the row.
    rows = links([(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0), (1, 3), (3, 1)])
    timeline = fifo(schedule(4, [(0, 0, 3, 0), (0, 2, 1, 1)], 2), hm.Topology(4, rows), 2 * KB)
    assert [microseconds(s) for s in timeline.link_busy_s] == [1, 0, 1, 0, 0, 0, 1, 1]
