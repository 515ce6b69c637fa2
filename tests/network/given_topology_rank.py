# SPDX-License-Identifier: Apache-2.0
"""A rank that plans for a topology in a file: says which that is, whether it expects an all-reduce to take longer than
so many seconds, and whether a sum was right."""

from __future__ import annotations

import sys

import numpy as np

import hemiola as hm

with hm.init(topology=sys.argv[1], timeout_s=60) as comm:
    x = np.full(1000, comm.rank, np.float32)
    comm.all_reduce(x)
    right = (x == sum(range(comm.rank_count))).all()
    is_slower = comm.plan("all_reduce", 1 << 20).seconds > float(sys.argv[2])
    print(
        f"{hash(comm.topology):016x} {'slower' if is_slower else 'faster'} than {sys.argv[2]} s "
        f"{'right' if right else 'wrong'}",
        flush=True,
    )
    comm.barrier()  # rank 0 keeps everybody's plans, and stays until all have asked
