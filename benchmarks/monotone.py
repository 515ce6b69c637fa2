# SPDX-License-Identifier: Apache-2.0
"""Plans on random networks, and on the same ones after a change that cannot harm: a faster link, an added one, or a
condition less. One JSON line per network whose plan is slower by more than 1 %, then a summary.

Goal: none of 500. A network, its task and its change are a function of the seed.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import hemiola as hm
from broad_settings import broad_setting
from random_settings import Setting

MOST_RANKS = 24
#: A plan that is slower by more has got worse.
SLOWER = 1.01
#: Of cables of random graphs.
_LATENCIES_S = (0.3e-6, 0.5e-6, 1e-6, 2e-6)
_BANDWIDTHS = (3e9, 12e9, 25e9, 100e9, 345e9)


def setting_of(seed: int) -> Setting:
    """Make a broad setting of at most 24 ranks, or, every fourth time, one on a random graph of unequal cables."""
    rng = random.Random(f"monotone: {seed}")
    while True:
        setting = broad_setting(rng.randrange(1 << 30))
        if setting.topology.rank_count <= MOST_RANKS and setting.topology.link_count > 0:
            break
    setting = replace(setting, seed=seed, conditions=replace(setting.conditions, density=1.0))
    if seed % 4:
        return setting
    ranks = setting.topology.rank_count
    return replace(setting, label="random graph", topology=random_graph(rng, ranks))


def random_graph(rng: random.Random, ranks: int) -> hm.Topology:
    """Return a tree and up to as many more connections, each of one to three unequal cables."""
    ends = [(rank, rng.randrange(rank)) for rank in range(1, ranks)]
    for _ in range(rng.randint(0, ranks)):
        a, b = rng.sample(range(ranks), 2)
        ends.append((a, b))
    cables = [
        (a, b, rng.choice(_LATENCIES_S), rng.choice(_BANDWIDTHS))
        for a, b in ends
        for _ in range(rng.randint(1, 3))
    ]
    return hm.Topology(ranks, [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))])


def better(setting: Setting) -> tuple[str, Setting]:
    """Return a change that cannot harm, and the setting after it."""
    rng = random.Random(f"better: {setting.seed}")
    topology, links = setting.topology, setting.topology.links.copy()
    link = links[rng.randrange(len(links))]
    changes = ["faster", "faster one way", "second link", "new link"]
    if setting.conditions != hm.Conditions():
        changes += ["no condition"] * 2
    change = rng.choice(changes)
    if change == "no condition":
        return change, replace(setting, conditions=hm.Conditions())
    there = (links["src"] == link["src"]) & (links["dst"] == link["dst"])
    back = (links["src"] == link["dst"]) & (links["dst"] == link["src"])
    if change.startswith("faster"):
        chosen = there | back if change == "faster" else there
        links["bandwidth"][chosen] *= rng.choice((1.5, 2.0, 8.0))
        links["latency_s"][chosen] *= rng.choice((0.5, 1.0))
        return change, replace(setting, topology=topology.replaced(links=links))
    twins = links[[np.flatnonzero(there)[0], *np.flatnonzero(back)[:1]]].copy()
    if change == "new link":
        ends = rng.sample(range(topology.rank_count + topology.switch_count), 2)
        twins["src"], twins["dst"] = ends[: len(twins)], ends[::-1][: len(twins)]
    return change, replace(setting, topology=with_links(topology, np.concatenate([links, twins])))


def with_links(topology: hm.Topology, links: Any) -> hm.Topology:
    """Return the same machine with these links."""
    return hm.Topology(
        topology.rank_count,
        links,
        switch_count=topology.switch_count,
        nodes=topology.nodes.tolist(),
        launch_s=topology.launch_s,
        reduces=list(topology.reduces),
        multicasts=list(topology.multicasts),
    )


def compare(seed: int) -> dict[str, Any]:
    """Plan before and after a change; return both times and their quotient."""
    setting = setting_of(seed)
    change, after = better(setting)
    plans = [one.plan(effort=1.0) for one in (setting, after)]
    return {
        "seed": seed,
        "network": setting.label,
        "ranks": setting.topology.rank_count,
        "kind": setting.kind,
        "nbytes": setting.nbytes,
        "change": change,
        "before": f"{plans[0].alternatives[0].label}: {plans[0].seconds * 1e6:.3f} us",
        "after": f"{plans[1].alternatives[0].label}: {plans[1].seconds * 1e6:.3f} us",
        "ratio": plans[1].seconds / plans[0].seconds if plans[0].seconds else 1.0,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare; return 1 if the plan of more networks than allowed is slower after the change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument(
        "--allowed", type=int, default=0, help="networks whose plan may be slower by more than 1 %%"
    )
    told = parser.parse_args(arguments)
    allowed: int = told.allowed
    found = [compare(seed) for seed in range(told.first, told.first + told.count)]
    slower = sorted((one for one in found if one["ratio"] > SLOWER), key=lambda one: -one["ratio"])
    for one in slower:
        print(json.dumps(one))
    worst = max(one["ratio"] for one in found)
    print(json.dumps({"networks": len(found), "slower": len(slower), "worst": round(worst, 3)}))
    return int(len(slower) > allowed)


if __name__ == "__main__":
    raise SystemExit(main())
