# SPDX-License-Identifier: Apache-2.0
"""`hemiola doctor` on this machine, and on machines that lack something."""

import os
import re
import sys
from pathlib import Path

import pytest

from hemiola.doctor import probes
from hemiola.machine import capacity


def test_doctor_names_what_every_run_needs(hemiola) -> None:
    ran = hemiola("doctor", "--json")
    states = {finding["what"]: finding["state"] for finding in ran.data}
    assert ran.code == 0
    assert states["shared memory"] == states["pidfd"] == states["abstract sockets"] == "ok"


@pytest.mark.parametrize("columns", [60, 80, 110])
def test_doctor_fits_a_terminal_and_names_everything(
    hemiola, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = hemiola("doctor")
    lines = ran.out.split("What to do")[0].splitlines()
    assert max(map(len, lines)) <= columns
    for finding in hemiola("doctor", "--json").data:
        words = finding["what"].split()  # the state may be another by now: how late the timer is, for one
        (row,) = [line.split()[1:] for line in lines if line.split()[1 : len(words) + 1] == words]
        assert len(row) > len(words)


def test_a_kernel_without_memfd_is_broken_and_exits_with_1(hemiola, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "memfd_create", refuse)
    ran = hemiola("doctor")
    assert ran.code == 1
    assert "needs Linux 3.17" in ran.out


def test_everything_that_is_not_there_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_version", lambda package: None)
    monkeypatch.setattr(probes, "_output_of", lambda *command: None)
    missing = [finding for finding in probes.examine() if finding.state == "missing"]
    assert {"C++ compiler", "PyTorch", "MPI", "UCX", "network namespaces"} <= {
        finding.what for finding in missing
    }
    assert all(finding.advice for finding in missing if finding.what != "GPU")


def test_a_cluster_needs_iproute2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_output_of", lambda *command: "")
    monkeypatch.setattr(probes.shutil, "which", lambda name: None)
    finding = probes._network_namespaces()
    assert (finding.state, finding.advice) == ("limited", "apt install iproute2")


def test_a_cgroup_quota_of_half_a_core_counts_as_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "_cgroup_words", lambda name: ["50000", "100000"])
    assert capacity.core_count() == 1


def test_a_cgroup_memory_limit_is_the_memory_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"memory.max": ["1048576"], "memory.current": ["1000000"]}
    monkeypatch.setattr(capacity, "_cgroup_words", lambda name: words.get(name, []))
    assert capacity.memory_bytes() == (1048576, 48576)


def mpi_finding(hemiola) -> dict[str, str]:
    (finding,) = [each for each in hemiola("doctor", "--json").data if each["what"] == "MPI"]
    return finding


def test_the_mpi_that_ranks_would_use_is_named_with_its_version_and_file(hemiola) -> None:
    wheel = Path(sys.prefix, "lib", "libmpi.so.12")
    finding = mpi_finding(hemiola)
    assert finding["state"] == "ok"
    assert re.search(rf"MPICH's mpirun: MPICH .* at {re.escape(str(wheel.resolve()))}", finding["found"])


def test_an_mpi_that_was_asked_for_and_cannot_be_opened_is_said(
    hemiola, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEMIOLA_MPI", "/nowhere/libmpi.so.40")
    finding = mpi_finding(hemiola)
    assert finding["state"] == "limited"
    assert "/nowhere/libmpi.so.40" in finding["found"]
    assert "HEMIOLA_MPI" in finding["found"]
