# SPDX-License-Identifier: Apache-2.0
"""Both networks keep the engine's sending rule: ports in step order, granted by the receiver, one step at a time."""

import numpy as np
import pytest
from networks import switch

import hemiola as hm

US = 1e-6
EXCHANGES = {
    "one slow": lambda: hm.algorithms.all_reduce_weighted_exchange(6, {0: 1.5}, 4),
    "twice as slow": lambda: hm.algorithms.all_reduce_weighted_exchange(6, {2: 2.0}, 4),
    "several": lambda: hm.algorithms.all_reduce_open_shop_exchange(6, {0: 3.0, 3: 1.5}, 3),
    "ring of the healthy": lambda: hm.algorithms.all_reduce_optcc(6, 0, 3),
}


def port_turns(schedule: hm.Schedule, network: str, end: str, noise: float) -> list[np.ndarray]:
    """Return per rank, for each step that uses its port: step, start of its first message, end of its last."""
    cluster = switch(schedule.rank_count)
    slow = hm.Conditions(slow={0: 1.5})
    timeline = hm.simulate(schedule, cluster, 1 << 20, slow, network, noise=noise, seed=1)
    first_hop = timeline.spans[np.unique(timeline.spans["transfer"], return_index=True)[1]]
    rows = schedule.transfers[first_hop["transfer"]]
    turns = []
    for rank in range(schedule.rank_count):
        mine = rows[end] == rank
        step, start, left = rows["step"][mine], first_hop["start_s"][mine], first_hop["end_s"][mine]
        steps = np.unique(step)
        turns.append(
            np.array([(s, start[step == s].min(), left[step == s].max()) for s in steps], dtype=np.float64)
        )
    return turns


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("name", EXCHANGES)
@pytest.mark.parametrize(("network", "end"), [("fluid", "src"), ("fluid", "dst"), ("fifo", "src")])
def test_a_port_carries_its_steps_in_order_one_after_the_other(
    network: str, end: str, name: str, noise: float
) -> None:
    # In the fluid network the receiver's port is kept in order as well: it grants. In fifo a switch stores what comes.
    for turns in port_turns(EXCHANGES[name](), network, end, noise):
        assert (turns[1:, 1] >= turns[:-1, 2] - 1e-12).all()


@pytest.mark.parametrize("name", ["one slow", "twice as slow"])
def test_a_weighted_exchange_has_at_most_two_messages_in_flight_a_port(name: str) -> None:
    rows = EXCHANGES[name]().transfers
    for end in ("src", "dst"):
        _, counts = np.unique(np.stack([rows["step"], rows[end]]), axis=1, return_counts=True)
        assert counts.max() == 2
