# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks/start_up.py: loads NumPy and one library, and prints when its first all-reduce of 8 bytes
began and ended, by the clock that all processes of a machine share."""

import sys
import time

import numpy as np


def first_call(contender: str) -> tuple[int, float, float]:
    """Return the rank, and when its first call began and ended."""
    x = np.ones(1)
    if contender == "hemiola":
        import hemiola

        comm = hemiola.init()
        begin_s = time.monotonic()
        comm.all_reduce(x)
        end_s = time.monotonic()
        return comm.rank, begin_s, end_s
    from mpi4py import MPI

    begin_s = time.monotonic()
    MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, x)
    return MPI.COMM_WORLD.rank, begin_s, time.monotonic()


if __name__ == "__main__":
    rank, begin_s, end_s = first_call(sys.argv[1])
    sys.stdout.write(f"<{rank} {begin_s!r} {end_s!r}>\n")  # in one piece: launchers mix lines
