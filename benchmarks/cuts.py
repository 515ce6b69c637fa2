# SPDX-License-Identifier: Apache-2.0
"""Networks of 2 to 5 hosts that are cut into two sides at a random instant: at most one side goes on.

Each trial draws the number of hosts, the sides, when the cut comes, whether and when it heals, and whether a rank is
killed meanwhile. Packets between the sides vanish without a word. Goals, for every trial: all ranks that go on do so
together, and know no others; nothing but a MinorityError ends a rank that lives; where nothing heals and nobody is
killed, the side goes on that has more than half of the ranks, or half with rank 0, and it alone.

    python benchmarks/cuts.py [--runs 200] [--seed 1] [--first 0] [--json]

Exit code 1 where something was not as it should be; the trial's number is printed with it."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from meeting import meeting

RANK_SCRIPT = Path(__file__).with_name("cuts_rank.py")
#: A rank that finds no core for so long counts as lost, which several hosts on two cores may do for half a second.
SILENCE_S = 1.0
#: When the network is cut at the latest after the start of the work, for how long at most where it heals, and how long
#: ranks work; a side that may not go on gives up by then.
LATEST_CUT_S, LONGEST_CUT_S, WORK_S = 1.0, 2.0, 5.0
HANG_S = 60.0
NOBODY = "02:00:00:00:00:01"


@dataclass(frozen=True)
class Trial:
    """What happens to a job, in seconds from its start."""

    hosts: int
    side: frozenset[int]  #: the hosts that are cut off from the others
    cut_s: float
    heals_s: float | None
    killed: int | None
    killed_s: float

    @classmethod
    def drawn(cls, seed: str) -> Trial:
        chance = random.Random(seed)
        hosts = chance.randint(2, 5)
        side = frozenset(chance.sample(range(hosts), chance.randint(1, hosts - 1)))
        cut_s = chance.uniform(0, LATEST_CUT_S)
        heals_s = cut_s + chance.uniform(0, LONGEST_CUT_S) if chance.random() < 0.4 else None
        killed = chance.randrange(hosts) if chance.random() < 0.3 else None
        return cls(hosts, side, cut_s, heals_s, killed, cut_s + chance.uniform(-0.3, 1.5))

    @property
    def goes_on(self) -> frozenset[int] | None:
        """The side that must go on alone; None where that depends on the instant."""
        if self.heals_s is not None or self.killed is not None:
            return None
        for side in (self.side, frozenset(range(self.hosts)) - self.side):
            if 2 * len(side) > self.hosts or (2 * len(side) == self.hosts and 0 in side):
                return side
        raise AssertionError("one of two sides is the larger")


def cut(cluster: Cluster, side: frozenset[int], *, heal: bool = False) -> None:
    """Have hosts of the two sides send each other's packets to nobody."""
    for host in cluster.hosts:
        across = [other for other in cluster.hosts if (other.number in side) != (host.number in side)]
        word = "del" if heal else "replace"
        what = "" if heal else f"lladdr {NOBODY} nud permanent"
        lines = [f"ip neigh {word} {other.ipv4} {what} dev eth0" for other in across]
        cluster.run(host.number, ["sh", "-c", "; ".join(lines)])


@contextmanager
def running(cluster: Cluster) -> Iterator[list[subprocess.Popen[str]]]:
    """Start a rank on each host, and wait until all of them work."""
    count = len(cluster.hosts)
    job = meeting(cluster, count, 1)
    with ExitStack() as ends:
        ranks: list[subprocess.Popen[str]] = []
        for rank in range(count):
            own = {"HEMIOLA_RANK": str(rank), "HEMIOLA_LOCAL_RANK": "0", "HEMIOLA_SILENCE": str(SILENCE_S)}
            ranks.append(
                cluster.start(
                    rank,
                    [sys.executable, str(RANK_SCRIPT), str(WORK_S)],
                    env=os.environ | job | own | {"OMP_NUM_THREADS": "1"},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            ends.callback(ranks[-1].wait)
            ends.callback(ranks[-1].kill)
        for process in ranks:
            assert process.stdout is not None
            if process.stdout.readline() != "working\n":
                raise RuntimeError(process.communicate()[1])
        yield ranks


def complaints_of(trial: Trial) -> list[str]:
    """Run a job and what happens to it; return what was not as it should be."""
    with Cluster(trial.hosts, rate="1gbit") as cluster, running(cluster) as ranks:
        begin = time.monotonic()
        events: list[tuple[float, Callable[[], None]]] = [(trial.cut_s, lambda: cut(cluster, trial.side))]
        if trial.heals_s is not None:
            events.append((trial.heals_s, lambda: cut(cluster, trial.side, heal=True)))
        if trial.killed is not None:
            events.append((trial.killed_s, ranks[trial.killed].kill))
        for at_s, strike in sorted(events, key=lambda event: event[0]):
            time.sleep(max(0.0, begin + at_s - time.monotonic()))
            strike()
        ends = {}
        for number, process in enumerate(ranks):
            said, err = process.communicate(timeout=HANG_S)
            if number != trial.killed:
                if process.returncode:
                    return [f"rank {number} ended with {process.returncode}: {err}"]
                ends[number] = json.loads(said)
    return judged(trial, ends)


def judged(trial: Trial, ends: dict[int, dict[str, object]]) -> list[str]:
    """Compare how ranks ended with what is right."""
    complaints = []
    together = {number: end["with"] for number, end in ends.items() if end["ended"] == "went on"}
    if len({str(ranks) for ranks in together.values()}) > 1:
        complaints.append(f"split: {together}")
    for number, end in ends.items():
        if end["ended"] not in ("went on", "MinorityError"):
            complaints.append(f"rank {number} ended with {end['ended']}")
    right = trial.goes_on
    if right is not None and set(together) != right:
        complaints.append(f"ranks {sorted(together)} went on, expected {sorted(right)}")
    return complaints


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trials; exit status 1 if one was not as it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each trial")
    options = parser.parse_args(arguments)
    wrong = 0
    for number in range(options.first, options.first + options.runs):
        trial = Trial.drawn(f"{options.seed}-{number}")
        complaints = complaints_of(trial)
        wrong += bool(complaints)
        if options.json:
            print(json.dumps({"trial": number, "complaints": complaints}), flush=True)
        elif complaints:
            print(f"trial {number}: {trial}: {'; '.join(complaints)}", flush=True)
    end = sys.stderr if options.json else sys.stdout
    print(f"{wrong} of {options.runs} cuts not as they should be; {describe_machine()}", file=end)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
