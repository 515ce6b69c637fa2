# SPDX-License-Identifier: Apache-2.0
"""Which rank of which job a process is, from the variables of every launcher that is known."""

from __future__ import annotations

import os

import pytest

from hemiola.communicator.launch_environment import job_of
from hemiola.errors import ArgumentError

TORCHRUN = {
    "RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "29500",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "PMIX_NAMESPACE": "prterun-host-77@1",
}
MPICH = {"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"}
HEMIOLA = {"HEMIOLA_RANK": "1", "HEMIOLA_RANK_COUNT": "4", "HEMIOLA_JOB": "abc"}

#: Launcher, its variables, and what must be in the job's name.
LAUNCHERS = {
    "torchrun": (TORCHRUN, "29500"),
    "Open MPI's mpirun": (OPEN_MPI, "prterun-host-77@1"),
    "MPICH's mpirun": (MPICH, str(os.getppid())),
    "hemiola.launch": (HEMIOLA, "abc"),
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_every_launcher_is_recognized(launcher: str) -> None:
    environment, part_of_name = LAUNCHERS[launcher]
    job = job_of(environment)
    assert (job.rank, job.rank_count, job.launcher) == (1, 4, launcher)
    assert part_of_name in job.name


def test_jobs_of_one_user_have_different_names() -> None:
    other_port = TORCHRUN | {"MASTER_PORT": "29501"}
    assert len({job_of(each).name for each in (TORCHRUN, other_port, OPEN_MPI, MPICH)}) == 4


def test_a_restarted_job_is_the_same_one_and_meets_apart() -> None:
    first, second = (job_of(TORCHRUN | {"TORCHELASTIC_RESTART_COUNT": count}) for count in "01")
    assert first.name == second.name
    assert (first.incarnation, second.incarnation) == (0, 1)
    assert first.meeting_name != second.meeting_name


def test_a_rank_that_hemiola_launched_inside_another_job_belongs_to_hemiolas() -> None:
    assert job_of(TORCHRUN | HEMIOLA).launcher == "hemiola.launch"


def test_without_a_launcher_the_error_says_what_was_looked_for() -> None:
    with pytest.raises(ArgumentError) as caught:
        job_of({"PATH": "/bin"})
    for name in (
        "WORLD_SIZE",
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
        "HEMIOLA_RANK",
        "hemiola.launch(fn, ranks)",
    ):
        assert name in str(caught.value)


@pytest.mark.parametrize("text", ["-1", "x", "1.5", "\uff19", "99999999999", " 1"])
def test_a_rank_that_is_no_number_is_refused_by_name(text: str) -> None:
    with pytest.raises(ArgumentError, match="torchrun: expected a number in RANK"):
        job_of(TORCHRUN | {"RANK": text})


def test_a_rank_beyond_the_count_is_refused() -> None:
    with pytest.raises(ArgumentError, match="expected RANK below WORLD_SIZE, found 4 and 4"):
        job_of(TORCHRUN | {"RANK": "4"})


@pytest.mark.parametrize(
    ("environment", "name"), [(TORCHRUN, "LOCAL_WORLD_SIZE"), (OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE")]
)
def test_ranks_on_several_hosts_are_told_apart_from_those_on_one(
    environment: dict[str, str], name: str
) -> None:
    assert not job_of(environment).spans_hosts
    assert job_of(environment | {name: "2"}).spans_hosts
