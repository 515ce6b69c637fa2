"""fluid: concurrent flows share links max-min fairly, and a flow holds all links of its path at once."""

from networks import KB, US, switch

import hemiola as hm


def test_direct_all_gather_through_a_switch_takes_one_latency_and_n_minus_one_chunks():
    # Given 8 ranks, each with one 1 GB/s port to a switch, 1 us from rank to rank, and chunks of 1 kB.
    # Derivation: in the one step every port carries 7 flows in each direction, 1/7 GB/s each: 7 us.
    # Expect 1 us + 7 us.
    timeline = hm.simulate(hm.algorithms.all_gather_direct(8), switch(8, US, 1e9), 8 * KB)
    assert timeline.seconds == 8 * US
    assert timeline.finish_s.tolist() == [8 * US] * 8
    assert timeline.link_busy_s.tolist() == [7 * US] * 16
