"""What `nvidia-smi topo -m` prints: a matrix of how GPUs and NICs are connected.

It counts NVLinks but not their speed, and hides the PCIe path of GPUs that share NVLinks. So this is the
fallback where there is no NCCL dump: speeds are assumed, as documented in docs/formats/topology.md. GPUs
become ranks. NICs are left out unless their speed is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from hemiola._core import Topology
from hemiola.topology import wiring
from hemiola.topology.place import Place, quote
from hemiola.topology.wiring import Wiring

#: One NVLink in one direction, as NCCL reckons it for Volta, Ampere and (nearly) Hopper.
NVLINK_BANDWIDTH = 20e9
#: Relations through PCIe, nearest first, and the bandwidth assumed for a link to where two devices meet that
#: way: PCIe 4.0 with 16 lanes; between CPU sockets, AMD's.
_LEVELS = {"PIX": 24e9, "PXB": 24e9, "PHB": 24e9, "NODE": 24e9, "SYS": 16e9}
_OLD_NAMES = {"SOC": "SYS"}
#: No GPU has more NVLinks than this, so that more in a row mean an NVSwitch.
_MOST_NVLINKS = 18
_MAX_DEVICES = 256

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_LEGEND = re.compile(r"^\s*(NIC\d+):\s+(\S+)\s*$", re.MULTILINE)
_FIRST_ROW = re.compile(r"^\s*GPU0\s+X\b", re.MULTILINE)


def is_matrix(text: str) -> bool:
    """Whether the text holds such a matrix."""
    return _FIRST_ROW.search(_ESCAPES.sub("", text)) is not None


def from_matrix(
    text: str,
    source: str = "nvidia-smi topo -m",
    *,
    nvlink_bandwidth: float = NVLINK_BANDWIDTH,
    nic_bandwidth: float | None = None,
) -> Topology:
    """Read the matrix.

    Parameters
    ----------
    text : what the command printed; other lines around the matrix are skipped.
    source : what the text is called in messages.
    nvlink_bandwidth : bytes per second of one NVLink in one direction.
    nic_bandwidth : bytes per second of every NIC, which then appear, on one network switch; None leaves NICs
        out.

    Raises
    ------
    FormatError
        Not such a matrix, a cell that is missing, unknown or not the same both ways; names source and line.
    """
    text = _ESCAPES.sub("", text)
    matrix = _read(text, source)
    built = Wiring(len(matrix.gpus))
    _add_nvlinks(matrix, built, nvlink_bandwidth)
    if nic_bandwidth is not None or not _joined_by_nvlink(matrix):
        devices: dict[str, int] = {gpu: rank for rank, gpu in enumerate(matrix.gpus)}
        if nic_bandwidth is not None:
            devices |= _add_nics(matrix, built, nic_bandwidth, dict(_LEGEND.findall(text)))
        _add_pcie(matrix, built, devices)
    return built.topology(f"{len(matrix.gpus)} GPUs (nvidia-smi)", [0] * len(matrix.gpus))


@dataclass(frozen=True)
class _Matrix:
    """Devices in the order of the rows, and the relation of each ordered pair."""

    devices: list[str]
    relation: dict[tuple[str, str], str]

    @property
    def gpus(self) -> list[str]:
        return [device for device in self.devices if device.startswith("GPU")]

    def nvlinks(self, a: str, b: str) -> int:
        """How many NVLinks two devices share."""
        relation = self.relation[a, b]
        return int(relation[2:]) if relation.startswith("NV") else 0


def _read(text: str, source: str) -> _Matrix:
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if _FIRST_ROW.match(line)), None)
    if first is None:
        Place(source).fail("expected what 'nvidia-smi topo -m' prints, found no row 'GPU0 X …'")
    if first == 0:
        Place(source, 1).fail("expected a line with the names of the columns above the row of GPU0")
    header = lines[first - 1].split()
    columns = header[: header.index("CPU")] if "CPU" in header else header
    if columns[:1] != ["GPU0"]:
        Place(source, first).fail("expected the names of the columns, GPU0 first, above the row of GPU0")
    if len(columns) > _MAX_DEVICES or len(set(columns)) != len(columns):
        Place(source, first).fail(f"expected at most {_MAX_DEVICES} columns of different names")
    relation = {}
    for index, row in enumerate(columns):
        place = Place(source, first + index + 1)
        cells = lines[first + index].split() if first + index < len(lines) else []
        if not cells or cells[0] != row:
            place.fail(f"expected the row of {quote(row)}, found {quote(cells[0]) if cells else 'none'}")
        if len(cells) <= len(columns):
            place.fail(f"expected {len(columns)} cells, found {len(cells) - 1}")
        for column, cell in zip(columns, cells[1:], strict=False):
            relation[row, column] = _relation(cell, place, is_self=row == column)
    matrix = _Matrix(columns, relation)
    _check_symmetry(matrix, Place(source))
    return matrix


def _relation(cell: str, place: Place, *, is_self: bool) -> str:
    relation = _OLD_NAMES.get(cell, cell)
    if is_self:
        if relation != "X":
            place.fail(f"expected X where a device meets itself, found {quote(cell)}")
    elif relation not in _LEVELS and not re.fullmatch(r"NV[1-9][0-9]?", relation):
        place.fail(f"expected NV<count>, {', '.join(_LEVELS)}, found {quote(cell)}")
    return relation


def _check_symmetry(matrix: _Matrix, place: Place) -> None:
    for a, b in combinations(matrix.devices, 2):
        there, back = matrix.relation[a, b], matrix.relation[b, a]
        if there != back:
            place.fail(f"expected the same both ways, found {a} to {b}: {there}, {b} to {a}: {back}")


def _add_nvlinks(matrix: _Matrix, built: Wiring, nvlink_bandwidth: float) -> None:
    """Link pairs directly, or every GPU to an NVSwitch where there are more NVLinks than a GPU can have."""
    gpus = matrix.gpus
    counts = {(a, b): matrix.nvlinks(gpus[a], gpus[b]) for a, b in combinations(range(len(gpus)), 2)}
    totals = [0] * len(gpus)
    most = [0] * len(gpus)
    for pair, count in counts.items():
        for gpu in pair:
            totals[gpu] += count
            most[gpu] = max(most[gpu], count)
    if max(totals, default=0) > _MOST_NVLINKS:
        nvswitch = built.add_switch()
        for rank, count in enumerate(most):
            if count:
                built.both_ways(rank, nvswitch, wiring.NVLINK_LATENCY_S / 2, count * nvlink_bandwidth)
        return
    for (a, b), count in counts.items():
        if count:
            built.both_ways(a, b, wiring.NVLINK_LATENCY_S, count * nvlink_bandwidth)


def _joined_by_nvlink(matrix: _Matrix) -> bool:
    gpus = matrix.gpus
    groups = _Groups(gpus)
    for a, b in combinations(gpus, 2):
        if matrix.nvlinks(a, b):
            groups.join(a, b)
    return len(groups.members()) == 1


def _add_nics(matrix: _Matrix, built: Wiring, bandwidth: float, legend: Mapping[str, str]) -> dict[str, int]:
    """Put NICs on the network, by the names that the legend below the matrix gives them, else by their columns'."""
    vertices = {}
    for nic in (device for device in matrix.devices if device not in matrix.gpus):
        vertices[nic] = built.add_switch()
        built.nic(legend.get(nic, nic), 0, vertices[nic], wiring.NETWORK_LATENCY_S / 2, bandwidth)
    return vertices


