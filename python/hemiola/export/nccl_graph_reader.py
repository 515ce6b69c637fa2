# SPDX-License-Identifier: Apache-2.0
"""Reads NCCL_GRAPH_FILE as NCCL 2.30.7 does (src/graph/xml.cc, search.cc), and refuses files it refuses or misreads.

NCCL's parser is its own: it takes no XML declaration, no tabs, one blank between attributes, at most 254 characters of
a value and 640 children. It trusts the rest. A missing rank or a wrong count is found later or never, so it is refused
here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hemiola.topology import xml_tree
from hemiola.topology.place import Place, quote
from hemiola.topology.xml_tree import Element

MOST_CHANNELS = 64
_MOST_VALUE, _MOST_CHILDREN, _MOST_ELEMENTS = 254, 640, 65536
#: NCCL's number for the shape of each graph that is written: rings, trees.
PATTERNS = {0: 4, 1: 3}
_TYPES = ("LOC", "NVL", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")
_NUMBERS = ("pattern", "crossnic", "nchannels", "speedintra", "speedinter", "samechannels")


@dataclass(frozen=True)
class Graph:
    """A graph: its channels as orders of ranks, and the speed of each in GB/s."""

    channels: tuple[tuple[int, ...], ...]
    speed: float
    path_type: str


def read_graphs(text: str, source: str, rank_count: int) -> dict[int, Graph]:
    """Read a graph file for a host of so many ranks.

    Parameters
    ----------
    text : the file's content.
    source : its name in errors.
    rank_count : int, the GPUs of the job on the host.

    Returns
    -------
    dict, Graph by NCCL's number: 0 for rings, 1 for trees.

    Raises
    ------
    FormatError
        If NCCL's parser ends with an error, an attribute is missing or unknown, or a channel is no order of all ranks.
        The error names source and line.
    """
    _as_its_parser_takes(text, source)
    root = xml_tree.parse(text, source)
    if root.tag != "graphs":
        root.place.fail(f"expected NCCL's <graphs>, found <{quote(root.tag)[1:-1]}>")
    if root.number("version") != 1:
        root.place.fail(f"expected the version 1, found {quote(root.attributes['version'])}")
    for element in (root, *root.descendants()):
        if len(element.children) > _MOST_CHILDREN:
            element.place.fail(f"expected at most {_MOST_CHILDREN} children, found {len(element.children)}")
    found: dict[int, Graph] = {}
    for element in root.named("graph"):
        number = int(element.number("id"))
        if number in found:
            element.place.fail(f"graph {number} is there twice; NCCL takes the last")
        found[number] = _graph(element, rank_count)
    return found


def _as_its_parser_takes(text: str, source: str) -> None:
    """Refuse text that is XML, and which NCCL's own parser does not take."""
    for number, line in enumerate(text.splitlines(), 1):
        place = Place(source, number)
        if "<?" in line or "<!" in line.replace("<!--", ""):
            place.fail("expected elements alone, found a declaration, which NCCL does not read")
        if "\t" in line:
            place.fail("expected blanks alone, found a tab, which NCCL does not read")
        if re.search(r'"  +\w', line):
            place.fail("expected one blank between attributes, found several, which NCCL does not read")
    if text.count("<") > _MOST_ELEMENTS:
        Place(source).fail(f"expected at most {_MOST_ELEMENTS} elements, as NCCL has room for")


def _graph(element: Element, rank_count: int) -> Graph:
    numbers = {name: element.number(name) for name in _NUMBERS}
    for name, value in element.attributes.items():
        if len(value) > _MOST_VALUE:
            element.place.fail(
                f"expected at most {_MOST_VALUE} characters as {quote(name)}, found {len(value)}"
            )
    for name in ("typeintra", "typeinter"):
        if element.attributes.get(name) not in _TYPES:
            found = quote(element.attributes.get(name, ""))
            element.place.fail(f"expected one of {', '.join(_TYPES)} as '{name}', found {found}")
    channels = [_channel(channel, rank_count) for channel in element.named("channel")]
    if not 1 <= len(channels) <= MOST_CHANNELS:
        element.place.fail(f"expected 1 … {MOST_CHANNELS} channels, found {len(channels)}")
    if numbers["nchannels"] != len(channels):
        element.place.fail(
            f"expected nchannels={len(channels)}, as there are channels, found {numbers['nchannels']:g}"
        )
    if not numbers["speedintra"] > 0:
        element.place.fail("expected a speedintra above 0, found 0, with which NCCL finds no channel")
    return Graph(tuple(channels), numbers["speedintra"], element.attributes["typeintra"])


def _channel(element: Element, rank_count: int) -> tuple[int, ...]:
    ranks = []
    for gpu in element.named("gpu"):
        gpu.number("dev")
        ranks.append(int(gpu.number("rank")))
    if sorted(ranks) != list(range(rank_count)):
        odd = next((rank for rank in range(rank_count) if ranks.count(rank) != 1), max(ranks, default=-1))
        element.place.fail(
            f"expected each of the ranks 0 … {rank_count - 1} once, found rank {odd} {ranks.count(odd)} times"
        )
    return tuple(ranks)
