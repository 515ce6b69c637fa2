"""Topology files in YAML, writing: every link with its exact cost, so that reading gives it back."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import NamedTuple

import yaml

from hemiola import units
from hemiola._core import Topology
from hemiola.topology.named_nics import nics_of_links

#: Unit and picoseconds in it, largest first.
_TIMES = (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1))
#: A file that states its counts ends with YAML's own mark, without which it was cut short.
_END = ("...", "")
_BANDWIDTHS = (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))


class _Own(NamedTuple):
    """What a link costs that most links do not, as text; empty where it is what they cost."""

    latency: str
    bandwidth: str
    message: str


def to_yaml(topology: Topology) -> str:
    """Write YAML: the most common cost once at the top, then the links, in their order, counted."""
    rows = topology.links.tolist()
    nics = nics_of_links(topology)
    costs = Counter(tuple(cost) for _, _, *cost in rows)
    lines = []
    if topology.name:
        lines.append(f"name: {_quoted(topology.name)}")
    lines.append(f"ranks: {topology.rank_count}")
    if topology.switch_count:
        lines.append(f"switches: {topology.switch_count}")
    nodes = topology.nodes.tolist()
    if nodes != list(range(topology.rank_count)):
        lines.append(f"nodes: [{', '.join(map(str, nodes))}]")
    lines.append(f"link_count: {len(rows)}")
    if not rows:
        return "\n".join([*lines, "links: []", *_END])
    common = costs.most_common(1)[0][0]
    text = {cost: (_seconds(cost[0]), _bandwidth(cost[1]), _seconds(cost[2])) for cost in costs}
    lines += [f"latency: {text[common][0]}", f"bandwidth: {text[common][1]}"]
    if common[2] > 0:
        lines.append(f"message: {text[common][2]}")
    lines.append("links:")
    for link, (src, dst, *cost) in enumerate(rows):
        own = _Own(*(a if a != b else "" for a, b in zip(text[tuple(cost)], text[common], strict=True)))
        lines.append(f"  - {_entry(src, dst, own, nics.get(link, []))}")
    return "\n".join([*lines, *_END])


def _entry(src: int, dst: int, own: _Own, nics: list[str]) -> str:
    """Write one link: as a list where that can say everything, else as a mapping."""
    if not nics and not own.message and bool(own.latency) == bool(own.bandwidth):
        return f"[{', '.join((str(src), str(dst), *filter(None, own)))}]"
    entries = {"src": str(src), "dst": str(dst), **own._asdict()}
    if nics:
        entries["nic"] = nics[0] if len(nics) == 1 else f"[{', '.join(nics)}]"
    return f"{{{', '.join(f'{key}: {value}' for key, value in entries.items() if value)}}}"


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
