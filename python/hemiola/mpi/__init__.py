# SPDX-License-Identifier: Apache-2.0
"""The names of mpi4py's module MPI, for Hemiola: docs/how-to/mpi4py.md. `MPI.COMM_WORLD` joins the job."""

from __future__ import annotations

import os
import secrets
import socket
import time
from typing import Any

from hemiola.communicator import Communicator, init
from hemiola.communicator.launch_environment import found_job
from hemiola.errors import ArgumentError
from hemiola.errors import HemiolaError as Exception
from hemiola.mpi.buffers import IN_PLACE, OPS, TYPES, Datatype, Op
from hemiola.mpi.comm import UNDEFINED, Comm, Intracomm
from hemiola.mpi.errors import missing
from hemiola.mpi.messages import ANY_SOURCE, ANY_TAG, PROC_NULL, Request, Status

globals().update(TYPES | OPS)
COMM_NULL, REQUEST_NULL, SUCCESS = None, Request(), 0
THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)
Wtime = time.perf_counter
Get_processor_name = socket.gethostname

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "COMM_NULL", "IN_PLACE", "PROC_NULL", "REQUEST_NULL", "SUCCESS",
    "THREAD_FUNNELED", "THREAD_MULTIPLE", "THREAD_SERIALIZED", "THREAD_SINGLE", "UNDEFINED", "Comm", "Datatype",
    "Exception", "Get_processor_name", "Init", "Intracomm", "Op", "Query_thread", "Request", "Status", "Wtime",
]  # fmt: skip


def Init() -> None:
    """Join the job, as the first use of COMM_WORLD does."""
    if "COMM_WORLD" in globals():
        raise ArgumentError(
            "MPI.Init: expected a process that has not joined its job, found one that has. Leave this call out"
        )
    __getattr__("COMM_WORLD")


def Query_thread() -> int:
    """Return the level of threads: one call at a time."""
    return THREAD_SERIALIZED


def __getattr__(name: str) -> Any:
    if name == "COMM_WORLD":
        alone = f"mpi-{os.getpid()}-{secrets.token_hex(4)}"
        value = Comm(init(keep_inputs=False) if found_job() else Communicator.join(0, 1, alone))
    elif name == "COMM_SELF":
        world = __getattr__("COMM_WORLD")
        value = Comm(world._comm.group([world.rank]))
    elif name.startswith("__"):
        raise AttributeError(name)
    else:
        raise missing(f"MPI.{name}")
    globals()[name] = value
    return value
