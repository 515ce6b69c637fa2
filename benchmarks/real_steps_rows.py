# SPDX-License-Identifier: Apache-2.0
"""The settings of benchmarks/real_steps.py, what `hemiola.whatif` says of each, and how far that is from the truth."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import hemiola as hm
from hemiola.machine.capacity import core_count
from hemiola.workload.model import Model
from hemiola.workload.pricing import Prices
from hemiola.workload.task import Call, Step

LIBRARIES = ("gloo", "hemiola")
#: What a prediction calls them.
MODELLED = {"gloo": "gloo-like", "hemiola": "hemiola"}
SPLITS = ("DDP", "FSDP2")
MOST_MEDIAN_ERROR, MOST_ERROR, MOST_POINTS = 0.10, 0.20, 10.0
#: How late the last rank begins each step, and by which factor the last host's NIC is slow.
LATE_S, SLOWER = 0.3, 4.0

#: Of a call that measures a library's software: two elements for each rank, or gloo leaves messages out.
CALL_BYTES = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where the four ranks are: on this machine, or on namespace hosts whose NICs have a rate."""

    hosts: int
    per_host: int
    rate: str = ""

    def __str__(self) -> str:
        return f"{self.hosts} × {self.per_host}, {self.rate}" if self.rate else f"{self.per_host} local"

    @property
    def ranks(self) -> int:
        return self.hosts * self.per_host


@dataclass(frozen=True)
class Setting:
    """What is measured with each library."""

    place: Place
    split: str
    fault: str

    @property
    def conditions(self) -> hm.Conditions:
        """The fault, as a question has it."""
        if self.fault == "late rank":
            return hm.Conditions(late={self.place.ranks - 1: LATE_S})
        if self.fault == "slow NIC":
            return hm.Conditions(slow={f"nic:{self.place.hosts - 1}/nic0": SLOWER})
        return hm.Conditions()


