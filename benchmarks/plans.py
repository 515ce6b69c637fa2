# SPDX-License-Identifier: Apache-2.0
"""Random plans, each against the best that is found with twenty times the effort and by schedules of papers.

    python benchmarks/plans.py [--settings random] [--count 200] [--seed 0] [--seconds S] [--json]

Settings are `random`, `small` (the same networks, all-reduces of 8 B to 256 KiB) or `broad`: 8 B to 64 MiB on every
builder, XML files, parallel links and sparse data. `GOALS` says how far plans may be from the best found; none may be
predicted below its lower bound. Where a rank is late, times count from its arrival: the wait, which nobody can shorten,
would bring every ratio nearer to one. The ratio of whole times stands beside it. The best found is the fastest of a
plan with twenty times the effort and of benchmarks/rivals.py. Sparse data move in the plan's form, coded or plain.
Collectives in a switch, which ranks cannot run, are counted beside. Prints each setting above the goal, and the
schedules that its plan left out, as soon as it is known; exit code 1 where a prediction is below the bound. Ctrl-C ends
the run with the settings so far, and so does the end of so many seconds."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

import hemiola as hm
import history
from broad_settings import broad_setting
from hemiola._core import estimate_by_steps_s
from hemiola.machine.capacity import describe_machine
from hemiola.progress import ProgressBar
from random_settings import CODECS, Setting, random_setting, small_setting
from rivals import rivals

EFFORT = 20.0
SETTINGS: dict[str, Callable[[int], Setting]] = {
    "random": random_setting,
    "small": small_setting,
    "broad": broad_setting,
}
#: The ratio of 95 % of the settings, and of the worst.
GOAL_SHARE = 0.95
GOALS = {"random": (1.05, 1.25), "small": (1.05, 1.25), "broad": (1.02, 1.05)}
#: Simulated at most, as a plan counts; beyond, the estimate stands for a simulation. With 20 million a setting of 865
#: ranks took minutes, most of them in simulations of what the estimate tells as well.
_MOST_WORK = 4_000_000


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
    settings: str
    in_switch_s: float | None

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
            f"  python benchmarks/plans.py --settings {self.settings} --seed {self.seed} --count 1"
        )


def _over(seconds: float, least: float) -> float:
    """Divide times, of which both may be nothing."""
    if least > 0:
        return seconds / least
    return 1.0 if seconds <= 0 else math.inf


def judge(seed: int, settings: str = "random") -> Judged:
    """Plan the setting of a seed, and look for something better."""
    setting = SETTINGS[settings](seed)
    begin_s = time.process_time()
    plan = setting.plan(1.0)
    planning_s = time.process_time() - begin_s
    plan_s = _seconds(setting, plan.schedule, is_coded=_is_coded(plan))
    found = [(plan_s, plan.alternatives[0].label)]
    more = setting.plan(EFFORT)
    more_s = _seconds(setting, more.schedule, is_coded=_is_coded(more))
    found.append((more_s, f"{more.alternatives[0].label}, effort {EFFORT:g}"))
    for label, schedule in rivals(setting):
        found.append((_seconds(setting, schedule, is_coded=_is_coded(plan)), label))
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
        settings,
        None if plan.in_switch is None else plan.in_switch.seconds,
    )


def _is_coded(plan: hm.Plan) -> bool:
    return plan.coded is not None and plan.coded.is_coded


def in_words(setting: Setting) -> str:
    """Say what a setting is."""
    told = [f"{setting.label}, {setting.topology.rank_count} ranks", setting.kind, f"{setting.nbytes:,} B"]
    told += [f"rank {rank} late by {late_s * 1e3:.3g} ms" for rank, late_s in setting.conditions.late.items()]
    told += [f"rank {rank} slow by {factor:g}" for rank, factor in setting.conditions.slow.items()]
    if setting.conditions.density < 1:
        told.append(f"density {setting.conditions.density:g}")
    return ", ".join(told)


def _seconds(setting: Setting, schedule: hm.Schedule, *, is_coded: bool) -> float:
    """Return what a schedule takes; where simulating it takes minutes, about. Scratch slots stay plain."""
    if is_coded and schedule.scratch_count == 0:
        return hm.simulate(
            schedule, setting.topology, setting.nbytes, setting.conditions, codecs=CODECS
        ).seconds
    conditions = replace(setting.conditions, density=1.0)
    topology, nbytes = setting.topology, setting.nbytes
    estimated_s, work = estimate_by_steps_s(
        schedule, topology, nbytes, conditions.late, conditions.slow_ranks
    )
    if work > _MOST_WORK:
        return estimated_s
    return hm.simulate(schedule, topology, nbytes, conditions).seconds


def judge_all(seed: int, count: int, seconds: float, settings: str = "random") -> list[Judged]:
    """Judge `count` settings from `seed` on, or as many as fit into so many seconds."""
    begin_s, judged = time.monotonic(), []
    with ProgressBar("plans") as progress:
        try:
            for at in progress.each(range(seed, seed + count)):
                if time.monotonic() - begin_s > seconds:
                    break
                # A setting takes several plans, of which none is a share.
                with ProgressBar("judging", quiet=True):
                    one = judge(at, settings)
                judged.append(one)
                if one.ratio > GOALS[settings][0] or one.is_below_bound:
                    print(one, file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pass
    if len(judged) < count:
        print(f"ended after {len(judged)} of {count} settings", file=sys.stderr)
    return judged


def summary(judged: Sequence[Judged], goal: float) -> dict[str, object]:
    """Return the figures that the goals are about: shares are of ratios of at most `goal`."""
    ratios = sorted(one.ratio for one in judged)
    whole = sorted(one.whole_ratio for one in judged)
    return {
        "settings": len(ratios),
        "share_within": sum(ratio <= goal for ratio in ratios) / max(1, len(ratios)),
        "median": _quantile(ratios, 0.5),
        "percentile_95": _quantile(ratios, GOAL_SHARE),
        "worst": ratios[-1] if ratios else None,
        "share_within_with_waits": sum(ratio <= goal for ratio in whole) / max(1, len(whole)),
        "worst_with_waits": whole[-1] if whole else None,
        "faster_in_switch": sum((one.in_switch_s or math.inf) < one.plan_s for one in judged),
        "below_bound": sum(one.is_below_bound for one in judged),
        "longest_planning_cpu_s": max((one.planning_s for one in judged), default=0.0),
    }


def _quantile(ratios: Sequence[float], share: float) -> float | None:
    """Return the least ratio that so many of them do not exceed; None of no ratios."""
    return ratios[max(0, math.ceil(share * len(ratios)) - 1)] if ratios else None


def main() -> int:
    """Parse the command line, judge, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="settings")
    parser.add_argument("--seed", type=int, default=0, help="of the first; the others follow")
    parser.add_argument("--settings", choices=sorted(SETTINGS), default="random")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no setting after so many")
    parser.add_argument("--json", action="store_true", help="print one JSON line, with every setting")
    history.add_option(parser)
    asked = parser.parse_args()
    judged = judge_all(asked.seed, asked.count, asked.seconds, asked.settings)
    goal, worst_goal = GOALS[asked.settings]
    found = summary(judged, goal)
    settings = [{**asdict(one), "ratio": one.ratio, "whole_ratio": one.whole_ratio} for one in judged]
    history.record(asked, settings)
    if asked.json:
        line = {"benchmark": "plans", "seed": asked.seed, **found, "found": settings}
        print(json.dumps({**line, "machine": describe_machine()}))
    elif judged:
        print(
            f"{found['settings']} plans from seed {asked.seed}: {found['share_within']:.1%} within {goal} of the best "
            f"found (goal {GOAL_SHARE:.0%}), 95 % within {found['percentile_95']:.3f}, the worst {found['worst']:.3f} "
            f"(goal {worst_goal}), after a late rank's "
            f"arrival; with the wait {found['share_within_with_waits']:.1%} and {found['worst_with_waits']:.3f}; "
            f"{found['below_bound']} predicted below the bound; planning took {found['longest_planning_cpu_s']:.1f} "
            "CPU s at the most"
        )
    return 1 if found["below_bound"] else 0


if __name__ == "__main__":
    sys.exit(main())
