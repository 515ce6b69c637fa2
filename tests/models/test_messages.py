# SPDX-License-Identifier: Apache-2.0
"""What a message costs a link beside its bytes, worked out by hand."""

import pytest
from networks import GBPS, KB, US, finishes, microseconds, schedule

import hemiola as hm
from hemiola import errors
from hemiola._core import busiest_link_s
from hemiola.topology.port_speed import PortSpeed, port_speed


def network(rows, *, ranks=2, switches=0):
    """Links (src, dst, latency, message), both in us; 1 kB takes 1 us."""
    links = [(src, dst, latency * US, GBPS, message * US) for src, dst, latency, message in rows]
    return hm.Topology(ranks, links, switch_count=switches)


def busy_us(timeline):
    return [microseconds(seconds) for seconds in timeline.link_busy_s]


def run(t, rows, chunks, network="fluid", **conditions):
    s = schedule(t.rank_count, rows, chunks)
    return hm.simulate(s, t, 1000 * sum(chunks), hm.Conditions(**conditions), network)


@pytest.mark.parametrize("model", ["fluid", "fifo"])
def test_a_link_is_busy_for_a_message_and_then_for_its_bytes(model):
    """Given 3 kB over a link of 1 us, 2 us a message. Expect: left at 2 + 3, landed 1 later."""
    timeline = run(network([(0, 1, 1, 2)]), [(0, 0, 1, 0)], [3], model)
    assert finishes(timeline) == [5, 6]
    assert busy_us(timeline) == [5]


@pytest.mark.parametrize("model", ["fluid", "fifo"])
def test_chunks_from_one_rank_to_another_in_one_step_are_one_message(model):
    """Given two chunks of 3 kB, 2 us a message. Expect: in one step 2 + 6 and the latency, in two steps 2 + 2 + 6."""
    t = network([(0, 1, 1, 2)])
    assert finishes(run(t, [(0, 0, 1, 0), (0, 0, 1, 1)], [3, 3], model))[1] == 9
    assert finishes(run(t, [(0, 0, 1, 0), (1, 0, 1, 1)], [3, 3], model))[1] == 11


@pytest.mark.parametrize("model", ["fluid", "fifo"])
def test_a_message_costs_nothing_again_for_what_joins_it_later(model):
    """Given chunk 0 that 1 has and chunk 1 that it gets at 0 -> 1: 2 us of message, 3 of bytes, 1 of latency: at 6.
    Both go on to 2 as one message, whose cost is paid as soon as the first of them may go: 2 + 3 until 5.
    Expect: chunk 1 leaves at 6 + 3 without a message of its own and lands at 10."""
    t = network([(0, 1, 1, 2), (1, 2, 1, 2)], ranks=3)
    timeline = run(t, [(0, 0, 1, 1), (1, 1, 2, 0), (1, 1, 2, 1)], [3, 3], model)
    assert finishes(timeline) == [5, 9, 10]
    assert busy_us(timeline) == [5, 8]


def test_a_path_of_several_links_costs_as_much_as_its_most_costly_link_in_fluid_and_all_of_them_in_fifo():
    """Given 2 kB over 0 -> switch (1 us a message) and switch -> 1 (3 us a message), 0.5 us of latency each.
    Expect fluid: all links are held at once: 3 + 2 + 1. fifo: 1 + 2 + 0.5, then 3 + 2 + 0.5."""
    t = network([(0, 2, 0.5, 1), (2, 1, 0.5, 3)], switches=1)
    fluid, fifo = (run(t, [(0, 0, 1, 0)], [2], model) for model in ("fluid", "fifo"))
    assert finishes(fluid)[1] == 6
    assert finishes(fifo)[1] == 9
    assert busy_us(fluid) == busy_us(fifo) == [3, 5]


def test_messages_of_one_step_to_all_others_are_not_free():
    """Given a switch, 4 ranks, 2 us a message, 1 kB for everybody else in one step.
    Expect: every port is busy 3 times 2 + 1, and what left last lands 1 us later. Without the cost: 3 + 1."""
    ends = [(r, 4) for r in range(4)] + [(4, r) for r in range(4)]
    t = network([(src, dst, 0.5, 2) for src, dst in ends], ranks=4, switches=1)
    timeline = hm.simulate(hm.algorithms.all_gather_direct(4), t, 4 * KB)
    assert finishes(timeline) == [10] * 4
    assert busy_us(timeline) == [9] * 8
    fifo = hm.simulate(hm.algorithms.all_gather_direct(4), t, 4 * KB, network="fifo")
    assert busy_us(fifo) == [9] * 8


def test_messages_share_a_link_as_bytes_do():
    """Given two messages of 2 kB, 2 us each, from 0 to 1 and to 2 through one port at once.
    Expect: both costs together 4 us, then both flows at half the speed until 8; 1 us of latency."""
    t = network([(0, 3, 1, 2), (3, 1, 0, 0), (3, 2, 0, 0)], ranks=3, switches=1)
    assert finishes(run(t, [(0, 0, 1, 0), (0, 0, 2, 1)], [2, 2])) == [8, 9, 9]


