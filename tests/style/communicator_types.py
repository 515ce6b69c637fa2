"""What mypy must know about a communicator's results; checked, never run. An ignore that is not needed is an error."""

import numpy as np
from numpy.typing import NDArray

import hemiola as hm

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def blocking_calls_return_arrays(comm: hm.Communicator, x: Floats, s: hm.Schedule) -> None:
    a: Floats = comm.all_reduce(x)
    a = comm.all_reduce(x, "max", schedule="all_reduce_ring", out=x, timeout_s=1)
    a = comm.reduce_scatter(x, wait=True)
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


def background_calls_return_handles(comm: hm.Communicator, x: Floats, s: hm.Schedule) -> None:
    h: hm.Handle[Floats] = comm.all_reduce(x, wait=False)
    h = comm.reduce_scatter(x, "min", wait=False)
    h = comm.all_gather(x, wait=False, out=x)
    h = comm.scatter(x, wait=False)
    h = comm.broadcast(x, wait=False)
    h = comm.all_to_all(x, wait=False)
    h = comm.custom(x, schedule=s, wait=False)
    a: Floats = h.wait()
    some: hm.Handle[Floats | None] = comm.reduce(x, wait=False)
    some = comm.gather(x, wait=False)
    nothing: hm.Handle[None] = comm.barrier(wait=False)
    h = comm.gather(x, wait=False)  # type: ignore[assignment]  # None elsewhere
    b: Floats = comm.all_reduce(x, wait=False)  # type: ignore[assignment]
    print(a, some, nothing, b)


def a_bool_gives_either(comm: hm.Communicator, x: Floats, wait: bool) -> None:
    either: Floats | hm.Handle[Floats] = comm.all_reduce(x, wait=wait)
    print(either)


def mistakes_are_seen(comm: hm.Communicator, x: Floats) -> None:
    comm.all_reduce([1, 2])  # type: ignore[call-overload]
    comm.all_reduce(x, timeout_s="1")  # type: ignore[call-overload]
    comm.all_reduce(x, shedule="all_reduce_ring")  # type: ignore[call-overload]
    comm.custom(x)  # type: ignore[call-overload]
