# SPDX-License-Identifier: Apache-2.0
"""What ranks do that close, are interrupted or fork in the middle of a call. Each returns what it saw."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from faulty_ranks import attempt

import hemiola as hm
from waiting import tell, wait_until_told

RANKS = 3
VICTIM = 1
BIG = 1 << 18


def start() -> tuple[hm.Communicator, Any]:
    """Join the others and warm up."""
    comm = hm.init(timeout_s=60)
    x = np.ones(BIG, np.float32)
    comm.all_reduce(np.ones(BIG, np.float32))
    return comm, x


def first_error(call: Callable[[], Any]) -> tuple[str, str, float]:
    """Call again and again until it raises; return the error and how long the last call took."""
    while True:
        began = time.monotonic()
        error = attempt(call)
        if error[0]:
            return *error, time.monotonic() - began


def until_all_have_seen(folder: str, rank: int, rank_count: int = RANKS) -> None:
    """Live on until all ranks have what they wait for: nobody may be taken for dead before."""
    tell(folder, rank)
    wait_until_told(folder, *range(rank_count))


def signalled_soon(handler: Callable[[], None], after_s: float = 0.2) -> None:
    """Have a signal interrupt the main thread and call the handler there."""
    signal.signal(signal.SIGUSR1, lambda *_: handler())
    threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGUSR1)).start()


def closed_in_the_middle(by: str, folder: str) -> tuple[str, str, float]:
    """One rank closes from another thread or from a signal handler while all call all_reduce."""
    comm, x = start()
    if comm.rank == VICTIM and by == "thread":
        threading.Timer(0.2, comm.close).start()
    elif comm.rank == VICTIM:
        signalled_soon(comm.close)
    seen = first_error(lambda: comm.all_reduce(x))
    until_all_have_seen(folder, comm.rank)
    return seen


def closed_in_the_background(folder: str) -> str:
    """One rank closes while an operation waits in the background for a rank that comes once all others know."""
    comm, x = start()
    if comm.rank == 0:
        wait_until_told(folder, *range(1, RANKS))
        seen = attempt(lambda: comm.all_reduce(x))[1]
    else:
        handle = comm.start_all_reduce(x)
        if comm.rank == VICTIM:
            time.sleep(0.1)
            comm.close()
        seen = attempt(handle.wait)[1]
    until_all_have_seen(folder, comm.rank)
    return seen


def aborted_in_the_middle(by: str, folder: str) -> tuple[str, str, float]:
    """One rank aborts, while another does not come, until all know, to the operation that the rest wait in."""
    comm, x = start()
    absent = comm.rank == 0
    if comm.rank == VICTIM and by == "thread":
        threading.Timer(0.2, comm.abort, ["the loss is no number"]).start()
    elif comm.rank == VICTIM:
        signalled_soon(lambda: comm.abort("the loss is no number"))
    if absent:
        wait_until_told(folder, *range(1, RANKS))
    handle = comm.start_all_reduce(x) if by == "background" else None
    if comm.rank == VICTIM and handle is not None:
        time.sleep(0.2)
        comm.abort("the loss is no number")
        comm.abort("twice")
    seen = first_error(handle.wait if handle is not None else lambda: comm.all_reduce(x))
    until_all_have_seen(folder, comm.rank)
    return seen


def aborted_while_others_receive(folder: str) -> tuple[str, str, float]:
    """One rank aborts between two calls; the others wait for messages of each other, not of that one."""
    comm, _ = start()
    if comm.rank == VICTIM:
        under_way = comm.start_recv(np.ones(1), src=0)
        time.sleep(0.2)
        comm.abort("no more of this")
        assert "no more of this" in first_error(under_way.wait)[1]
        seen = first_error(lambda: comm.all_reduce(np.ones(1)))
    else:
        seen = first_error(lambda: comm.recv(np.ones(1), src=2 - comm.rank))
    until_all_have_seen(folder, comm.rank)
    return seen


def closed_before_the_call(folder: str) -> tuple[str, str, float]:
    """One rank has closed, and lives, when the others call."""
    comm, x = start()
    if comm.rank == VICTIM:
        comm.close()
    seen = first_error(lambda: comm.all_reduce(x))
    until_all_have_seen(folder, comm.rank)
    return seen


def group_with_one_that_has_closed(folder: str) -> tuple[str, str, float]:
    """One rank has closed, and lives, when the others want a group with it."""
    comm, _ = start()
    everybody = range(comm.rank_count)
    if comm.rank == VICTIM:
        comm.close()
    seen = first_error(lambda: comm.group(everybody))
    until_all_have_seen(folder, comm.rank)
    return seen


def group_with_one_that_has_given_up(folder: str) -> tuple[str, str, float]:
    """One rank gives up because another does not come in time; that one, unaware, wants a group with it."""
    comm, x = start()
    if comm.rank == 0:
        seen = first_error(lambda: comm.all_reduce(x, timeout_s=0.2))
    else:
        wait_until_told(folder, 0)
        seen = first_error(lambda: comm.group([0, comm.rank]))
    until_all_have_seen(folder, comm.rank, 2)
    return seen


def interrupted_while_it_joins() -> tuple[str, float]:
    """A rank's wait for one that never joins is interrupted as by Ctrl-C."""
    os.environ["HEMIOLA_RANK_COUNT"] = os.environ["HEMIOLA_LOCAL_RANK_COUNT"] = "2"
    signal.signal(signal.SIGUSR1, signal.default_int_handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    began = time.monotonic()
    try:
        hm.init(timeout_s=60)
    except KeyboardInterrupt:
        return "KeyboardInterrupt", time.monotonic() - began
    return "", time.monotonic() - began


def called_from_a_handler(call: str, folder: str) -> tuple[tuple[str, str], bool]:
    """One rank's wait is interrupted by a handler that calls something; return what it got, and if the sum is right."""
    comm, x = start()
    got: list[tuple[str, str]] = []
    calls: dict[str, Callable[[], Any]] = {
        "all_reduce": lambda: comm.all_reduce(np.ones(1)),
        "in the background": lambda: comm.start_all_reduce(np.ones(1)),
        "plan": lambda: comm.plan("all_gather", 1000),
        "health": comm.health,
        "arrivals": comm.arrivals,
        "expects_late_rank": lambda: comm.expects_late_rank(1000),
    }

    def handle() -> None:
        got.append(attempt(calls[call]))
        tell(folder, comm.rank)

    if comm.rank == VICTIM:
        signalled_soon(handle)
    if comm.rank == 0:
        wait_until_told(folder, VICTIM)
    total = comm.all_reduce(x)
    return got[0] if got else ("", ""), bool(np.all(total == comm.rank_count))


def looked_at_from_another_thread(folder: str) -> None:
    """The main thread waits for an operation of another one, which ends only once a signal has been heard there."""
    comm, x = start()
    if comm.rank == 0:
        wait_until_told(folder, 1)
        comm.all_reduce(x)
        return
    runner = threading.Thread(target=comm.all_reduce, args=(x,))
    runner.start()
    time.sleep(0.1)
    signalled_soon(lambda: tell(folder, comm.rank))
    comm.arrivals()
    runner.join()


def forked() -> tuple[int, list[str], bool]:
    """Each rank forks a child that tries to use what it has a copy of, and exits as processes do."""
    comm, x = start()
    pending = comm.start_all_reduce(x)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        calls: list[Callable[[], Any]] = [
            lambda: comm.all_reduce(x),
            comm.arrivals,
            lambda: comm.group([comm.rank]),
            pending.wait,
            hm.init,
        ]
        os.write(write_end, "\n".join(attempt(call)[0] for call in calls).encode())
        comm.close()
        del comm, pending, calls  # nothing of these may be taken apart here
        _exit_as_a_process_does()
    os.close(write_end)
    with os.fdopen(read_end) as file:
        errors = file.read().split("\n")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    pending.wait()
    return code, errors, bool(np.all(comm.all_reduce(np.ones(3)) == comm.rank_count))


def _exit_as_a_process_does() -> None:
    """Run what is registered to run at the end, then leave."""
    import atexit

    atexit._run_exitfuncs()
    os._exit(5)


def groups_made_and_closed(groups: int) -> tuple[int, int]:
    """Make, use and close groups; return this process's memory after the first few and at the end, in bytes."""
    comm, _ = start()
    kept = []  # what is closed costs next to nothing, even while somebody holds it
    first = 0
    for number in range(groups):
        group = comm.group(range(comm.rank_count))
        group.all_reduce(np.ones(1 << (number % 12), np.float32))
        group.close()
        kept.append(group)
        if number == groups // 4:
            first = resident_bytes()
    return first, resident_bytes()


def resident_bytes() -> int:
    """Return how much memory this process has, shared pages among it."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
