"""What runs in each process that hemiola.launch starts: python -m hemiola.launch.rank <payload> <report> <parent>."""

from __future__ import annotations

import multiprocessing.spawn
import os
import pickle
import sys
import traceback
from typing import Any

from hemiola.communicator.emulation import set_launched_emulation
from hemiola.environment.kernel import end_with_parent
from hemiola.launch.local_ranks import importing_script
from hemiola.launch.report import REPORT_LENGTH
from hemiola.launch.travel import packed


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
    with importing_script():
        multiprocessing.spawn.prepare(preparation)
    fn, args = pickle.loads(call)
    return fn(*args)


def _report_of(payload: int) -> bytes:
    """Call the function and pickle how it ended. In a child that it has forked, what it raises goes on."""
    process = os.getpid()
    try:
        return pickle.dumps(("result", packed(_call(payload))))
    except BaseException as error:
        if os.getpid() != process:
            raise
        text = "".join(traceback.format_exception(error))
        try:
            return pickle.dumps(("error", (pickle.loads(pickle.dumps(error)), text)))
        except Exception:  # an exception that cannot travel is told by its text
            return pickle.dumps(("error", (None, text)))


def main() -> None:
    """Run one rank."""
    payload, report, parent = (int(number) for number in sys.argv[1:4])
    end_with_parent(parent)
    process = os.getpid()
    _keep_from_children(report)
    text = _report_of(payload)
    if os.getpid() == process:
        with os.fdopen(os.dup(report), "wb") as file:
            file.write(REPORT_LENGTH.pack(len(text)) + text)


if __name__ == "__main__":
    main()
