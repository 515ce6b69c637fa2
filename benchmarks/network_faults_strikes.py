# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/network_faults.py does to a job: one function for each kind of fault, named as on its command
line.

Those of STRIKES happen while all ranks work; those of IMPOSTORS while they meet."""

from __future__ import annotations

import os
import random
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from meeting import PORT
from network_faults_job import HANG_S, Job, Outcome, end, hear, new_job
from network_faults_rank import LATE_S

RATE = "400mbit"
LATEST_STRIKE_S = 0.6
#: A pause that nobody may notice, and one after which a rank must have been given up.
_SHORT_PAUSE_S, _LONG_PAUSE_S = 0.4, 3.0
_STRANGER = f"""
import os, socket, sys, time
connections = [socket.create_connection((sys.argv[1], {PORT})) for _ in range(int(sys.argv[2]))]
for connection in connections:
    connection.sendall(os.urandom(int(sys.argv[3])))
time.sleep(float(sys.argv[4]))
"""

#: Errors of a rank that cannot go on, or whose partner cannot.
_HONEST = ("ArgumentError", "LostRankError", "MismatchError", "OSError", "TimeoutError")

Strike = Callable[[Job, random.Random, Outcome], None]


def kill(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill any rank."""
    _kill(job, [chance.randrange(job.rank_count)], outcome)


