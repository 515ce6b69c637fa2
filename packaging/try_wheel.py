# SPDX-License-Identifier: Apache-2.0
"""Tries an installed wheel where nothing else is: a plan around two slow ranks, a job of two ranks, commands."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import hemiola as hm


def summed() -> float:
    """Be a rank of the job."""
    comm = hm.init()
    return float(comm.all_reduce(np.full(1 << 16, comm.rank + 1.0, np.float32))[0])


def main() -> None:
    """Fail where the wheel does."""
    cluster = hm.topologies.switch(6, latency_s=5e-6, bandwidth=12.5e9)
    plan = hm.plan(cluster, "all_reduce", 1 << 24, hm.Conditions(slow={1: 2.0, 4: 1.5}))
    assert hm.verify(plan.schedule) == []
    assert hm.launch(summed, 2, timeout_s=60) == [3.0, 3.0]
    for words in (["--version"], ["plan", "--help"], ["run", "all_reduce", "64KiB", "--ranks", "2"]):
        subprocess.run([sys.executable, "-m", "hemiola", *words], check=True, timeout=120)
    print("the wheel works")


if __name__ == "__main__":
    main()
