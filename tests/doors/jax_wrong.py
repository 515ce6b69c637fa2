# SPDX-License-Identifier: Apache-2.0
"""A process of a JAX program whose collectives go wrong; it prints what each raises, as JSON. Arguments: coordinator,
processes, this process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from told import told

address, count, rank = sys.argv[1], *map(int, sys.argv[2:4])
jax.distributed.initialize(address, count, rank)
mesh = Mesh(np.array(jax.devices()), ("x",))


def run(call: Callable[[jax.Array], jax.Array], size: int, dtype: str) -> None:
    """Run a collective on an array of each process."""
    own = np.ones((1, size), jax.numpy.dtype(dtype))
    x = jax.make_array_from_callback((count, size), NamedSharding(mesh, P("x")), lambda index: own)
    mapped = jax.shard_map(call, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
    jax.jit(mapped)(x).block_until_ready()


def total(part: jax.Array) -> jax.Array:
    return jax.lax.psum(part, "x")


def moved(part: jax.Array) -> jax.Array:
    return jax.lax.ppermute(part, "x", [(at, (at + 1) % count) for at in range(count)])


said = {
    "a sum of int2": told(lambda: run(total, 10, "int2")),
    "a move of uint2": told(lambda: run(moved, 10, "uint2")),
    "unequal sizes": told(lambda: run(total, 10 + rank, "float32")),
}
print(json.dumps(said), flush=True)
os._exit(0)  # JAX's own shutdown waits for a process that has failed
