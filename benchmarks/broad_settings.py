# SPDX-License-Identifier: Apache-2.0
"""Random settings that nobody chose for the planner: 8 B to 64 MiB, every builder, XML files,
parallel links and sparse data.

A setting is a function of its seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np

import hemiola as hm
from history import ROOT
from random_problems import KINDS, is_rooted
from random_settings import BUILDERS, Setting

MOST_RANKS = 64
_SMALLEST, _LARGEST = 8, 64 << 20
_XML = ROOT / "tests/topology/data"
_DENSITIES = (0.01, 0.1, 0.5)


def broad_setting(seed: int) -> Setting:
    """Make the setting of a seed.

    The builder is one of `BROAD`, all as likely; ranks and bytes are spread evenly over their logarithms, 2 … 64 and
    8 B … 64 MiB. Half of the settings are all-reduces. A quarter of the networks charge 1 us a message; a quarter
    have a second link beside half of their links, up to four times slower or faster. A fifth each has a late rank,
    one or two slow ranks, and sparse data.
    """
    rng = random.Random(f"broad plans: {seed}")
    label, build = rng.choice(sorted(BROAD.items()))
    topology = build(rng, round(2 ** rng.uniform(1, math.log2(MOST_RANKS))))
    if rng.random() < 0.25:
        topology, label = _with_messages(topology), f"{label}, 1 us a message"
    if rng.random() < 0.25:
        topology, label = _with_parallel_links(rng, topology), f"{label}, parallel links"
    kind = "all_reduce" if rng.random() < 0.5 else rng.choice(KINDS)
    nbytes = round(math.exp(rng.uniform(math.log(_SMALLEST), math.log(_LARGEST))))
    root = rng.randrange(topology.rank_count) if is_rooted(kind) else 0
    return Setting(seed, label, topology, kind, root, nbytes, _conditions(rng, topology, nbytes))


def _conditions(rng: random.Random, topology: hm.Topology, nbytes: int) -> hm.Conditions:
    ranks = topology.rank_count
    match rng.randrange(5):
        case 0:
            whole_s = float(topology.links["latency_s"].max()) + nbytes / float(
                topology.links["bandwidth"].min()
            )
            return hm.Conditions(
                late={rng.randrange(ranks): whole_s * math.exp(rng.uniform(math.log(0.1), math.log(10)))}
            )
        case 1:
            return hm.Conditions(
                slow={
                    rng.randrange(ranks): rng.choice((1.25, 1.5, 2.0, 4.0)) for _ in range(rng.randint(1, 2))
                }
            )
        case 2:
            return hm.Conditions(density=rng.choice(_DENSITIES))
    return hm.Conditions()


def _with_messages(topology: hm.Topology) -> hm.Topology:
    """Let each link charge a microsecond, or what it charges already."""
    links = topology.links.copy()
    links["message_s"] = np.maximum(links["message_s"], 1e-6)
    return topology.replaced(links=links)


def _with_parallel_links(rng: random.Random, topology: hm.Topology) -> hm.Topology:
    """Add a link of another speed beside half of the links, the same both ways."""
    links = topology.links
    beside: dict[tuple[int, ...], tuple[float, float] | None] = {}
    more = []
    for link in links:
        ends = tuple(sorted((int(link["src"]), int(link["dst"]))))
        if ends not in beside:
            speeds = rng.choice((0.25, 0.5, 1.0, 4.0)), rng.choice((0.5, 1.0, 3.0))
            beside[ends] = speeds if rng.random() < 0.5 else None
        if (times := beside[ends]) is not None:
            twin = link.copy()
            twin["bandwidth"] *= times[0]
            twin["latency_s"] *= times[1]
            more.append(twin)
    return hm.Topology(
        topology.rank_count,
        np.concatenate([links, np.array(more, links.dtype)]),
        switch_count=topology.switch_count,
        nodes=topology.nodes.tolist(),
        launch_s=topology.launch_s,
        reduces=list(topology.reduces),
        multicasts=list(topology.multicasts),
    )


def _grid(rng: random.Random, ranks: int) -> hm.Topology:
    sides = [rng.choice((2, 3, 4)), max(1, ranks // 4)]
    wires = [rng.choice(("line", "ring", "fully_connected", "switch")) for _ in sides]
    return hm.topologies.grid(sides, wires, latency_s=1e-6, bandwidth=[100e9, rng.choice((25e9, 100e9))])


def _cluster(rng: random.Random, ranks: int) -> hm.Topology:
    hosts = [
        hm.topologies.Host(
            rng.choice((2, 4, 8)),
            latency_s=1e-6,
            bandwidth=100e9,
            nic_latency_s=5e-6,
            nic_bandwidth=rng.choice((12.5e9, 25e9)),
        )
        for _ in range(max(2, ranks // 4))
    ]
    return hm.topologies.cluster(hosts)


def _tapered(rng: random.Random, ranks: int) -> hm.Topology:
    per_group = rng.choice((2, 4))
    return hm.topologies.hosts(
        per_group * max(2, ranks // (2 * per_group)),
        rng.choice((1, 2)),
        latency_s=1e-6,
        bandwidth=100e9,
        nic_latency_s=5e-6,
        nic_bandwidth=25e9,
        nodes_per_group=per_group,
        taper=rng.choice((2.0, 4.0)),
    )


#: By name; each takes about how many ranks there should be.
BROAD: dict[str, Callable[[random.Random, int], hm.Topology]] = {
    **BUILDERS,
    "grid": _grid,
    "cluster": _cluster,
    "tapered groups": _tapered,
    "hypercube": lambda rng, ranks: hm.topologies.hypercube(
        [2, 3, max(1, ranks // 6)], latency_s=1e-6, bandwidth=50e9
    ),
    "dgx1_v100.xml": lambda rng, ranks: hm.Topology.load(_XML / "dgx1_v100.xml"),
    "h100_four.xml": lambda rng, ranks: hm.Topology.load(_XML / "h100_four.xml"),
}
