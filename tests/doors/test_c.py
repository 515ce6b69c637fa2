# SPDX-License-Identifier: Apache-2.0
"""libhemiola: programs in C and Fortran, compiled against the installed library, run as ranks on one host and on
several, without Python in their processes. They are compiled as docs/how-to/c.md says."""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from c_jobs import (
    INVALID,
    LOST_RANK,
    MISMATCH,
    TIMEOUT,
    mistakes_of,
    on_host,
    said,
    start_here,
    started,
    together,
)
from c_library import EXAMPLES, ROOT, Library, needed, output_of

from hemiola.cluster import Cluster
from permission import where_permitted

HEADER = ROOT / "src/hemiola/c/hemiola.h"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(2) as made:
        yield made


@contextmanager
def on_hosts(
    library: Library, cluster: Cluster, command: Sequence[str], per_host: int
) -> Iterator[list[subprocess.Popen[str]]]:
    """Run the ranks of a job on the hosts of a cluster."""
    count = per_host * len(cluster.hosts)
    job = {
        "HEMIOLA_JOB": secrets.token_hex(4),
        "HEMIOLA_RANK_COUNT": str(count),
        "HEMIOLA_LOCAL_RANK_COUNT": str(per_host),
        "HEMIOLA_RENDEZVOUS": f"{cluster.hosts[0].ipv4}:29400",
        "HEMIOLA_TOKEN": secrets.token_hex(32),
    }

    def start(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
        host = int(environment["HEMIOLA_RANK"]) // per_host
        return cluster.start(
            host,
            list(words),
            env=dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    own = [job | {"HEMIOLA_RANK": str(rank)} for rank in range(count)]
    with started(library, [command] * count, own, start) as processes:
        yield processes


def launched(library: Library, program: Path, count: int) -> list[str]:
    """Have `hemiola launch` run a program; return its lines, sorted by rank."""
    command = [sys.executable, "-m", "hemiola", "launch", "-n", str(count), "--", program]
    return sorted(output_of(command, **library.path).splitlines())


def means(count: int, form: str) -> list[str]:
    """Return what the examples print."""
    return [f"[{rank}] rank {rank} of {count}: the mean is {(count - 1) / 2:{form}}" for rank in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_operation_is_right_for_every_type_and_size_without_python(
    library: Library, ranks: Path, count: int
) -> None:
    assert on_host(library, ranks, "right", count) == [["all right, no Python"]] * count


def test_every_operation_is_right_between_hosts(library: Library, ranks: Path, cluster: Cluster) -> None:
    with on_hosts(library, cluster, [str(ranks), "right"], 2) as processes:
        assert said(processes) == [["all right, no Python"]] * 4


def test_the_example_in_c_compiles_by_pkg_config_as_c99_and_runs_under_the_launcher(
    library: Library, tmp_path: Path
) -> None:
    program = library.compiled(EXAMPLES / "mean.c", tmp_path / "mean", ("cc", "-std=c99", "-pedantic"))
    assert launched(library, program, 4) == means(4, "g")


def test_the_example_in_fortran_compiles_by_pkg_config_and_runs_under_the_launcher(
    library: Library, tmp_path: Path
) -> None:
    compiler = (needed("gfortran", "gfortran"), f"-J{tmp_path}")
    program = library.compiled(EXAMPLES / "mean.f90", tmp_path / "mean_fortran", compiler)
    assert launched(library, program, 3) == means(3, ".2f")


def test_both_examples_are_built_by_cmake_and_run_between_hosts(
    library: Library, cluster: Cluster, tmp_path: Path
) -> None:
    needed("gfortran", "gfortran")
    output_of(["cmake", "-S", EXAMPLES, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={library.prefix}"])
    output_of(["cmake", "--build", tmp_path])
    for name, form in (("mean", "g"), ("mean_fortran", ".2f")):
        with on_hosts(library, cluster, [str(tmp_path / name)], 1) as processes:
            lines = [line for (line,) in said(processes)]
        assert lines == [line.partition(" ")[2] for line in means(2, form)]


def test_the_header_is_one_of_cpp_too(library: Library, tmp_path: Path) -> None:
    source = tmp_path / "main.cpp"
    source.write_text("#include <hemiola.h>\nint main() { return hemiola_size(nullptr) == -1 ? 0 : 1; }\n")
    output_of([library.compiled(source, tmp_path / "main", ("c++", "-pedantic"))], **library.path)


def test_the_library_shows_the_functions_of_its_header_in_a_version_and_nothing_else(
    library: Library,
) -> None:
    declared = set(re.findall(r"HEMIOLA_API [\w* ]*?\b(hemiola_\w+)\(", HEADER.read_text()))
    assert len(declared) == 18
    lines = output_of(["nm", "-D", "--defined-only", library.libraries / "libhemiola.so.1"]).splitlines()
    shown = {line.split()[2] for line in lines if line.split()[1] != "A"}
    assert shown == {f"{name}@@HEMIOLA_1" for name in declared}


@pytest.mark.parametrize("hosts", [False, True], ids=["on one host", "between hosts"])
def test_a_killed_rank_is_named_and_the_others_go_on(
    library: Library, ranks: Path, hosts: bool, request: pytest.FixtureRequest
) -> None:
    if hosts:
        with on_hosts(library, request.getfixturevalue("cluster"), [str(ranks), "die"], 2) as processes:
            *survivors, dead = said(processes)
    else:
        *survivors, dead = on_host(library, ranks, "die", 4)
    assert dead == []
    for failure, after in survivors:
        assert failure.startswith(f"{LOST_RANK}: all_reduce ")
        assert "rank 3 has died" in failure
        assert "hemiola_shrink" in failure
        assert after == "3 of us go on"


def test_a_rank_that_does_not_come_is_named(library: Library, ranks: Path) -> None:
    own = {"HEMIOLA_RANK": "0", "HEMIOLA_RANK_COUNT": "2", "HEMIOLA_JOB": secrets.token_hex(4)}
    (((line),),) = together(library, ranks, "right", [own | {"HEMIOLA_TIMEOUT": "1s"}])
    assert line.startswith(f"{TIMEOUT}: ")
    assert "rank 1" in line


@pytest.mark.parametrize("hosts", [False, True], ids=["on one host", "between hosts"])
def test_a_newcomer_comes_by_grow_and_leaves_again(
    library: Library, ranks: Path, hosts: bool, request: pytest.FixtureRequest
) -> None:
    place, secret = f"job-{secrets.token_hex(4)}", {"HEMIOLA_TOKEN": secrets.token_hex(32)}
    start = start_here
    if hosts:
        cluster: Cluster = request.getfixturevalue("cluster")
        place = f"{cluster.hosts[0].ipv4}:29500"

        def start(words: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[str]:
            host = 0 if words[2] == "0" else 1
            return cluster.start(host, list(words), env=dict(environment), stdout=subprocess.PIPE, text=True)

    commands = [
        [str(ranks), "grow", rank, count, place] for rank, count in (("0", "2"), ("1", "2"), ("-1", "0"))
    ]
    with started(library, commands, [secret] * 3, start) as processes:
        assert said(processes) == [["2 stay"], ["2 stay"], ["left"]]


REFUSED_ALONE = {
    "null communicator": "an open communicator",
    "made-up communicator": "an open communicator",
    "null result": "the address of a communicator",
    "bad timeout": "a timeout in seconds",
    "no name": "a name or host:port",
    "bad rank": "a rank below the number of ranks",
    "message without memory": "memory for 1 elements",
    "message to nobody": "a rank in 0 … 1",
    "message of bad type": "a type of hemiola_type",
    "message with bad tag": "a tag of 0 or more",
    "closed communicator": "an open communicator",
    "closed twice": "an open communicator",
}
#: What rank 0's mistake is called there, and on the others.
REFUSED_TOGETHER = {
    "bad op": "an operation of hemiola_op",
    "average of integers": "op='average' makes no sense for int32",
    "no memory": "memory for 1 elements",
    "negative count": "a count of 0 or more",
    "endless count": "a count of memory that can be",
    "overlap": "overlap",
    "bad root": "a root in 0 … 1",
}
DISAGREED = {"other call": "barrier"}


def test_mistakes_have_a_result_and_a_sentence_on_every_rank_and_crash_nothing(
    library: Library, ranks: Path
) -> None:
    for rank, (*lines, last) in enumerate(on_host(library, ranks, "bad", 2)):
        assert last == "refused all"
        told = mistakes_of(lines)
        expected = (
            {name: (INVALID, part) for name, part in REFUSED_ALONE.items()}
            | {name: (MISMATCH if rank else INVALID, part) for name, part in REFUSED_TOGETHER.items()}
            | {name: (MISMATCH, part) for name, part in DISAGREED.items()}
        )
        assert set(told) == set(expected) | {
            "bad type",
            "second init",
            "other count",
        }  # test_bad_input_of_doors.py
        for name, (code, part) in expected.items():
            assert told[name][0] == code, (name, told[name])
            assert part in told[name][1], (name, told[name])


LAUNCHERS = {
    "torchrun": {"RANK": "{rank}", "WORLD_SIZE": "2", "MASTER_ADDR": "{job}", "LOCAL_WORLD_SIZE": "2"},
    "Open MPI": {
        "OMPI_COMM_WORLD_RANK": "{rank}",
        "OMPI_COMM_WORLD_SIZE": "2",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
        "PMIX_NAMESPACE": "{job}",
    },
    "MPICH": {"PMI_RANK": "{rank}", "PMI_SIZE": "2", "PMI_JOBID": "{job}"},
    "Slurm": {"SLURM_PROCID": "{rank}", "SLURM_NTASKS": "2", "SLURM_JOB_ID": "{job}", "SLURM_NNODES": "1"},
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_ranks_of_other_launchers_meet(library: Library, ranks: Path, launcher: str) -> None:
    job = secrets.token_hex(4)
    own = [
        {name: text.format(rank=rank, job=job) for name, text in LAUNCHERS[launcher].items()}
        for rank in range(2)
    ]
    assert together(library, ranks, "right", own) == [["all right, no Python"]] * 2


ALONE = {"HEMIOLA_RANK": "0", "HEMIOLA_RANK_COUNT": "1"}
WRONG_VARIABLES: dict[str, tuple[dict[str, str], str]] = {
    "no launcher": ({}, "no job found"),
    "a rank that is none": (
        {"HEMIOLA_RANK": "x", "HEMIOLA_RANK_COUNT": "2"},
        "HEMIOLA_RANK: expected a number",
    ),
    "a rank too high": (
        {"HEMIOLA_RANK": "2", "HEMIOLA_RANK_COUNT": "2"},
        "HEMIOLA_RANK below HEMIOLA_RANK_COUNT",
    ),
    "a timeout that is none": (ALONE | {"HEMIOLA_TIMEOUT": "soon"}, "HEMIOLA_TIMEOUT: expected a time"),
    "a wire that is not here": (ALONE | {"HEMIOLA_WIRE": "mpi"}, "HEMIOLA_WIRE: expected auto"),
    "hosts without a meeting": (
        {"HEMIOLA_RANK": "0", "HEMIOLA_RANK_COUNT": "2", "HEMIOLA_LOCAL_RANK_COUNT": "1"},
        "set HEMIOLA_RENDEZVOUS",
    ),
    "hosts without a secret": (ALONE | {"HEMIOLA_RENDEZVOUS": "127.0.0.1:29700"}, "set HEMIOLA_TOKEN"),
    "an interface that is none": (
        ALONE
        | {
            "HEMIOLA_RENDEZVOUS": "127.0.0.1:29700",
            "HEMIOLA_TOKEN": "ab" * 32,
            "HEMIOLA_INTERFACE": "none-such",
        },
        "expected an address",
    ),
}


@pytest.mark.parametrize("case", WRONG_VARIABLES)
def test_wrong_variables_are_named(library: Library, ranks: Path, case: str) -> None:
    variables, part = WRONG_VARIABLES[case]
    (((line),),) = together(library, ranks, "right", [variables])
    assert line.startswith(f"{INVALID}: ")
    assert part in line


def test_a_rank_in_python_does_not_go_with_one_in_c(library: Library, ranks: Path) -> None:
    job = {"HEMIOLA_RANK_COUNT": "2", "HEMIOLA_JOB": secrets.token_hex(4), "OMP_NUM_THREADS": "1"}
    commands = [[str(ranks), "right"], [sys.executable, "-c", "import hemiola; hemiola.init()"]]
    own = [job | {"HEMIOLA_RANK": str(rank)} for rank in range(2)]
    with started(library, commands, own, start_here) as processes:
        (in_c,), in_python = said(processes)
    assert in_c.startswith(f"{MISMATCH}: ")
    assert "MismatchError" in in_python[-1]
