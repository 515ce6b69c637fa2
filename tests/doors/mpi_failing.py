# SPDX-License-Identifier: Apache-2.0
"""A program of mpi4py's that calls what hemiola.mpi lacks. Rank 0 prints what each raises. Then a rank is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def say(call: Callable[[], object]) -> None:
    try:
        call()
    except MPI.Exception as error:
        if rank == 0:
            print(error, flush=True)


say(lambda: MPI.Win)
say(lambda: comm.Scan)
say(lambda: comm.Allreduce(np.ones(3), np.ones(3), op=MPI.MAXLOC))
comm.Barrier()
if rank == size - 1:
    os.kill(os.getpid(), signal.SIGKILL)
say(lambda: [comm.Allreduce(np.ones(3), np.ones(3)) for _ in range(1000)])
os._exit(0)
