# SPDX-License-Identifier: Apache-2.0
"""The MPI that has started this process's job, if one has, and the file that holds it."""

from __future__ import annotations

import os
import sys

from hemiola import environment
from hemiola._core import announce_mpi
from hemiola.communicator.launch_environment import Job

#: Launchers that come with an MPI.
OPEN_MPI, MPICH = "Open MPI's mpirun", "MPICH's mpirun"
_OF_OPEN_MPI = ("libmpi.so.40",)
_OF_MPICH = ("libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1")
#: The file names of the MPI libraries that a launcher may have started.
_LIBRARIES = {OPEN_MPI: _OF_OPEN_MPI, MPICH: _OF_MPICH, "Slurm's srun": (*_OF_OPEN_MPI, *_OF_MPICH)}


def announce(job: Job) -> None:
    """Tell the core where MPI is, where this job may have been started by one."""
    if job.launcher in _LIBRARIES:
        announce_mpi(rank=job.rank, rank_count=job.rank_count, libraries=mpi_libraries(job.launcher))


def mpi_libraries(launcher: str) -> list[str]:
    """Return the paths and names of MPI libraries to try, best first: the one asked for, those of PyPI's wheels, the
    system's."""
    asked = environment.MPI.value()
    if asked is not None:
        return [asked]
    names = _LIBRARIES[launcher]
    wheels = (os.path.join(sys.prefix, "lib", name) for name in names)
    return [*filter(os.path.exists, wheels), *names]
