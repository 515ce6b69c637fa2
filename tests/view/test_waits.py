# SPDX-License-Identifier: Apache-2.0
"""Who waits for whom in a simulation, with times that can be worked out by hand, and as the picture shows it."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

import hemiola as hm
from hemiola import topologies
from hemiola.view import style
from hemiola.view.waits import Wait, moves_of, waits_of

#: A chunk of 1 MB takes 1 ms, and 0.1 ms more to land.
NETWORK = topologies.fully_connected(3, latency_s=1e-4, bandwidth=1e9)
NBYTES = 1_000_000
CHAIN = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 3, 1), [(0, 0, 1, 0), (1, 1, 2, 0)])


def _waits(timeline) -> list[Wait]:
    return waits_of(moves_of(timeline), timeline.finish_s, timeline.conditions.late, 1e-6)


def _rounded(waits: list[Wait]) -> list[tuple[int, float, float, int, int]]:
    return [(w.rank, round(1e3 * w.begin_s, 3), round(1e3 * w.end_s, 3), w.cause, w.root) for w in waits]


def test_a_rank_waits_for_the_message_that_it_sends_on() -> None:
    """Given a chain 0 → 1 → 2. Rank 0 sends until 1 ms, and rank 1 from 1.1 ms, when the chunk has landed, to 2.1 ms.
    Expect rank 1 to wait for rank 0, and rank 2 for rank 1 until 2.2 ms, as rank 1 itself waited for rank 0."""
    waits = _rounded(_waits(hm.simulate(CHAIN, NETWORK, NBYTES)))
    assert waits == [(1, 0.0, 1.1, 0, 0), (2, 0.0, 2.2, 1, 0)]


def test_the_root_of_all_waits_is_the_late_rank() -> None:
    """Rank 0 comes after 5 ms, and everything else 5 ms later."""
    waits = _rounded(_waits(hm.simulate(CHAIN, NETWORK, NBYTES, hm.Conditions(late={0: 5e-3}))))
    assert (1, 0.0, 6.1, 0, 0) in waits
    assert (2, 0.0, 7.2, 1, 0) in waits


def test_a_sender_waits_for_a_receiver_that_has_not_come() -> None:
    waits = _rounded(_waits(hm.simulate(CHAIN, NETWORK, NBYTES, hm.Conditions(late={1: 5e-3}))))
    assert waits[0] == (0, 0.0, 5.0, 1, 1)


def test_nobody_waits_where_all_send_at_once() -> None:
    direct = hm.algorithms.all_gather_direct(3)
    free = topologies.fully_connected(3, latency_s=0, bandwidth=1e9)
    assert _waits(hm.simulate(direct, free, NBYTES)) == []
    assert waits_of(moves_of(hm.simulate(direct, free, 0)), np.zeros(3), {}, 1e-6) == []


def test_a_sender_that_is_busy_since_its_wait_hands_it_on() -> None:
    """Rank 1 gets two chunks from late rank 0, sends its own third one to rank 2 last, and so all wait for rank 0."""
    rows = [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 2, 1)]
    schedule = hm.Schedule.from_transfers(hm.Collective.with_owners("all_gather", 3, [0, 1]), rows)
    timeline = hm.simulate(schedule, NETWORK, NBYTES, hm.Conditions(late={0: 5e-3}), unchecked=True)
    last = _waits(timeline)[-1]
    assert (last.rank, last.cause, last.root) == (2, 1, 0)


def test_a_picture_draws_waits_and_names_the_awaited_rank() -> None:
    axes = hm.draw(hm.simulate(CHAIN, NETWORK, NBYTES, hm.Conditions(late={0: 5e-3})))
    drawn = [lines for lines in axes.collections if isinstance(lines, LineCollection)]
    red = [lines for lines in drawn if _is(lines.get_color(), style.RED)]
    ends = [(round(x0, 3), round(x1, 3), y0) for lines in red for (x0, y0), (x1, _) in lines.get_segments()]
    assert ends == [(0.0, 6.1, 1), (0.0, 7.2, 2)]
    assert [text.get_text() for text in axes.texts if text.get_text().startswith("←")] == ["←0", "←1"]
    keys = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert "waits because of rank 0" in keys
    assert "not there yet" in keys


def _is(colors: np.ndarray, color: str) -> bool:
    return len(colors) > 0 and np.allclose(colors[0][:3], to_rgb(color))


def test_ranks_are_named_by_host_and_nic() -> None:
    boxes = hm.Topology.from_yaml(BOXES)
    timeline = hm.simulate(hm.algorithms.all_reduce_ring(4), boxes, NBYTES, hm.Conditions(late={2: 1e-3}))
    names = [label.get_text() for label in hm.draw(timeline).get_yticklabels()]
    assert names == [
        "host 0, rank 0",
        "host 0, rank 1, nic0",
        "host 1, rank 2 (late)",
        "host 1, rank 3, nic0",
    ]


BOXES = """
topology: cluster
hosts:
  - {ranks: 2, latency: 1 us, bandwidth: 10 GB/s, nics: 1, nic_latency: 5 us, nic_bandwidth: 10 GB/s}
  - {ranks: 2, latency: 1 us, bandwidth: 10 GB/s, nics: 1, nic_latency: 5 us, nic_bandwidth: 10 GB/s}
"""
