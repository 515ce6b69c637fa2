# SPDX-License-Identifier: Apache-2.0
"""Endurance of the runtime: ranks that are killed, stopped and closed at random moments, and a long mixed run.

Each trial is a job of its own: all ranks run random operations, in the world and in groups that they make and close,
until one of them is struck. Goal: no hang; every survivor raises the error of the right kind, which names the victim,
within 2 s of the event (of the timeout, for a rank that stands still), and finds its input as it was. The long run
checks every element, and that memory stays within 5 MB of what it was once caches had filled.

    python benchmarks/endurance.py [--kills 200] [--stops 50] [--closes 50] [--operations 5000]
                                   [--ranks 3] [--seed 1] [--json]

Exit code 1 where something was not as it should be; it is printed with the trial that shows it, by its seed."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # ranks are forked, and share the cores

import argparse
import contextlib
import dataclasses
import gc
import itertools
import json
import select
import signal
import statistics
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

import hemiola as hm
from hemiola.errors import HemiolaError
from hemiola.machine.capacity import describe_machine

SIZES = (1, 100, 3000, 60_000)
#: How long a rank may take to say what it has seen before it counts as hanging.
HANG_S = 60.0
#: What an operation may take where a rank stands still; no other event waits for it.
STOP_TIMEOUT_S = 3.0
#: What an error may take to reach a survivor.
PROMISE_S = 2.0
MOST_GROWTH_BYTES = 5 << 20

Report = dict[str, Any]


def operations(comm: hm.Communicator, seed: list[int]) -> Iterator[tuple[str, list[int], Callable[[], bool]]]:
    """Yield the same random operations on every rank: a name, the ranks, and what runs it and says if it was right."""
    rng = np.random.default_rng(seed)
    for number in itertools.count():
        kind = rng.choice(["all_reduce", "all_gather", "broadcast", "background", "group"])
        size, root = int(rng.choice(SIZES)), int(rng.integers(comm.rank_count))
        chosen = sorted(rng.permutation(comm.rank_count)[: rng.integers(1, comm.rank_count + 1)].tolist())
        ranks = chosen if kind == "group" else list(range(comm.rank_count))
        yield str(kind), ranks, _operation(comm, str(kind), size, root, chosen, number)


def _operation(
    comm: hm.Communicator, kind: str, size: int, root: int, chosen: list[int], number: int
) -> Callable[[], bool]:
    mine = np.arange(size, dtype=np.int64) % 1000 + comm.rank + number
    n = comm.rank_count
    total = n * (np.arange(size, dtype=np.int64) % 1000 + number) + n * (n - 1) // 2

    def run() -> bool:
        x = mine.copy()
        try:
            if kind == "all_reduce":
                return bool(np.array_equal(comm.all_reduce(x), total))
            if kind == "background":
                return bool(np.array_equal(comm.start_all_reduce(x).wait(), total))
            if kind == "all_gather":
                found = comm.all_gather(x).reshape(n, size)
                return all(np.array_equal(found[rank] - rank, mine - comm.rank) for rank in range(n))
            if kind == "broadcast":
                return bool(np.array_equal(comm.broadcast(x, root=root), mine - comm.rank + root))
            if comm.rank not in chosen:
                return True
            with comm.group(chosen) as group:
                expected = len(chosen) * (mine - comm.rank) + sum(chosen)
                return bool(np.array_equal(group.all_reduce(x), expected))
        except HemiolaError:
            if kind != "broadcast" and not np.array_equal(x, mine):
                raise AssertionError(f"{kind}: the input has changed") from None
            raise

    return run


@dataclasses.dataclass(frozen=True)
class Trial:
    """One job: which event strikes which rank, and when."""

    event: str  # "kill", "stop", "close in a thread" or "close in a handler"
    number: int
    seed: int
    ranks: int

    @property
    def victim(self) -> int:
        """Return the rank that is struck."""
        return int(np.random.default_rng([self.seed, self.number]).integers(self.ranks))

    @property
    def after_s(self) -> float:
        """Return how long after the start."""
        return float(np.random.default_rng([self.seed, self.number, 1]).uniform(0, 0.4))


def struck(trial: Trial, tell: Callable[[Report], None]) -> None:
    """Run as one rank until the event ends it; tell when it struck and what was seen."""
    comm = hm.init(timeout_s=STOP_TIMEOUT_S if trial.event == "stop" else HANG_S)
    if comm.rank == trial.victim:
        _strike_soon(comm, trial, tell)
    kind, ranks = "", [comm.rank]
    try:
        for operation in operations(comm, [trial.seed, trial.number]):
            kind, ranks, run = operation
            if not run():
                tell({"wrong": kind})
                return
    except HemiolaError as error:
        seen = {"during": kind, "ranks": ranks, "error": type(error).__name__, "message": str(error)}
        tell(seen | {"at_s": time.monotonic()})


def _strike_soon(comm: hm.Communicator, trial: Trial, tell: Callable[[Report], None]) -> None:
    """Have the event strike this rank, in the middle of whatever it does then."""

    def strike(*_: object) -> None:
        tell({"struck_at_s": time.monotonic()})
        if trial.event.startswith("close"):
            comm.close()
        else:
            os.kill(os.getpid(), signal.SIGKILL if trial.event == "kill" else signal.SIGSTOP)

    if trial.event == "close in a handler":
        signal.signal(signal.SIGUSR1, strike)
        threading.Timer(trial.after_s, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    else:
        threading.Timer(trial.after_s, strike).start()


class Job:
    """Ranks that are forked from this process, which never joins a job, so that they need not import anything."""

    def __init__(self, ranks: int, work: Callable[[Callable[[Report], None]], None]) -> None:
        self._pipes: list[int] = []
        self._processes: list[int] = []
        name = uuid.uuid4().hex
        for rank in range(ranks):
            read_end, write_end = os.pipe()
            process = os.fork()
            if process == 0:
                os.environ |= {
                    "HEMIOLA_JOB": name,
                    "HEMIOLA_RANK": str(rank),
                    "HEMIOLA_RANK_COUNT": str(ranks),
                }
                _work_and_exit(work, write_end)
            os.close(write_end)
            self._pipes.append(read_end)
            self._processes.append(process)

    def reports(self, limit_s: float, but: int | None = None) -> list[list[Report]]:
        """Return what each rank told until it closed its pipe; of `but`, only what it has told when others are done."""
        text = [b""] * len(self._pipes)
        waiting = set(self._pipes)
        deadline = time.monotonic() + limit_s
        while waiting - ({self._pipes[but]} if but is not None else set()):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            for pipe in select.select(list(waiting), [], [], left_s)[0]:
                data = os.read(pipe, 1 << 16)
                text[self._pipes.index(pipe)] += data
                if not data:
                    waiting.discard(pipe)
        hanging = [rank for rank, pipe in enumerate(self._pipes) if pipe in waiting and rank != but]
        told = [[json.loads(line) for line in one.splitlines()] for one in text]
        for rank in hanging:
            told[rank].append({"hangs": True})
        return told

    def end(self) -> None:
        """Kill what still runs, and reap all."""
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(pipe)


def _work_and_exit(work: Callable[[Callable[[Report], None]], None], pipe: int) -> None:
    """Run in a forked rank: tell in whole lines, and live on until the job ends, as ranks do that can go on."""
    parent = os.getppid()

    def tell(report: Report) -> None:
        os.write(pipe, json.dumps(report).encode() + b"\n")

    try:
        work(tell)
    except BaseException:
        tell({"raised": traceback.format_exc()})
    os.close(pipe)
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def judge(trial: Trial) -> tuple[list[str], list[float]]:
    """Run a trial; return what was not as it should be, and how long each survivor's error took."""
    job = Job(trial.ranks, lambda tell: struck(trial, tell))
    try:
        told = job.reports(HANG_S, but=trial.victim)
    finally:
        job.end()
    struck_at_s = next((line["struck_at_s"] for line in told[trial.victim] if "struck_at_s" in line), None)
    faults, took_s = [], []
    for rank, lines in enumerate(told):
        if rank == trial.victim:
            faults += [f"rank {rank}: {line}" for line in lines if {"raised", "wrong", "hangs"} & line.keys()]
            continue
        fault = _fault_of(trial, lines, struck_at_s)
        if fault and not _waited_for_one_who_knew(trial, rank, told):
            faults.append(f"rank {rank}: {fault}")
        elif struck_at_s is not None:
            took_s.append(lines[-1]["at_s"] - struck_at_s)
    return faults, took_s


