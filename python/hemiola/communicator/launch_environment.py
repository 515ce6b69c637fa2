# SPDX-License-Identifier: Apache-2.0
"""Which rank of which job this process is, read from the variables that launchers set."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hemiola.environment import JOB, LOCAL_RANK, LOCAL_RANK_COUNT, RANK, RANK_COUNT
from hemiola.errors import ArgumentError


@dataclass(frozen=True)
class Job:
    """A process's place in its job.

    `name` is the same on all ranks of the job, before and after a restart, and different from other jobs of this user.
    It is empty where the launcher gives ranks on several hosts no name. `host_rank_count` is the number of its ranks on
    this host, and `local_rank` this rank's number among them, None where the launcher does not say. `incarnation`
    counts its restarts.
    """

    rank: int
    rank_count: int
    name: str
    launcher: str
    host_rank_count: int | None = None
    incarnation: int = 0
    local_rank: int | None = None

    @property
    def meeting_name(self) -> str:
        """A name to meet by that differs from the one before a restart."""
        return f"{self.name}-{self.incarnation}" if self.name else ""

    @property
    def spans_hosts(self) -> bool:
        """Whether the launcher says that there are ranks on other hosts."""
        return self.host_rank_count not in (None, self.rank_count)


def meeting_name(job: str) -> str:
    """Return the name at which the ranks of a job of hemiola.launch meet."""
    return Job(0, 1, f"hemiola-{job}", "hemiola.launch").meeting_name


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
        when no launcher's variables are set (the message lists those that were looked for), or when they do not hold
        numbers that fit together.
    """
    job = found_job(environment)
    if job is not None:
        return job
    looked_for = "; ".join(f"{name}: {', '.join(names)}" for name, names in _LOOKED_FOR.items())
    raise ArgumentError(
        f"no job found: this process was started by none of the launchers whose variables were looked for "
        f"({looked_for}). Start it with 'hemiola launch', torchrun, mpirun or srun, or from Python with "
        "hemiola.launch(fn, ranks)."
    )


def found_job(environment: Mapping[str, str] | None = None) -> Job | None:
    """Do the same as `job_of`; None where no launcher's variables are set."""
    environment = os.environ if environment is None else environment
    for launcher, read in _LAUNCHERS.items():
        job = read(_Variables(launcher, environment))
        if job is not None:
            return job
    return None


def started_job() -> Job | None:
    """Return the job that a launcher has started this process for; None where none has, and in a batch script of
    Slurm's, which has a task's variables and is none."""
    job = found_job()
    in_script = job is not None and job.launcher == "Slurm's srun" and not os.environ.get("SLURM_STEP_ID")
    return None if in_script else job


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

    def tasks_here(self) -> int | None:
        """Return how many of Slurm's tasks this node has: "2(x3),1" gives two to each of three nodes, then one."""
        counts: list[int] = []
        for part in (self.text("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE") or "").split(","):
            found = re.fullmatch(r"(\d{1,6})(?:\(x(\d{1,6})\))?", part)
            if found is None:
                return None
            counts += [int(found[1])] * int(found[2] or 1)
        node = self.number("SLURM_NODEID") or 0
        return counts[node] if node < len(counts) else None

    def job(
        self,
        rank_name: str,
        count_name: str,
        local_names: tuple[str, str],
        job_name: str,
        incarnation: int = 0,
    ) -> Job | None:
        """Return the job that some variables describe (`local_names`: on this host); None where they are not set."""
        rank, count = self.number(rank_name), self.number(count_name)
        if rank is None or count is None:
            return None
        if not rank < count:
            raise ArgumentError(
                f"{self._launcher}: expected {rank_name} below {count_name}, found {rank} and {count}"
            )
        local_rank, local_count = (self.number(name) for name in local_names)
        return Job(rank, count, job_name, self._launcher, local_count, incarnation, local_rank)


def _hemiola(variables: _Variables) -> Job | None:
    local = (LOCAL_RANK.name, LOCAL_RANK_COUNT.name)
    return variables.job(RANK.name, RANK_COUNT.name, local, f"hemiola-{variables.text(JOB.name)}")


def _torchrun(variables: _Variables) -> Job | None:
    parts = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID")
    name = "-".join(variables.text(part) or "" for part in parts)
    restarts = variables.number("TORCHELASTIC_RESTART_COUNT") or 0
    return variables.job(
        "RANK", "WORLD_SIZE", ("LOCAL_RANK", "LOCAL_WORLD_SIZE"), f"torchrun-{name}", restarts
    )


def _open_mpi(variables: _Variables) -> Job | None:
    name = variables.text("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid") or f"parent-{os.getppid()}"
    world = "OMPI_COMM_WORLD_"
    local = (f"{world}LOCAL_RANK", f"{world}LOCAL_SIZE")
    return variables.job(f"{world}RANK", f"{world}SIZE", local, f"ompi-{name}")


def _mpich(variables: _Variables) -> Job | None:
    # Hydra gives a job no name, but all ranks of a host have the same parent. Intel's does.
    name = variables.text("PMI_JOBID", "PMI_ID_NAMESPACE", "I_MPI_HYDRA_UUID")
    local = ("MPI_LOCALRANKID", "MPI_LOCALNRANKS")
    job = variables.job("PMI_RANK", "PMI_SIZE", local, f"pmi-{name or f'parent-{os.getppid()}'}")
    return replace(job, name="") if job is not None and job.spans_hosts and name is None else job


def _slurm(variables: _Variables) -> Job | None:
    name = f"slurm-{variables.text('SLURM_JOB_ID')}-{variables.text('SLURM_STEP_ID')}"
    restarts = variables.number("SLURM_RESTART_COUNT") or 0
    job = variables.job("SLURM_PROCID", "SLURM_NTASKS", ("SLURM_LOCALID", ""), name, restarts)
    nodes = variables.number("SLURM_STEP_NUM_NODES") or variables.number("SLURM_NNODES")
    if job is None or nodes == 1:
        return job
    return replace(job, host_rank_count=variables.tasks_here())


_LAUNCHERS: dict[str, Callable[[_Variables], Job | None]] = {
    "hemiola.launch": _hemiola,
    "torchrun": _torchrun,
    "Open MPI's mpirun": _open_mpi,
    "MPICH's mpirun": _mpich,
    "Slurm's srun": _slurm,
}

_LOOKED_FOR = {
    "hemiola.launch": (RANK.name, RANK_COUNT.name),
    "torchrun": ("RANK", "WORLD_SIZE"),
    "Open MPI's mpirun": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    "MPICH's mpirun": ("PMI_RANK", "PMI_SIZE"),
    "Slurm's srun": ("SLURM_PROCID", "SLURM_NTASKS"),
}
