"""Two hundred random plans, each against the best that is found with twenty times the effort.

    python benchmarks/plans.py [--count 200] [--seed 0] [--small] [--seconds S] [--json]

Goals: a plan takes at most 1.05 times the best found in 95 % of the settings, 1.25 times at the worst, and none is
predicted below its lower bound. Where a rank is late, times count from its arrival: the wait, which nobody can shorten,
would bring every ratio nearer to one. The ratio of whole times stands beside it. The best found is the fastest of a
plan with twenty times the effort, of schedules synthesized with other numbers of chunks, of the algorithms made for the
topology with more chunks, and of forests, and what is matched or made for hosts, around a late rank. Beside all-reduces
stand published all-gathers in one shot, and recursive multiplying. With --small all are all-reduces of 8 B to 256 KiB.
Prints each setting above 1.05 with what its plan left out, as soon as it is known; exit code 1 where a prediction is
below the bound. Ctrl-C ends the run with what there is, and so does the end of so many seconds."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import hemiola as hm
import history
from hemiola._core import estimate_by_steps_s
from hemiola.errors import ArgumentError
from hemiola.machine.capacity import describe_machine
from hemiola.progress import ProgressBar
from hemiola.synthesis import (
    forest,
    late_forest,
    late_hosts,
    late_matched,
    late_rails,
    search,
    topology_algorithms,
)
from random_settings import MOST_RANKS, Setting, random_setting, small_setting

EFFORT = 20.0
GOAL, GOAL_SHARE, WORST_GOAL = 1.05, 0.95, 1.25
#: Simulated at most, as a plan counts; beyond, the estimate stands for a simulation. With 20 million a setting of 865
#: ranks took minutes, most of them in simulations of what the estimate tells as well.
_MOST_WORK = 4_000_000
#: Of each schedule beside those of the planner with more effort.
_MOST_TRANSFERS = 400_000
#: Each chunk has a way of its own there, which takes the cube of the ranks behind switches.
_MOST_RANKS_WITH_WAYS = 24
_CHUNKS, _PIECES, _PARTS = (2, 8, 32), (4, 16, 128), (4, 16, 64)
#: Ranks and switches of a forest. Beyond `_MANY_VERTICES` trees from every rank are packed for one number of pieces
#: alone: of a cube of 128 ranks each number takes 29 CPU s.
_MOST_VERTICES, _MANY_VERTICES, _PIECES_OF_MANY = 128, 64, (16,)
_WITH_ONE_ROOT = ("broadcast", "reduce")
_GATHERS = ("all_gather_direct", "all_gather_bruck")
#: Of what is made around a late rank: chunks down each tree or rail, and shares of the buffer that the others reduce
#: while they wait. Links of the late rank times all links: each of the former has a forest of its own.
_LATE_PIECES, _LATE_SHARES, _MOST_LATE_LINKS = (4, 16, 64, 256), (1.0, 0.75, 0.5, 0.25), 10_000
#: Chunks that are matched around it, and ranks and switches.
_LATE_CHUNKS, _MOST_MATCHED = (16, 64, 256, 1024), 300


@dataclass(frozen=True)
class Judged:
    """A plan beside the best found; all times in seconds, of schedules that were simulated or estimated alike.

    `late_s` is when the last rank arrives, 0 where all do at once; times begin with the first one's call.
    """

    seed: int
    setting: str
    plan: str
    plan_s: float
    predicted_s: float
    bound_s: float
    late_s: float
    best: str
    best_s: float
    planning_s: float
    left_out: list[str]
    is_small: bool

    @property
    def ratio(self) -> float:
        """The plan's time over the best found, from the last rank's arrival on."""
        return _over(self.plan_s - self.late_s, self.best_s - self.late_s)

    @property
    def whole_ratio(self) -> float:
        """The same from the first rank's call on."""
        return _over(self.plan_s, self.best_s)

    @property
    def is_below_bound(self) -> bool:
        """Whether the prediction is of a time that cannot be."""
        return self.predicted_s < self.bound_s * (1 - 1e-6)

    def __str__(self) -> str:
        left_out = "; ".join(self.left_out) or "nothing"
        whole = f" after the arrival, {self.whole_ratio:.3f} with the wait," if self.late_s else ""
        return (
            f"{self.ratio:.3f}{whole} {self.setting}: {self.plan} {self.plan_s * 1e3:.4g} ms, {self.best} "
            f"{self.best_s * 1e3:.4g} ms, bound {self.bound_s * 1e3:.4g} ms; left out: {left_out}\n"
            f"  python benchmarks/plans.py --seed {self.seed} --count 1{' --small' * self.is_small}"
        )


def _over(seconds: float, least: float) -> float:
    """Divide times, of which both may be nothing."""
    if least > 0:
        return seconds / least
    return 1.0 if seconds <= 0 else math.inf


