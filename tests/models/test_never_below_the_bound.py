# SPDX-License-Identifier: Apache-2.0
"""No schedule is faster than its lower bound, to the last picosecond: messages end where they can, or later."""

from __future__ import annotations

import random

import pytest

import hemiola as hm
from hemiola import topologies

#: Rates that no whole number of picoseconds a byte fits.
SPEEDS = (1e9, 3.3e9, 7.7e9, 20.6e9, 370.8e9, 450e9)
KINDS = (
    "all_gather",
    "all_to_all",
    "all_reduce",
    "reduce_scatter",
    "broadcast",
    "scatter",
    "gather",
    "reduce",
)


def box(random_: random.Random) -> hm.Topology:
    """Make a network with ways side by side: a switch or two of ports, parallel links between ranks, a chain."""
    n = random_.randint(2, 6)
    planes = random_.randint(1, 2)

    def cost() -> tuple[float, float]:
        return random_.choice((0.0, 1e-7, 5e-7, 6e-7)), random_.choice(SPEEDS)

    cables: list[tuple[int, int, float, float]] = []
    for plane in range(planes):
        even = cost()
        cables += [(rank, n + plane, *(even if random_.random() < 0.7 else cost())) for rank in range(n)]
    for _ in range(random_.randint(0, 3)):
        a, b = random_.sample(range(n), 2)
        cables += [(a, b, *cost()) for _ in range(random_.randint(1, 3))]
    a, b = random_.sample(range(n), 2)
    cables += [(a, n + planes, *cost()), (n + planes, b, *cost())]
    links = [(*ends, *how) for a, b, *how in cables for ends in ((a, b), (b, a))]
    return hm.Topology(n, links, switch_count=planes + 1)


@pytest.mark.parametrize("seed", range(40))
def test_no_plan_is_below_the_bound(seed: int) -> None:
    random_ = random.Random(seed)
    t = box(random_)
    for kind in random_.sample(KINDS, 3):
        nbytes = random_.choice((1, 7, 100, 1000, 1024, 4096, 65536, 1 << 20, 12_345_678))
        plan = hm.plan(t, kind, nbytes)
        assert plan.seconds >= plan.bound_s, (seed, kind, nbytes, plan.name)


@pytest.mark.parametrize("network", ["fluid", "fifo"])
@pytest.mark.parametrize("speed", SPEEDS)
def test_no_published_algorithm_is_below_the_bound(speed: float, network: str) -> None:
    t = topologies.switch(8, latency_s=0.6e-6, bandwidth=speed)
    for name in hm.algorithms.names():
        schedule = hm.algorithms.get(name).generate(8, root=0)
        if schedule.collective.kind in KINDS:
            for nbytes in (1024, 1 << 20):
                seconds = hm.simulate(schedule, t, nbytes, network=network).seconds
                bound = hm.lower_bound(t, schedule.collective.kind, nbytes)
                assert seconds >= bound.seconds, (name, nbytes, bound.witness)