def _add_pcie(matrix: _Matrix, built: Wiring, devices: dict[str, int]) -> None:
    """Grow a tree from the leaves: devices that meet at a level get a vertex there, then count as one."""
    groups = _Groups(list(devices))
    top = dict(devices)  # the highest vertex so far of each group, by its representative
    for level, bandwidth in _LEVELS.items():
        before = groups.members()
        for a, b in combinations(devices, 2):
            if matrix.relation[a, b] == level:
                groups.join(a, b)
        parts: dict[str, list[str]] = {}
        for representative in before:
            parts.setdefault(groups.find(representative), []).append(representative)
        for joined, representatives in parts.items():
            if len(representatives) < 2:
                top[joined] = top[representatives[0]]
                continue
            meeting = built.add_switch()
            for representative in representatives:
                built.both_ways(top[representative], meeting, wiring.PCIE_HOP_S, bandwidth)
            top[joined] = meeting


class _Groups:
    """Which devices have been joined so far (a union-find)."""

    def __init__(self, names: list[str]) -> None:
        self._parent = {name: name for name in names}

    def find(self, name: str) -> str:
        while self._parent[name] != name:
            name = self._parent[name]
        return name

    def join(self, a: str, b: str) -> None:
        self._parent[self.find(a)] = self.find(b)

    def members(self) -> list[str]:
        """Return one representative per group."""
        return [name for name, parent in self._parent.items() if name == parent]
