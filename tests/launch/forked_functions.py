# SPDX-License-Identifier: Apache-2.0
"""Functions for ranks that are forked, to see that each is a process as a Python of its own would be."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import hemiola as hm


def randomness() -> tuple[Any, ...]:
    return (
        random.random(),
        float(np.random.random()),
        float(np.random.default_rng().random()),
        bytes(multiprocessing.current_process().authkey),
    )


def surroundings() -> dict[str, Any]:
    """Return what a rank finds around itself."""
    folder = Path("/proc/self/fd")
    open_ = {int(name): os.readlink(folder / name) for name in os.listdir(folder) if (folder / name).exists()}
    return {
        "stdin": open_[0],
        "sockets": [where for where in open_.values() if where.startswith("socket:")],
        "pipes": [number for number, where in open_.items() if where.startswith("pipe:") and number > 2],
        "group": os.getpgid(0) == os.getpid(),
        "main": threading.current_thread() is threading.main_thread(),
        "threads": len(os.listdir("/proc/self/task")),
        "variables": {name: text for name, text in os.environ.items() if name != "HEMIOLA_JOB"},
        "folder": os.getcwd(),
        "arguments": sys.argv,
        "path": sys.path,
        "collects": __import__("gc").isenabled(),
        "is_child_of_multiprocessing": multiprocessing.parent_process() is not None,
    }


def leaves_traces_at_its_end(folder: str) -> int:
    """Have the end of the interpreter do what it does: join threads, call what is registered, write out buffers."""
    rank = int(os.environ["HEMIOLA_RANK"])
    atexit.register(Path(folder, f"atexit{rank}").touch)
    threading.Thread(target=lambda: (time.sleep(0.3), Path(folder, f"thread{rank}").touch())).start()
    sys.stdout.write(f"<{rank}>")  # no end of line: stays in the buffer
    return rank


def server_is_killed_by(rank: int, folder: str) -> int:
    """One rank kills the fork server, when all have said which processes they are."""
    comm = hm.init(timeout_s=60)
    child = os.fork()
    if child == 0:
        time.sleep(120)
    Path(folder, f"processes{comm.rank}").write_text(f"{os.getpid()} {child}")
    comm.all_reduce(np.ones(4))
    if comm.rank == rank:
        os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(120)
    return comm.rank


def stays(folder: str) -> None:
    comm = hm.init(timeout_s=60)
    Path(folder, f"processes{comm.rank}").write_text(f"{os.getpid()} {os.getppid()}")
    time.sleep(120)


def multiply() -> float:
    return float((np.ones((200, 200)) @ np.ones((200, 200))).sum())


def computes_after_a_fork_with_threads() -> tuple[float, int]:
    """A product with the library's own threads, which have not been forked."""
    return multiply(), len(os.sched_getaffinity(0))
