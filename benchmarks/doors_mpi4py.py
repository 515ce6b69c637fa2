# SPDX-License-Identifier: Apache-2.0
"""mpi4py's row of benchmarks/doors.py: programs over Hemiola and over the MPI that mpi4py finds.

MPI4PY_DEMOS may name the folder `demo` of mpi4py's sources, whose programs then run, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from doors_row import Row, Timing
from hemiola.whole_file import write_whole

ROOT = Path(__file__).resolve().parent.parent
RANKS = 2
#: mpi4py's demos, and what is typed into them.
DEMOS = {
    "helloworld.py": "", "compute-pi/cpi-cco.py": "100\n0\n", "mandelbrot/mandelbrot.py": "", "osu_allgather.py": "",
    "osu_alltoall.py": "", "osu_alltoallv.py": "", "osu_barrier.py": "", "osu_bcast.py": "", "osu_bibw.py": "",
    "osu_bw.py": "", "osu_gather.py": "", "osu_latency.py": "", "osu_scatter.py": "",
}  # fmt: skip
_TIMED = """
import statistics, time, numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
for size in (1 << 10, 1 << 20):
    x, y, taken = np.ones(size // 4, np.float32), np.empty(size // 4, np.float32), []
    for _ in range(60):
        comm.Barrier(); begin = time.perf_counter(); comm.Allreduce(x, y); taken.append(time.perf_counter() - begin)
    if comm.Get_rank() == 0: print("took", size, 1e6 * statistics.median(taken[10:]), flush=True)
"""
_KILLED = """
import os, numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.Get_rank() == 1: os.kill(os.getpid(), 9)
try:
    for _ in range(100): comm.Allreduce(np.ones(3), np.ones(3))
except Exception as error:
    print(type(error).__name__, error, flush=True)
"""


def ran(
    launch: Sequence[str], program: Path, typed: str = "", limit_s: float = 300
) -> tuple[bool, str, float]:
    """Run a program; return whether it ended well, what it printed, and its seconds."""
    begin = time.monotonic()
    try:
        ended = subprocess.run(
            [*launch, program], input=typed, capture_output=True, text=True, timeout=limit_s,
            env=os.environ | {"MPLBACKEND": "Agg"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, f"nothing within {limit_s:g} s", limit_s
    text = re.sub(r"^\[\d+\] ", "", ended.stdout, flags=re.M)
    return ended.returncode == 0, text or ended.stderr, time.monotonic() - begin


def rows() -> list[Row]:
    """Run programs over both, time an all-reduce, and kill a rank of each."""
    import mpi4py

    python = sys.executable
    ours = [python, "-m", "hemiola", "launch", "-n", str(RANKS), python, "-m", "hemiola.mpi"]
    theirs = [str(Path(python).with_name("mpirun")), "-n", str(RANKS), python]
    tried, wrong = ["tests/doors/mpi_everything.py"], []
    everything = ROOT / tried[0]
    if ran(ours, everything)[1] != ran(theirs, everything)[1]:
        wrong.append(tried[0])
    for name, typed in DEMOS.items() if os.environ.get("MPI4PY_DEMOS") else ():
        tried.append(name)
        if not ran(ours, Path(os.environ["MPI4PY_DEMOS"]) / name, typed)[0]:
            wrong.append(name)
    texts = {
        name: [ran(launch, _written(name, source)) for launch in (ours, theirs)]
        for name, source in {"timed": _TIMED, "killed": _KILLED}.items()
    }
    ours_us, theirs_us = (re.findall(r"took (\d+) ([\d.]+)", text) for _, text, _ in texts["timed"])
    timings = [
        Timing(f"Allreduce of {int(size) // 1024} KiB, {RANKS} ranks", float(own), float(its))
        for (size, own), (_, its) in zip(ours_us, theirs_us, strict=True)
    ]
    ends = [
        f"{' '.join(text.split())[:160]} ({seconds:.1f} s with the start)"
        for _, text, seconds in texts["killed"]
    ]
    return [Row("mpi4py", mpi4py.__version__, tried, wrong, timings, ends[0], ends[1])]


def _written(name: str, source: str) -> Path:
    """Write a program into the build folder."""
    path = ROOT / f"build/doors_{name}.py"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, source)
    return path
