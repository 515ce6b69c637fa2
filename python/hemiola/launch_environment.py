"""Which rank of which job this process is, read from the variables that launchers set."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hemiola.errors import ArgumentError

#: What hemiola.launch sets.
RANK, RANK_COUNT, JOB = "HEMIOLA_RANK", "HEMIOLA_RANK_COUNT", "HEMIOLA_JOB"


@dataclass(frozen=True)
class Job:
    """A process's place in its job.

    `name` is the same on all ranks of the job and different from other jobs of this user.
    """

    rank: int
    rank_count: int
    name: str
    launcher: str


def job_of(environment: Mapping[str, str] | None = None) -> Job:
    """Find out which rank of which job this process is.

    Parameters
    ----------
    environment : mapping, os.environ if None.

    Returns
    -------
    Job.

    Raises
    ------
    ArgumentError
        when no launcher's variables are set (the message lists those that were looked for), when they do
        not hold numbers that fit together, or when the job spans several hosts.
    """
    environment = os.environ if environment is None else environment
    for launcher, read in _LAUNCHERS.items():
        job = read(_Variables(launcher, environment))
        if job is not None:
            return job
    looked_for = "; ".join(f"{name}: {', '.join(names)}" for name, names in _LOOKED_FOR.items())
    raise ArgumentError(
        f"no job found: this process was started by none of the launchers whose variables were looked for "
        f"({looked_for}). Start it with torchrun or mpirun, or from Python with hemiola.launch(fn, ranks)."
    )


class _Variables:
    """A launcher's variables, read with errors that name them."""

    def __init__(self, launcher: str, environment: Mapping[str, str]) -> None:
        self._launcher = launcher
        self._environment = environment

    def text(self, *names: str) -> str | None:
        """Return the first of these that is set."""
        return next((self._environment[name] for name in names if self._environment.get(name)), None)

    def number(self, name: str) -> int | None:
        """Return a whole number >= 0, or None where the variable is not set."""
        text = self._environment.get(name)
        if not text:
            return None
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise ArgumentError(f"{self._launcher}: expected a number in {name}, found '{text[:60]}'")
        return int(text)

    def job(self, rank_name: str, count_name: str, local_count_name: str | None, job_name: str) -> Job | None:
        """Return the job that two or three variables describe; None where they are not set."""
        rank, count = self.number(rank_name), self.number(count_name)
        if rank is None or count is None:
            return None
        if not rank < count:
            raise ArgumentError(
                f"{self._launcher}: expected {rank_name} below {count_name}, found {rank} and {count}"
            )
        local_count = self.number(local_count_name) if local_count_name else None
        if local_count is not None and local_count != count:
            raise ArgumentError(
                f"{self._launcher}: {count} ranks on several hosts ({local_count} on this one). This version "
                f"joins the ranks of one host; start all of them on one, or launch one job per host."
            )
        return Job(rank, count, job_name, self._launcher)


def _hemiola(variables: _Variables) -> Job | None:
    return variables.job(RANK, RANK_COUNT, None, f"hemiola-{variables.text(JOB)}")


def _torchrun(variables: _Variables) -> Job | None:
    parts = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
    name = "-".join(variables.text(part) or "" for part in parts)
    return variables.job("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", f"torchrun-{name}")


def _open_mpi(variables: _Variables) -> Job | None:
    name = variables.text("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid") or f"parent-{os.getppid()}"
    world = "OMPI_COMM_WORLD_"
    return variables.job(f"{world}RANK", f"{world}SIZE", f"{world}LOCAL_SIZE", f"ompi-{name}")


def _mpich(variables: _Variables) -> Job | None:
    # Hydra gives a job no name, but all ranks of a host have the same parent.
    name = variables.text("PMI_JOBID", "PMI_ID_NAMESPACE") or f"parent-{os.getppid()}"
    return variables.job("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", f"pmi-{name}")


_LAUNCHERS: dict[str, Callable[[_Variables], Job | None]] = {
    "hemiola.launch": _hemiola,
    "torchrun": _torchrun,
    "Open MPI's mpirun": _open_mpi,
    "MPICH's mpirun": _mpich,
}

_LOOKED_FOR = {
    "hemiola.launch": (RANK, RANK_COUNT),
    "torchrun": ("RANK", "WORLD_SIZE"),
    "Open MPI's mpirun": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "MPICH's mpirun": ("PMI_RANK", "PMI_SIZE"),
}
