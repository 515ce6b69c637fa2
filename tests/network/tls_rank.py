# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that may encrypt. It joins within so many seconds, broadcasts a pattern, and says how that went."""

from __future__ import annotations

import sys
import time

import numpy as np

import hemiola as hm

#: So often the pattern comes in an array; its bytes are of the command line.
REPEATS = 2_000
#: Arrays, and the time before each: a listener has more to read than these.
_ARRAYS, _PAUSE_S = 20, 0.05


def main() -> None:
    """Arguments: seconds, and the pattern as hexadecimal digits."""
    pattern = np.frombuffer(bytes.fromhex(sys.argv[2]) * REPEATS, np.uint8)
    try:
        with hm.init(timeout_s=float(sys.argv[1])) as comm:
            for _ in range(_ARRAYS):
                data = pattern.copy() if comm.rank == 0 else np.zeros_like(pattern)
                time.sleep(_PAUSE_S)
                comm.broadcast(data)
                assert (data == pattern).all()
            if comm.rank == 0:
                comm.send(pattern[:64].copy(), 1)
            elif comm.rank == 1:
                comm.recv(data[:64], 0)
            print("right", flush=True)
    except hm.HemiolaError as error:
        print(f"{type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main()
