# SPDX-License-Identifier: Apache-2.0
"""Schedules that tests of exports share."""

from __future__ import annotations

import json
from collections.abc import Iterator

import hemiola as hm
from hemiola.export.layout import SYMMETRIC
from hemiola.export.mscclpp import mscclpp_plan
from hemiola.export.mscclpp_document import ExecutionPlan, read


def published(
    sizes: range | tuple[int, ...], kinds: tuple[str, ...] = SYMMETRIC
) -> Iterator[tuple[str, hm.Schedule]]:
    """Yield every algorithm that makes a schedule of these kinds for so many ranks, with its name."""
    for name in hm.algorithms.names():
        algorithm = hm.algorithms.get(name)
        for rank_count in sizes if algorithm.kind in kinds else ():
            try:
                schedule = algorithm.generate(rank_count, root=0)
            except hm.ArgumentError:  # for instance, only for powers of two
                continue
            yield f"{name} of {rank_count}", schedule


def synthesized(count: int) -> Iterator[tuple[str, hm.Schedule]]:
    """Yield schedules made for networks of several shapes, with their names."""
    link = {"latency_s": 1e-6, "bandwidth": 50e9}
    topologies = hm.topologies
    networks = [
        topologies.mesh([2, 3], **link),
        topologies.torus([3, 3], **link),
        topologies.hypercube([2, 2, 2], **link),
        topologies.ring(5, **link),
        topologies.switch(4, **link),
    ]
    for turn in range(count):
        network, kind = networks[turn % 5], ("all_reduce", "all_gather", "reduce_scatter")[turn % 3]
        made = hm.synthesize(network, kind, chunks_per_rank=1 + turn % 2, seed=turn)
        yield f"{kind} of {network.name}, seed {turn}", made


def plan_of(schedule: hm.Schedule, **options: object) -> ExecutionPlan:
    """Return a schedule's MSCCL++ plan as its reader has it, by way of the text."""
    return read(json.loads(mscclpp_plan(schedule, **options)))  # type: ignore[arg-type]
