# SPDX-License-Identifier: Apache-2.0
"""At which of several network interfaces a rank is found first: one of those next to its cores, and another than the
ranks beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hemiola.environment.interfaces import LocalAddress
from hemiola.machine.capacity import allowed_cores

_SYSTEM = Path("/sys")


def nearest_first(
    addresses: Sequence[LocalAddress], local_rank: int, system: Path = _SYSTEM
) -> list[LocalAddress]:
    """Order addresses so that others try those of the rank's own interface first.

    Parameters
    ----------
    addresses : sequence of LocalAddress, at least one.
    local_rank : int >= 0, which of the host's ranks this is.
    system : folder, where the kernel says which NUMA node an interface and a core belong to.

    Returns
    -------
    list of LocalAddress, the same ones. Interfaces at the NUMA nodes of this process's cores come before others; of
    those that are equally near, ranks take one after the other as the first.
    """
    nodes = _nodes_of(allowed_cores(), system)
    interfaces = list(dict.fromkeys(address.interface for address in addresses))
    near = [name for name in interfaces if _node_of(name, system) in nodes] or interfaces
    begin = local_rank % len(near)
    turned = near[begin:] + near[:begin]
    order = turned + [name for name in interfaces if name not in turned]
    return sorted(addresses, key=lambda address: order.index(address.interface))


def side_by_side(addresses: Sequence[LocalAddress]) -> list[tuple[int, list[str]]]:
    """Return a host's NICs for wires that use all of them at once.

    Parameters
    ----------
    addresses : sequence of LocalAddress, at least one, in the system's order.

    Returns
    -------
    list of pairs, one for each interface, in that order: its speed in Mbit/s, and its addresses. An interface whose
    speed the system does not know counts as the slowest of the others, or all as equally fast.
    """
    import psutil

    states = psutil.net_if_stats()
    names = list(dict.fromkeys(local.interface for local in addresses))
    speeds = {name: states[name].speed if name in states else 0 for name in names}
    slowest = min((speed for speed in speeds.values() if speed > 0), default=1)
    return [
        (
            speeds[name] if speeds[name] > 0 else slowest,
            [str(local.address) for local in addresses if local.interface == name],
        )
        for name in names
    ]


def _node_of(interface: str, system: Path) -> int:
    """Return an interface's NUMA node; -1 where the kernel knows none."""
    try:
        return int((system / "class/net" / interface / "device/numa_node").read_text())
    except (OSError, ValueError):
        return -1


def _nodes_of(cores: set[int], system: Path) -> set[int]:
    """Return the NUMA nodes of some cores, where that says something: they are not on all there are."""
    members: dict[int, set[int]] = {}
    for file in sorted((system / "devices/system/node").glob("node*/cpulist")):
        number = re.fullmatch(r"node(\d+)", file.parent.name)
        if number is not None:
            members[int(number[1])] = _listed(file.read_text())
    found = {node for node, its in members.items() if its & cores}
    return found if len(found) < len(members) else set()


def _listed(text: str) -> set[int]:
    """Read "0-3,8"."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found.update(range(int(first), int(last or first) + 1))
    return found
