# SPDX-License-Identifier: Apache-2.0
"""Figure 6, right: one reduce-scatter written in Python with mpi4py and run by the engine, measured on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from hemiola import algorithms
from hemiola._core import Schedule
from hemiola.communicator import init
from hemiola.environment import WIRE
from hemiola.errors import ArgumentError, FailedRankError
from hemiola.launch import launch
from hemiola.machine.capacity import core_count
from hemiola.measure.pattern import Pattern
from hemiola.measure.trial import RankTimes, Trial, combine, measure
from hemiola.units import format_bytes
from hemiola.whole_file import write_whole
from papers import ROOT
from papers.pccl.mpi4py_rank import ORDERS, RESULTS, Order, Result
from papers.report import Report

_TIMEOUT_S = 300.0
_KIND: Final = "reduce_scatter"


@dataclass(frozen=True)
class Setting:
    """So many nodes of one rank each; `rounds` alternating launches of `repeats` each."""

    rank_count: int
    between: str
    sizes: tuple[int, ...] = (4 << 10, 64 << 10, 1 << 20, 16 << 20)
    rounds: int = 2
    repeats: int = 15
    warmups: int = 2

    @property
    def schedule(self) -> Schedule:
        """PCCL's reduce-scatter between as many nodes."""
        made: Schedule = getattr(algorithms, f"{_KIND}_pccl")(self.rank_count, 1, self.between)
        return made

    def pattern(self, nbytes: int) -> Pattern:
        """Return the data of one size."""
        return Pattern.of_bytes(_KIND, self.rank_count, nbytes, np.dtype(np.float32))


SETTINGS = (Setting(2, "recursive"), Setting(4, "recursive"), Setting(4, "ring"))


def figure_6_right(report: Report, command: str, settings: Sequence[Setting] = SETTINGS) -> None:
    """Both in turns."""
    report.section(
        "Figure 6, right: the same schedule in mpi4py and in the engine",
        'Printed: Python and mpi4py "nearly 4 times slower" than C++ at 1,024 GCDs. Here: PCCL\'s '
        "reduce-scatter between nodes of one rank, all on this machine. Every message is an `Isend` and `Irecv` of "
        "mpi4py, and every sum NumPy's. **The same schedule runs in Hemiola's engine, whose messages go by the same "
        "MPI in the same processes.** So the ratio compares two ways of running one schedule. "
        "`MPI_Reduce_scatter_block` of that library is another algorithm without Python. Repetitions of these three "
        "take turns. Beside them the schedule in the engine over its own shared memory, in launches that "
        "alternate. All buffers are written before, all results checked. Microseconds from the first rank's entry "
        "to the last one's exit, between barriers; medians.",
        command,
    )
    mpirun = _mpirun()
    rows: list[tuple[object, ...]] = []
    library = ""
    for setting in settings:
        library, found = _measured(mpirun, setting)
        rows += found
    waiting, cores = os.getloadavg()[0], core_count()
    report.text(
        f"{library}. More than {cores} ranks share {cores} cores, where a library that spins while it waits takes the "
        f"time of those it waits for: read the rows of {cores} ranks. Processes that wanted a processor in the last "
        f"minute: {waiting:.1f}."
    )
    if waiting > max(setting.rank_count for setting in settings) + 1:
        report.text(
            "**Other work wanted the processors all the while: these rows are no comparison.** A library that "
            "spins keeps its processor, an engine that sleeps waits for one. Measure again on a quiet machine."
        )
    times = ("mpi4py", "engine by MPI", "MPI's own", "engine by memory")
    columns = (*times, *(f"mpi4py / {other}" for other in times[1:]), "wrong")
    report.table("figure_6_right", ("ranks", "between", "buffer", *columns), rows)


def _measured(mpirun: Path, setting: Setting) -> tuple[str, list[tuple[object, ...]]]:
    library = ""
    stepped, by_mpi, own, by_memory, wrong = ({nbytes: [] for nbytes in setting.sizes} for _ in range(5))  # type: ignore[var-annotated]
    for _ in range(setting.rounds):
        library, results = _by_mpi4py(mpirun, setting)
        for nbytes, result in zip(setting.sizes, results, strict=True):
            stepped[nbytes] += result.stepped_s
            by_mpi[nbytes] += result.engine_s
            own[nbytes] += result.library_s
            wrong[nbytes].append(result.wrong)
        for nbytes, (durations_s, mistakes) in zip(setting.sizes, _by_engine(setting), strict=True):
            by_memory[nbytes] += durations_s
            wrong[nbytes].append(mistakes)
    rows: list[tuple[object, ...]] = []
    for nbytes in setting.sizes:
        times = [statistics.median(one[nbytes]) * 1e6 for one in (stepped, by_mpi, own, by_memory)]
        ratios = [times[0] / other for other in times[1:]]
        at = (setting.rank_count, setting.between, format_bytes(nbytes))
        rows.append((*at, *times, *ratios, sum(wrong[nbytes])))
    return library, rows


def _mpirun() -> Path:
    """Return the mpirun beside this Python, or the system's; ArgumentError where that or mpi4py is missing."""
    beside = Path(sys.executable).with_name("mpirun")
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    if found is None or importlib.util.find_spec("mpi4py") is None:
        lacking = "mpirun" if found is None else "mpi4py"
        raise ArgumentError(
            f"figure_6_right: expected mpi4py and an mpirun, found no {lacking}; install both beside hemiola: "
            "pip install mpi4py mpich"
        )
    return Path(found)


def _by_mpi4py(mpirun: Path, setting: Setting) -> tuple[str, list[Result]]:
    """Run all sizes of a setting in one launch; return the library's name and a result per size."""
    text = setting.schedule.to_text()
    counts = [setting.pattern(nbytes).count for nbytes in setting.sizes]
    orders = [asdict(Order(text, count, setting.warmups, setting.repeats)) for count in counts]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_whole(folder / ORDERS, json.dumps(orders))
        module = [sys.executable, "-m", "papers.pccl.mpi4py_rank", name]
        done = subprocess.run(
            [str(mpirun), "-n", str(setting.rank_count), *module],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ | {WIRE.name: "mpi"},
            timeout=_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            said = (done.stderr or done.stdout)[-2000:]
            raise FailedRankError(f"{mpirun.name} with mpi4py: exit code {done.returncode}: {said}")
        answer = json.loads((folder / RESULTS).read_text())
    return answer["library"], [Result(**result) for result in answer["results"]]


def run_rank(setting: Setting) -> list[RankTimes]:
    """Measure all sizes in the engine; every rank calls it."""
    comm = init()
    return [
        measure(
            comm,
            Trial(
                setting.pattern(nbytes),
                setting.schedule,
                spaced=True,
                warmups=setting.warmups,
                repeats=setting.repeats,
            ),
        )
        for nbytes in setting.sizes
    ]


def _by_engine(setting: Setting) -> list[tuple[list[float], int]]:
    """Return durations and wrong elements per size."""
    by_rank = launch(run_rank, setting.rank_count, setting, timeout_s=_TIMEOUT_S)
    found = []
    for index, nbytes in enumerate(setting.sizes):
        measured = combine(setting.pattern(nbytes), [ranks[index] for ranks in by_rank], spaced=True)
        found.append((measured.durations_s.tolist(), measured.wrong))
    return found
