# SPDX-License-Identifier: Apache-2.0
"""Runs in each process that hemiola.launch starts: calls the function, and reports how it ended."""

from __future__ import annotations

import contextlib
import multiprocessing.process
import multiprocessing.spawn
import os
import pickle
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from hemiola.communicator.emulation import set_launched_emulation
from hemiola.communicator.last_words import cause_of, own_cause
from hemiola.communicator.open_communicators import say_why_it_ends
from hemiola.launch.report import REPORT_LENGTH
from hemiola.launch.travel import packed

#: Whether this process is a rank that is importing the script which launched it.
_importing_script = False


def is_importing_script() -> bool:
    """Return whether this is a rank whose launching script is being imported: its top level must not launch again."""
    return _importing_script


@contextlib.contextmanager
def _marked_as_importing_script() -> Iterator[None]:
    global _importing_script
    _importing_script = True
    try:
        yield
    finally:
        _importing_script = False


def _differ_from_other_ranks() -> None:
    """Have secrets and random numbers of its own, which a process of its own would have made when it loaded this.

    Python's `random` sees to that itself; hashes of text stay those of the fork server on all ranks.
    """
    multiprocessing.process.current_process().authkey = os.urandom(32)
    if random := sys.modules.get("numpy.random"):
        random.seed()


def _keep_from_children(report: int) -> None:
    """Have forked children close it: only the rank itself has something to report."""
    held = [report]

    def close() -> None:
        if held:
            os.close(held.pop())

    os.register_at_fork(after_in_child=close)


def _call(payload: int) -> Any:
    with os.fdopen(os.open(f"/proc/self/fd/{payload}", os.O_RDONLY), "rb") as file:
        preparation, emulation, call = pickle.load(file)
    set_launched_emulation(emulation)
    with _marked_as_importing_script():
        multiprocessing.spawn.prepare(preparation)
    fn, args = pickle.loads(call)
    return fn(*args)


def _of_function(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from where it leaves this file, as it would be if the function had been called by the user."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def _report_of(payload: int) -> bytes:
    """Call the function and pickle how it ended. In a child that it has forked, what it raises goes on."""
    process = os.getpid()
    try:
        return pickle.dumps(("result", packed(_call(payload))))
    except BaseException as error:
        if os.getpid() != process:
            raise
        say_why_it_ends(error)
        text = "".join(traceback.format_exception(type(error), error, _of_function(error.__traceback__)))
        cause = cause_of(error) or own_cause(error)
        try:
            return pickle.dumps(("error", (pickle.loads(pickle.dumps(error)), text, cause)))
        except Exception:  # an exception that cannot travel is told by its text
            return pickle.dumps(("error", (None, text, cause)))


def run(payload: int, report: int) -> None:
    """Be one rank: call the function in the file `payload`, and write to the pipe `report` how it ended."""
    process = os.getpid()
    _differ_from_other_ranks()
    _keep_from_children(report)
    text = _report_of(payload)
    if os.getpid() == process:
        with os.fdopen(os.dup(report), "wb") as file:
            file.write(REPORT_LENGTH.pack(len(text)) + text)
