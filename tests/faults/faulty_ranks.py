# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a fault test do. Each returns what it saw, as plain data."""

from __future__ import annotations

import ast
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import hemiola as hm
from hemiola.communicator.open_communicators import is_open
from hemiola.errors import HemiolaError
from hemiola.planner.communicator_plans import CommunicatorPlans
from waiting import tell, wait_until_told

#: What a rank saw: the name of the exception it got (or ""), its message, and anything else.
Seen = tuple[str, str, Any]

BIG = 1 << 20


def attempt(call: Callable[[], Any]) -> tuple[str, str]:
    """Call something that should raise; return the exception's type and message."""
    try:
        call()
    except HemiolaError as error:
        return type(error).__name__, str(error)
    return "", ""


def start() -> hm.Communicator:
    """Join the others and warm up."""
    comm = hm.init(timeout_s=60)
    comm.all_reduce(np.ones(4, np.float32))
    return comm


def input_of(rank: int, size: int = BIG) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return an input that is a function of the rank."""
    return np.arange(size, dtype=np.float32) % 1000 + rank


def doomed_in_the_middle(victim: int, how: int, timeout_s: float, op: Any = "sum", size: int = BIG) -> Seen:
    """All-reduce big arrays in place until the victim is struck by a signal in the middle of one."""
    comm = start()
    if comm.rank == victim:
        threading.Timer(0.2, os.kill, (os.getpid(), how)).start()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        x = input_of(comm.rank, size)
        struck = time.monotonic()
        error = attempt(lambda x=x: comm.all_reduce(x, op, timeout_s=timeout_s))
        if error[0]:
            intact = bool(np.array_equal(x, input_of(comm.rank, size)))
            again = attempt(lambda: comm.all_reduce(np.ones(1)))
            return *error, (intact, time.monotonic() - struck, again[0])
    return "", "", None


def doomed_reading(kind: str, victim: int, size: int) -> Seen:
    """Run a collective that sends the same bytes to all until the victim is killed; return the wrong elements."""
    comm = start()
    wrong = turn = 0
    sizes = [size >> of if kind.endswith("_blocks") else size for of in range(comm.rank_count)]
    sent, got = np.empty(sizes[comm.rank], np.int32), np.empty(sum(sizes), np.int32)
    parts = np.split(got, np.cumsum(sizes)[:-1])
    calls: dict[str, Callable[[], Any]] = {
        "broadcast": lambda: comm.broadcast(sent),
        "all_gather": lambda: comm.all_gather(sent, out=got),
        "all_gather_blocks": lambda: comm.all_gather_blocks(sent, parts),
        "all_to_all_blocks": lambda: comm.all_to_all_blocks([sent] * comm.rank_count, parts),
    }
    while True:
        turn += 1
        sent[:] = np.arange(sent.size) + turn + comm.rank
        try:
            calls[kind]()
            if comm.rank == victim and turn == 1:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGKILL)).start()
            found = [(sent, 0)] if kind == "broadcast" else list(zip(parts, range(len(parts)), strict=True))
            wrong += sum(int((one != np.arange(one.size) + turn + of).sum()) for one, of in found)
        except hm.LostRankError as error:
            return "LostRankError", str(error), (wrong, turn > 1)


def shrinking(deaths: dict[int, float]) -> Seen:
    """All-reduce while the doomed die, each so many seconds after the start, going on without them every time, and
    measuring nothing again."""
    comm = start()
    CommunicatorPlans.measure = mock.Mock(side_effect=AssertionError("measured"))  # type: ignore[method-assign]
    own = comm.rank
    if own in deaths:
        threading.Timer(deaths[own], os.kill, (os.getpid(), signal.SIGKILL)).start()
    survivors = [rank for rank in range(comm.rank_count) if rank not in deaths]
    while comm.rank_count > len(survivors):
        try:
            comm.all_reduce(np.ones(1000))
        except hm.LostRankError:
            comm = comm.shrink(timeout_s=20)
    right = True
    for turn in range(20):
        x = np.full(1000, own + turn, np.int64)
        comm.all_reduce(x)
        right &= bool((x == sum(survivors) + turn * len(survivors)).all())
    return "", "", (right, comm.rank == survivors.index(own), hm.init() is comm)


def shrinking_alone(stubborn: int, folder: str) -> Seen:
    """Lose nobody, and try to go on without one that lives and comes only once all others have given up."""
    comm = start()
    seen = "", ""
    if comm.rank != stubborn:
        seen = attempt(lambda: comm.shrink(timeout_s=0.5))
        Path(folder, str(comm.rank)).touch()
    while len(os.listdir(folder)) < comm.rank_count - 1:
        time.sleep(0.01)
    shrunk = comm.shrink()
    return *seen, (int(shrunk.all_reduce(np.ones(1))[0]), comm.shrink() is shrunk)


def shrinking_beside_one_who_works(worker: int) -> Seen:
    """Lose nobody, and shrink while one rank waits for the others in an operation of the old communicator."""
    comm = start()
    seen = attempt(lambda: comm.all_reduce(input_of(comm.rank))) if comm.rank == worker else ("", "")
    shrunk = comm.shrink()
    closed, _ = attempt(lambda: comm.all_reduce(np.ones(1)))
    total = int(shrunk.all_reduce(np.ones(1))[0])
    return *seen, (is_open(comm), is_open(shrunk), bool(closed), total)


def doomed_at_a_known_time(victim: int) -> float:
    """All-reduce until the victim, which prints when it dies, is killed; return when the error came.

    Times are of CLOCK_MONOTONIC, which all processes of a machine share.
    """
    comm = start()

    def die() -> None:
        print(time.monotonic(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

    if comm.rank == victim:
        threading.Timer(0.2, die).start()
    x = input_of(comm.rank)
    while not attempt(lambda: comm.all_reduce(x))[0]:
        pass
    return time.monotonic()


def one_stays_away(absent: int, timeout_s: float, choosing_s: float = 0.0) -> Seen:
    """All but one call all_reduce, whose schedule takes so long to choose; that one is asleep."""
    decide = CommunicatorPlans.decide

    def decide_slowly(plans: CommunicatorPlans, kind: str, nbytes: int, *more: Any) -> bytes:
        time.sleep(choosing_s if nbytes >= BIG else 0)
        return decide(plans, kind, nbytes, *more)

    CommunicatorPlans.decide = decide_slowly  # type: ignore[method-assign]
    comm = start()
    if comm.rank == absent:
        time.sleep(3 * timeout_s)
        return *attempt(lambda: comm.all_reduce(input_of(comm.rank))), None
    x = input_of(comm.rank)
    error = attempt(lambda: comm.all_reduce(x, timeout_s=timeout_s))
    return *error, bool(np.array_equal(x, input_of(comm.rank)))


def one_exits(leaver: int) -> Seen:
    """One rank's process ends before the operation the others call."""
    comm = start()
    if comm.rank == leaver:
        os._exit(0)
    return *attempt(lambda: comm.all_reduce(np.ones(8))), None


