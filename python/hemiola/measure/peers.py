# SPDX-License-Identifier: Apache-2.0
"""Other libraries, measured beside Hemiola on the same ranks and data: Gloo, as PyTorch brings it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hemiola._core import Topology
from hemiola.arguments.names import PEERS
from hemiola.communicator import Communicator
from hemiola.communicator.launch_environment import started_job
from hemiola.environment.packages import optional, require
from hemiola.errors import ArgumentError
from hemiola.measure.joined import everybodys
from hemiola.measure.pattern import Array, Pattern

_DTYPES = ("float16", "float32", "float64", "int8", "uint8", "int32", "int64")
_OPERATIONS = {"sum": "SUM", "product": "PRODUCT", "min": "MIN", "max": "MAX"}


def check_peers(names: Sequence[str], pattern: Pattern, emulate: Topology | None) -> None:
    """Raise ArgumentError for a peer that does not exist or cannot run this, MissingPackageError without PyTorch."""
    for name in names:
        if name not in PEERS:
            raise ArgumentError(f"expected a peer among {', '.join(PEERS)}, found '{name[:60]}'")
    if not names:
        return
    if emulate is not None:
        raise ArgumentError("a peer's ports are not paced; leave --emulate or --peer out")
    if pattern.dtype.name not in _DTYPES:
        raise ArgumentError(f"gloo: expected one of {', '.join(_DTYPES)}, found {pattern.dtype.name}")
    if pattern.op not in _OPERATIONS:
        raise ArgumentError(f"gloo: expected one of {', '.join(_OPERATIONS)}, found {pattern.op}")
    require("torch")


@contextlib.contextmanager
def running(names: Sequence[str], comm: Communicator) -> Iterator[dict[str, Gloo]]:
    """Run peers among the ranks of a communicator, by their names; all ranks do."""
    libraries = {name: Gloo(comm) for name in names}
    yield libraries
    for library in libraries.values():
        library.close()


class Gloo:
    """Gloo among the ranks of a communicator; all of them make it, and all close it."""

    def __init__(self, comm: Communicator) -> None:
        self._torch, self._distributed = optional("torch"), optional("torch.distributed")
        self._torch.set_num_threads(1)
        self._rank_count = comm.rank_count
        job = started_job()
        host = socket.gethostname() if job is not None and job.spans_hosts else "127.0.0.1"
        store = self._store(host, 0, is_master=True) if comm.rank == 0 else None
        host, port = everybodys(comm, (host, 0 if store is None else store.port))[0]
        if store is None:
            store = self._store(host, port, is_master=False)
        self._distributed.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.rank_count)

    def _store(self, host: str, port: int, *, is_master: bool) -> Any:
        return self._distributed.TCPStore(
            host, port, self._rank_count, is_master=is_master, wait_for_workers=False
        )

    def close(self) -> None:
        """End it, when all ranks are done with it."""
        self._distributed.barrier()
        self._distributed.destroy_process_group()

    def call(self, pattern: Pattern, rank: int, source: Array, result: Array) -> Callable[[], object]:
        """Return a function that runs a pattern's collective once, out of place.

        Where Gloo works in place, the call copies its input first, as a program that keeps it must.
        """
        distributed, root = self._distributed, pattern.root
        taken, given = self._torch.from_numpy(source), self._torch.from_numpy(result)
        op = getattr(distributed.ReduceOp, _OPERATIONS[pattern.op])
        whole = given if given.numel() == pattern.count else self._torch.empty_like(taken)
        is_root = rank == root
        gathered = list(given.chunk(self._rank_count)) if is_root else None
        scattered = list(taken.chunk(self._rank_count)) if is_root else None
        calls: dict[str, Callable[[], object]] = {
            "all_reduce": lambda: distributed.all_reduce(given.copy_(taken), op),
            "reduce_scatter": lambda: distributed.reduce_scatter_tensor(given, taken, op),
            "all_gather": lambda: distributed.all_gather_into_tensor(given, taken),
            "all_to_all": lambda: distributed.all_to_all_single(given, taken),
            "broadcast": lambda: distributed.broadcast(given.copy_(taken) if is_root else given, root),
            "reduce": lambda: distributed.reduce(whole.copy_(taken), root, op),
            "gather": lambda: distributed.gather(taken, gathered, root),
            "scatter": lambda: distributed.scatter(given, scattered, root),
        }
        return calls[pattern.kind]
