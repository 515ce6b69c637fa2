# SPDX-License-Identifier: Apache-2.0
"""Does every rank name the rank that is to blame? Seeded runs of jobs that fail, with the culprit known.

python benchmarks/blame.py --runs 200 [FAMILY …]

A run is right when each rank that reports names the culprit and what it did, and no innocent rank, and the launcher
returns the culprit's exit code. The command prints the count of right runs for each family, and each wrong run with its
seed; `--seed` begins there.
"""

from __future__ import annotations

import argparse
import importlib.metadata  # noqa: F401  which a rank at an address loads
import json
import os
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # noqa: F401  which a rank at an address loads

import hemiola as hm
import hemiola.communicator.init  # loaded before ranks are forked, and their deadlines begin
from hemiola.whole_file import write_whole

LIMIT_S = 120.0
DEADLINE_S = 4.0
RANKS = 4
#: What a busy machine may take between a death and the moment at which another rank's thread runs and sees it.
TOLD_APART_S = 0.015
#: How a rank of `die` fails, and how that is told: its exit code, and a word of the reason.
DEATHS = {
    "exit": (7, "raised SystemExit(7)"),
    "kill": (128 + signal.SIGKILL, "has died"),
    "raise": (1, "raised ValueError: bad batch 17"),
    "segv": (128 + signal.SIGSEGV, "has died"),
    "shape": (1, "float64[7]"),
    "hang": (128 + signal.SIGTERM, "has not arrived"),
}


@dataclass
class Told:
    """What a rank has caught: the error's type and text, and its cause."""

    type: str
    text: str
    culprit: int | None
    reason: str


@dataclass
class Job:
    """Ranks forked from here, each with variables of its own."""

    folder: Path
    variables: dict[str, str]
    own: Mapping[int, dict[str, str]] = field(default_factory=dict)
    ranks: int = RANKS

    def run(self, body: Callable[[int, Path], Any]) -> dict[int, Told]:
        """Run `body` in each rank; return what those that caught an error have told."""
        processes = [self._start(rank, body) for rank in range(self.ranks)]
        until = time.monotonic() + LIMIT_S
        for process in processes:
            while os.waitpid(process, os.WNOHANG) == (0, 0):
                if time.monotonic() > until:
                    os.kill(process, signal.SIGKILL)
                time.sleep(0.005)
        return {int(path.stem): Told(**json.loads(path.read_text())) for path in self.folder.glob("*.told")}

    def _start(self, rank: int, body: Callable[[int, Path], Any]) -> int:
        process = os.fork()
        if process != 0:
            return process
        os.environ.update(self.variables | {"HEMIOLA_RANK": str(rank), "HEMIOLA_RANK_COUNT": str(self.ranks)})
        os.environ.update(self.own.get(rank, {}))
        try:
            body(rank, self.folder)
        except hm.HemiolaError as error:
            tell(self.folder, rank, error)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)


def tell(folder: Path, rank: int, error: hm.HemiolaError) -> None:
    """Note an error where the parent looks."""
    cause = getattr(error, "cause", None)
    told = Told(type(error).__name__, str(error), cause and cause.rank, cause.reason if cause else "")
    write_whole(folder / f"{rank}.told", json.dumps(told.__dict__))


def meet(folder: Path, rank: int, ranks: int) -> None:
    """Wait until so many ranks have come here: a start takes as long as a busy machine lets it."""
    (folder / f"{rank}.here").touch()
    while len(list(folder.glob("*.here"))) < ranks:
        time.sleep(0.002)


def variables(chance: random.Random, *, at_address: bool) -> dict[str, str]:
    """Return a job's variables."""
    found = {"HEMIOLA_JOB": f"blame-{os.getpid()}-{chance.getrandbits(48)}"}
    if at_address:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        found["HEMIOLA_RENDEZVOUS"] = f"127.0.0.1:{port}"
        found |= {"HEMIOLA_INTERFACE": "lo", "HEMIOLA_TOKEN": secrets.token_hex(32)}
    return found


def wrong(told: dict[int, Told], expected: set[int], culprit: int, kind: str, words: str) -> str:
    """Return what is wrong with what ranks have told; "" for nothing."""
    if set(told) != expected:
        return f"ranks {sorted(told)} told of an error, expected {sorted(expected)}"
    for rank, one in told.items():
        if (one.type, one.culprit) != (kind, culprit) or words not in one.reason:
            return f"rank {rank}: {one}, expected {kind} that names rank {culprit}: {words}"
        innocent = set(map(int, re.findall(r"rank (\d+)", one.text))) - {culprit, rank}
        if innocent:
            return f"rank {rank} names {sorted(innocent)}: {one.text}"
    return ""


