# SPDX-License-Identifier: Apache-2.0
"""What ranks of the tests of `hemiola status` do: `python status_ranks.py NAME RANK RANKS` joins and sleeps."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.communicator.status import status_of


def refusing() -> dict[str, Any]:
    """Return the status of a job with an emulated network, by its HEMIOLA_JOB."""
    network = hm.topologies.switch(2, latency_s=1e-6, bandwidth=1e9)
    comm = hm.init(timeout_s=60, emulate=network)
    told = status_of(os.environ["HEMIOLA_JOB"], 60).as_dict()
    comm.barrier()
    return told


def healed() -> list[int]:
    """Heal a state of 8,000 bytes; return the bytes that this rank's history counts, and those of the job's status."""
    comm = hm.init(timeout_s=60)
    comm.heal(np.full(1000, float(comm.rank)))
    comm.heal(np.zeros(1000))
    comm.barrier()
    told = [comm.epochs[-1], status_of(os.environ["HEMIOLA_JOB"], 60).epochs[-1]]
    comm.barrier()
    assert all(epoch.healed_s > 0 for epoch in told)
    return [epoch.healed_bytes for epoch in told]


if __name__ == "__main__":
    _, name, rank, ranks = sys.argv
    comm = hm.Communicator.join(int(rank), int(ranks), name, timeout_s=60)
    print("ready", flush=True)
    time.sleep(600)
