# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of `rocm-smi --showtopo` and `amd-smi topology`: how GPUs are linked and how far they are apart.

Some versions also say how fast links are. GPUs become ranks. Neither names NICs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hemiola.topology import wiring
from hemiola.topology.assumed import Assumed
from hemiola.topology.device_tree import PCIE_BANDWIDTH, SOCKET_BANDWIDTH, add_tree, grouped_by
from hemiola.topology.matrix_text import Line, Matrix, add_row, check_complete, lines_of
from hemiola.topology.place import Place, quote
from hemiola.topology.wiring import Speeds, TopologyFile, Wiring

#: One xGMI link of an MI300 in one direction, as RCCL reckons it.
XGMI_BANDWIDTH = Assumed(48e9)
_MAX_DEVICES = 256

#: The tables that are read, by words of their titles in rocm-smi and amd-smi.
_TITLES = {
    "types": re.compile(r"link type between two gpus|link type table", re.IGNORECASE),
    "hops": re.compile(r"hops between two gpus|hops table", re.IGNORECASE),
    "speeds": re.compile(r"bandwidth between two gpus|numa bw table", re.IGNORECASE),
}
_OTHER_TITLE = re.compile(r"={4,}|table:|between two gpus", re.IGNORECASE)
_DEVICE = re.compile(r"GPU\d+|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]")
_NUMA = re.compile(r"GPU\[(\d+)\]\s*:.*Numa Node:\s*(\d+)", re.IGNORECASE)
_SELF = ("0", "SELF", "N/A", "X")


@dataclass
class _Tables:
    """The tables by their names, and the NUMA node of each GPU where the text says it."""

    by_name: dict[str, Matrix] = field(default_factory=dict)
    numa: dict[int, str] = field(default_factory=dict)


def is_matrix(text: str) -> bool:
    """Whether the text holds a table of links between GPUs."""
    return _TITLES["types"].search(text) is not None and not text.lstrip().startswith("<")


def read(text: str, source: str, speeds: Speeds) -> TopologyFile:
    """Read the tables; raise FormatError that names source and line."""
    tables = _read_tables(text, source)
    types = tables.by_name.get("types")
    if types is None:
        Place(source).fail("expected rows below 'Link Type between two GPUs', found none")
    types.check_symmetry()
    gpus = types.devices
    built = Wiring([f"GPU{rank}" for rank in range(len(gpus))])
    rank = {gpu: number for number, gpu in enumerate(gpus)}

    def is_linked(a: str, b: str) -> bool:
        hops = tables.by_name.get("hops")
        return types.cells[a, b] == "XGMI" and (hops is None or hops.cells.get((a, b), "1") == "1")

    for a, b in ((a, b) for a in gpus for b in gpus if rank[a] < rank[b] and is_linked(a, b)):
        bandwidth = _speed(tables.by_name.get("speeds"), a, b) or speeds.gpu_link or XGMI_BANDWIDTH
        built.gpu_link(rank[a], rank[b], wiring.NVLINK_LATENCY_S, bandwidth)
    if len(grouped_by(gpus, is_linked)) > 1:
        pcie = speeds.pcie or PCIE_BANDWIDTH

        def are_on_one_socket(a: str, b: str) -> bool:
            return tables.numa.get(rank[a], "") == tables.numa.get(rank[b], "")

        levels = [("CPU", pcie, are_on_one_socket), ("host", SOCKET_BANDWIDTH, lambda a, b: True)]
        add_tree(built, dict(rank), levels)
    return built.read(f"{len(gpus)} GPUs (AMD)", [0] * len(gpus), lacks_network=True, is_amd=True)


def _read_tables(text: str, source: str) -> _Tables:
    tables, current = _Tables(), ""
    for line in lines_of(text, source):
        joined = " ".join(line.words)
        if title := next((name for name, words in _TITLES.items() if words.search(joined)), ""):
            current = title
            if title in tables.by_name:
                line.place.fail("found a second table of this kind: two hosts, or one twice; keep one")
        elif numa := _NUMA.search(joined):
            tables.numa[int(numa[1])] = numa[2]
        elif _OTHER_TITLE.search(joined):
            current = ""
        elif current:
            _add_line(tables, current, line)
    for matrix in tables.by_name.values():
        check_complete(matrix)
    return tables


def _add_line(tables: _Tables, name: str, line: Line) -> None:
    """Add the names of the columns, or a row."""
    words = line.words
    if words and all(map(_DEVICE.fullmatch, words)) and name not in tables.by_name:
        if len(words) > _MAX_DEVICES or len(set(words)) < len(words):
            line.place.fail(f"expected at most {_MAX_DEVICES} columns of different names")
        tables.by_name[name] = Matrix(line.place, words)
    elif words and _DEVICE.fullmatch(words[0]):
        matrix = tables.by_name.get(name)
        if matrix is None or words[0] not in matrix.devices:
            line.place.fail(f"found a row of {quote(words[0])}, which is none of the columns")
        cells = [_type(cell, line.place) for cell in words[1:]] if name == "types" else words[1:]
        add_row(matrix, words[0], cells, line.place)


def _type(cell: str, place: Place) -> str:
    kind = cell.upper()
    if kind not in ("XGMI", "PCIE", *_SELF):
        place.fail(f"expected XGMI or PCIE, found {quote(cell)}")
    return kind


def _speed(table: Matrix | None, a: str, b: str) -> float | None:
    """Read the largest of MIN-MAX, in MB/s; nothing where the table does not say it."""
    text = table.cells.get((a, b), "") if table is not None else ""
    found = re.fullmatch(r"\d+-(\d+)", text)
    return float(found[1]) * 1e6 if found and int(found[1]) > 0 else None
