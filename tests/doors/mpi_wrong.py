# SPDX-License-Identifier: Apache-2.0
"""A program of mpi4py's that makes mistakes on hemiola.mpi. Each rank prints what they raise, as JSON."""

from __future__ import annotations

import importlib
import json

import numpy as np
from mpi4py import MPI
from told import told

comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
own_size = 4 if rank == 1 else 3


def receive_too_much() -> None:
    sending = comm.isend("x" * 5000, rank)
    try:
        comm.Recv(bytearray(3), rank)
    finally:
        sending.wait()


said = {
    "no buffer": told(lambda: comm.Allreduce(object(), np.zeros(3))),
    "strings": told(lambda: comm.Allreduce(np.array(["a"]), np.array(["b"]))),
    "not contiguous": told(lambda: comm.Allreduce(np.ones(6)[::2], np.zeros(3))),
    "unequal sizes": told(lambda: comm.Allreduce(np.ones(own_size), np.ones(own_size))),
    "a message that is too long": told(receive_too_much),
    "a buffer that ranks cannot share": told(lambda: comm.Allgather(np.ones(2), np.ones(2 * size + 1))),
    "Init": told(MPI.Init),
    "mpi4py.futures": told(lambda: importlib.import_module("mpi4py.futures")),
}
print(json.dumps(said), flush=True)
