"""A rank alone that makes each small call many times: `counted_calls.py COUNT`.

`os.getsid` marks where a count begins and where it ends, since nothing else here asks for it."""

from __future__ import annotations

import os
import sys

import numpy as np

import hemiola as hm


def main() -> None:
    comm = hm.init()
    x, out = np.ones(256, np.float32), np.ones(256, np.float32)
    for call in (
        lambda: None,
        lambda: comm.all_reduce(x),
        lambda: comm.all_reduce(x, out=out),
        lambda: comm.all_gather(x),
        lambda: comm.broadcast(x),
        lambda: comm.barrier(),
    ):
        for _ in range(300):
            call()
        os.getsid(0)
        for _ in range(int(sys.argv[1])):
            call()
        os.getsid(0)


if __name__ == "__main__":
    main()
