# SPDX-License-Identifier: Apache-2.0
"""How fast the judge and the two forms of a schedule are. One JSON line per case.

Goal (issue "the corridor", 3): the ring all-reduce of 1,024 ranks (2.1 million transfers) judged in under 5 s and 2 GB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import hemiola as hm
from hemiola.machine.capacity import describe_machine


def seconds_of(action: Callable[[], object], repeats: int) -> dict[str, float]:
    """Return the median and the spread of wall and CPU time (of all threads) over some runs."""
    wall, cpu = [], []
    for _ in range(repeats):
        began, used = time.perf_counter(), time.process_time()
        action()
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    return {
        "wall_s": round(statistics.median(wall), 4),
        "wall_min_s": round(min(wall), 4),
        "wall_max_s": round(max(wall), 4),
        "cpu_s": round(statistics.median(cpu), 4),
    }


def report(case: str, schedule: hm.Schedule, **figures: object) -> None:
    """Print one line."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    line = {"case": case, "transfers": schedule.transfer_count, **figures, "peak_memory_bytes": peak}
    print(json.dumps(line), flush=True)


def is_right(schedule: hm.Schedule | hm.ScheduleFile) -> None:
    """Judge, and stop the benchmark where the answer is not the expected one."""
    if hm.verify(schedule):
        raise SystemExit("the judge found violations in a schedule that is right")


def measure(ranks: int, repeats: int, folder: Path) -> None:
    """Measure building, judging, writing and reading a ring all-reduce."""
    print(json.dumps({"machine": describe_machine(), "ranks": ranks, "repeats": repeats}), flush=True)
    schedule = hm.algorithms.all_reduce_ring(ranks)
    report("build", schedule, **seconds_of(lambda: hm.algorithms.all_reduce_ring(ranks), repeats))
    goal = {"goal_s": 5.0} if ranks == 1024 else {}
    report("verify", schedule, **seconds_of(lambda: is_right(schedule), repeats), **goal)
    for form, name in (("text", "ring.sched"), ("binary", "ring.schedb")):
        path = folder / name
        write = seconds_of(partial(schedule.save, path), repeats)
        report(
            f"write {form}",
            schedule,
            **write,
            bytes_per_transfer=path.stat().st_size / schedule.transfer_count,
        )
        report(f"read {form}", schedule, **seconds_of(partial(hm.Schedule.load, path), repeats))
    file = hm.ScheduleFile(folder / "ring.schedb")
    report("verify a file", schedule, **seconds_of(lambda: is_right(file), repeats))


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments.ranks, arguments.repeats, Path(folder))


if __name__ == "__main__":
    main()