def judge(seed: int, *, is_small: bool = False) -> Judged:
    """Plan the setting of a seed, and look for something better."""
    setting = small_setting(seed) if is_small else random_setting(seed)
    begin_s = time.process_time()
    plan = setting.plan(1.0)
    planning_s = time.process_time() - begin_s
    plan_s = _seconds(setting, plan.schedule)
    found = [(plan_s, plan.alternatives[0].label)]
    for label, schedule in _others(setting):
        found.append((_seconds(setting, schedule), label))
    best_s, best = min(found)
    return Judged(
        seed,
        in_words(setting),
        plan.alternatives[0].label,
        plan_s,
        plan.seconds,
        plan.bound_s,
        max(setting.conditions.late.values(), default=0.0),
        best,
        best_s,
        planning_s,
        [str(one) for one in plan.left_out],
        is_small,
    )


def in_words(setting: Setting) -> str:
    """Say what a setting is."""
    told = [f"{setting.label}, {setting.topology.rank_count} ranks", setting.kind, f"{setting.nbytes:,} B"]
    told += [f"rank {rank} late by {late_s * 1e3:.3g} ms" for rank, late_s in setting.conditions.late.items()]
    told += [f"rank {rank} slow by {factor:g}" for rank, factor in setting.conditions.slow.items()]
    return ", ".join(told)


def _seconds(setting: Setting, schedule: hm.Schedule) -> float:
    """Return what a schedule takes; where simulating it takes minutes, about."""
    conditions = setting.conditions
    topology, nbytes = setting.topology, setting.nbytes
    estimated_s, work = estimate_by_steps_s(
        schedule, topology, nbytes, conditions.late, conditions.slow_ranks
    )
    if work > _MOST_WORK:
        return estimated_s
    return hm.simulate(schedule, topology, nbytes, conditions).seconds


