# SPDX-License-Identifier: Apache-2.0
"""A process of a JAX program that knows nothing of Hemiola: pmap, pjit with grad, and several groups of a mesh."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def local(x: jax.Array) -> np.ndarray:
    """This process' part."""
    return np.asarray(x.addressable_shards[0].data)


def main() -> None:
    """Compare each with the same by one process."""
    address, count, rank = sys.argv[1], *map(int, sys.argv[2:4])
    jax.distributed.initialize(address, count, rank)
    x = np.random.default_rng(0).standard_normal((count * 4, 6)).astype(np.float32)
    weights = np.random.default_rng(1).standard_normal((6, 3)).astype(np.float32)
    mine = x.reshape(count, 4, 6)[rank]

    summed = jax.pmap(lambda part: jax.lax.psum(part, "i"), axis_name="i")(mine[None])
    np.testing.assert_allclose(local(summed)[0], x.reshape(count, 4, 6).sum(0), rtol=1e-5)

    mesh = Mesh(np.array(jax.devices()), ("data",))
    rows = jax.make_array_from_callback(x.shape, NamedSharding(mesh, P("data")), lambda index: x[index])

    def loss(weights: jax.Array, rows: jax.Array) -> jax.Array:
        return jnp.mean(jnp.tanh(rows @ weights) ** 2)

    whole = NamedSharding(mesh, P())
    step = jax.jit(jax.value_and_grad(loss), out_shardings=(whole, whole))
    value, slope = step(weights, rows)
    with jax.default_device(jax.local_devices()[0]):
        expected_value, expected_slope = jax.value_and_grad(loss)(jnp.asarray(weights), jnp.asarray(x))
    np.testing.assert_allclose(local(value), expected_value, rtol=1e-5)
    np.testing.assert_allclose(local(slope), expected_slope, rtol=1e-4, atol=1e-6)

    if count % 2 == 0:
        grid = Mesh(np.array(jax.devices()).reshape(2, count // 2), ("row", "column"))
        over = NamedSharding(grid, P(("row", "column")))
        cells = jax.make_array_from_callback(
            (count, 5), over, lambda index: np.arange(count * 5.0).reshape(count, 5)[index]
        )
        of_rows = jax.jit(
            jax.shard_map(
                lambda cell: jax.lax.psum(cell, "column") + 100 * jax.lax.psum(cell, "row"),
                mesh=grid,
                in_specs=P(("row", "column")),
                out_specs=P(("row", "column")),
            )
        )(cells)
        table = np.arange(count * 5.0).reshape(2, count // 2, 5)
        row, column = divmod(rank, count // 2)
        np.testing.assert_allclose(local(of_rows)[0], table[row].sum(0) + 100 * table[:, column].sum(0))
    print("right")


if __name__ == "__main__":
    main()
