# SPDX-License-Identifier: Apache-2.0
"""A rank that works until a NIC has been noticed to be slow, and on until it has been noticed to be well again; says in
the end what all ranks have planned for since, and from which operations on."""

from __future__ import annotations

import json
import sys

import numpy as np

import hemiola as hm

BANDWIDTH, HOSTS, PER_HOST = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
#: So many operations without news are too many.
MOST = 200

network = hm.topologies.hosts(
    HOSTS, PER_HOST, latency_s=2e-6, bandwidth=2e9, nic_latency_s=50e-6, nic_bandwidth=BANDWIDTH
)
with hm.init(topology=network, timeout_s=60) as comm:
    x = np.empty(1 << 20, np.float32)

    def work(until_slow: bool) -> None:
        """Run all-reduces until somebody is slow, or nobody."""
        for _ in range(MOST):
            x[:] = 1
            comm.all_reduce(x)
            assert (x == comm.rank_count).all()
            if bool(comm.health().slow) == until_slow:
                return
        sys.exit(f"{MOST} operations, and still: {comm.health()}")

    for _ in range(3):
        comm.all_reduce(x)
    assert comm.health().watching, "no ports are watched"
    print("well", flush=True)
    sys.stdin.readline()
    work(until_slow=True)
    print("slow", flush=True)
    sys.stdin.readline()
    work(until_slow=False)
    print(json.dumps(comm.health().as_dict()["changes"]), flush=True)
    comm.barrier()
