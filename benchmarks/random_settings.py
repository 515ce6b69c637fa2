# SPDX-License-Identifier: Apache-2.0
"""Random settings for a planner: networks as people build them, 2 to 1,024 ranks, collectives, sizes and conditions.

A setting is a function of its seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import hemiola as hm
from hemiola.codecs import Speeds
from random_problems import KINDS, is_rooted

MOST_RANKS = 1024
_SMALLEST, _LARGEST = 1 << 10, 1 << 30
_LEAST, _MOST_OF_SMALL = 8, 256 << 10
#: Of sparse data, so that the machine that judges decides nothing.
CODECS = Speeds(100e9, 200e9, 200e9)
_LATENCIES_S = (0.5e-6, 1e-6, 5e-6)
_BANDWIDTHS = (12.5e9, 25e9, 50e9, 200e9)


@dataclass(frozen=True)
class Setting:
    """What a plan is asked for."""

    seed: int
    label: str
    topology: hm.Topology
    kind: hm.Kind
    root: int
    nbytes: int
    conditions: hm.Conditions

    def plan(self, effort: float) -> hm.Plan:
        """Plan it."""
        return hm.plan(
            self.topology,
            self.kind,
            self.nbytes,
            self.conditions,
            root=self.root,
            codecs=CODECS if self.conditions.density < 1 else None,
            effort=effort,
        )


def random_setting(seed: int) -> Setting:
    """Make the setting of a seed.

    The builder is one of `BUILDERS`, all as likely; ranks and bytes are spread evenly over their logarithms, 2 … 1,024
    and 1 KiB … 1 GiB. Half of the settings have no conditions, a quarter one or two slow ranks of 1.25 … 4, a quarter
    one late rank, by 0.1 to 10 times what the buffer takes on a link.
    """
    rng = random.Random(f"plans: {seed}")
    label, build = rng.choice(sorted(BUILDERS.items()))
    topology = build(rng, round(2 ** rng.uniform(1, math.log2(MOST_RANKS))))
    ranks = topology.rank_count
    kind = rng.choice(KINDS)
    nbytes = round(math.exp(rng.uniform(math.log(_SMALLEST), math.log(_LARGEST))))
    late, slow = {}, {}
    match rng.randrange(4):
        case 0:
            slow = {rng.randrange(ranks): rng.choice((1.25, 1.5, 2.0, 4.0)) for _ in range(rng.randint(1, 2))}
        case 1:
            whole_s = nbytes / float(topology.links["bandwidth"].min())
            late = {rng.randrange(ranks): whole_s * math.exp(rng.uniform(math.log(0.1), math.log(10)))}
    root = rng.randrange(ranks) if is_rooted(kind) else 0
    return Setting(seed, label, topology, kind, root, nbytes, hm.Conditions(late=late, slow=slow))


def small_setting(seed: int) -> Setting:
    """Make the same network with the same conditions, and an all-reduce of 8 B … 256 KiB."""
    setting = random_setting(seed)
    rng = random.Random(f"small plans: {seed}")
    nbytes = round(math.exp(rng.uniform(math.log(_LEAST), math.log(_MOST_OF_SMALL))))
    return replace(setting, kind="all_reduce", root=0, nbytes=nbytes)


def _speed(rng: random.Random) -> dict[str, Any]:
    return {"latency_s": rng.choice(_LATENCIES_S), "bandwidth": rng.choice(_BANDWIDTHS)}


def _sides(rng: random.Random, ranks: int, dimensions: int) -> list[int]:
    """Draw the sides of a grid of about so many ranks, each at least 2."""
    sides = []
    for left in range(dimensions, 0, -1):
        even = ranks ** (1 / left)
        side = max(2, round(even if left == 1 else even * rng.uniform(0.7, 1.4)))
        sides.append(side)
        ranks = max(1, ranks // side)
    while math.prod(sides) > MOST_RANKS:
        sides[sides.index(max(sides))] -= 1
    return sides


def _hosts(rng: random.Random, ranks: int) -> hm.Topology:
    per_host = rng.choice((2, 4, 8))
    nics = rng.choice([count for count in (1, 2, 4, 8) if count <= per_host])
    inside = rng.choice(("switch", "fully_connected", "ring"))
    return hm.topologies.hosts(
        max(2, ranks // per_host),
        per_host,
        nics,
        latency_s=1e-6,
        bandwidth=rng.choice((25e9, 100e9, 300e9)),
        nic_latency_s=5e-6,
        nic_bandwidth=rng.choice((12.5e9, 25e9)),
        inside=inside,
        rails=rng.random() < 0.5,
    )


def _boxes(rng: random.Random, ranks: int) -> hm.Topology:
    per_box = rng.choice((1, 2, 4))
    return hm.topologies.boxes(
        min(64, max(3, ranks // per_box)),
        ranks_per_box=per_box,
        cable_latency_s=2e-6,
        cable_bandwidth=rng.choice((12.5e9, 25e9)),
    )


def _dragonfly(rng: random.Random, ranks: int) -> hm.Topology:
    per_group = max(2, min(31, round(math.sqrt(ranks))))
    groups = rng.randint(2, per_group + 1)
    return hm.topologies.dragonfly([per_group, groups], latency_s=0.5e-6, bandwidth=[400e9, 200e9])


def _switch_2d(rng: random.Random, ranks: int) -> hm.Topology:
    return hm.topologies.switch_2d(_sides(rng, ranks, 2), latency_s=0.5e-6, bandwidth=[300e9, 25e9])


def _rfs_3d(rng: random.Random, ranks: int) -> hm.Topology:
    dims = [2, rng.choice((2, 4)), max(2, ranks // 8)]
    return hm.topologies.rfs_3d(dims, latency_s=0.5e-6, bandwidth=[200e9, 100e9, 50e9])


def _random_graph(rng: random.Random, ranks: int) -> hm.Topology:
    """Return a connected graph of two-way links of one speed, four links a rank on average."""
    speed = _speed(rng)
    edges = {(rng.randrange(rank), rank) for rank in range(1, ranks)}
    while len(edges) < min(2 * ranks, ranks * (ranks - 1) // 2):
        a, b = sorted(rng.sample(range(ranks), 2))
        edges.add((a, b))
    rows = [
        (*pair, speed["latency_s"], speed["bandwidth"]) for a, b in sorted(edges) for pair in ((a, b), (b, a))
    ]
    return hm.Topology(ranks, rows)


#: By name; each takes about how many ranks there should be.
BUILDERS: dict[str, Callable[[random.Random, int], hm.Topology]] = {
    "ring": lambda rng, ranks: hm.topologies.ring(ranks, **_speed(rng)),
    "torus 2D": lambda rng, ranks: hm.topologies.torus(_sides(rng, ranks, 2), **_speed(rng)),
    "torus 3D": lambda rng, ranks: hm.topologies.torus(_sides(rng, ranks, 3), **_speed(rng)),
    "mesh 2D": lambda rng, ranks: hm.topologies.mesh(_sides(rng, ranks, 2), **_speed(rng)),
    "cube": lambda rng, ranks: hm.topologies.mesh([2] * max(1, round(math.log2(ranks))), **_speed(rng)),
    "switch": lambda rng, ranks: hm.topologies.switch(ranks, **_speed(rng)),
    "fully connected": lambda rng, ranks: hm.topologies.fully_connected(min(ranks, 128), **_speed(rng)),
    "2D switch": _switch_2d,
    "3D-RFS": _rfs_3d,
    "dragonfly": _dragonfly,
    "hosts": _hosts,
    "boxes": _boxes,
    "DGX-1": lambda rng, ranks: hm.topologies.dgx1(),
    "DGX A100": lambda rng, ranks: hm.topologies.dgx_a100(max(1, ranks // 8), rails=rng.random() < 0.5),
    "DGX H100": lambda rng, ranks: hm.topologies.dgx_h100(max(1, ranks // 8), rails=rng.random() < 0.5),
    "random graph": _random_graph,
}