def absent(chance: random.Random, folder: Path) -> str:
    """One rank never comes, and another gives up first."""
    culprit = chance.randrange(RANKS)
    delays_s = [chance.uniform(0, 0.5) for _ in range(RANKS)]

    def body(rank: int, folder: Path) -> None:
        if rank == culprit:
            return
        meet(folder, rank, RANKS - 1)
        time.sleep(delays_s[rank])
        hm.init(timeout_s=DEADLINE_S)

    told = Job(folder, variables(chance, at_address=chance.random() < 0.5)).run(body)
    return wrong(told, set(range(RANKS)) - {culprit}, culprit, "TimeoutError", "did not")


def mistaken(chance: random.Random, folder: Path) -> str:
    """One rank has another token, job's name or number of ranks, at an address."""
    culprit = chance.randrange(1, RANKS)
    kind = chance.choice(["token", "job", "count"])
    odd = {
        "token": {"HEMIOLA_TOKEN": secrets.token_hex(32)},
        "job": {"HEMIOLA_JOB": "another"},
        "count": {
            "HEMIOLA_RANK_COUNT": str(
                chance.choice([RANKS - 1, RANKS + 1]) if culprit < RANKS - 1 else RANKS + 1
            )
        },
    }[kind]

    def body(rank: int, folder: Path) -> None:
        meet(folder, rank, RANKS)
        hm.init(timeout_s=DEADLINE_S if kind != "count" else 30)

    told = Job(folder, variables(chance, at_address=True), {culprit: odd}).run(body)
    if kind == "count":
        said = f"rank {culprit} (process"
        bad = [one for one in told.values() if one.type != "ArgumentError" or said not in one.text]
        return str(bad) if bad or len(told) < RANKS else ""
    words = {"token": "do not have one token", "job": "is of another job"}[kind]
    own = told.pop(culprit, None)
    if own is None or words not in own.text:
        return f"rank {culprit} itself: {own}"
    return wrong(told, set(range(RANKS)) - {culprit}, culprit, "TimeoutError", words)


def grouped(chance: random.Random, folder: Path) -> str:
    """A group's operation fails because one of its ranks dies; the others shrink while rank 3 waits for all."""
    culprit = chance.randrange(3)
    delays_s = [chance.uniform(0, 0.02) for _ in range(RANKS)]

    def body(rank: int, folder: Path) -> None:
        comm = hm.init(timeout_s=60)
        group = comm.group([0, 1, 2]) if rank < 3 else comm
        time.sleep(delays_s[rank])
        if rank == culprit:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            group.all_reduce(np.ones(1000))
        except hm.LostRankError as error:
            tell(folder, rank, error)
        left = comm.shrink()
        assert left.all_reduce(np.ones(10))[0] == RANKS - 1

    told = Job(folder, variables(chance, at_address=chance.random() < 0.5)).run(body)
    return wrong(told, set(range(RANKS)) - {culprit}, culprit, "LostRankError", "has died")


def die(death: str, culprit: int, at: int) -> None:
    """Be a rank of eight of which one fails."""
    comm = hm.init(timeout_s=60)
    for step in range(1000):
        comm.all_reduce(np.ones(10_000), timeout_s=4 if death == "hang" and step > 0 else 60)
        if step != at or comm.rank != culprit:
            continue
        if death in ("kill", "segv"):
            os.kill(os.getpid(), signal.SIGKILL if death == "kill" else signal.SIGSEGV)
        elif death == "raise":
            raise ValueError("bad batch 17")
        elif death == "exit":
            raise SystemExit(7)
        elif death == "hang":
            time.sleep(1000)
        else:
            comm.all_reduce(np.ones(7))


