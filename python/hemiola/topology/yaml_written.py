# SPDX-License-Identifier: Apache-2.0
"""Topology files in YAML that `yaml_writer` wrote, read without a YAML parser: millions of links in seconds.

The text is taken apart as the writer puts it together, and the result is written again. Only where that gives the same
text, letter by letter, is the result used. All other texts are for `yaml_reader`, which also names their errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.errors import HemiolaError
from hemiola.progress import ProgressBar
from hemiola.topology import yaml_values as read
from hemiola.topology.yaml_tree import Node, parse
from hemiola.topology.yaml_writer import END, LINKS, blocks_of
from hemiola.units import parse_bandwidth, parse_seconds

#: Bytes of a file that was written: about three million links. Reading one takes less than a gigabyte.
MAX_WRITTEN_BYTES = 64 << 20
#: Characters that are taken apart at once, some milliseconds.
_BLOCK = 1 << 18
#: The rows' share of the time; the rest is the network and its being written again.
_READING = 0.5

#: A row: the ends, and what stands behind them.
_ROW = re.compile(r"  - .(?:src: )?(\d+), (?:dst: )?(\d+)(?:, )?(.*).")
_TO_SPACES = str.maketrans({char: " " for char in "-[],\n"})

_Cost = tuple[float, float, float]
_NO_LINKS = Topology(1, []).links


class _OtherText(Exception):
    """The text is not as it is written."""


def starts_as_written(text: str | bytes) -> bool:
    """Say whether a text can be one that was written, by its first letters."""
    first = text[:6].decode("ascii", "replace") if isinstance(text, bytes) else text[:6]
    return first in ("ranks:", "name: ")


def as_written(text: str) -> Topology | None:
    """Return the topology of a text that `to_yaml` has written; None for any other text."""
    if not (starts_as_written(text) and text.endswith(f"\n{END}") and len(text) <= MAX_WRITTEN_BYTES):
        return None
    try:
        with ProgressBar("reading") as bar:
            with bar.part(_READING):
                topology = _topology(text)
            with bar.part(1 - _READING):
                return topology if _is_written_as(topology, text) else None
    except (_OtherText, HemiolaError, ValueError, OverflowError):
        return None


def _is_written_as(topology: Topology, text: str) -> bool:
    at = 0
    for block in blocks_of(topology):
        if not text.startswith(block, at):
            return False
        at += len(block)
    return at == len(text)


def _topology(text: str) -> Topology:
    head, separator, _ = text.partition(f"\n{LINKS}")
    if not separator:
        raise _OtherText
    entries, nodes = _head(head)
    latency_s, bandwidth = (value(entries[key]) for key, value in _COSTS.items())
    message_s = read.seconds(entries["message"]) if "message" in entries else 0.0
    rows = _Rows((latency_s, bandwidth, message_s))
    for block in _blocks(text, len(head) + len(separator), len(text) - len(END)):
        rows.add(block)
    return Topology(
        read.count(entries["ranks"]),
        rows.links(),
        switch_count=read.count(entries["switches"]) if "switches" in entries else 0,
        nodes=nodes,
        nics=[(name, host, links) for (name, host), links in rows.nics.items()],
        names=read.list_of(read.text)(entries["names"]) if "names" in entries else [],
        launch_s=read.seconds(entries["launch"]) if "launch" in entries else 0.0,
        reduces=read.list_of(read.count)(entries["reduces"]) if "reduces" in entries else [],
        multicasts=read.list_of(read.count)(entries["multicasts"]) if "multicasts" in entries else [],
        name=read.text(entries["name"]) if "name" in entries else "",
    )


_COSTS = {"latency": read.seconds, "bandwidth": read.bandwidth}


def _head(text: str) -> tuple[dict[str, Node], list[int]]:
    """Read what stands above the links; the nodes by themselves, since there may be millions."""
    lines = text.split("\n")
    nodes: list[int] = []
    for index, line in enumerate(lines):
        if line.startswith("nodes: "):
            nodes = list(map(int, lines.pop(index)[len("nodes: ") :].translate(_TO_SPACES).split()))
            break
    entries = read.mapping(parse("\n".join(lines), "head").root)
    if not {"ranks", *_COSTS} <= entries.keys():
        raise _OtherText
    return entries, nodes


def _blocks(text: str, begin: int, end: int) -> Iterator[str]:
    """Cut text[begin:end] into pieces of whole lines."""
    with ProgressBar("parsing") as bar:
        first = begin
        while first < end:
            bar(first - begin, end - begin)
            last = text.find("\n", min(first + _BLOCK, end - 1), end)
            if last < 0:
                raise _OtherText
            yield text[first:last]
            first = last + 1


@dataclass
class _Rows:
    """Links and NICs as their rows come; `common` is what a link costs that does not say."""

    common: _Cost
    count: int = 0
    _blocks: list[NDArray[np.void]] = field(default_factory=list)
    #: By name and host, the links of each NIC.
    nics: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    _costs: dict[str, _Cost] = field(default_factory=dict)
    #: By the text behind a link's ends, its cost and the links of its NICs.
    _known: dict[str, tuple[_Cost, list[list[int]]]] = field(default_factory=dict)

    def add(self, block: str) -> None:
        """Add the rows of a block, which has no newline at its end."""
        count = block.count("\n") + 1
        if "{" not in block and block.count(", ") == count:  # nothing but ends
            numbers = list(map(int, block.translate(_TO_SPACES).split()))
            if len(numbers) != 2 * count:
                raise _OtherText
            self._append(np.array(numbers, np.int32).reshape(count, 2), np.array([self.common]))
            return
        rows = _ROW.findall(block)
        if len(rows) != count:
            raise _OtherText
        sources, targets, texts = zip(*rows, strict=True)
        ends = np.array([list(map(int, sources)), list(map(int, targets))], np.int32).T
        behind = [self._known.get(text) or self._understood(text) for text in texts]
        for link, (_, cards) in enumerate(behind, self.count):
            for card in cards:
                card.append(link)
        self._append(ends, np.array([cost for cost, _ in behind]))

    def links(self) -> NDArray[np.void]:
        """Return all links so far, as `Topology.links` has them."""
        return np.concatenate([_NO_LINKS, *self._blocks])

    def _append(self, ends: NDArray[np.int32], costs: NDArray[np.float64]) -> None:
        block = np.empty(len(ends), _NO_LINKS.dtype)
        block["src"], block["dst"] = ends.T
        block["latency_s"], block["bandwidth"], block["message_s"] = costs.T
        self._blocks.append(block)
        self.count += len(ends)

    def _understood(self, text: str) -> tuple[_Cost, list[list[int]]]:
        """Read what stands behind the ends of a link: its cost, and the lists of the links of its NICs."""
        cost, found, named = text.partition("nic: ")
        nics = [nic.rpartition("/") for nic in named.strip("[]").split(", ")] if found else []
        cards = [self.nics.setdefault((name, int(host)), []) for host, _, name in nics]
        if cost not in self._costs:
            self._costs[cost] = self._parsed(cost)
        self._known[text] = self._costs[cost], cards
        return self._known[text]

    def _parsed(self, text: str) -> _Cost:
        if not text:
            return self.common
        parts = text.removesuffix(", ").split(", ")
        if ":" not in text:
            latency, bandwidth = parts
            return parse_seconds(latency), parse_bandwidth(bandwidth), self.common[2]
        said = dict(part.split(": ", 1) for part in parts)
        return (
            parse_seconds(said["latency"]) if "latency" in said else self.common[0],
            parse_bandwidth(said["bandwidth"]) if "bandwidth" in said else self.common[1],
            parse_seconds(said["message"]) if "message" in said else self.common[2],
        )
