# SPDX-License-Identifier: Apache-2.0
"""What ranks of the tests of side channels do: they fail while nothing that tells of it can be written."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
from typing import Any

import torch
import torch.distributed as dist

from hemiola.torch import records


class _Noted(logging.Handler):
    """Keeps what the logger was told."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def failures() -> dict[str, tuple[list[str], list[str]]]:
    """For each place of PLACES: what operations raised while HEMIOLA_RECORD names it, and what was warned of."""
    records._LEAST_PAUSE_S = 0.0
    found = {}
    for place in os.environ["PLACES"].split(":"):
        os.environ["HEMIOLA_RECORD"] = place
        noted = _Noted()
        logging.getLogger("hemiola").addHandler(noted)
        found[place] = (
            [_mismatched(False), _mismatched(True), _lost(False), _lost(True), _signalled()],
            noted.lines,
        )
        logging.getLogger("hemiola").removeHandler(noted)
    del os.environ["HEMIOLA_RECORD"]
    return found


def metrics() -> list[str]:
    """Make a group whose metrics' port somebody has; return what was warned of."""
    noted = _Noted()
    logging.getLogger("hemiola").addHandler(noted)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        os.environ["LOCAL_RANK"] = "0"
        os.environ["HEMIOLA_PROMETHEUS"] = str(taken.getsockname()[1])
        for _ in range(2):
            dist.new_group([dist.get_rank()], use_local_synchronization=True)
    del os.environ["HEMIOLA_PROMETHEUS"]
    logging.getLogger("hemiola").removeHandler(noted)
    return noted.lines


def closed_stream() -> list[str]:
    """Fail while standard error, to which logs and warnings go, is closed for Python and for the kernel."""
    kept = os.dup(2)
    os.environ["HEMIOLA_RECORD"] = "/dev/null/record"
    with open(os.dup(2), "w") as stream:
        handler = logging.StreamHandler(stream)
        logging.getLogger("hemiola").addHandler(handler)
        before, sys.stderr = sys.stderr, stream
    os.close(2)
    try:
        return [_mismatched(False), _lost(True), _signalled()]
    finally:
        os.dup2(kept, 2)
        sys.stderr = before
        logging.getLogger("hemiola").removeHandler(handler)
        del os.environ["HEMIOLA_RECORD"]


def _mismatched(is_async: bool) -> str:
    x = torch.ones(3 + (dist.get_rank() == 1))
    return _raised(lambda: dist.all_reduce(x, async_op=is_async), is_async)


def _lost(is_async: bool) -> str:
    group = dist.new_group(list(range(dist.get_world_size())))
    dist.barrier(group=group)
    if dist.get_rank() == 1:
        dist.destroy_process_group(group)
        return "left"
    return _raised(lambda: dist.all_reduce(torch.ones(8), group=group, async_op=is_async), is_async)


def _raised(operation: Any, is_async: bool) -> str:
    try:
        work = operation()
        if is_async:
            work.wait()
    except Exception as error:
        return type(error).__name__
    return "nothing"


def _signalled() -> str:
    records.begin_recording()
    try:
        os.kill(os.getpid(), signal.SIGUSR2)
    except Exception as error:
        return type(error).__name__
    return "nothing"
