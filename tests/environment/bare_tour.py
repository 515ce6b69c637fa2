# SPDX-License-Identifier: Apache-2.0
"""Plans under every condition and re-plans in a run, where nothing but Hemiola and its requirements is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import hemiola as hm

NETWORKS = {
    "switch": hm.topologies.switch(6, latency_s=50e-6, bandwidth=20e6),
    "ring": hm.topologies.ring(6, latency_s=1e-6, bandwidth=25e9),
    "grid": hm.topologies.mesh([3, 3], latency_s=1e-6, bandwidth=25e9),
    "hosts": hm.topologies.hosts(
        3, 2, latency_s=1e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=12.5e9
    ),
}
CONDITIONS = {
    "none": hm.Conditions(),
    "late": hm.Conditions(late={1: 1e-3}),
    "slow": hm.Conditions(slow={1: 2.0}),
    "two slow": hm.Conditions(slow={1: 2.0, 4: 1.5}),
    "late and slow": hm.Conditions(late={0: 1e-3}, slow={3: 2.0}),
    "sparse": hm.Conditions(density=0.05),
}


def plans() -> None:
    """Plan collectives of several sizes on every network under every condition."""
    for topology in NETWORKS.values():
        for conditions in CONDITIONS.values():
            for kind in ("all_reduce", "all_gather", "all_to_all"):
                for nbytes in (1 << 13, 1 << 24):
                    assert hm.plan(topology, kind, nbytes, conditions).seconds > 0


def re_planned() -> None:
    """Run while two ports get slow, until the schedule is another one."""
    import health_ranks

    network = NETWORKS["switch"]
    stories = hm.launch(
        health_ranks.degraded_run, 6, 40, {8: {0: 2.0, 3: 1.5}}, emulate=network, timeout_s=120
    )
    assert sum(story.wrong for story in stories) == 0
    assert stories[0].names[-1] != stories[0].names[7]


def optima() -> None:
    """Solve an integer program."""
    from hemiola.synthesis import optimal

    ring = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    assert optimal.sccl(ring, "all_gather").proved


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "communicator"))
    plans()
    re_planned()
    optima()
    print("toured")