def _fault_of(trial: Trial, lines: list[Report], struck_at_s: float | None) -> str:
    """Say what is wrong with what a survivor told; empty: nothing."""
    seen = lines[-1] if lines else {}
    if struck_at_s is None or "at_s" not in seen:
        return f"struck at {struck_at_s}, told {lines}"
    kind = "TimeoutError" if trial.event == "stop" else "LostRankError"
    limit_s = PROMISE_S + (STOP_TIMEOUT_S if trial.event == "stop" else 0)
    # A message of a group may call a rank by its number there.
    names = [trial.victim] + [place for place, rank in enumerate(seen["ranks"]) if rank == trial.victim]
    right = seen["error"] == kind and any(f"rank {name}" in seen["message"] for name in names)
    right = right and (not trial.event.startswith("close") or "closed" in seen["message"])
    return "" if right and seen["at_s"] - struck_at_s < limit_s else f"struck at {struck_at_s}, saw {seen}"


def _waited_for_one_who_knew(trial: Trial, rank: int, told: list[list[Report]]) -> bool:
    """Say whether a survivor names another that was kept, by the stopped rank, in a group of which it is not: it cannot
    know more than that."""
    message = told[rank][-1].get("message", "") if told[rank] else ""
    return trial.event == "stop" and any(
        f"rank {other} did not come" in message
        and rank not in lines[-1].get("ranks", [rank])
        and trial.victim in lines[-1]["ranks"]
        and not _fault_of(trial, lines, lines[-1]["at_s"])
        for other, lines in enumerate(told)
        if lines and other not in (rank, trial.victim)
    )


