# SPDX-License-Identifier: Apache-2.0
"""What survivors raise when a rank fails under DDP and FSDP2, how a process ends, what stands beside a live group."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from of_pytorch import HAS_FSDP2, needs_fsdp2
from torch._C import _distributed_c10d as c10d

from hemiola.torch.group import HemiolaBackend, HemiolaProcessGroup

KILLED = "fsdp2_killed" if HAS_FSDP2 else "ddp_killed"
JOBS = [KILLED, "quantized_killed", "pruned_killed", "ddp_stopped", "loading", "exiting"]
LONG_JOBS = ["ddp_killed", "ddp_raising", "fsdp2_raising", "fsdp2_stopped", "late"]
SURVIVORS = (0, 2)
GROUP_LIMIT_S = 20.0


def ends_of(jobs: list[str]) -> dict[str, Any]:
    """Run jobs, and return how each rank has ended."""
    program = str(Path(__file__).with_name("fault_jobs.py"))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, program, *jobs], capture_output=True, text=True, timeout=200, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = {"stderr": done.stderr}
    for line in done.stdout.splitlines():
        if line.startswith("{"):  # some gloos print, too
            found |= json.loads(line)
    return found


@pytest.fixture(scope="module")
def ends(way: str) -> dict[str, Any]:
    return ends_of(JOBS)


def test_every_survivor_names_the_rank_that_has_died(ends: dict[str, Any]) -> None:
    check_lost(ends[KILLED])


@pytest.mark.parametrize("job", ["quantized_killed", "pruned_killed"])
def test_gradients_that_fail_leave_every_residual_as_it_was(ends: dict[str, Any], job: str) -> None:
    check_lost(ends[job])  # the ranks have compared


def said(rank: dict[str, Any]) -> str:
    """Return the names of an error's classes and its message; DDP keeps of a class the name, in the message."""
    return " ".join(rank["raised"]) + " " + str(rank["message"])


def check_lost(ranks: list[dict[str, Any]]) -> None:
    for rank in SURVIVORS:
        assert ranks[rank]["exit"] == 0, ranks
        assert "LostRankError" in said(ranks[rank]), ranks
        assert "RuntimeError" in ranks[rank]["raised"]
        assert "rank 1" in ranks[rank]["message"]
        assert ranks[rank]["took_s"] < GROUP_LIMIT_S


def test_every_survivor_names_the_rank_that_stands_still_within_its_time(ends: dict[str, Any]) -> None:
    check_missing(ends["ddp_stopped"])


def check_missing(ranks: list[dict[str, Any]]) -> None:
    for rank in SURVIVORS:
        assert ranks[rank]["exit"] == 0, ranks
        assert any(kind in said(ranks[rank]) for kind in ("GroupTimeoutError", "LostRankError")), ranks
        assert "rank 1" in ranks[rank]["message"]
        assert ranks[rank]["took_s"] < GROUP_LIMIT_S  # the operation's own limit is 2 s
    assert any("GroupTimeoutError" in said(ranks[rank]) for rank in SURVIVORS)
    assert ranks[1]["exit"] == 0
    assert ranks[1]["raised"]  # it is told as well, once it goes on


def test_forked_loaders_of_data_work_beside_a_live_group(ends: dict[str, Any]) -> None:
    for rank in ends["loading"]:
        assert (rank["exit"], rank["message"]) == (0, "")


def test_the_interpreter_ends_cleanly_with_work_outstanding(ends: dict[str, Any]) -> None:
    assert [rank["exit"] for rank in ends["exiting"]] == [0, 0, 0]
    for word in ("Traceback", "Fatal", "terminate", "core dumped"):
        assert word not in ends["stderr"], ends["stderr"]


@needs_fsdp2
@pytest.mark.long
def test_shards_and_a_rank_that_is_late_fail_in_the_same_way(way: str) -> None:
    found = ends_of(LONG_JOBS)
    check_lost(found["ddp_killed"])
    check_lost(found["ddp_raising"])
    check_lost(found["fsdp2_raising"])
    check_missing(found["fsdp2_stopped"])
    check_missing(found["late"])


#: What PyTorch's own classes do for every group: names, numbers, and where a backend is kept.
_OF_PYTORCH = {
    "BackendType CUSTOM GLOO MPI NCCL UCC UNDEFINED XCCL Options boxed unbox",
    "_backend_id _device_types _get_backend get_backend _id _register_backend _set_default_backend options",
    "_set_group_desc _set_group_name _set_group_uid bound_device_id group_desc group_name rank size",
    "setUsePgForSymmMemRendezvous use_pg_for_symm_mem_rendezvous _pybind11_conduit_v1_",
}


@pytest.mark.parametrize(
    ("ours", "base"), [(HemiolaProcessGroup, c10d.ProcessGroup), (HemiolaBackend, c10d.Backend)]
)
def test_every_method_of_c10d_is_defined_here_and_none_falls_through(ours: Any, base: Any) -> None:
    names = {name for name in dir(base) if not name.startswith("__")}
    of_pytorch = set(" ".join(_OF_PYTORCH).split())
    fall_through = {name for name in names - of_pytorch if getattr(ours, name) is getattr(base, name)}
    assert fall_through == set()
    assert {"allreduce", "broadcast", "barrier", "send", "recv"} <= names
    assert not hasattr(c10d.ProcessGroup, "shutdown") or {"abort", "shutdown"} <= names
