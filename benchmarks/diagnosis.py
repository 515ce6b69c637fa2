# SPDX-License-Identifier: Apache-2.0
"""Does `comm.diagnose()` name cause, place and factor on hosts that talk by TCP, and nothing where nothing is wrong?

Goals: on 4 and 8 hosts each cause, put in 20 times: right cause, right name and a factor within 20 % in 19 or more;
in 50 runs with nothing wrong, no finding. `health()` must say the same of NICs. Hosts are namespaces of this machine,
so all share its cores: that the machine is oversubscribed is a finding of its own, true or not, and counted beside.
A busy host leaves its rank a thirtieth of a core, by a control group; the factor is then what ranks measure themselves.
Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import history
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.diagnosis import Cause
from hemiola.machine.capacity import describe_machine

PROGRAM = str(Path(__file__).with_name("diagnosis_rank.py"))
RATE = 400e6 / 8
NBYTES = 256 << 10
LATE_S = 0.15
#: Pieces of work before each step, about a tenth of a millisecond each; enough for a busy host to show.
WORK, WORK_ON_BUSY = 50, 100
#: What a busy host leaves its rank of a core, in microseconds of so many.
QUOTA_US, PERIOD_US = 1000, 30_000
TOLERANCE = 0.2
NOTHING = "nothing"
CASES = ("NIC slower by 2", "NIC slower by 10", "late rank", "busy host", "slow pair", NOTHING)
PAIR_FACTOR = 4.0


@dataclass(frozen=True)
class Case:
    """A fault: what is put in where, and what a finding must say of it; without `factor`, what ranks measure."""

    cause: str | None
    where: str
    factor: float | None
    late: Mapping[str, float] = field(default_factory=dict)
    busy: int | None = None
    slow_nic: tuple[int, float] | None = None
    slow_pair: tuple[int, int] | None = None


@dataclass(frozen=True)
class Outcome:
    """What was found, and whether that is right."""

    case: str
    hosts: int
    seed: int
    expected: str
    found: list[str]
    amount: float
    factor: float
    health: dict[str, float]
    right: bool
    oversubscribed: bool
    took_s: float
    load: float


class Job:
    """One rank on each host, which works round by round."""

    def __init__(self, cluster: Cluster) -> None:
        hosts = len(cluster.hosts)
        shared = {
            "HEMIOLA_RANK_COUNT": str(hosts),
            "HEMIOLA_LOCAL_RANK_COUNT": "1",
            "HEMIOLA_JOB": secrets.token_hex(4),
            "HEMIOLA_RENDEZVOUS": f"{cluster.hosts[0].ipv4}:29400",
            "HEMIOLA_TOKEN": secrets.token_hex(32),
            "HEMIOLA_SILENCE": "30",  # a rank on a busy host may stand still for seconds
        }
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._ranks = [
            cluster.start(
                host,
                [sys.executable, PROGRAM],
                env=os.environ | shared | {"HEMIOLA_RANK": str(host), "HEMIOLA_LOCAL_RANK": "0"},
                **pipes,
            )
            for host in range(hosts)
        ]
        self._said()

    def _said(self) -> list[dict[str, Any]]:
        said = []
        for rank in self._ranks:
            assert rank.stdout is not None
            line = rank.stdout.readline()
            if not line:
                raise RuntimeError("diagnosis: a rank has ended; its error stands above")
            said.append(json.loads(line))
        return said

    def round(self, case: Case, steps: int) -> list[dict[str, Any]]:
        """Have all ranks work and diagnose; return what each says."""
        work = WORK if case.busy is None else WORK_ON_BUSY
        asked = {"nbytes": NBYTES, "steps": steps, "work": work, "late": dict(case.late)}
        with throttled(None if case.busy is None else self._ranks[case.busy].pid):
            return self._told(asked)

    def _told(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        for rank in self._ranks:
            assert rank.stdin is not None
            rank.stdin.write(json.dumps(asked) + "\n")
            rank.stdin.flush()
        return self._said()

    def end(self) -> None:
        """Let the ranks leave."""
        for rank in self._ranks:
            assert rank.stdin is not None
            rank.stdin.close()
        for rank in self._ranks:
            rank.wait(timeout=60)


@contextmanager
def throttled(process: int | None) -> Iterator[None]:
    """Leave a process a part of a core, as a busy host would."""
    if process is None:
        yield
        return
    first = Path("/sys/fs/cgroup/cpu")
    root = first if first.is_dir() else Path("/sys/fs/cgroup")
    group = root / f"hemiola-diagnosis-{os.getpid()}"
    group.mkdir()
    try:
        if root == first:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        else:
            (group / "cpu.max").write_text(f"{QUOTA_US} {PERIOD_US}")
        (group / "cgroup.procs").write_text(str(process))
        yield
    finally:
        with suppress(ProcessLookupError):
            (root / "cgroup.procs").write_text(str(process))
        group.rmdir()


def case_of(name: str, hosts: int, seed: int) -> Case:
    """Draw where a fault is, from the seed."""
    rng = np.random.default_rng([CASES.index(name), hosts, seed])
    host, other = (int(one) for one in rng.choice(hosts, 2, replace=False))
    if name.startswith("NIC slower by"):
        factor = float(name.split()[-1])
        where = f"eth0 of host{host} (rank {host})"
        return Case(Cause.NIC_SLOW, where, factor, slow_nic=(host, factor))
    if name == "late rank":
        return Case(Cause.COMPUTE_LATE, f"rank {host} on host{host}", LATE_S, late={str(host): LATE_S})
    if name == "busy host":
        return Case(Cause.HOST_SLOW, f"host{host} (rank {host})", None, busy=host)
    if name == "slow pair":
        first, second = min(host, other), max(host, other)
        where = f"host{first} (rank {first}) to host{second} (rank {second})"
        return Case(Cause.LINK_SLOW, where, PAIR_FACTOR, slow_pair=(first, second))
    return Case(None, "", None)


@contextmanager
def put_in(cluster: Cluster, case: Case) -> Iterator[None]:
    """Slow down what the case says, and take it back."""
    if case.slow_nic is not None:
        host, factor = case.slow_nic
        cluster.set_rate(host, RATE / factor)
    if case.slow_pair is not None:
        for here, there in (case.slow_pair, case.slow_pair[::-1]):
            slow_down_to(cluster, here, there)
    try:
        yield
    finally:
        for host in (case.slow_pair or ()) + ((case.slow_nic[0],) if case.slow_nic else ()):
            cluster.run(host, ["tc", "qdisc", "delete", "dev", "eth0", "root"])
            cluster.set_rate(host, RATE)


def slow_down_to(cluster: Cluster, here: int, there: int) -> None:
    """Let what a host sends to one other pass a narrower bucket behind the one for all."""
    to = f"{cluster.hosts[there].ipv4}/32"
    all_bit, pair_bit = f"{RATE * 8:.0f}bit", f"{RATE * 8 / PAIR_FACTOR:.0f}bit"
    htb = ["tc", "class", "add", "dev", "eth0", "parent", "1:", "htb"]
    for command in (
        ["tc", "qdisc", "replace", "dev", "eth0", "root", "handle", "1:", "htb", "default", "1"],
        [*htb[:6], "1:", "classid", "1:1", "htb", "rate", all_bit, "burst", "128k", "cburst", "128k"],
        [*htb[:6], "1:", "classid", "1:2", "htb", "rate", pair_bit, "burst", "128k", "cburst", "128k"],
        f"tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst {to} flowid 1:2".split(),
    ):
        cluster.run(here, command)


def judged(name: str, hosts: int, seed: int, case: Case, said: list[dict[str, Any]], load: float) -> Outcome:
    """Compare what was found with what was put in."""
    findings = said[0]["findings"]
    named = [one for one in findings if one["cause"] != Cause.OVERSUBSCRIBED]
    factor = case.factor or 0.0
    if case.busy is not None:
        own_s = [one["own_s"] for one in said]
        factor = own_s[case.busy] - statistics.median_low(own_s)
    right = not named
    amount = 0.0
    if case.cause is not None:
        amount = named[0]["amount"] if named else 0.0
        right = (
            len(named) == 1
            and (named[0]["cause"], named[0]["where"]) == (case.cause, case.where)
            and abs(amount - factor) <= TOLERANCE * factor
        )
    slow = {str(case.slow_nic[0])} if case.slow_nic else set()
    agrees = all(set(one["health"]) == slow and one["findings"] == findings for one in said)
    return Outcome(
        case=name,
        hosts=hosts,
        seed=seed,
        expected=f"{case.cause}: {case.where}",
        found=[f"{one['cause']}: {one['where']}: {one['amount']:.3g}" for one in named],
        amount=amount,
        factor=factor,
        health=said[0]["health"],
        right=right and agrees,
        oversubscribed=len(named) < len(findings),
        took_s=said[0]["took_s"],
        load=load,
    )


def outcomes_on(hosts: int, options: argparse.Namespace, console: Console) -> Iterator[Outcome]:
    """Run all rounds on so many hosts."""
    with Cluster(hosts, rate=RATE) as cluster:
        job = None if options.fresh else Job(cluster)
        for seed in range(options.seed, options.seed + max(options.rounds, options.nothing)):
            for name in options.case or CASES:
                rounds = options.nothing if name == NOTHING else options.rounds
                if seed >= options.seed + rounds or time.monotonic() > options.end:
                    continue
                case = case_of(name, hosts, seed)
                load = os.getloadavg()[0]
                with put_in(cluster, case):
                    running = job or Job(cluster)
                    outcome = judged(name, hosts, seed, case, running.round(case, options.steps), load)
                    if job is None:
                        running.end()
                if not outcome.right:
                    console.print(f"wrong: {outcome}")
                yield outcome
        if job is not None:
            job.end()


def summary(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """Count by number of hosts and case."""
    rows = []
    for hosts in sorted({one.hosts for one in outcomes}):
        for name in CASES:
            of_case = [one for one in outcomes if (one.hosts, one.case) == (hosts, name)]
            if not of_case:
                continue
            ratios = [one.amount / one.factor for one in of_case if one.factor and one.amount]
            rows.append(
                {
                    "hosts": hosts,
                    "case": name,
                    "rounds": len(of_case),
                    "right": sum(one.right for one in of_case),
                    "factor found / put in": f"{min(ratios):.2f} - {max(ratios):.2f}" if ratios else "-",
                    "seconds, median": round(statistics.median(one.took_s for one in of_case), 2),
                    "machine oversubscribed": sum(one.oversubscribed for one in of_case),
                }
            )
    return rows


def main() -> int:
    """Run all cases in turn, print a table and a JSON line; exit status 1 where a goal was missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--rounds", type=int, default=20, help="of each cause")
    parser.add_argument(
        "--nothing", type=int, default=25, help="rounds with nothing wrong, on each number of hosts"
    )
    parser.add_argument("--steps", type=int, default=24, help="all-reduces a round")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--case", choices=CASES, action="append", help="only this one; repeat for several")
    parser.add_argument(
        "--fresh", action="store_true", help="a new job for each round, which begins with the fault"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no round after so many")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    history.add_option(parser)
    options = parser.parse_args()
    options.end = time.monotonic() + 60 * options.minutes
    console = Console(stderr=True)
    outcomes = [one for hosts in options.hosts for one in outcomes_on(hosts, options, console)]
    rows = summary(outcomes)
    history.record(options, rows)
    result = {"machine": describe_machine(), "rate_Bps": RATE, "fresh": options.fresh, "cases": rows}
    if options.json:
        print(json.dumps({**result, "outcomes": [asdict(one) for one in outcomes]}))
    else:
        shown = table(*rows[0], left=("case",), title=describe_machine())
        for row in rows:
            shown.add_row(*map(str, row.values()))
        Console().print(shown)
        loads = [one.load for one in outcomes]
        print(f"load of the machine when rounds began: {min(loads):.1f} to {max(loads):.1f}")
        print(json.dumps(result))
    return int(
        any(20 * row["right"] < (20 if row["case"] == NOTHING else 19) * row["rounds"] for row in rows)
    )


if __name__ == "__main__":
    raise SystemExit(main())
