# SPDX-License-Identifier: Apache-2.0
"""A group's part of a network, without switches that lead nowhere or only pass on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology, hops
from hemiola.errors import ArgumentError

#: A link's costs: latency and bandwidth; its own seconds for each message; and its parts in the whole network.
_Link = tuple[float, float, float, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class CutNetwork:
    """A part of a network.

    Attributes
    ----------
    topology : Topology of its ranks.
    own, places : int64 arrays of one length: a link of `topology`, and the place of a link of the whole network on it.
    shares : float64 array beside them, the whole link's busy time over the cut link's.
    """

    topology: Topology
    own: NDArray[np.int64]
    places: NDArray[np.int64]
    shares: NDArray[np.float64]

    def on_whole(self, busy_s: NDArray[np.float64], link_count: int) -> NDArray[np.float64]:
        """Return the busy seconds of the whole network's links, given those of this one's."""
        found = np.zeros(link_count)
        found[self.places] = busy_s[self.own] * self.shares
        return found


def cut_out(whole: Topology, links: NDArray[np.void], ranks: NDArray[np.int64]) -> CutNetwork:
    """Cut out the network of some ranks: they, and the switches between them.

    Where they cannot reach each other so, all other ranks pass messages on, too.

    Parameters
    ----------
    whole : Topology.
    links : structured array as `Topology.links`, of the whole network, with bandwidths of one's own.
    ranks : int64 array.

    Returns
    -------
    CutNetwork, in which rank i is ``ranks[i]``.

    Raises
    ------
    ArgumentError
        Two of the ranks have no way to each other.

    Notes
    -----
    O(links). A switch with one neighbour is left out; one with two is replaced by links.
    """
    switches = np.arange(whole.rank_count, whole.rank_count + whole.switch_count)
    found = _made(whole, links, ranks, switches)
    if _lost(found.topology) is None:
        return found
    others = np.setdiff1d(np.arange(whole.rank_count + whole.switch_count), ranks)
    found = _made(whole, links, ranks, others)
    if (lost := _lost(found.topology)) is not None:
        raise ArgumentError(
            f"'{whole.name or 'topology'}': rank {ranks[0]} cannot reach rank {ranks[lost]} of its group; "
            "give it a link"
        )
    return found


def _lost(topology: Topology) -> int | None:
    """Return a rank that the first one cannot reach; None where there is none."""
    away = np.flatnonzero(np.asarray(hops(topology, 0))[: topology.rank_count] < 0)
    return int(away[0]) if away.size else None


def _made(
    whole: Topology, links: NDArray[np.void], ranks: NDArray[np.int64], between: NDArray[np.int64]
) -> CutNetwork:
    kept = np.zeros(whole.rank_count + whole.switch_count, dtype=bool)
    kept[ranks] = kept[between] = True
    inside = np.flatnonzero(kept[links["src"]] & kept[links["dst"]])
    out: dict[int, dict[int, list[_Link]]] = defaultdict(lambda: defaultdict(list))
    for place, (src, dst, latency_s, bandwidth, message_s) in zip(
        inside.tolist(), links[inside].tolist(), strict=True
    ):
        out[src][dst].append((latency_s, bandwidth, message_s, (place,)))
        out[dst].setdefault(src, [])
    special = {*whole.reduces, *whole.multicasts}
    _simplify(out, [int(one) for one in between if int(one) not in special])
    return _numbered(whole, links, ranks, [int(one) for one in between], out)


def _simplify(out: dict[int, dict[int, list[_Link]]], switches: list[int]) -> None:
    """Take out switches with one neighbour, and replace those with two and a link each way by links."""
    waiting = list(switches)
    while waiting:
        switch = waiting.pop()
        around = list(out.get(switch, ()))
        if not around or len(around) > 2:
            continue
        if len(around) == 2 and any(
            len(out[a][b]) > 1 for one in around for a, b in ((one, switch), (switch, one))
        ):
            continue
        if len(around) == 2:
            near, far = around
            for src, dst in ((near, far), (far, near)):
                for first in out[src][switch]:
                    for second in out[switch][dst]:
                        out[src][dst].append(_in_line(first, second))
                out[dst].setdefault(src, [])
        for one in around:
            del out[one][switch]
            if one in switches:
                waiting.append(one)
        del out[switch]


def _in_line(first: _Link, second: _Link) -> _Link:
    return (
        first[0] + second[0],
        min(first[1], second[1]),
        max(first[2], second[2]),
        first[3] + second[3],
    )


def _numbered(
    whole: Topology,
    links: NDArray[np.void],
    ranks: NDArray[np.int64],
    between: list[int],
    out: dict[int, dict[int, list[_Link]]],
) -> CutNetwork:
    left = [one for one in between if any(out.get(one, {}).values())]
    number = {int(one): place for place, one in enumerate([*ranks.tolist(), *left])}
    rows: list[tuple[int, int, float, float, float]] = []
    own: list[int] = []
    places: list[int] = []
    shares: list[float] = []
    for src in number:
        for dst, between_them in out.get(src, {}).items():
            for latency_s, bandwidth, message_s, parts in between_them:
                for part in parts:
                    own.append(len(rows))
                    places.append(part)
                    shares.append(bandwidth / float(links["bandwidth"][part]))
                rows.append((number[src], number[dst], latency_s, bandwidth, message_s))
    _, nodes = np.unique(np.asarray(whole.nodes)[ranks], return_inverse=True)
    topology = Topology(
        len(ranks),
        rows,
        switch_count=len(left),
        nodes=nodes.ravel().tolist(),
        launch_s=whole.launch_s,
        reduces=[number[one] for one in whole.reduces if one in number],
        multicasts=[number[one] for one in whole.multicasts if one in number],
        name=f"a group of {whole.name or 'the network'}",
    )
    return CutNetwork(
        topology,
        np.array(own, dtype=np.int64),
        np.array(places, dtype=np.int64),
        np.array(shares, dtype=np.float64),
    )
