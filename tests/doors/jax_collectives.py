# SPDX-License-Identifier: Apache-2.0
"""A process of a JAX program that knows nothing of Hemiola: random collectives of random shapes and types, compared
with the same by NumPy. Arguments: coordinator, processes, this process, seed, cases."""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from numpy.typing import NDArray

PER_PROGRAM = 25
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"]
COMPLEX = ["complex64", "complex128"]
Groups = list[list[int]]
Parts = NDArray[np.float64]  # [rank, …], small whole numbers, so that every type adds them exactly


@dataclass(frozen=True)
class Case:
    """One collective, with what each rank passes."""

    kind: str
    dtype: str
    groups: Groups
    pairs: list[tuple[int, int]]
    parts: Parts

    def run(self, x: jax.Array) -> jax.Array:
        """The collective in JAX, on this rank's part with a leading axis of one."""
        own = x[0]
        grouped = {"axis_index_groups": self.groups if len(self.groups) > 1 else None}
        result = {
            "psum": lambda: jax.lax.psum(own, "x", **grouped),
            "pmean": lambda: jax.lax.pmean(own, "x", **grouped),
            "pmax": lambda: jax.lax.pmax(own, "x", **grouped),
            "pmin": lambda: jax.lax.pmin(own, "x", **grouped),
            "all_gather": lambda: jax.lax.all_gather(own, "x", **grouped),
            "psum_scatter": lambda: jax.lax.psum_scatter(own, "x", tiled=True, **grouped),
            "all_to_all": lambda: jax.lax.all_to_all(own, "x", 0, 0, tiled=True, **grouped),
            "ppermute": lambda: jax.lax.ppermute(own, "x", self.pairs),
        }[self.kind]()
        return result[None]

    def expected(self, rank: int) -> Parts:
        """The same by NumPy."""
        group = next(group for group in self.groups if rank in group)
        every, place = self.parts[group], group.index(rank)
        if self.kind == "ppermute":
            sources = [source for source, to in self.pairs if to == rank]
            return self.parts[sources[0]] if sources else np.zeros_like(self.parts[rank])
        if self.kind == "psum_scatter":
            return np.split(every.sum(0), len(group))[place]
        if self.kind == "all_to_all":
            return np.concatenate([np.split(part, len(group))[place] for part in every])
        reductions: dict[str, Callable[[], Parts]] = {
            "psum": lambda: every.sum(0),
            "pmean": lambda: every.mean(0),
            "pmax": lambda: every.max(0),
            "pmin": lambda: every.min(0),
            "all_gather": lambda: every,
        }
        return reductions[self.kind]()


KINDS = ["psum", "pmean", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute"]


def drawn(seeded: random.Random, count: int) -> Case:
    """Draw a case for so many ranks; every rank draws the same."""
    kind = seeded.choice(KINDS)
    dtypes = {"pmean": FLOATS[2:4], "pmax": INTEGERS + FLOATS, "pmin": INTEGERS + FLOATS}
    dtype = seeded.choice(dtypes.get(kind, INTEGERS + FLOATS + COMPLEX))
    ranks = list(range(count))
    seeded.shuffle(ranks)
    size = seeded.choice([size for size in range(2, count + 1) if count % size == 0])
    whole = kind == "ppermute" or size == count
    starts = range(0, count, size)
    rows = [list(range(at, at + size)) for at in starts]
    columns = [list(range(at, count, len(starts))) for at in range(len(starts))]
    groups = [list(range(count))] if whole else seeded.choice([rows, columns])
    pairs = [(source, to) for source, to in zip(range(count), ranks, strict=True) if seeded.random() < 0.8]
    shape = [seeded.choice([1, 2, 3, 7, 64, 1000]) for _ in range(seeded.randint(1, 2))]
    shape[0] *= len(groups[0])
    parts = np.random.default_rng(seeded.randrange(1 << 30)).integers(0, 2, (count, *shape))
    return Case(kind, dtype, groups, pairs, parts.astype(np.float64))


def wrong_among(cases: list[Case], mesh: Mesh, rank: int) -> list[str]:
    """Run the cases in one program; name those that differ from NumPy."""
    over = NamedSharding(mesh, P("x"))
    inputs = [
        jax.make_array_from_callback(case.parts.shape, over, lambda index, all=all: all[index])
        for case in cases
        for all in [case.parts.astype(jax.numpy.dtype(case.dtype))]
    ]
    together = jax.jit(
        jax.shard_map(
            lambda *xs: [case.run(x) for case, x in zip(cases, xs, strict=True)],
            mesh=mesh,
            in_specs=P("x"),
            out_specs=P("x"),
            check_vma=False,
        )
    )
    found = [np.asarray(result.addressable_shards[0].data)[0] for result in together(*inputs)]
    return [
        f"{case.kind} of {case.dtype}{case.parts.shape[1:]} in groups {case.groups}"
        for case, result in zip(cases, found, strict=True)
        if not np.array_equal(result, case.expected(rank).astype(jax.numpy.dtype(case.dtype)))
    ]


def main() -> None:
    """Compare, and print how many cases were right, or the first that were wrong."""
    address, count, rank, seed, cases = sys.argv[1], *map(int, sys.argv[2:])
    jax.config.update("jax_enable_x64", True)
    jax.distributed.initialize(address, count, rank)
    mesh = Mesh(np.array(jax.devices()), ("x",))
    seeded = random.Random(seed)
    wrong: list[str] = []
    for _ in range(0, cases, PER_PROGRAM):
        wrong += wrong_among([drawn(seeded, count) for _ in range(PER_PROGRAM)], mesh, rank)
    print(f"wrong: {wrong[:5]}" if wrong else f"right: {cases}")


if __name__ == "__main__":
    main()
