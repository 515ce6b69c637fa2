# SPDX-License-Identifier: Apache-2.0
"""A program of mpi4py's whose calls go wrong on hemiola.mpi, and what it is told. At its end a rank is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def told(call: Callable[[], object]) -> None:
    try:
        call()
    except MPI.Exception as error:
        if rank == 0:
            print(error, flush=True)


def import_futures() -> None:
    try:
        import mpi4py.futures  # noqa: F401
    except ImportError as error:
        raise MPI.Exception(str(error)) from None


def receive_too_much() -> None:
    sending = comm.isend("x" * 5000, rank)
    comm.Recv(bytearray(3), rank)
    sending.wait()


told(lambda: MPI.Win)
told(lambda: comm.Scan)
told(import_futures)
told(lambda: comm.Allreduce(object(), np.zeros(3)))
told(lambda: comm.Allreduce(np.array(["a"]), np.array(["b"])))
told(lambda: comm.Allreduce(np.ones(3)[::2], np.zeros(2)))
told(lambda: comm.Allreduce(np.ones(3 + rank), np.ones(3 + rank)))
told(lambda: comm.Allreduce(np.ones(3), np.ones(3), op=MPI.MAXLOC))
told(receive_too_much)
comm.Barrier()
if rank == size - 1:
    os.kill(os.getpid(), signal.SIGKILL)
told(lambda: [comm.Allreduce(np.ones(3), np.ones(3)) for _ in range(1000)])
os._exit(0)
