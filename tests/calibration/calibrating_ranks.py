# SPDX-License-Identifier: Apache-2.0
"""Ranks that measure their network, and that are given one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import hemiola as hm


def measured() -> tuple[hm.Topology, float]:
    """Measure, and go on to work: return the topology and the sum of all ranks."""
    with hm.init() as comm:
        topology = hm.calibrate(comm)
        x = np.full(100, comm.rank, np.float32)
        comm.all_reduce(x)
        return topology, float(x[0])


def planned_for(
    topologies: dict[int, hm.Topology | str | None], group: list[int] | None = None
) -> dict[str, Any] | str:
    """Bring a topology of one's own, and say what is planned for, or the error."""
    rank = int(os.environ["HEMIOLA_RANK"])
    try:
        with hm.init(topology=topologies.get(rank, topologies[0])) as comm:
            if group is not None:
                if rank not in group:
                    return "not in the group"
                comm = comm.group(group)
            x = np.full(1000, 1.0, np.float32)
            comm.all_reduce(x)
            return {
                "topology": comm.topology,
                "seconds": comm.plan("all_reduce", 1 << 20).seconds,
                "sum": float(x[0]),
            }
    except (hm.HemiolaError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def asked_again(topology: hm.Topology) -> str:
    """Join without a topology, then ask for one."""
    with hm.init():
        try:
            hm.init(topology=topology)
        except hm.ArgumentError as error:
            return str(error)
    return "taken"