def one_dies_before_a_group(victim: int, absent: int, folder: str) -> Seen:
    """One rank is dead and another stays away, alive, until the rest, who want a group of all, have an answer."""
    comm = start()
    if comm.rank == victim:
        os._exit(0)
    if comm.rank == absent:
        wait_until_told(folder, *set(range(comm.rank_count)) - {victim, absent})
        return "", "", 0.0
    began = time.monotonic()
    error = attempt(lambda: comm.group(range(comm.rank_count)))
    took_s = time.monotonic() - began
    tell(folder, comm.rank)
    return *error, took_s


def one_dies_before_a_smaller_group(victim: int) -> Seen:
    """The others but rank 0 want a group with one that is dead; return which rank they are told."""
    comm = start()
    if comm.rank == victim:
        os._exit(0)
    if comm.rank == 0:
        return "", "", None
    try:
        comm.group(range(1, comm.rank_count))
    except hm.LostRankError as error:
        return "LostRankError", str(error), (error.rank, error.world_rank)
    return "", "", None


def disagree(call: str, odd: int) -> Seen:
    """All ranks make a call, the odd one with other arguments; then all make a good one."""
    comm = start()
    x = input_of(comm.rank, 5000)
    before = x.copy()
    error = attempt(lambda: CALLS[call](comm, x, comm.rank == odd))
    intact = bool(np.array_equal(x, before))
    total = comm.all_reduce(np.full(3, comm.rank + 1.0))
    good = bool(np.all(total == sum(range(1, comm.rank_count + 1))))
    return *error, (intact, good)


def _read_only(x: Any) -> Any:
    x = x.copy()
    x.flags.writeable = False
    return x


