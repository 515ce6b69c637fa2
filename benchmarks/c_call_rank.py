# SPDX-License-Identifier: Apache-2.0
"""One rank of c_call.py in Python: prints the median of so many all-reduces of so many bytes, in seconds."""

import statistics
import sys
import time

import numpy as np

import hemiola as hm


def main() -> None:
    """Time calls and print."""
    calls, nbytes = map(int, sys.argv[1:])
    comm = hm.init()
    x, out = np.zeros(nbytes // 4, np.float32), np.empty(nbytes // 4, np.float32)
    taken_s = []
    for _ in range(calls):
        begin_s = time.perf_counter()
        comm.all_reduce(x, out=out)
        taken_s.append(time.perf_counter() - begin_s)
    if comm.rank == 0:
        print(f"{statistics.median(taken_s):.9f}")


if __name__ == "__main__":
    main()
