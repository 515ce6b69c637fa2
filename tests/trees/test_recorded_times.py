# SPDX-License-Identifier: Apache-2.0
"""Schedules of trees take no longer than those of the two schedulers before; their times are recorded here.

Those around a late rank take no longer than when they were recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.synthesis import forest, late_forest, late_matched, late_rails

T = hm.topologies
NBYTES = 3_000_000
MOST = 1.002
NETWORKS: dict[str, Callable[[], hm.Topology]] = {
    "torus": lambda: T.grid([4, 4], ["ring", "ring"], latency_s=1e-6, bandwidth=50e9),
    "two speeds": lambda: T.grid([3, 4], ["line", "ring"], latency_s=2e-6, bandwidth=[100e9, 25e9]),
    "cube": lambda: T.grid([2, 2, 2, 2], ["line"] * 4, latency_s=5e-7, bandwidth=25e9),
    "switches": lambda: T.switch_2d((3, 4), latency_s=1e-6, bandwidth=(100e9, 50e9)),
    "hosts": lambda: T.hosts(
        3, 4, 2, latency_s=1e-6, bandwidth=200e9, nic_latency_s=4e-6, nic_bandwidth=25e9
    ),
    "DGX-1": lambda: T.dgx1(latency_s=7e-7, bandwidth=25e9),
}
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
#: Before the others have reduced anything, in the middle, and long after.
DELAYS_S = (0.0, 3e-5, 1e-2)
LATE_RANK = 1
MESHES = (([5, 6], 2, 1), ([6, 3, 5], 2, None), ([4, 4], 8, None), ([7], 4, None))


def made() -> dict[str, tuple[hm.Topology, Callable[[], hm.Schedule]]]:
    """Return each setting's network, and its schedule's generator."""
    found: dict[str, tuple[hm.Topology, Callable[[], hm.Schedule]]] = {}
    for name, build in NETWORKS.items():
        network = build()
        for kind in KINDS:
            found[f"{name}, forest, {kind}"] = (
                network,
                lambda n=network, k=kind: forest(n, k, pieces=4, nbytes=NBYTES).schedule,
            )
        for kind in ("gather", "scatter", "all_to_all"):
            found[f"{name}, ways, {kind}"] = (
                network,
                lambda n=network, k=kind: hm.synthesize(n, k, nbytes=NBYTES, seed=1, trials=2, threads=1),
            )
    for dims, chunks, lines in MESHES:
        wires = ["line"] * len(dims)
        cost = {"latency_s": 1e-6, "bandwidth": 25e9}
        found[f"mesh {dims}, {chunks} chunks"] = (
            T.grid(dims, wires, **cost),
            lambda d=dims, w=wires, c=chunks, m=lines, o=cost: hm.algorithms.all_reduce_mesh_trees(
                d, w, **o, nbytes=NBYTES, chunk_count=c, line_count=m
            ),
        )
    return found


def around_late_rank() -> dict[str, tuple[hm.Topology, Callable[[], hm.Schedule]]]:
    """Return the same of schedules around a late rank."""
    found: dict[str, tuple[hm.Topology, Callable[[], hm.Schedule]]] = {}
    for name, build in NETWORKS.items():
        network = build()
        found[f"{name}, late forest"] = (
            network,
            lambda n=network: late_forest(n, LATE_RANK, pieces=16, nbytes=NBYTES),
        )
        found[f"{name}, late matched"] = (
            network,
            lambda n=network: late_matched(n, LATE_RANK, chunks=64, nbytes=NBYTES),
        )
    hosts = T.hosts(3, 4, 4, latency_s=1e-6, bandwidth=200e9, nic_latency_s=4e-6, nic_bandwidth=25e9)
    found["a NIC per rank, late rails"] = hosts, lambda: late_rails(hosts, LATE_RANK, pieces=16)
    return found


MADE, LATE = made(), around_late_rank()
RECORDED = json.loads((Path(__file__).parent / "recorded_times.json").read_text())


@pytest.mark.parametrize("name", MADE)
def test_schedules_are_right_and_take_no_longer_than_recorded(name: str) -> None:
    network, make = MADE[name]
    schedule = make()
    assert hm.verify(schedule, topology=network) == []
    recorded = RECORDED[name]
    assert schedule.transfer_count <= recorded["transfers"]
    for model in ("fluid", "fifo"):
        seconds = hm.simulate(schedule, network, NBYTES, network=model).seconds
        assert seconds <= MOST * recorded[model], model


@pytest.mark.parametrize("name", LATE)
def test_around_a_late_rank_schedules_take_no_longer_than_recorded(name: str) -> None:
    network, make = LATE[name]
    schedule = make()
    assert hm.verify(schedule, topology=network) == []
    recorded = RECORDED[name]
    assert schedule.transfer_count <= recorded["transfers"]
    for model in ("fluid", "fifo"):
        for delay_s, recorded_s in zip(DELAYS_S, recorded[model], strict=True):
            late = hm.Conditions(late={LATE_RANK: delay_s})
            seconds = hm.simulate(schedule, network, NBYTES, conditions=late, network=model).seconds
            # The wait, which nobody can shorten, would bring every ratio nearer to one.
            assert seconds - delay_s <= MOST * (recorded_s - delay_s), (model, delay_s)


def test_every_setting_is_recorded() -> None:
    assert set(RECORDED) == set(MADE) | set(LATE)
