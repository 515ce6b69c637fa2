# SPDX-License-Identifier: Apache-2.0
"""A process of benchmarks/doors_jax.py, which knows nothing of Hemiola."""

from __future__ import annotations

import json
import os
import signal
import statistics
import sys
import time
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

#: Bytes, and how often.
SIZES = {
    "sizes": {1 << 10: 200, 1 << 16: 100, 1 << 20: 60, 1 << 24: 10},
    "hosts": {1 << 10: 60, 1 << 16: 30, 1 << 22: 5},
    "killed": {1 << 10: 1},
}


def main() -> None:
    """Print rank 0's median times by bytes, or what rank 0 hears of a rank that is killed."""
    address, count, rank, what = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    jax.distributed.initialize(address, count, rank)
    mesh = Mesh(np.array(jax.devices()), ("x",))
    total = jax.jit(
        jax.shard_map(lambda part: jax.lax.psum(part, "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    )

    def once(x: jax.Array) -> float:
        began = time.perf_counter()
        total(x).block_until_ready()
        return time.perf_counter() - began

    def filled(nbytes: int) -> jax.Array:
        def part(_: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
            return np.full((1, nbytes // 4), rank + 1, np.float32)

        return jax.make_array_from_callback((count, nbytes // 4), NamedSharding(mesh, P("x")), part)

    times = {}
    for nbytes, repeats in SIZES[what].items():
        x = filled(nbytes)
        for _ in range(repeats // 5 + 1):  # else the first calls' new memory is timed
            once(x)
        times[nbytes] = 1e6 * statistics.median(once(x) for _ in range(repeats))
    if what == "killed":
        _hear_of_a_death(lambda: once(x), rank == count - 1)
    elif rank == 0:
        print(json.dumps(times))


def _hear_of_a_death(operation: Any, is_victim: bool) -> None:
    if is_victim:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.perf_counter()
    try:
        operation()
    except (jax.errors.JaxRuntimeError, ValueError) as error:  # JAX raises either
        print(f"{str(error).splitlines()[0][:160]} ({time.perf_counter() - began:.2f} s)", flush=True)
    os._exit(0)  # JAX's own shutdown waits for the dead process


if __name__ == "__main__":
    main()
