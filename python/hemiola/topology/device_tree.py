# SPDX-License-Identifier: Apache-2.0
"""GPUs and NICs of one host from matrices that say how near each two of them are: links between GPUs, and a PCIe tree.

The readers of nvidia-smi, rocm-smi and amd-smi interpret their words; here links are put in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from hemiola.topology import wiring
from hemiola.topology.assumed import Assumed
from hemiola.topology.wiring import Wiring

#: Assumed for a link to a place where two devices meet: PCIe 4.0 with 16 lanes; between CPU sockets AMD's.
PCIE_BANDWIDTH, SOCKET_BANDWIDTH = Assumed(24e9), Assumed(16e9)


class Groups:
    """Which things have been joined so far (a union-find)."""

    def __init__(self, names: Sequence[str]) -> None:
        self._parent = {name: name for name in names}

    def find(self, name: str) -> str:
        """Return the one that stands for the group."""
        while self._parent[name] != name:
            name = self._parent[name]
        return name

    def join(self, a: str, b: str) -> None:
        """Make one group of two."""
        self._parent[self.find(a)] = self.find(b)

    def members(self) -> list[str]:
        """Return one representative per group."""
        return [name for name, parent in self._parent.items() if name == parent]

    def groups(self) -> list[list[str]]:
        """Return the groups, in the order of their first names."""
        found: dict[str, list[str]] = {}
        for name in self._parent:
            found.setdefault(self.find(name), []).append(name)
        return list(found.values())


def grouped_by(names: Sequence[str], are_joined: Callable[[str, str], bool]) -> list[list[str]]:
    """Group the members that a relation between pairs joins."""
    groups = Groups(names)
    for a, b in combinations(names, 2):
        if are_joined(a, b):
            groups.join(a, b)
    return groups.groups()


def add_tree(
    built: Wiring,
    devices: dict[str, int],
    levels: Sequence[tuple[str, float, Callable[[str, str], bool]]],
) -> None:
    """Grow a tree from the leaves: devices that meet at a level get a vertex there, then count as one.

    devices : the vertex of each.
    levels : nearest first, the kind of vertex where devices meet, the bandwidth of a link up to there, and the
        devices that meet.
    """
    groups = Groups(list(devices))
    top = dict(devices)  # the highest vertex so far of each group, by its representative
    for name, bandwidth, do_meet in levels:
        before = groups.members()
        for a, b in combinations(devices, 2):
            if do_meet(a, b):
                groups.join(a, b)
        parts: dict[str, list[str]] = {}
        for representative in before:
            parts.setdefault(groups.find(representative), []).append(representative)
        for joined, representatives in parts.items():
            if len(representatives) < 2:
                top[joined] = top[representatives[0]]
                continue
            meeting = built.add_switch(name)
            for representative in representatives:
                below = top[representative]
                link = built.gpu_link if built.is_rank(below) else built.both_ways
                link(below, meeting, wiring.PCIE_HOP_S, bandwidth)
            top[joined] = meeting
