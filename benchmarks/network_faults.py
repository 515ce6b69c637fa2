"""Faults between hosts at random instants: ranks killed or stopped, cables pulled, rates changed, strangers.

Each trial is a job of its own, a rank on each host of a cluster on this machine, whose NICs are limited and full of the
job's all-reduces, every element of which is checked. Goals: no hang and no wrong result; who is dead is named by every
survivor, within 0.5 s where a process was killed, within 1.2 s (and what the job needs to end) where a host was cut off
or stood still; whoever comes back learns that it was given up; a pause shorter than the silence limit, a changing rate
and a stranger do no harm; nothing is left on any host.

    python benchmarks/network_faults.py [--runs 50] [--seed 1] [--first 0] [--only KIND …] [--hosts 4] [--json]

Exit code 1 where something was not as it should be; it is printed with the command that repeats the trial."""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine import describe_machine
from network_report import Spread

RANK_SCRIPT = Path(__file__).resolve().parent / "network_faults_rank.py"
PORT = 29400
RATE = "400mbit"
#: How long a rank may take for anything before it counts as hanging.
HANG_S = 60.0
#: A pause that nobody may notice, and one after which a rank must have been given up.
SHORT_PAUSE_S, LONG_PAUSE_S = 0.4, 3.0
_LATEST_STRIKE_S = 0.6
_STRANGER = f"""
import os, socket, sys, time
connections = [socket.create_connection((sys.argv[1], {PORT})) for _ in range(int(sys.argv[2]))]
for connection in connections:
    connection.sendall(os.urandom(int(sys.argv[3])))
time.sleep(float(sys.argv[4]))
"""


class HangError(RuntimeError):
    """A rank has said nothing for HANG_S."""


