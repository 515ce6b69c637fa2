# SPDX-License-Identifier: Apache-2.0
"""Topology files in YAML, writing: every link with its exact cost, so that reading gives it back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from hemiola import units
from hemiola._core import Topology
from hemiola.progress import ProgressBar
from hemiola.topology.named_nics import nics_of_links

#: Unit and picoseconds in it, largest first.
_TIMES = (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3), ("ps", 1))
#: A file that states its counts ends with YAML's own mark, without which it was cut short.
END = "...\n"
#: The lines above the rows of links.
LINKS = "links:\n"
_BANDWIDTHS = (("TB/s", 1e12), ("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3))
#: Names that YAML reads as they are.
_PLAIN = re.compile(r"[A-Za-z0-9][\w./+-]*", re.ASCII)
#: Links that are formatted at once, some milliseconds.
_BLOCK = 1 << 14


class _Own(NamedTuple):
    """What a link costs that most links do not, as text; empty where it is what they cost."""

    latency: str
    bandwidth: str
    message: str


def to_yaml(topology: Topology) -> str:
    """Write YAML: the most common cost once at the top, then the links, in their order, counted."""
    return "".join(blocks_of(topology))


def blocks_of(topology: Topology) -> Iterator[str]:
    """Write the same piece by piece, each of whole lines."""
    yield "".join(f"{line}\n" for line in _head(topology))
    if topology.link_count == 0:
        yield "links: []\n" + END
        return
    costs = _Costs.of(topology)
    texts = [
        _Own(_seconds(latency), _bandwidth(rate), _seconds(message)) for latency, rate, message in costs.kinds
    ]
    common = texts[costs.common]
    yield f"latency: {common.latency}\nbandwidth: {common.bandwidth}\n"
    if costs.kinds[costs.common][2] > 0:
        yield f"message: {common.message}\n"
    yield LINKS
    own = [_Own(*(a if a != b else "" for a, b in zip(text, common, strict=True))) for text in texts]
    yield from _rows(topology, own, costs.of_link)
    yield END


def _head(topology: Topology) -> Iterator[str]:
    if topology.name:
        yield f"name: {_quoted(topology.name)}"
    yield f"ranks: {topology.rank_count}"
    if topology.switch_count:
        yield f"switches: {topology.switch_count}"
    nodes = topology.nodes
    if not np.array_equal(nodes, np.arange(topology.rank_count)):
        yield f"nodes: [{', '.join(map(str, nodes.tolist()))}]"
    if topology.names:
        yield f"names: [{', '.join(name if _PLAIN.fullmatch(name) else _quoted(name) for name in topology.names)}]"
    if topology.launch_s > 0:
        yield f"launch: {_seconds(topology.launch_s)}"
    for ability, switches in (("reduces", topology.reduces), ("multicasts", topology.multicasts)):
        if switches:
            yield f"{ability}: [{', '.join(map(str, switches))}]"
    yield f"link_count: {topology.link_count}"


@dataclass(frozen=True)
class _Costs:
    """The different costs of links, which of them each link has, and which is the most common, the first of several."""

    kinds: list[tuple[float, float, float]]
    of_link: NDArray[np.int64]
    common: int

    @classmethod
    def of(cls, topology: Topology) -> _Costs:
        links = topology.links
        key = np.zeros(len(links), np.int64)
        for name in ("latency_s", "bandwidth", "message_s"):
            values, which = np.unique(links[name], return_inverse=True)
            key = key * len(values) + which
            _, key = np.unique(key, return_inverse=True)  # so that keys stay small
        _, first, of_link, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        kinds = [tuple(row) for row in links[["latency_s", "bandwidth", "message_s"]][first].tolist()]
        common = min(range(len(kinds)), key=lambda kind: (-counts[kind], first[kind]))
        return cls(kinds, of_link, common)


def _rows(topology: Topology, own: list[_Own], of_link: NDArray[np.int64]) -> Iterator[str]:
    """Write all links, many at a time: what a row looks like beside its ends depends on its cost alone."""
    ends = np.stack([topology.links["src"], topology.links["dst"]], axis=1)
    nics = nics_of_links(topology)
    forms = [_form(cost) for cost in own]
    begins = [_entries(cost) for cost in own]
    with ProgressBar("writing") as bar:
        for first in range(0, len(ends), _BLOCK):
            bar(first, len(ends))
            kinds = of_link[first : first + _BLOCK].tolist()
            rows = [forms[kind] for kind in kinds]
            if nics:
                for at, kind in enumerate(kinds):
                    if named := nics.get(first + at):
                        card = named[0] if len(named) == 1 else f"[{', '.join(named)}]"
                        rows[at] = f"{begins[kind]}, nic: {card.replace('%', '%%')}}}\n"
            yield "".join(rows) % tuple(ends[first : first + _BLOCK].ravel().tolist())


def _form(own: _Own) -> str:
    """Return the line of a link with two %d for its ends: a list where that can say everything, else a mapping."""
    if not own.message and bool(own.latency) == bool(own.bandwidth):
        return f"  - [{', '.join(('%d', '%d', *filter(None, own)))}]\n"
    return f"{_entries(own)}}}\n"


def _entries(own: _Own) -> str:
    """Return the beginning of a mapping: the ends, and what the link costs."""
    entries = {"src": "%d", "dst": "%d", **own._asdict()}
    return f"  - {{{', '.join(f'{key}: {value}' for key, value in entries.items() if value)}"


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
