# SPDX-License-Identifier: Apache-2.0
"""A change that cannot harm makes no plan slower: a faster link, one more, or a condition less."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms.fewest_pieces import AS_GOOD

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "monotone.py"
LINK = {"latency_s": 1e-6, "bandwidth": 50e9}
#: A percent, and the one that the planner gives for fewer messages.
SLOWER = 1.01 * AS_GOOD
SIZES = [1 << 10, 1 << 20]
NETWORKS = {
    "ring": hm.topologies.ring(6, **LINK),
    "torus": hm.topologies.torus([3, 3], **LINK),
    "cube": hm.topologies.torus([2, 2, 2], **LINK),
    "full mesh": hm.topologies.fully_connected(5, **LINK),
    "switch": hm.topologies.switch(6, **LINK),
    "2D switch": hm.topologies.switch_2d([3, 3], latency_s=5e-7, bandwidth=[300e9, 25e9]),
    "hosts": hm.topologies.hosts(2, 4, 2, **LINK, nic_latency_s=2e-6, nic_bandwidth=25e9),
    "DGX-1": hm.topologies.dgx1(),
}


def seconds(topology: hm.Topology, kind: str, nbytes: int, conditions: hm.Conditions | None = None) -> float:
    return hm.plan(topology, kind, nbytes, conditions).seconds


def changed(topology: hm.Topology, change: str, seed: int) -> hm.Topology:
    """Make a random link twice as fast, one way or both, or put an equal one beside it, both ways."""
    links = topology.links.copy()
    link = links[random.Random(f"{topology.name} {seed}").randrange(len(links))]
    there = (links["src"] == link["src"]) & (links["dst"] == link["dst"])
    back = (links["src"] == link["dst"]) & (links["dst"] == link["src"])
    if change == "second link":
        return hm.Topology(
            topology.rank_count,
            np.concatenate([links, links[there | back]]),
            switch_count=topology.switch_count,
            nodes=topology.nodes.tolist(),
        )
    links["bandwidth"][there if change == "one way" else there | back] *= 2
    return topology.replaced(links=links)


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("kind", ["all_reduce", "broadcast"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_better_link_slows_no_plan(name: str, kind: str, nbytes: int) -> None:
    network = NETWORKS[name]
    before_s = seconds(network, kind, nbytes)
    for seed, change in enumerate(["one way", "both ways", "second link"]):
        after_s = seconds(changed(network, change, seed), kind, nbytes)
        assert after_s <= SLOWER * before_s, f"{change}: {after_s / before_s:.3f}"


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("name", ["torus", "switch", "hosts", "DGX-1"])
def test_a_condition_less_slows_no_plan(name: str, nbytes: int) -> None:
    free_s = seconds(NETWORKS[name], "all_reduce", nbytes)
    for now in (hm.Conditions(slow={1: 2.0}), hm.Conditions(late={1: 20e-6})):
        assert free_s <= SLOWER * seconds(NETWORKS[name], "all_reduce", nbytes, now)


#: Eight GPUs in two rings of four, two PCIe roots, and a cable between these, as RCCL's topo_8p_rome.
ROME = hm.Topology(
    8,
    [
        (*way, latency_s, bandwidth, message_s)
        for pairs, latency_s, bandwidth, message_s in (
            ([(0, 1), (0, 3), (1, 5), (3, 5), (2, 4), (2, 6), (4, 7), (6, 7)], 6e-7, 24e9, 3e-7),
            ([*((rank, 8) for rank in range(4)), *((rank, 9) for rank in range(4, 8))], 5e-7, 24e9, 3e-7),
            ([(8, 9)], 5e-7, 16e9, 0.0),
        )
        for a, b in pairs
        for way in ((a, b), (b, a))
    ],
    switch_count=2,
    nodes=[0] * 8,
)


@pytest.mark.parametrize("nbytes", SIZES)
def test_every_link_between_gpus_is_worth_having(nbytes: int) -> None:
    whole_s = seconds(ROME, "all_reduce", nbytes)
    for a, b in [(0, 1), (0, 3), (1, 5), (3, 5), (2, 4), (2, 6), (4, 7), (6, 7)]:
        assert whole_s <= SLOWER * seconds(ROME.without_links([(a, b)]), "all_reduce", nbytes), (a, b)


@pytest.mark.long
def test_few_plans_on_random_networks_are_slower_after_a_better_link() -> None:
    """Of 500 there are 13: messages take a new way that others need, too, or a search finds less."""
    command = [sys.executable, str(PROGRAM), "--count", "100", "--allowed", "6"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