@dataclass
class Job:
    """The ranks of one trial and what they have said."""

    ranks: list[subprocess.Popen[str]]
    said: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def start(cls, cluster: Cluster) -> Job:
        count = len(cluster.hosts)
        environment = os.environ | {
            "HEMIOLA_RANK_COUNT": str(count),
            "HEMIOLA_LOCAL_RANK_COUNT": "1",
            "HEMIOLA_JOB": secrets.token_hex(4),
            "HEMIOLA_RENDEZVOUS": f"{cluster.hosts[0].ipv4}:{PORT}",
            "HEMIOLA_TOKEN": secrets.token_hex(32),
            "OMP_NUM_THREADS": "1",
        }
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, str(RANK_SCRIPT)]
        return cls(
            [
                cluster.start(rank, command, env=environment | {"HEMIOLA_RANK": str(rank)}, **pipes)
                for rank in range(count)
            ]
        )

    def hear(self, rank: int) -> dict[str, Any]:
        """Return what a rank says next; {} where it has ended."""
        process = self.ranks[rank]
        assert process.stdout is not None
        alarm = _Alarm(process)
        line = process.stdout.readline()
        alarm.end()
        if alarm.has_rung:
            raise HangError(f"rank {rank} has said nothing for {HANG_S:g} s")
        return json.loads(line) if line else {}

    def wait_until_working(self) -> None:
        for rank in range(len(self.ranks)):
            heard = self.hear(rank)
            if heard.get("event") != "working":
                raise RuntimeError(f"rank {rank} did not begin to work: {heard}")

    def finish(self) -> None:
        """Have rank 0 tell all that it is enough."""
        assert self.ranks[0].stdin is not None
        self.ranks[0].stdin.close()

    def close(self) -> None:
        for process in self.ranks:
            process.send_signal(signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


class _Alarm:
    """Kills a process that does not answer, so that reading from it ends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.has_rung = False
        self._process = process
        self._timer = threading.Timer(HANG_S, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def _ring(self) -> None:
        self.has_rung = True
        self._process.kill()

    def end(self) -> None:
        self._timer.cancel()


@dataclass
class Outcome:
    """What a trial has shown: how long survivors took to name who was lost, and what was wrong, if anything."""

    kind: str
    detections_s: list[float] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def kill(cluster: Cluster, job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill any rank; every other one names it."""
    _kill(job, chance.randrange(len(job.ranks)), outcome)


def kill_rank_0(cluster: Cluster, job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill the rank at which the others have met."""
    _kill(job, 0, outcome)


def _kill(job: Job, victim: int, outcome: Outcome) -> None:
    begin = time.monotonic()
    job.ranks[victim].send_signal(signal.SIGKILL)
    _expect_named(job, victim, begin, outcome)


def cut(cluster: Cluster, job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Pull a host's cable: the others name its rank, and it loses somebody itself."""
    victim = chance.randrange(len(job.ranks))
    begin = time.monotonic()
    cluster.set_link(victim, up=False)
    try:
        _expect_named(job, victim, begin, outcome)
        heard = job.hear(victim)
        if heard.get("event") != "lost":
            outcome.complaints.append(f"rank {victim}, cut off, should have lost somebody: {heard}")
    finally:
        cluster.set_link(victim, up=True)


def stop(cluster: Cluster, job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Stop a rank for longer than the silence limit: the others name it, and it learns that it was given up."""
    victim = chance.randrange(len(job.ranks))
    begin = time.monotonic()
    job.ranks[victim].send_signal(signal.SIGSTOP)
    try:
        _expect_named(job, victim, begin, outcome)
        time.sleep(max(0.0, begin + LONG_PAUSE_S - time.monotonic()))
    finally:
        job.ranks[victim].send_signal(signal.SIGCONT)
    heard = job.hear(victim)
    if heard.get("event") != "lost":
        outcome.complaints.append(f"rank {victim}, stopped and continued, should have been told: {heard}")


def pause(cluster: Cluster, job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Stop a rank for less than the silence limit: nobody notices."""
    victim = job.ranks[chance.randrange(len(job.ranks))]
    victim.send_signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0, SHORT_PAUSE_S))
    victim.send_signal(signal.SIGCONT)
    time.sleep(chance.uniform(0, _LATEST_STRIKE_S))
    _expect_ends(job, outcome)


def rates(cluster: Cluster, job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Change a NIC's rate twenty times."""
    host = chance.randrange(len(job.ranks))
    for _ in range(20):
        cluster.set_rate(host, f"{chance.randint(50, 400)}mbit")
        time.sleep(chance.uniform(0, 0.05))
    cluster.set_rate(host, RATE)
    _expect_ends(job, outcome)


def stranger(cluster: Cluster, job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Have somebody else connect where ranks meet, say something or nothing, and stay for a while."""
    for _ in range(3):
        arguments = [str(chance.choice([1, 40])), str(chance.choice([0, 10, 100_000])), str(chance.random())]
        command = [sys.executable, "-I", "-S", "-c", _STRANGER, cluster.hosts[0].ipv4, *arguments]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        cluster.start(chance.randrange(len(job.ranks)), command, **quiet).wait(HANG_S)
    _expect_ends(job, outcome)


KINDS: dict[str, Callable[[Cluster, Job, random.Random, Outcome], None]] = {
    each.__name__: each for each in (kill, kill_rank_0, cut, stop, pause, rates, stranger)
}


def _expect_named(job: Job, victim: int, begin_s: float, outcome: Outcome) -> None:
    for rank in range(len(job.ranks)):
        if rank == victim:
            continue
        heard = job.hear(rank)
        if heard.get("event") != "lost" or heard.get("rank") != victim:
            outcome.complaints.append(f"rank {rank} should have lost rank {victim}: {heard}")
        else:
            outcome.detections_s.append(heard["at_s"] - begin_s)


def _expect_ends(job: Job, outcome: Outcome) -> None:
    job.finish()
    for rank in range(len(job.ranks)):
        heard = job.hear(rank)
        if heard.get("event") != "ended" or heard.get("wrong") != 0:
            outcome.complaints.append(f"rank {rank} should have ended with right results: {heard}")


def trial(cluster: Cluster, kind: str, seed: str) -> Outcome:
    """Run one job and its fault; see that its ranks end and leave nothing."""
    chance, outcome = random.Random(seed), Outcome(kind)
    job = Job.start(cluster)
    try:
        job.wait_until_working()
        time.sleep(chance.uniform(0, _LATEST_STRIKE_S))
        KINDS[kind](cluster, job, chance, outcome)
        for rank, process in enumerate(job.ranks):
            code = process.wait(HANG_S)
            if code not in (0, -signal.SIGKILL):
                outcome.complaints.append(f"rank {rank} ended with exit code {code}")
    except (HangError, RuntimeError, subprocess.TimeoutExpired) as error:
        outcome.complaints.append(str(error))
    finally:
        job.close()
    outcome.complaints += _left(cluster)
    return outcome


def _left(cluster: Cluster) -> list[str]:
    """Say what runs or listens on hosts where nothing should."""
    found = []
    for host in range(len(cluster.hosts)):
        listening = cluster.run(host, ["ss", "-Htln"]).split()
        running = cluster.run(host, ["sh", "-c", "cd /proc && echo [0-9]*"]).split()
        if listening or len(running) > 2:  # the first process and the one that looks
            found.append(f"left on host {host}: processes {running}, sockets {listening}")
    return found


def show(outcomes: Sequence[Outcome], console: Console) -> None:
    """Print a line for each kind of fault."""
    shown = table(
        "fault", "runs", "not as expected", "named after, s (quartiles)", "at most", left=("fault",)
    )
    for kind in KINDS:
        own = [one for one in outcomes if one.kind == kind]
        times = [each for one in own for each in one.detections_s]
        if own:
            shown.add_row(
                kind,
                str(len(own)),
                str(sum(bool(one.complaints) for one in own)),
                str(Spread.of(times)) if times else "",
                f"{max(times):.2f}" if times else "",
            )
    console.print(shown)
    console.print(f"{describe_machine()}; load {os.getloadavg()[0]:.1f}")


def main() -> int:
    """Run the trials; exit status 1 if one was not as it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="KIND")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each trial")
    options = parser.parse_args()
    outcomes = []
    with (
        Cluster(options.hosts, rate=RATE) as cluster,
        Progress(console=Console(stderr=True)) as progress,
    ):
        task = progress.add_task(f"faults, {options.hosts} hosts", total=options.runs)
        for number in range(options.first, options.first + options.runs):
            kind = options.only[number % len(options.only)]
            outcome = trial(cluster, kind, f"{options.seed}-{number}")
            outcomes.append(outcome)
            if options.json:
                print(json.dumps({"trial": number} | outcome.__dict__), flush=True)
            for complaint in outcome.complaints:
                again = f"--seed {options.seed} --first {number} --runs 1 --hosts {options.hosts}"
                progress.console.print(
                    f"{kind}: {complaint}\n  again: {again} --only {' '.join(options.only)}"
                )
            progress.advance(task)
    show(outcomes, Console(stderr=options.json))
    return 1 if any(outcome.complaints for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
