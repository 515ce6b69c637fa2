# SPDX-License-Identifier: Apache-2.0
"""Whether the command line answers or refuses whatever file it is given: in one line, at once, in little memory.

    python benchmarks/fuzz_cli.py --count 100000 --processes 500

Goal: of 100,000 damaged files none that ends in a traceback or a crash, takes 1 GiB or 5 s of processor time. Commands
run in workers that live on, some in processes of their own; a worker that dies is started anew. --only INDEX runs one
case again; a finding's file is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from fuzz_mutations import Case, Corpus
from hemiola.cli import main as hemiola
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole

MOST_S, MOST_BYTES = 5.0, 1 << 30
_TICK_S = 0.05


def answer_of(arguments: list[str]) -> tuple[str, str]:
    """Run a command in this process; return what became of it ("answered", "refused", or a finding), and why."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = hemiola(arguments)
    except MemoryError:
        return "memory", traceback.format_exc()
    except BaseException:  # whatever comes out of the command line is a finding
        return "traceback", traceback.format_exc()
    return judged(code, out.getvalue(), err.getvalue())


def judged(code: int, out: str, err: str) -> tuple[str, str]:
    """Say whether exit code and output are those of an answer (0 or 1), or of a refusal in one line."""
    if code in (0, 1) and "Traceback" not in err:
        return "answered", ""
    if code == 2 and not out and err.startswith("hemiola: ") and err.count("\n") == 1:
        return "refused", ""
    return "crash" if code < 0 else "unclear", f"exit code {code}, standard error: {err[-2000:]}"


def _memory_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def work() -> None:
    """Answer cases that come as lines on standard input, each with no more memory than it may have."""
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        limit = _memory_bytes() + MOST_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        began = time.process_time()
        verdict, why = answer_of(json.loads(line))
        print(json.dumps([verdict, why, time.process_time() - began]), file=answers, flush=True)


class Worker:
    """A process that runs commands, one after the other."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def start(self, arguments: list[str]) -> None:
        """Hand a command to the process."""
        assert self._process.stdin is not None
        self._began = _processor_s(self._process.pid)
        self._process.stdin.write(json.dumps(arguments) + "\n")
        self._process.stdin.flush()

    def result(self) -> tuple[str, str, float] | None:
        """Return what became of the command, or None while it runs; replace a process that died or took too long."""
        assert self._process.stdout is not None
        if select.select([self._process.stdout], [], [], _TICK_S)[0]:
            if line := self._process.stdout.readline():
                verdict, why, seconds = json.loads(line)
                return ("time", f"{seconds:.1f} s", seconds) if seconds > MOST_S else (verdict, why, seconds)
            code = self._process.wait()
            self._start()
            return "crash", f"the process ended with {code}", 0.0
        seconds = _processor_s(self._process.pid) - self._began
        if (
            seconds <= 2 * MOST_S
        ):  # one that takes longer than it may is measured, unless it takes very much longer
            return None
        self.end()
        self._start()
        return "time", f"more than {seconds:.0f} s", seconds

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_alone(arguments: list[str]) -> tuple[str, str, float]:
    """Run a command as a user does: a process of its own."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(MOST_S) + 1, int(MOST_S) + 1))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "hemiola.cli", *arguments]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        preexec_fn=limit,
        stdin=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if seconds > MOST_S:
        return "time", f"{seconds:.1f} s", seconds
    if after.ru_maxrss * 1024 > MOST_BYTES:
        return "memory", f"{after.ru_maxrss >> 10} MiB", seconds
    return *judged(ran.returncode, ran.stdout, ran.stderr), seconds


def cases_run(
    corpus: Corpus, seed: int, indices: list[int], worker_count: int, folder: Path
) -> Iterator[tuple[Case, tuple[str, str, float]]]:
    """Run cases in workers; yield each with what became of it."""
    todo = iter(indices)
    running: dict[Worker, Case | None] = {Worker(): None for _ in range(worker_count)}
    places = {worker: folder / f"worker{number}" for number, worker in enumerate(running)}
    try:
        while True:
            for worker, case in running.items():
                if case is not None and (result := worker.result()) is not None:
                    running[worker] = None
                    yield case, result
                if running[worker] is None and (index := next(todo, None)) is not None:
                    fresh = corpus.case(seed, index)
                    worker.start(placed(fresh, places[worker]))
                    running[worker] = fresh
            if all(case is None for case in running.values()):
                return
    finally:
        for worker in running:
            worker.end()


def placed(case: Case, folder: Path) -> list[str]:
    """Write the case's file; return the command that reads it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"damaged{case.suffix}"
    write_whole(path, case.content)
    return case.command(path, folder)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument(
        "--processes", type=int, default=500, help="how many of them run as processes of their own"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, metavar="INDEX", help="run one case, in this process")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where files with findings go")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = Corpus(folder)
        if options.only is not None:
            return run_one(corpus.case(options.seed, options.only), folder)
        return run_all(corpus, options, folder)


def run_one(case: Case, folder: Path) -> int:
    """Run one case in this process, and say everything about it."""
    arguments = placed(case, folder / "one")
    print(" ".join(arguments), case.content[:2000], sep="\n")
    verdict, why = answer_of(arguments)
    print(verdict, why, sep="\n")
    return verdict not in ("answered", "refused")


def run_all(corpus: Corpus, options: argparse.Namespace, folder: Path) -> int:
    """Run all cases, the last ones as processes of their own; print the tally and what was found."""
    tally: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    alone = min(options.processes, options.count)
    slowest = 0.0
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("damaged files", total=options.count)

        def note(case: Case, result: tuple[str, str, float]) -> None:
            nonlocal slowest
            verdict, why, seconds = result
            tally[verdict] += 1
            slowest = max(slowest, seconds)
            progress.advance(bar)
            if verdict not in ("answered", "refused"):
                findings.append(
                    {"index": case.index, "verdict": verdict, "why": why, "arguments": case.arguments}
                )
                options.keep.mkdir(parents=True, exist_ok=True)
                write_whole(options.keep / f"{options.seed}-{case.index}{case.suffix}", case.content)
                progress.console.print(
                    f"{case.index}: {verdict}: {' '.join(case.arguments)}\n{why}", markup=False
                )

        for case, result in cases_run(
            corpus, options.seed, list(range(options.count - alone)), options.workers, folder
        ):
            note(case, result)
        for index in range(options.count - alone, options.count):
            case = corpus.case(options.seed, index)
            note(case, run_alone(placed(case, folder / "alone")))
    document = {
        "machine": describe_machine(), "seed": options.seed, "count": options.count, "processes": alone,
        "tally": dict(tally), "slowest_s": round(slowest, 3), "findings": findings,
    }  # fmt: skip
    print(
        json.dumps(document, indent=2) if options.json else f"{dict(tally)}, the slowest in {slowest:.1f} s"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
