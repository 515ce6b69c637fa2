"""What benchmarks/network.py has measured, as data, as a table and as the page in docs/results."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from rich.console import Console

from hemiola.cli.output import table
from hemiola.units import format_bytes


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    p25: float
    median: float
    p75: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.p25:.3g}-{self.p75:.3g})"


@dataclass(frozen=True)
class Goal:
    """A figure and the most that it may be."""

    what: str
    found: float
    most: float

    @property
    def is_met(self) -> bool:
        return self.found <= self.most


@dataclass(frozen=True)
class Measured:
    """One line of results: a collective of one size on one cluster, by contender."""

    row: str
    hosts: int
    rate: str | None
    bytes: int
    rounds: int
    seconds: Mapping[str, Spread]
    ratio_of: str
    ratios: Mapping[str, Spread]
    wrong: Mapping[str, int]
    load: tuple[float, float]
    goal: Goal | None

    @property
    def is_right(self) -> bool:
        return not any(self.wrong.values())

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        return self.goal.is_met if self.goal else None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def show(found: Sequence[Measured], console: Console, machine: str) -> None:
    """Print one line per contender."""
    columns = ("row", "hosts", "NIC", "size", "contender", "ms", "ratio", "", "wrong", "load", "goal")
    shown = table(*columns, left=("row", "contender", "", "goal"))
    for one in found:
        for name, seconds in one.seconds.items():
            is_first = name == next(iter(one.seconds))
            goal = ""
            if is_first and one.goal:
                verdict = "met" if one.goal.is_met else "MISSED"
                goal = f"{verdict}: {one.goal.what} {one.goal.found:.3f}, at most {one.goal.most:g}"
            shown.add_row(
                one.row if is_first else "",
                str(one.hosts) if is_first else "",
                (one.rate or "unlimited") if is_first else "",
                format_bytes(one.bytes) if is_first else "",
                name,
                f"{seconds.median * 1e3:,.4g} ({seconds.p25 * 1e3:,.4g}-{seconds.p75 * 1e3:,.4g})",
                str(one.ratios.get(name, "")),
                one.ratio_of if is_first else "",
                str(one.wrong.get(name, "")),
                f"{one.load[0]:.1f}-{one.load[1]:.1f}" if is_first else "",
                goal,
            )
    console.print(shown)
    console.print(f"{machine}; medians (quartiles) of contenders that took turns")
