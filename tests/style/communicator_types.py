# SPDX-License-Identifier: Apache-2.0
"""What mypy must know about a communicator's results; checked, never run. An ignore that is not needed is an error."""

import numpy as np
from numpy.typing import NDArray

import hemiola as hm

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def blocking_calls_return_arrays(comm: hm.Communicator, x: Floats, s: hm.Schedule) -> None:
    a: Floats = comm.all_reduce(x)
    a = comm.all_reduce(x, "max", schedule="all_reduce_ring", out=x, timeout_s=1)
    a = comm.reduce_scatter(x)
    a = comm.all_gather(x, schedule=s)
    a = comm.scatter(x, 1)
    a = comm.broadcast(x, root=1)
    a = comm.all_to_all(x)
    a = comm.custom(x, schedule=s)
    some: Floats | None = comm.reduce(x, root=1)
    some = comm.gather(x, 0, out=None)
    a = comm.gather(x)  # type: ignore[assignment]  # None elsewhere
    d: Doubles = comm.all_reduce(x)  # type: ignore[arg-type]
    comm.barrier(timeout_s=1)
    print(a, some, d)


def misspelt_names_are_known(comm: hm.Communicator, x: Floats, t: hm.Topology) -> None:
    kind: hm.Kind = "all_reduce"
    op: hm.Op = "max"
    comm.all_reduce(x, op)
    comm.all_reduce(x, "maxx")  # type: ignore[arg-type]
    hm.plan(t, kind, 1)
    hm.plan(t, "all_reduse", 1)  # type: ignore[arg-type]
    hm.sweep(t, ["all_reduce", "gather"], 8)
    hm.sweep(t, ["all_reduce", "gether"], 8)  # type: ignore[list-item]


def background_calls_return_handles(comm: hm.Communicator, x: Floats, s: hm.Schedule) -> None:
    h: hm.Handle[Floats] = comm.start_all_reduce(x)
    h = comm.start_reduce_scatter(x, "min")
    h = comm.start_all_gather(x, out=x)
    h = comm.start_scatter(x)
    h = comm.start_broadcast(x)
    h = comm.start_all_to_all(x)
    h = comm.start_custom(x, schedule=s)
    a: Floats = h.wait()
    some: hm.Handle[Floats | None] = comm.start_reduce(x)
    some = comm.start_gather(x)
    nothing: hm.Handle[None] = comm.start_barrier()
    h = comm.start_gather(x)  # type: ignore[assignment]  # None elsewhere
    b: Floats = comm.start_all_reduce(x)  # type: ignore[assignment]
    print(a, some, nothing, b)


def mistakes_are_seen(comm: hm.Communicator, x: Floats) -> None:
    comm.all_reduce([1, 2])  # type: ignore[arg-type]
    comm.all_reduce(x, timeout_s="1")  # type: ignore[arg-type]
    comm.all_reduce(x, shedule="all_reduce_ring")  # type: ignore[call-arg]
    comm.custom(x)  # type: ignore[call-arg]
    comm.start_all_reduce(x, shedule="all_reduce_ring")  # type: ignore[call-arg]
    comm.start_custom(x)  # type: ignore[call-arg]
    comm.all_reduce(x, wait=False)  # type: ignore[call-arg]
