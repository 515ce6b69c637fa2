# SPDX-License-Identifier: Apache-2.0
"""All-reduces on the device path in which one of four ranks is killed between two groups of messages, or before it has
come: device_fault_jobs.py JOB... prints a line of JSON a job: what each survivor raised, whom it named, and how long
after the death."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from device_condition_ranks import BLOCK, network, torch  # sets what Triton is to do before it is imported
from torch import distributed as dist

import hemiola as hm
from hemiola.torch.device_queue import DeviceMessage, ProcessGroupQueue
from hemiola.torch.device_runner import DeviceRunner
from hemiola.torch.lookup import group_of
from hemiola.torch.options import Options

RANKS, LIMIT, JOB_LIMIT_S = 4, timedelta(seconds=30), 100
#: By job: the options, the rank that dies, and before which of its groups; 0: before it comes.
JOBS: dict[str, tuple[dict[str, Any], int, int]] = {
    "plain": ({}, 1, 2),
    "slow": ({"device_conditions": hm.Conditions(slow={2: 2.0})}, 2, 2),
    "told late": ({"device_conditions": hm.Conditions(late={1: 5e-3})}, 1, 0),
    "late": ({"device_finds_late": True}, 1, 2),
    "late, and never there": ({"device_finds_late": True}, 2, 0),
    "late, and says who is": ({"device_finds_late": True}, 0, 0),
    "sparse": ({"device_sparse": True}, 1, 2),
    "sparse, and never there": ({"device_sparse": True}, 3, 0),
}


class MortalQueue(ProcessGroupQueue):
    """Kills its process before one of its groups in the second operation."""

    def __init__(self, group: Any, last: int | None, die: Callable[[], None]) -> None:
        super().__init__(group, torch.device("cpu"))
        self._left, self._die = last, die
        self.is_fatal = False

    def exchange(self, messages: Sequence[DeviceMessage]) -> None:
        if self.is_fatal and self._left is not None:
            if self._left == 1:
                self._die()
            self._left -= 1
        super().exchange(messages)


def survive(job: str, folder: Path) -> dict[str, Any]:
    """Run two all-reduces, of which somebody does not survive the second, and a third one."""
    options, doomed, before = JOBS[job]
    is_doomed = dist.get_rank() == doomed
    died = folder / "died"

    def die() -> None:
        died.write_text(str(time.monotonic()))
        os.kill(os.getpid(), signal.SIGKILL)

    queue = MortalQueue(dist.new_group(backend="gloo"), before if is_doomed else None, die)
    runner = DeviceRunner(queue, group_of()._comm, Options(device_topology=network(), **options))
    x = torch.zeros(RANKS * BLOCK)
    x[dist.get_rank()] = 1.0
    runner.run("all_reduce", x, x)
    assert x.tolist() == [1.0] * RANKS + [0.0] * (x.numel() - RANKS)
    queue.is_fatal = True
    if is_doomed and before == 0:
        time.sleep(0.2)
        die()
    raised = []
    for _ in range(2):
        try:
            runner.run("all_reduce", x, x)
            raised.append(("", "", None))
        except Exception as error:
            raised.append((type(error).__name__, str(error), getattr(error, "rank", None)))
    return {"raised": raised, "seconds": time.monotonic() - float(died.read_text())}


def be_rank(job: str, rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    at = f"file://{folder / 'store'}"
    dist.init_process_group("hemiola", init_method=at, rank=rank, world_size=RANKS, timeout=LIMIT)
    (folder / str(rank)).write_text(json.dumps(survive(job, folder)))


def run(job: str) -> list[Any]:
    """Fork the ranks of a job; return what each survivor says."""
    folder = Path(tempfile.mkdtemp(prefix="device"))
    children = {}
    for rank in range(RANKS):
        child = os.fork()
        if child == 0:
            try:
                be_rank(job, rank, folder)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
            os._exit(0)
        children[child] = rank
    deadline_s = time.monotonic() + JOB_LIMIT_S
    while children:
        child, _ = os.waitpid(-1, os.WNOHANG)
        children.pop(child, None)
        if child == 0:
            time.sleep(0.01)
        if time.monotonic() > deadline_s:
            for left in children:
                os.kill(left, signal.SIGKILL)
    found = [folder / str(rank) for rank in range(RANKS)]
    told = [json.loads(each.read_text()) if each.exists() else None for each in found]
    shutil.rmtree(folder)
    return told


if __name__ == "__main__":
    for job in sys.argv[1:]:
        print(json.dumps({job: run(job)}), flush=True)
