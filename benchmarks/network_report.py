# SPDX-License-Identifier: Apache-2.0
"""What benchmarks/network.py has measured, as data, as a table and as the page in docs/results."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from rich.console import Console

from hemiola.cli.output import table
from hemiola.units import format_bytes

#: What rows measure, in the order in which they are shown.
NAMES = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "patterns": "all-reduces of one length on paper",
    "small": "small all-reduce",
    "slow_nic": "all-reduce with a slow NIC",
    "late": "all-reduce with a late rank",
    "traffic": "traffic of an all-reduce",
}


INTRODUCTION = """\
# Between hosts: beside Gloo, Open MPI and MPICH

<!-- written by benchmarks/network.py --report -->
Hosts are network namespaces of one machine, their NICs limited both ways (`hemiola cluster`), with a rank on each.
Contenders take turns in one run: medians with quartiles, ratios round by round. Peers: PyTorch 2.13's Gloo, Open MPI 5
(its default and, of all-reduces, its ring) and MPICH 5 over libfabric's TCP, both PyPI's wheels through mpi4py. Every
element of a first run was compared with the right one. The goodput limit is the least number of bytes through a NIC,
over its rate × 1,448 / 1,514. Ratios below 1 come from the token buckets, which hold 128 KiB each when an operation
begins. A load far above the machine's cores says that other programs kept it busy.

Reproduce: `{command}`
"""

SUMMARY = """\
## Beside the peers

Large messages: the time over the NICs' goodput limit, where 1.00 is optimal. Small messages: the time.
"""


@dataclass(frozen=True)
class Spread:
    """Median, quartiles, and the ends."""

    least: float
    p25: float
    median: float
    p75: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        several = len(values) > 1
        p25, p50, p75 = statistics.quantiles(values, n=4, method="inclusive") if several else [values[0]] * 3
        return cls(min(values), p25, p50, p75, max(values))

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.p25:.3g}-{self.p75:.3g})"


@dataclass(frozen=True)
class Goal:
    """A figure of Hemiola's and the most that it may be."""

    what: str
    found: float
    most: float

    @property
    def is_met(self) -> bool:
        return self.found <= self.most

    def __str__(self) -> str:
        return f"{'met' if self.is_met else 'MISSED'}: {self.what} {self.found:.3f}, at most {self.most:g}"


@dataclass(frozen=True)
class Measured:
    """One line of results: a collective of one size on one cluster, by contender."""

    row: str
    hosts: int
    rate: str | None
    bytes: int
    machine: str
    setting: str
    rounds: int
    seconds: Mapping[str, Spread]
    ratio_of: str
    ratios: Mapping[str, Spread]
    wrong: Mapping[str, int]
    load: tuple[float, float]
    goals: Sequence[Goal]

    @property
    def is_right(self) -> bool:
        return not any(self.wrong.values())

    @property
    def is_met(self) -> bool:
        return all(goal.is_met for goal in self.goals)

    @property
    def title(self) -> str:
        """What was measured, in words."""
        setting = f", {self.setting}" if self.setting else ""
        nics = f"NICs of {self.rate}" if self.rate else "NICs without a limit"
        return f"{NAMES[self.row]} of {format_bytes(self.bytes)}, {self.hosts} hosts, {nics}{setting}"

    @property
    def circumstances(self) -> str:
        return f"{self.rounds} rounds, load {self.load[0]:.1f} to {self.load[1]:.1f}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Self:
        read = dict(words)
        for name in ("seconds", "ratios"):
            read[name] = {contender: Spread(**each) for contender, each in words[name].items()}
        read["goals"] = [Goal(**goal) for goal in words["goals"]]
        return cls(**read)


def show(found: Sequence[Measured], console: Console) -> None:
    """Print a table for each row, and how its goals were met."""
    for one in found:
        console.print(f"{one.title}; {one.circumstances}")
        shown = table("contender", "ms", f"over {one.ratio_of}", "wrong", left=("contender",))
        for name, seconds in one.seconds.items():
            shown.add_row(name, _in_ms(seconds), str(one.ratios[name]), str(one.wrong.get(name, "")))
        console.print(shown)
        for goal in one.goals:
            console.print(f"  {goal}")
        console.print()
    if found:
        console.print(f"{found[0].machine}; medians (quartiles) of contenders that took turns")


def _in_ms(seconds: Spread) -> str:
    return f"{seconds.median * 1e3:,.4g} ({seconds.p25 * 1e3:,.4g}-{seconds.p75 * 1e3:,.4g})"


def merged(before: Sequence[Measured], news: Sequence[Measured]) -> list[Measured]:
    """Return what was measured last of each row, in the order of NAMES."""
    latest = {one.title: one for one in [*before, *news]}
    rows = list(NAMES)
    return sorted(latest.values(), key=lambda one: (rows.index(one.row), one.hosts, one.bytes, one.setting))


def page(found: Sequence[Measured], command: str) -> str:
    """Return docs/results/network.md: a summary beside the peers, every goal, and every table."""
    lines = [*INTRODUCTION.format(command=command).splitlines(), "", *SUMMARY.splitlines(), ""]
    lines += [*summary(found).splitlines(), "", "## Goals", ""]
    lines += ["| goal | found | at most | |", "|---|--:|--:|---|"]
    lines += [
        f"| {one.title}: {goal.what} | {goal.found:.3g} | {goal.most:g} | {'met' if goal.is_met else '**missed**'} |"
        for one in found
        for goal in one.goals
    ]
    for one in found:
        lines += ["", f"## {one.title}", "", f"{one.machine}; {one.circumstances}.", ""]
        lines += [f"| contender | ms | over {one.ratio_of} | wrong elements |", "|---|--:|--:|--:|"]
        lines += [
            f"| {name} | {_in_ms(seconds)} | {one.ratios[name]} | {one.wrong.get(name, '')} |"
            for name, seconds in one.seconds.items()
        ]
    return "\n".join(lines) + "\n"


def summary(found: Sequence[Measured]) -> str:
    """Return the table of medians beside the peers, of those that have been measured."""
    known = {
        "hemiola": "Hemiola",
        "gloo": "Gloo",
        "openmpi": "Open MPI",
        "openmpi_ring": "its ring",
        "mpich": "MPICH",
        "ucc": "UCC",
    }
    measured = {name for one in found for name in one.seconds}
    names = {name: shown for name, shown in known.items() if name in measured}
    lines = [f"| | {' | '.join(names.values())} |", f"|---|{'--:|' * len(names)}"]
    for one in found:
        if one.row in ("all_reduce", "all_gather", "reduce_scatter"):
            cells = {name: f"{ratio.median:.2f}" for name, ratio in one.ratios.items()}
        elif one.row == "small":
            cells = {name: f"{seconds.median * 1e6:,.0f} µs" for name, seconds in one.seconds.items()}
        else:
            continue
        lines.append(f"| {one.title} | {' | '.join(cells.get(name, '') for name in names)} |")
    return "\n".join(lines) + "\n"
