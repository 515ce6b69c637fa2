"""fifo: a link carries one message at a time; latency is pipelined behind the serialization."""

from networks import KB, US, one_way_ring

import hemiola as hm


def test_ring_all_reduce_takes_two_times_n_minus_one_rounds_of_latency_and_chunk():
    # Given 8 ranks on a one-way ring of 1 us, 1 GB/s links, and a buffer of 8 kB: chunks of 1 kB.
    # Derivation: 2 (n-1) rounds, each alpha + chunk / bandwidth = 1 us + 1 us.
    # Expect 14 * 2 us, every link busy for 14 chunks.
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(8), one_way_ring(8, US, 1e9), 8 * KB, network="fifo")
    assert timeline.seconds == 28 * US
    assert timeline.finish_s.tolist() == [28 * US] * 8
    assert timeline.link_busy_s.tolist() == [14 * US] * 8