@pytest.mark.parametrize("model", ["fluid", "fifo"])
def test_slow_ports_and_cards_slow_bytes_and_not_messages(model):
    t = network([(0, 1, 1, 2)])
    assert finishes(run(t, [(0, 0, 1, 0)], [3], model, slow={1: 2.0}))[1] == 2 + 6 + 1
    assert finishes(run(t.degraded({1: 2.0}), [(0, 0, 1, 0)], [3], model))[1] == 2 + 6 + 1


def test_chunks_without_bytes_are_no_messages():
    t = network([(0, 1, 1, 2)])
    s = schedule(2, [(0, 0, 1, 0), (1, 0, 1, 1)], [3, 0])
    assert finishes(hm.simulate(s, t, 3 * KB))[1] == 6


def test_a_schedule_in_its_file_pays_for_messages(tmp_path):
    ring = [(r, (r + 1) % 4, 1e-6, GBPS, 2e-6) for r in range(4)]
    t = hm.Topology(4, ring)
    s = hm.algorithms.all_gather_ring(4)
    s.save(tmp_path / "some.schedb")
    file = hm.ScheduleFile(tmp_path / "some.schedb")
    assert (
        hm.simulate(file, t, 4 * KB, network="fifo").seconds
        == hm.simulate(s, t, 4 * KB, network="fifo").seconds
    )
    assert hm.simulate(s, t, 4 * KB, network="fifo").seconds == pytest.approx(3 * (2 + 1 + 1) * US)


def test_bounds_know_that_somebody_sends_a_message():
    """Given one port each, 2 us a message, 4 ranks, 4 kB all-gather. Derivation: a rank receives 3 kB in a message at
    least, which takes its port 2 + 3 us, and the latency of 1 us."""
    ends = [(r, 4) for r in range(4)] + [(4, r) for r in range(4)]
    t = network([(src, dst, 0.5, 2) for src, dst in ends], ranks=4, switches=1)
    assert microseconds(hm.lower_bound(t, "all_gather", 4 * KB).seconds) == 6


def test_the_planner_counts_messages():
    """Given 16 ranks on a switch, 1 kB and 5 us a message: 15 messages in one step take 75 us, 4 rounds 20."""
    free = hm.topologies.switch(16, latency_s=1e-6, bandwidth=10e9)
    costly = hm.topologies.switch(16, latency_s=1e-6, bandwidth=10e9, message_s=5e-6)
    assert hm.plan(free, "all_gather", KB).name == "all_gather_direct"
    chosen = hm.plan(costly, "all_gather", KB)
    assert chosen.name != "all_gather_direct"
    assert chosen.schedule.step_count == 4
    direct = hm.simulate(hm.algorithms.all_gather_direct(16), costly, KB)
    assert chosen.seconds < 0.4 * direct.seconds


def test_formulas_take_a_message_into_the_latency_and_count_further_ones():
    """Given a switch of 2 us, 3 us a message. Expect a latency of 5 us; of three messages in one step, two cost 3 us
    more."""
    t = hm.topologies.switch(4, latency_s=2 * US, bandwidth=GBPS, message_s=3 * US)
    assert port_speed(t) == PortSpeed(5 * US, GBPS, 3 * US)
    direct = hm.algorithms.get("all_gather_direct")
    assert direct.seconds(4, 4 * KB, 5 * US, GBPS, message_s=3 * US) == pytest.approx((5 + 3 + 2 * 3) * US)


def test_the_busiest_link_is_busy_with_messages_too():
    t = hm.topologies.switch(4, latency_s=2 * US, bandwidth=GBPS, message_s=3 * US)
    assert busiest_link_s(hm.algorithms.all_gather_direct(4), t, 4 * KB, {}) == pytest.approx(
        3 * (3 + 1) * US
    )


def test_links_for_a_switch_share_what_its_port_takes_for_messages():
    t = hm.topologies.switch(4, latency_s=2 * US, bandwidth=GBPS, message_s=3 * US).unwind_switches(2)
    assert t.links["message_s"].tolist() == pytest.approx([6 * US] * 8)


@pytest.mark.parametrize("message_s", [-1e-6, 1001.0, float("nan")])
def test_a_message_that_costs_what_cannot_be_is_refused(message_s):
    with pytest.raises(errors.ArgumentError):
        hm.Topology(2, [(0, 1, 0.0, GBPS, message_s)])


def test_a_synthesized_schedule_knows_that_messages_take_time():
    """Given a ring of 4, 1 kB chunks, no latency, 2 us a message. Derivation: a rank receives 3 chunks over two links,
    so one of these carries 2 of them, a message each: 2 * (2 + 1)."""
    t = hm.topologies.ring(4, latency_s=0, bandwidth=GBPS, message_s=2 * US)
    s = hm.synthesize(t, "all_gather", nbytes=4 * KB, seed=0)
    assert hm.simulate(s, t, 4 * KB).seconds == pytest.approx(6 * US)
