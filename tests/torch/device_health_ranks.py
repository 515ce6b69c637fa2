# SPDX-License-Identifier: Apache-2.0
"""Ranks whose host notices a slow port on an emulated network, while their devices run all-reduces."""

from __future__ import annotations

from typing import Any

import numpy as np

import hemiola as hm
from hemiola.torch.device_plans import DevicePlans, NoticedSlow
from hemiola.torch.options import Options

NBYTES = 1 << 16


def planned_while_a_port_degrades(adapt: str) -> list[tuple[dict[int, float], Any]]:
    """Run operations on host and device by turns; halfway rank 2's port gets slow. Return, by operation, for which
    slow ranks the device's all-reduce was planned, and its schedule's digest."""
    comm = hm.init(timeout_s=60, adapt=adapt)
    plans, noticed = DevicePlans(comm.rank_count, Options()), NoticedSlow(comm)
    found = []
    x = np.ones(NBYTES // 4, np.float32)
    for number in range(160):
        if number == 20:
            comm.barrier()
            if comm.rank == 0:
                comm.degrade({2: 2.0})
            comm.barrier()
        if number < 40:
            comm.start_all_reduce(x).wait() if number % 2 else comm.all_reduce(x)
        slow = noticed.now()
        found.append((slow, plans.plan("all_reduce", 1 << 28, 0, slow).schedule.digest))
    return found