def _others(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    """Make what may be better; what cannot be made for this setting is not among it."""
    more = setting.plan(EFFORT)
    yield f"{more.alternatives[0].label}, effort {EFFORT:g}", more.schedule
    topology, kind, root, nbytes = setting.topology, setting.kind, setting.root, setting.nbytes
    n = topology.rank_count
    most_ranks = _MOST_RANKS_WITH_WAYS if kind in ("scatter", "gather", "all_to_all") else MOST_RANKS
    for chunks in _CHUNKS:
        if n <= most_ranks and n * n * chunks * (2 if kind == "all_reduce" else 1) <= _MOST_TRANSFERS:
            found = search(
                topology, kind, chunks, root=root, nbytes=nbytes, trials=2, threads=1, progress=False
            )
            yield f"synthesized ({chunks} chunks)", found.schedule
    for name in topology_algorithms.names():
        named, pattern = topology_algorithms.split(name)
        if named != kind or pattern in ("sccl", "taccl", "forest"):
            continue
        for parts in _PARTS:
            try:
                schedule = topology_algorithms.generate(
                    name, topology, nbytes=nbytes, root=root, chunk_count=parts
                )
            except ArgumentError:  # not made for this topology
                break
            yield f"{name} ({parts} chunks)", schedule
    if kind in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"):
        yield from _forests(setting)
    if kind == "all_reduce":
        yield from _in_whole_buffers(setting)
    if kind == "all_reduce" and setting.conditions.late:
        yield from _around_late_rank(setting)


def _forests(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    vertices = setting.topology.rank_count + setting.topology.switch_count
    if vertices > _MOST_VERTICES:
        return
    is_long = vertices > _MANY_VERTICES and setting.kind not in _WITH_ONE_ROOT
    for pieces in _PIECES_OF_MANY if is_long else _PIECES:
        try:
            found = forest(
                setting.topology, setting.kind, pieces=pieces, nbytes=setting.nbytes, root=setting.root
            )
        except ArgumentError:
            return
        yield f"forest ({pieces} pieces)", found.schedule


def _in_whole_buffers(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    """Make all-reduces that send whole buffers: all at once, or by the factors of a host's ranks and of the hosts."""
    n, hosts = setting.topology.rank_count, setting.topology.node_count
    if 2 * n * n <= _MOST_TRANSFERS:
        for name in _GATHERS:
            yield f"one_shot of {name}", hm.algorithms.get(name).generate(n).one_shot_all_reduce()
    shapes = {(hosts, n // hosts)[::-1], *((size, n // size) for size in range(2, n) if n % size == 0)}
    for dims in sorted(one for one in shapes if math.prod(one) == n and sum(one) * n <= _MOST_TRANSFERS // 4):
        for scattered in (0, 1):
            made = hm.algorithms.all_reduce_recursive_multiplying(dims, ("switch",) * 2, scattered=scattered)
            yield f"recursive multiplying {dims}, {scattered} scattered", made


def _around_late_rank(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    """Make forests around a late rank, what goes over the rails of hosts, and what is matched."""
    topology, (late_rank,) = setting.topology, setting.conditions.late
    n, per_host = topology.rank_count, topology.rank_count // topology.node_count
    on_hosts: dict[str, Callable[..., hm.Schedule]] = {
        "late_rails": partial(late_rails, topology, late_rank),
        "late_hosts": partial(late_hosts, topology, late_rank, nbytes=setting.nbytes),
    }
    for name, make in on_hosts.items():
        for pieces in _LATE_PIECES:
            if 1 < topology.node_count < n and 2 * n * per_host * pieces <= _MOST_TRANSFERS:
                try:
                    yield f"{name} ({pieces} pieces)", make(pieces=pieces)
                except ArgumentError:  # not hosts alike, or not with a NIC for each rank
                    break
    for chunks in _LATE_CHUNKS:
        if 2 * (n - 1) * chunks <= _MOST_TRANSFERS and n + topology.switch_count <= _MOST_MATCHED:
            try:
                made = late_matched(topology, late_rank, chunks=chunks, nbytes=setting.nbytes)
            except ArgumentError:  # the others do not reach each other without the late rank
                break
            yield f"late_matched ({chunks} chunks)", made
    own_links = int((topology.links["src"] == late_rank).sum())
    if n + topology.switch_count > _MOST_VERTICES or own_links * topology.link_count > _MOST_LATE_LINKS:
        return
    for pieces in _LATE_PIECES:
        for share in _LATE_SHARES:
            if 2 * (n - 1) * pieces > _MOST_TRANSFERS:
                return
            try:
                found = late_forest(topology, late_rank, pieces=pieces, nbytes=setting.nbytes, share=share)
            except ArgumentError:  # the others do not reach each other without the late rank
                return
            if found.transfer_count <= _MOST_TRANSFERS:
                yield f"late_forest ({pieces} pieces, {share:g} of the buffer)", found


def judge_all(seed: int, count: int, seconds: float, *, is_small: bool = False) -> list[Judged]:
    """Judge `count` settings from `seed` on, or as many as fit into so many seconds."""
    begin_s, judged = time.monotonic(), []
    with ProgressBar("plans") as progress:
        try:
            for at in range(seed, seed + count):
                if time.monotonic() - begin_s > seconds:
                    break
                one = judge(at, is_small=is_small)
                judged.append(one)
                progress(len(judged), count)
                if one.ratio > GOAL or one.is_below_bound:
                    print(one, file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pass
    if len(judged) < count:
        print(f"ended after {len(judged)} of {count} settings", file=sys.stderr)
    return judged


def summary(judged: Sequence[Judged]) -> dict[str, object]:
    """Return the figures that the goals are about."""
    ratios = sorted(one.ratio for one in judged)
    whole = sorted(one.whole_ratio for one in judged)
    return {
        "settings": len(ratios),
        "share_within": sum(ratio <= GOAL for ratio in ratios) / max(1, len(ratios)),
        "worst": ratios[-1] if ratios else None,
        "share_within_with_waits": sum(ratio <= GOAL for ratio in whole) / max(1, len(whole)),
        "worst_with_waits": whole[-1] if whole else None,
        "below_bound": sum(one.is_below_bound for one in judged),
        "longest_planning_cpu_s": max((one.planning_s for one in judged), default=0.0),
    }


def main() -> int:
    """Parse the command line, judge, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="settings")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others follow")
    parser.add_argument("--small", action="store_true", help="all-reduces of 8 B to 256 KiB")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no setting after so many")
    parser.add_argument("--json", action="store_true", help="print one JSON line, with every setting")
    history.add_option(parser)
    asked = parser.parse_args()
    judged = judge_all(asked.seed, asked.count, asked.seconds, is_small=asked.small)
    found = summary(judged)
    settings = [{**asdict(one), "ratio": one.ratio, "whole_ratio": one.whole_ratio} for one in judged]
    history.record(asked, settings)
    if asked.json:
        line = {"benchmark": "plans", "seed": asked.seed, **found, "found": settings}
        print(json.dumps({**line, "machine": describe_machine()}))
    elif judged:
        print(
            f"{found['settings']} plans from seed {asked.seed}: {found['share_within']:.1%} within {GOAL} of the best "
            f"found (goal {GOAL_SHARE:.0%}), the worst {found['worst']:.3f} (goal {WORST_GOAL}), after a late rank's "
            f"arrival; with the wait {found['share_within_with_waits']:.1%} and {found['worst_with_waits']:.3f}; "
            f"{found['below_bound']} predicted below the bound; planning took {found['longest_planning_cpu_s']:.1f} "
            "CPU s at the most"
        )
    return 1 if found["below_bound"] else 0


if __name__ == "__main__":
    sys.exit(main())