def kill_rank_0(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill the rank at which the others have met."""
    _kill(job, [0], outcome)


def kill_first_of_host(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill a host's lowest rank, but for rank 0."""
    _kill(job, [job.ranks_of(chance.randrange(1, len(job.cluster.hosts)))[0]], outcome)


def kill_host(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill all ranks of a host."""
    _kill(job, list(job.ranks_of(chance.randrange(len(job.cluster.hosts)))), outcome)


def kill_two(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill two ranks, one after the other: the second while the others may already be shrinking."""
    victims = chance.sample(range(job.rank_count), 2)
    begin = time.monotonic()
    job.signal(signal.SIGKILL, victims[0])
    time.sleep(chance.uniform(0, 0.3))
    job.signal(signal.SIGKILL, victims[1])
    job.expect_named(victims, begin, outcome)


def _kill(job: Job, victims: list[int], outcome: Outcome) -> None:
    begin = time.monotonic()
    job.signal(signal.SIGKILL, *victims)
    job.expect_named(victims, begin, outcome)


def cut(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Pull a host's cable for good: the others lose it and go on without it, and it ends."""
    host = chance.randrange(len(job.cluster.hosts))
    victims = job.ranks_of(host)
    begin = time.monotonic()
    job.cluster.set_link(host, up=False)
    try:
        job.expect_named(victims, begin, outcome)
        for victim in victims:
            job.expect_over(victim, outcome)
    finally:
        job.cluster.set_link(host, up=True)


def stop(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Stop a rank for longer than the silence limit: the others go on, and it learns that it was given up."""
    victim = chance.randrange(job.rank_count)
    begin = time.monotonic()
    job.signal(signal.SIGSTOP, victim)
    try:
        job.expect_named([victim], begin, outcome)
        time.sleep(max(0.0, begin + _LONG_PAUSE_S - time.monotonic()))
    finally:
        job.signal(signal.SIGCONT, victim)
    job.expect_over(victim, outcome)


def pause(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Stop a rank for less than the silence limit: nobody notices."""
    victim = chance.randrange(job.rank_count)
    job.signal(signal.SIGSTOP, victim)
    time.sleep(chance.uniform(0, _SHORT_PAUSE_S))
    job.signal(signal.SIGCONT, victim)
    time.sleep(chance.uniform(0, LATEST_STRIKE_S))
    job.expect_all_end(outcome)


def late(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Have a rank come LATE_S late to an operation: it lives, so all wait for it and end exactly."""
    victim = chance.randrange(job.rank_count)
    job.signal(signal.SIGUSR1, victim)
    heard = job.hear(victim)
    if heard.get("event") != "back":
        outcome.complaints.append(f"rank {victim} should have come {LATE_S:g} s late: {heard}")
    job.expect_all_end(outcome)


def undisturbed(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Nothing, for a while: nobody may be given up."""
    time.sleep(job.undisturbed_s)
    job.expect_all_end(outcome)


def rates(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Change a NIC's rate twenty times."""
    host = chance.randrange(len(job.cluster.hosts))
    for _ in range(20):
        job.cluster.set_rate(host, f"{chance.randint(50, 400)}mbit")
        time.sleep(chance.uniform(0, 0.05))
    job.cluster.set_rate(host, RATE)
    job.expect_all_end(outcome)


def stranger(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Have somebody else connect where ranks meet, say something or nothing, and stay for a while."""
    for _ in range(3):
        _send_stranger(job, chance)
    job.expect_all_end(outcome)


def _send_stranger(job: Job, chance: random.Random) -> None:
    arguments = [str(chance.choice([1, 40])), str(chance.choice([0, 10, 100_000])), str(chance.random())]
    command = [sys.executable, "-I", "-S", "-c", _STRANGER, job.cluster.hosts[0].ipv4, *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    job.cluster.start(chance.randrange(len(job.cluster.hosts)), command, **quiet).wait(HANG_S)


def full_table(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Let rank 0 open nothing more while strangers connect to it: they stay outside, and the job goes on."""
    _fill_table(job, 0)
    _send_stranger(job, chance)
    job.expect_all_end(outcome)


def full_table_and_kill(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Kill a rank when another can open nothing more: all go on exactly, or they say why not, and nobody hangs."""
    full, victim = chance.sample(range(job.rank_count), 2)
    _fill_table(job, full)
    job.signal(signal.SIGKILL, victim)
    for rank in job.others(victim):
        heard = job.hear_last(rank)
        exact = heard.get("event") == "ended" and heard["wrong"] == 0 and victim not in heard["left"]
        if not exact and heard.get("event") not in _HONEST:
            outcome.complaints.append(f"rank {rank} should have ended exactly or said why not: {heard}")


def _fill_table(job: Job, rank: int) -> None:
    process = job.ranks[rank].pid
    held = max(int(number) for number in os.listdir(f"/proc/{process}/fd"))
    hard = resource.prlimit(process, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(process, resource.RLIMIT_NOFILE, (held + 1, hard))


def two_jobs(job: Job, chance: random.Random, outcome: Outcome) -> None:
    """Have another job on the same hosts and kill one of its ranks: this one does not notice."""
    other = new_job(job.cluster, job.per_host, job.wire, port=PORT + 1)
    try:
        other.start(range(other.rank_count))
        other.wait_until_working()
        time.sleep(chance.uniform(0, LATEST_STRIKE_S))
        _kill(other, [chance.randrange(other.rank_count)], outcome)
        job.expect_all_end(outcome)
    finally:
        other.close(outcome)


STRIKES: dict[str, Strike] = {
    each.__name__: each
    for each in (
        kill,
        kill_rank_0,
        kill_first_of_host,
        kill_host,
        kill_two,
        cut,
        stop,
        pause,
        late,
        undisturbed,
        rates,
        stranger,
        full_table,
        full_table_and_kill,
        two_jobs,
    )
}

#: What can happen to ranks that an MPI has started: where they meet is its own affair, as are the descriptors that it
#: needs.
OVER_MPI = tuple(
    kind for kind in STRIKES if kind not in ("stranger", "full_table", "full_table_and_kill", "rates")
)

#: Who comes in a rank's place, what is different about it, and a word of what it must be told.
IMPOSTORS: dict[str, tuple[Callable[[], dict[str, str]], str]] = {
    "wrong_token": (lambda: {"HEMIOLA_TOKEN": secrets.token_hex(32)}, "token"),
    "other_job": (lambda: {"HEMIOLA_JOB": secrets.token_hex(4)}, "another job"),
    "earlier_incarnation": (
        lambda: {"TORCHELASTIC_RESTART_COUNT": "0"},
        "after 1 restart, this rank after 0",
    ),
    "other_version": (lambda: {"FAULTS_VERSION": "0.0.1"}, "0.0.1"),
    "no_descriptors": (lambda: {}, ""),
}


def impostor(job: Job, kind: str, chance: random.Random, outcome: Outcome) -> None:
    """Have somebody come in a rank's place before the rank itself: it is told why not, and the job begins."""
    different, word = IMPOSTORS[kind]
    job.restarts = 1 if kind == "earlier_incarnation" else None
    rank = chance.randrange(1, job.rank_count)
    early = [other for other in job.others(rank) if chance.random() < 0.5 or other == 0]
    job.start(early)
    process = job.process(rank, HEMIOLA_TIMEOUT="6s", **different())
    if kind == "no_descriptors":
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (8, 8))
    try:
        time.sleep(chance.uniform(0, 1))
        job.start([other for other in job.others(rank) if other not in early])
        heard = hear(process, f"the impostor of rank {rank}")
        if kind != "no_descriptors" and (not heard or word not in heard.get("words", "")):
            outcome.complaints.append(f"the impostor of rank {rank} should have heard of '{word}': {heard}")
    finally:
        end(process)
    job.start([rank])
    job.wait_until_working()
    job.expect_all_end(outcome)
