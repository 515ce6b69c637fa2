"""Topology files in YAML, writing: every link with its exact cost, so that reading gives it back."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import yaml

from hemiola import Topology, units

#: Unit and picoseconds in it, largest first.
_TIMES = (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1))
_BANDWIDTHS = (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))


def to_yaml(topology: Topology) -> str:
    """Write YAML: the most common cost once at the top, then the links, in their order."""
    rows = topology.links.tolist()
    costs = Counter((latency_s, bandwidth) for _, _, latency_s, bandwidth in rows)
    lines = []
    if topology.name:
        lines.append(f"name: {_quoted(topology.name)}")
    lines.append(f"ranks: {topology.rank_count}")
    if topology.switch_count:
        lines.append(f"switches: {topology.switch_count}")
    nodes = topology.nodes.tolist()
    if nodes != list(range(topology.rank_count)):
        lines.append(f"nodes: [{', '.join(map(str, nodes))}]")
    if not rows:
        return "\n".join([*lines, "links: []", ""])
    common = costs.most_common(1)[0][0]
    text = {cost: (_seconds(cost[0]), _bandwidth(cost[1])) for cost in costs}
    lines += [f"latency: {text[common][0]}", f"bandwidth: {text[common][1]}", "links:"]
    for src, dst, latency_s, bandwidth in rows:
        cost = (latency_s, bandwidth)
        own = "" if cost == common else f", {text[cost][0]}, {text[cost][1]}"
        lines.append(f"  - [{src}, {dst}{own}]")
    return "\n".join([*lines, ""])


def _quoted(name: str) -> str:
    quoted: str = yaml.safe_dump(name, default_style='"', width=10**9, allow_unicode=True)
    return quoted.strip()


def _seconds(seconds: float) -> str:
    """Write a time exactly, in the unit that makes the number at least 1."""
    picoseconds = round(Decimal(seconds) * 10**12)
    for unit, factor in _TIMES:
        if picoseconds >= factor:
            return f"{_decimal(Decimal(picoseconds) / factor)} {unit}"
    return "0 s"


def _bandwidth(bandwidth: float) -> str:
    """Write a bandwidth so that reading gives the same float: with a prefix where that is exact."""
    for unit, factor in _BANDWIDTHS:
        if bandwidth >= factor:
            text = f"{_decimal(Decimal(repr(bandwidth / factor)))} {unit}"
            if units.parse_bandwidth(text) == bandwidth:
                return text
    return f"{_decimal(Decimal(repr(bandwidth)))} B/s"


def _decimal(value: Decimal) -> str:
    """Write without an exponent or trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