def mixed(count: int, seed: int, tell: Callable[[Report], None]) -> None:
    """Run many operations as one rank; tell how many were wrong, and how memory went."""
    comm = hm.init(timeout_s=HANG_S)
    wrong, memory = 0, []
    for number, (_, _, run) in enumerate(itertools.islice(operations(comm, [seed]), count)):
        wrong += not run()
        if number % max(1, count // 20) == 0:
            gc.collect()
            memory.append(_memory_bytes())
            tell({"done": number})
    gc.collect()
    memory.append(_memory_bytes())
    warm = memory[len(memory) // 5 :]
    tell({"wrong": wrong, "memory": memory, "growth": max(warm) - warm[0]})


def _memory_bytes() -> int:
    """Return what this process holds, and what the session's shared memory does, which it may have unmapped."""
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    private = int(lines["RssAnon"].split()[0]) << 10
    shared = 0
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith("/memfd:hemiola"):
                shared += os.stat(f"/proc/self/fd/{descriptor}").st_blocks * 512
    return private + shared


def run_trials(event: str, trials: list[Trial], progress: Progress) -> Report:
    """Run all trials of an event."""
    faults: list[str] = []
    took_s: list[float] = []
    for trial in progress.track(trials, description=f"{event}s"):
        wrong, took = judge(trial)
        faults += [f"{trial}: {one}" for one in wrong]
        took_s += took
    row: Report = {"event": event, "trials": len(trials), "faults": faults}
    if took_s:
        row |= {"median_s": round(statistics.median(took_s), 3), "longest_s": round(max(took_s), 3)}
    return row


def run_mixed(count: int, ranks: int, seed: int, progress: Progress) -> Report:
    """Run the long mixed job."""
    task = progress.add_task("operations", total=None)
    job = Job(ranks, lambda tell: mixed(count, seed, tell))
    try:
        told = job.reports(HANG_S + count)
    finally:
        job.end()
    progress.update(task, total=1, completed=1)
    last = [lines[-1] if lines else {} for lines in told]
    faults = [
        f"rank {rank}: {one}"
        for rank, one in enumerate(last)
        if one.get("wrong") != 0 or one.get("growth", MOST_GROWTH_BYTES) >= MOST_GROWTH_BYTES
    ]
    growth = max(one.get("growth", 0) for one in last)
    return {"event": "operation", "trials": count, "faults": faults, "growth_MB": round(growth / 1e6, 2)}


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description="Endurance of the runtime.")
    for name, count in (("kills", 200), ("stops", 50), ("closes", 50), ("operations", 5000)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each event")
    asked = parser.parse_args()
    closes = ("close in a thread", "close in a handler")
    trials = {
        "kill": [Trial("kill", n, asked.seed, asked.ranks) for n in range(asked.kills)],
        "stop": [Trial("stop", n, asked.seed, asked.ranks) for n in range(asked.stops)],
        "close": [Trial(closes[n % 2], n, asked.seed, asked.ranks) for n in range(asked.closes)],
    }
    begin_s, failed = time.monotonic(), False
    with Progress(console=Console(stderr=True)) as progress:
        rows = (run_trials(event, some, progress) for event, some in trials.items() if some)
        long_run = (
            run_mixed(asked.operations, asked.ranks, asked.seed, progress)
            for _ in range(asked.operations > 0)
        )
        for row in itertools.chain(rows, long_run):
            failed = failed or bool(row["faults"])
            print(json.dumps(row) if asked.json else _sentence(row), flush=True)
    total = {"seed": asked.seed, "ranks": asked.ranks, "seconds": round(time.monotonic() - begin_s, 1)}
    if asked.json:
        print(json.dumps(total | {"machine": describe_machine()}))
    return 1 if failed else 0


def _sentence(row: Report) -> str:
    figures = ", ".join(f"{name} {value}" for name, value in row.items() if name.endswith(("_s", "_MB")))
    return "\n".join(
        [f"{row['trials']} {row['event']}s: {len(row['faults'])} faults, {figures}", *row["faults"]]
    )


if __name__ == "__main__":
    sys.exit(main())