def launched(chance: random.Random, folder: Path) -> str:
    """`hemiola launch -n 8` of a program in which one rank fails."""
    death, culprit, at = chance.choice(list(DEATHS)), chance.randrange(8), chance.randrange(1, 30)
    words = [
        sys.executable,
        "-m",
        "hemiola",
        "launch",
        "-n",
        "8",
        __file__,
        "--die",
        death,
        str(culprit),
        str(at),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    code, reason = DEATHS[death]
    last = done.stderr.strip().splitlines()[-1]
    is_right = done.returncode == code and f"rank {culprit}" in last
    is_told = reason in last or death in ("kill", "segv")
    return "" if is_right and is_told else f"{death} of rank {culprit}: {done.returncode}: {last}"


def called(chance: random.Random, folder: Path) -> str:
    """`hemiola.launch` of a function that fails on one rank."""
    deaths = [death for death in DEATHS if death != "hang"]
    death, culprit, at = chance.choice(deaths), chance.randrange(8), chance.randrange(1, 30)
    try:
        hm.launch(die, 8, death, culprit, at, timeout_s=LIMIT_S)
    except hm.FailedRankError as error:
        return "" if error.rank == culprit else f"{death} of rank {culprit}: rank {error.rank}: {error}"
    return f"{death} of rank {culprit}: no error"


def end_at(moment_s: float, *, kills: bool, note: Path) -> None:
    """End this process at a moment of the machine's clock; note when that was."""
    while time.monotonic() < moment_s:
        time.sleep(min(0.001, max(0.0, moment_s - time.monotonic())))
    write_whole(note, f"{os.getpid()} {time.monotonic()}")
    if kills:
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(7)


def has_ended(note: Path) -> bool:
    """Say whether the process that wrote a note has ended: it may wait for a core between the two."""
    if not note.exists():
        return False
    try:
        stat = Path("/proc", note.read_text().split()[0], "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def two(first: int, second: int, gap_s: float, folder: Path, *, kills: bool) -> None:
    """Be a rank of six, of which two end in the middle of an operation, one after the other."""
    comm = hm.init(timeout_s=60)
    comm.all_reduce(np.ones(1000))
    begin = np.array([time.monotonic() + 0.1])
    comm.broadcast(begin)
    if comm.rank == first:
        end_at(float(begin[0]), kills=kills, note=folder / f"{first}.end")
    if comm.rank == second:
        while not has_ended(folder / f"{first}.end"):
            time.sleep(0.001)
        end_at(time.monotonic() + gap_s, kills=kills, note=folder / f"{second}.end")
    comm.all_reduce(np.ones(1000))


def is_told_apart(folder: Path, first: int, second: int) -> bool:
    """Say whether the second has ended so long after the first that every rank could know of the first before."""
    ended = [float((folder / f"{rank}.end").read_text().split()[1]) for rank in (first, second)]
    return ended[1] - ended[0] > TOLD_APART_S


def together(chance: random.Random, folder: Path) -> str:
    """Two ranks die one shortly after the other, on one host or at an address: survivors name the first."""
    first, second = chance.sample(range(6), 2)
    gap_s = chance.choice([0.02, 0.05, 0.1])

    def body(rank: int, folder: Path) -> None:
        two(first, second, gap_s, folder, kills=True)

    told = Job(folder, variables(chance, at_address=chance.random() < 0.5), ranks=6).run(body)
    if not is_told_apart(folder, first, second):
        return ""
    return wrong(told, set(range(6)) - {first, second}, first, "LostRankError", "has died")


def together_launched(chance: random.Random, folder: Path) -> str:
    """The same under `hemiola launch`: the last line and the exit code are the first one's."""
    first, second = chance.sample(range(6), 2)
    gap_s, kills = chance.choice([0.02, 0.05, 0.1]), chance.random() < 0.5
    told = [str(word) for word in (first, second, gap_s, folder, int(kills))]
    words = [sys.executable, "-m", "hemiola", "launch", "-n", "6", __file__, "--two", *told]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    lines = done.stderr.strip().splitlines()
    how = "killed by signal 9" if kills else "exit code 7"
    is_right = done.returncode == (137 if kills else 7) and lines[-1].startswith(f"hemiola: rank {first} ")
    is_right = is_right and how in lines[-1]
    survivors = [line for line in lines if "LostRankError: rank" in line and "hemiola: rank" in line]
    is_told = len(survivors) == 1 and f"LostRankError: rank {first} " in survivors[0]
    if (is_right and is_told) or not is_told_apart(folder, first, second):
        return ""
    return f"rank {first}, {gap_s} s later rank {second}: {done.returncode}: {lines}"


FAMILIES = {
    each.__name__: each for each in (absent, mistaken, grouped, launched, called, together, together_launched)
}


def wrong_runs(name: str, runs: int, seed: int) -> list[str]:
    """Run a family; return what was wrong, a line for each such run."""
    found = []
    for number in range(seed, seed + runs):
        with tempfile.TemporaryDirectory() as folder:
            problem = FAMILIES[name](random.Random(f"{name} {number}"), Path(folder))
        if problem:
            found.append(f"{name}, seed {number}: {problem}")
            print(found[-1], flush=True)
    return found


def main() -> int:
    """Run the families that are asked for; return 1 where a run was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--die", nargs=3, metavar=("DEATH", "RANK", "STEP"), help="be a rank of `launched`")
    parser.add_argument("--two", nargs=5, help="be a rank of `together_launched`")
    asked = parser.parse_args()
    if asked.die:
        die(asked.die[0], int(asked.die[1]), int(asked.die[2]))
        return 0
    if asked.two:
        first, second, gap_s, folder, kills = asked.two
        two(int(first), int(second), float(gap_s), Path(folder), kills=kills == "1")
        return 0
    is_wrong = False
    for name in asked.families or FAMILIES:
        bad = wrong_runs(name, asked.runs, asked.seed)
        print(f"{name}: {asked.runs - len(bad)} of {asked.runs} runs right", flush=True)
        is_wrong = is_wrong or bool(bad)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