CALLS: dict[str, Callable[[hm.Communicator, Any, bool], Any]] = {
    "shape": lambda comm, x, odd: comm.all_reduce(x[:4000] if odd else x),
    "dimensions": lambda comm, x, odd: comm.all_reduce(x[:4000].reshape(50, 80) if odd else x),
    "dtype": lambda comm, x, odd: comm.all_reduce(x.view(np.int32) if odd else x),
    "op": lambda comm, x, odd: comm.all_reduce(x, "max" if odd else "sum"),
    "order": lambda comm, x, odd: comm.broadcast(x) if odd else comm.all_reduce(x),
    "root": lambda comm, x, odd: comm.broadcast(x, root=1 if odd else 0),
    "schedule": lambda comm, x, odd: comm.all_reduce(
        x, schedule="all_reduce_ring" if odd else "all_reduce_direct"
    ),
    "not contiguous": lambda comm, x, odd: comm.all_reduce(np.zeros((9, 9), np.float32)[::2] if odd else x),
    "read-only": lambda comm, x, odd: comm.all_reduce(_read_only(x) if odd else x),
    "no array": lambda comm, x, odd: comm.all_reduce([1, 2, 3] if odd else x),  # type: ignore[arg-type]
    "unknown dtype": lambda comm, x, odd: comm.all_reduce(x.astype("M8[s]") if odd else x),
    "big-endian": lambda comm, x, odd: comm.all_reduce(x.astype(">f4") if odd else x),
    "unknown op": lambda comm, x, odd: comm.all_reduce(x, "median" if odd else "sum"),
    "senseless op": lambda comm, x, odd: comm.all_reduce(x, "xor" if odd else "sum"),
    "unknown algorithm": lambda comm, x, odd: comm.all_reduce(x, schedule="bogus" if odd else None),
    "other collective's algorithm": lambda comm, x, odd: comm.all_reduce(
        x, schedule="all_gather_ring" if odd else None
    ),
    "other rank count": lambda comm, x, odd: comm.all_reduce(
        x, schedule=hm.algorithms.all_reduce_ring(comm.rank_count + 1) if odd else None
    ),
    "unknown root": lambda comm, x, odd: comm.broadcast(x, root=99 if odd else 0),
    "negative root": lambda comm, x, odd: comm.broadcast(x, root=-1 if odd else 0),
    "indivisible": lambda comm, x, odd: comm.reduce_scatter(x[: comm.rank_count + 1] if odd else x[:60]),
    "wrong out": lambda comm, x, odd: comm.all_gather(x, out=np.zeros(7, np.float32) if odd else None),
    "overlap": lambda comm, x, odd: comm.all_reduce(
        x[:100], out=x[50:150] if odd else np.empty_like(x[:100])
    ),
    "bad timeout": lambda comm, x, odd: comm.all_reduce(x, timeout_s=-1 if odd else None),
}


def unfinished_schedule(ranks: int) -> hm.Schedule:
    """Return an all-gather that leaves out the last rank, which alone can tell."""
    rows = [(0, src, dst, src, False) for src in range(ranks) for dst in range(ranks - 1) if src != dst]
    return hm.Schedule.from_transfers(hm.Collective.make("all_gather", ranks, ranks), rows)


def misled(unchecked: bool) -> Seen:
    """All ranks run a schedule that cannot give the last one what it wants."""
    comm = start()
    schedule = unfinished_schedule(comm.rank_count)
    return *attempt(lambda: comm.all_gather(np.ones(3), schedule=schedule, unchecked=unchecked)), None


def wrong_twice(odd: int) -> Seen:
    """One rank makes many mistakes in a row, faster than the others notice."""
    comm = start()
    errors = []
    for number in range(20):
        if comm.rank != odd and number % 5 == 0:
            time.sleep(0.02)
        errors.append(
            attempt(lambda: comm.all_reduce(np.ones(10), "median" if comm.rank == odd else "sum"))[0]
        )
    total = comm.all_reduce(np.full(3, 1.0))
    return "", "", (errors, float(total[0]) == comm.rank_count)


def interrupted(victim: int, folder: str) -> Seen:
    """One rank's blocking call is interrupted as by Ctrl-C, while another has not come yet."""
    comm = start()
    x = input_of(comm.rank)
    comm.all_reduce(x)  # planning and imports are over: the next call does nothing but wait
    if comm.rank == victim:
        # A shell has what it starts in the background ignore Ctrl-C, and these processes inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            comm.all_reduce(x)
        except KeyboardInterrupt:
            tell(folder, victim)
            return "KeyboardInterrupt", "", None
    if comm.rank == comm.rank_count - 1:
        wait_until_told(folder, victim)  # however late a busy machine starts the timer's thread
    return *attempt(lambda: comm.all_reduce(x)), None


def main() -> None:
    """Run one function of this module with the arguments of the command line; print what it saw."""
    name, *arguments = sys.argv[1:]
    print(repr(globals()[name](*map(ast.literal_eval, arguments))), flush=True)


if __name__ == "__main__":
    main()
