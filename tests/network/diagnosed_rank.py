# SPDX-License-Identifier: Apache-2.0
"""A rank that all-reduces a little, asks what slows the job, and says what it was told."""

from __future__ import annotations

import json

import numpy as np

import hemiola as hm

with hm.init(timeout_s=60) as comm:
    x = np.zeros(1 << 14, np.float32)
    for _ in range(12):
        comm.all_reduce(x)
    found, health = comm.diagnose().as_dict(), comm.health()
    told = {"health": {one.rank: one.factor for one in health.slow}, "health_in_words": str(health)}
    print(json.dumps({**found, **told}), flush=True)
    comm.barrier()