LOCAL = Place(1, 4)
PLACES = (LOCAL, *(Place(h, 4 // h, rate) for rate in ("200mbit", "1gbit") for h in (2, 4)))
FAULTS = ("none", "late rank", "slow NIC")


def settings(places: Iterable[Place] = PLACES) -> Iterator[Setting]:
    """Yield all settings by place. Faults are where steps are short, and many of them possible."""
    fast = (4, 1, "1gbit")
    with_faults = {"none": set(PLACES), "late rank": {LOCAL, Place(*fast)}, "slow NIC": {Place(*fast)}}
    for place in places:
        for fault in FAULTS:
            if place in with_faults[fault]:
                yield from (Setting(place, split, fault) for split in SPLITS)


def steps_of(ends: Sequence[Sequence[float]]) -> list[float]:
    """Return the seconds of each step, from the last rank's end of one to the last rank's end of the next.

    `ends`: by rank when all began, and when each step ended.
    """
    last = [max(of_ranks) for of_ranks in zip(*ends, strict=True)]
    return [end - begin for begin, end in pairwise(last)]


def call_of(place: Place, library: str, seconds: float, network: hm.Topology) -> Row:
    """Return a row: the measured seconds of a call of a few bytes, the network's part, and the library's software."""
    split = hm.Parallel().on(place.ranks)
    prices = Prices(network, split, hm.Conditions(), MODELLED[library])
    network_s = prices(Call("all_reduce", CALL_BYTES, "world"), 0.0).seconds
    return {
        "place": str(place),
        "library": library,
        "measured_s": seconds,
        "network_s": network_s,
        "software_s": max(0.0, seconds - network_s),
    }


def predicted(
    setting: Setting, call: Mapping[str, Any], trace: Model | Step, untraced_s: float, network: hm.Topology
) -> float:
    """Return the seconds of a step with the library of a call, whose software it has.

    It is told from the trace of its split and the network as that library's wire has it.
    """
    library = MODELLED[call["library"]]
    software = {library: call["software_s"]}
    found = hm.whatif(
        trace, network, setting.conditions, cores=core_count(), untraced_s=untraced_s, software_s=software
    )
    return found.seconds if call["library"] == "hemiola" else found.others[library]


def row_of(setting: Setting, library: str, seconds: Sequence[float], told_s: float) -> Row:
    """Return a row: what was measured, what was predicted, and the error of that."""
    measured_s = statistics.median(seconds)
    return {
        "place": str(setting.place),
        "split": setting.split,
        "fault": setting.fault,
        "library": library,
        "seconds": list(seconds),
        "measured_s": measured_s,
        "predicted_s": told_s,
        "error": told_s / measured_s - 1,
    }


def gains(rows: Iterable[Row]) -> list[Row]:
    """Return for each setting the share of gloo's step that Hemiola saves, promised and measured, in percent."""
    by_setting: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        by_setting.setdefault((row["place"], row["split"], row["fault"]), {})[row["library"]] = row
    found = []
    for (place, split, fault), both in by_setting.items():
        if len(both) < len(LIBRARIES):
            continue
        promised, measured = (
            100 * (1 - both["hemiola"][what] / both["gloo"][what]) for what in ("predicted_s", "measured_s")
        )
        found.append(
            {"place": place, "split": split, "fault": fault, "promised": promised, "measured": measured}
            | {"points": promised - measured}
        )
    return found


def summary(rows: Sequence[Row]) -> Row:
    """Return the median and the worst error, the worst difference of a gain, and what of it meets its target."""
    errors = [abs(row["error"]) for row in rows]
    points = [abs(gain["points"]) for gain in gains(rows)]
    found = {"settings": len(rows), "median_error": statistics.median(errors), "worst_error": max(errors)}
    found |= {
        "within_error": sum(error <= MOST_ERROR for error in errors),
        "gains": len(points),
        "worst_points": max(points, default=0.0),
        "within_points": sum(each <= MOST_POINTS for each in points),
    }
    return found | {
        "is_met": bool(
            found["median_error"] <= MOST_MEDIAN_ERROR
            and found["worst_error"] <= MOST_ERROR
            and found["worst_points"] <= MOST_POINTS
        )
    }


def table_lines(rows: Sequence[Row]) -> list[str]:
    """Return the two tables of docs/results/real-steps.md."""
    lines = [
        "| place | split | fault | library | measured, ms (least to most) | predicted, ms | error |",
        "|---|---|---|---|--:|--:|--:|",
    ]
    for row in rows:
        times = [1e3 * one for one in row["seconds"]]
        measured = f"{1e3 * row['measured_s']:,.0f} ({min(times):,.0f} to {max(times):,.0f})"
        lines.append(
            f"| {row['place']} | {row['split']} | {row['fault']} | {_NAMES[row['library']]} | {measured} | "
            f"{1e3 * row['predicted_s']:,.0f} | {_marked(100 * row['error'], 100 * MOST_ERROR, ' %')} |"
        )
    lines += ["", "## The gain", "", "| place | split | fault | promised, % | measured, % | points apart |"]
    lines += ["|---|---|---|--:|--:|--:|"]
    lines += [
        f"| {gain['place']} | {gain['split']} | {gain['fault']} | {gain['promised']:.1f} | "
        f"{gain['measured']:.1f} | {_marked(gain['points'], MOST_POINTS, '')} |"
        for gain in gains(rows)
    ]
    return lines


def call_lines(calls: Iterable[Row]) -> list[str]:
    """Return the table of the measured calls."""
    lines = ["| place | library | measured, µs | network's part, µs |", "|---|---|--:|--:|"]
    return lines + [
        f"| {call['place']} | {_NAMES[call['library']]} | {1e6 * call['measured_s']:,.0f} | "
        f"{1e6 * call['network_s']:,.0f} |"
        for call in calls
    ]


def target_lines(found: Mapping[str, Any]) -> list[str]:
    """Return the targets and how they were met, as a table."""

    def verdict(is_met: bool) -> str:
        return "met" if is_met else "**missed**"

    median, worst, points = found["median_error"], found["worst_error"], found["worst_points"]
    return [
        "| | target | found | |",
        "|---|--:|--:|---|",
        f"| median error of {found['settings']} settings | {MOST_MEDIAN_ERROR:.0%} | {median:.1%} | "
        f"{verdict(median <= MOST_MEDIAN_ERROR)} |",
        f"| worst error; {found['within_error']} are within | {MOST_ERROR:.0%} | {worst:.1%} | "
        f"{verdict(worst <= MOST_ERROR)} |",
        f"| worst difference of a gain; {found['within_points']} of {found['gains']} are within | "
        f"{MOST_POINTS:.0f} points | {points:.1f} points | {verdict(points <= MOST_POINTS)} |",
    ]


_NAMES = {"gloo": "gloo", "hemiola": "Hemiola"}


def _marked(value: float, most: float, unit: str) -> str:
    """Write a difference, in bold where it is too large."""
    text = f"{value:+.1f}{unit}"
    return text if abs(value) <= most else f"**{text}**"
