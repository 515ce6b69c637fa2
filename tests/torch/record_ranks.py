# SPDX-License-Identifier: Apache-2.0
"""What ranks of the tests of records do: they run operations, fail, and write down what they have done."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

import hemiola.torch as hemiola_torch
from hemiola.errors import MismatchError


def folder() -> Path:
    """Return a folder that all ranks see."""
    told = [tempfile.mkdtemp(prefix="records") if dist.get_rank() == 0 else ""]
    dist.broadcast_object_list(told, 0)
    return Path(told[0])


def recorded() -> str:
    """Some operations of all kinds, blocking and not, in two groups; one that fails on all ranks."""
    rank, n = dist.get_rank(), dist.get_world_size()
    into = folder()
    group = dist.new_group(list(range(n)))
    x = torch.ones(1000, dtype=torch.bfloat16)
    dist.all_reduce(x)
    dist.all_gather_into_tensor(torch.empty(6 * n), torch.ones(6), group=group)
    works = [dist.all_reduce(torch.ones(50_000), async_op=True) for _ in range(3)]
    dist.all_to_all_single(torch.empty(2 * n), torch.ones(2 * n))
    for work in works:
        work.wait()
    if rank == 0:
        dist.send(torch.ones(5), 1)
    elif rank == 1:
        dist.recv(torch.ones(5), 0)
    dist.barrier(group=group)
    os.environ["HEMIOLA_RECORD"] = str(into / "failed")
    with suppress(MismatchError):
        dist.all_reduce(torch.ones(3 + (rank == 1)))
    dist.new_group([rank], use_local_synchronization=True)  # from here on ranks listen to the signal
    os.kill(os.getpid(), signal.SIGUSR2)
    child = os.fork()  # as loaders of data fork
    if child == 0:
        os.kill(os.getpid(), signal.SIGUSR2)
        os._exit(0)
    os.waitpid(child, 0)
    written = json.loads((into / "failed" / f"hemiola-{rank}.json").read_text())
    assert (written["pid"], written["reason"]) == (os.getpid(), "SIGUSR2")
    del os.environ["HEMIOLA_RECORD"]
    hemiola_torch.save_records(into)
    dist.barrier()
    return str(into)


def many() -> int:
    """Return how many operations are remembered of more."""
    group: Any = dist.new_group([dist.get_rank()], use_local_synchronization=True)
    for _ in range(1100):
        group.allreduce([torch.ones(1)])
    entries = hemiola_torch.lookup.group_of(group).recorder.latest()
    assert [entry.sequence for entry in entries] == list(range(77, 1101))
    return len(entries)


def explained() -> tuple[str, str]:
    """What is said of the schedules, and of what slows the group."""
    for _ in range(20):
        dist.all_reduce(torch.ones(300_000))
    return hemiola_torch.explain(), type(hemiola_torch.diagnose()).__name__


def told() -> str:
    """What Prometheus reads of this rank."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1] - dist.get_rank()  # each rank adds its own number
    os.environ["HEMIOLA_PROMETHEUS"] = str(port)
    os.environ["LOCAL_RANK"] = str(dist.get_rank())
    dist.new_group([dist.get_rank()], use_local_synchronization=True)
    with urllib.request.urlopen(f"http://127.0.0.1:{port + dist.get_rank()}/metrics", timeout=10) as answer:
        return str(answer.read().decode())
