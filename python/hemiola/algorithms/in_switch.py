# SPDX-License-Identifier: Apache-2.0
"""Collectives in a switch that reduces or multicasts, such as NVLS and SHARP: formulas and simulations to compare with.

Hemiola's ranks cannot command a switch: none of these is registered, or runs. In a simulation the switch is one
participant more, rank n. It adds as a rank does, and its copies leave by all its ports at once. So the judge and the
simulator need to know no other kind of participant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule, Topology
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.errors import ArgumentError, NotExecutableError

#: A piece that moves between a rank and the switch: step, src, dst, chunk, whether it is added.
_Row = tuple[int, int, int, int, bool]
_MOST_PIECES = 1024


@dataclass(frozen=True)
class InSwitch:
    """A collective in one switch of a topology, to be compared with what ranks do; it cannot run.

    Attributes
    ----------
    name, kind : str, such as "all_reduce_in_switch" and "all_reduce".
    topology : Topology whose switch it is.
    switch : int, the vertex of the switch.
    root : int, of a broadcast.
    pieces : int, parts of each share that follow each other through the switch.
    star : Schedule of n + 1 ranks, the last of which is the switch; for `hm.verify` and `hm.simulate`.
    """

    name: str
    kind: Kind
    topology: Topology
    switch: int
    root: int
    pieces: int
    star: Schedule = field(repr=False, compare=False)

    @typed
    def network_of(self, topology: Topology) -> Topology:
        """Return a topology with the switch as rank n, for `star`; links keep their places.

        Parameters
        ----------
        topology : Topology, this one or a copy with other speeds.

        Returns
        -------
        Topology

        Raises
        ------
        ArgumentError
            Another number of ranks, or its switch lacks an ability.
        """
        if topology.rank_count != self.topology.rank_count or not _is_able(topology, self.kind, self.switch):
            raise ArgumentError(
                f"{self.name}: expected the topology that it was made for, or a copy with other speeds, found "
                f"'{topology.name}'"
            )
        return _with_switch_as_rank(topology, self.switch)

    @typed
    def formula_s(self, nbytes: int) -> float:
        """Return the time by formula, in seconds, as `hm.simulate` finds it where all ports are alike and none is late.

        Parameters
        ----------
        nbytes : int >= 0, bytes of one rank's buffer.

        Returns
        -------
        float: launch_s + latency to and from the switch + (pieces + 1) * (message_s + b). Here b is the time of a piece
        in the busier direction of a port. The last piece takes its own time in the other direction. Of an all-reduce
        and a broadcast both directions carry nbytes, so that b = nbytes / (pieces * bandwidth). Of a reduce-scatter
        and an all-gather one direction carries n - 1 shares of nbytes / n, the other one share.

        Raises
        ------
        ArgumentError
            nbytes < 0.
        """
        if nbytes < 0:
            raise ArgumentError(f"{self.name}: expected nbytes >= 0, found {nbytes}")
        return seconds_by_formula(self.kind, self.topology, self.switch, nbytes, self.pieces)


def not_executable(name: str) -> NotExecutableError:
    """Return the error for an attempt to run a collective in the switch."""
    return NotExecutableError(
        f"'{name}' is for comparison: the switch adds or copies, and Hemiola's ranks cannot command it. Simulate it "
        "with hm.simulate, run a schedule that hm.plan chooses, or use NCCL (NVLS) or SHARP itself."
    )


@typed
def all_reduce_in_switch(topology: Topology, pieces: int = 1) -> InSwitch:
    """Reduce in the switch and multicast from it: each port carries the buffer once each way.

    Parameters
    ----------
    topology : Topology with a switch that reduces and multicasts and has a link to and from every rank.
    pieces : int, 1 … 1024, parts of the buffer that follow each other through the switch.

    Returns
    -------
    InSwitch

    Raises
    ------
    ArgumentError
        No switch of the topology can do that, or another number of pieces.

    Notes
    -----
    nbytes / bandwidth, where ranks alone need 2(n-1)/n of it each way. NCCL's NVLS has the shares of a buffer read and
    written through the switch by their owners, (n+1)/n of it each way.
    """
    return _made("all_reduce", topology, pieces, _all_reduce_rows)


@typed
def broadcast_in_switch(topology: Topology, pieces: int = 1, root: int = 0) -> InSwitch:
    """Send the root's buffer to the switch, which multicasts it.

    Parameters
    ----------
    topology, pieces : as of `all_reduce_in_switch`; the switch need not reduce.
    root : int, 0 … rank_count-1.

    Returns
    -------
    InSwitch

    Raises
    ------
    ArgumentError
        As of `all_reduce_in_switch`; or another root.
    """
    if not 0 <= root < topology.rank_count:
        raise ArgumentError(f"expected a root in 0 … {topology.rank_count - 1}, found {root}")
    return _made("broadcast", topology, pieces, lambda n, p: _broadcast_rows(n, p, root), root)


@typed
def reduce_scatter_in_switch(topology: Topology, pieces: int = 1) -> InSwitch:
    """Send all others' shares to the switch, which adds each and forwards it to its owner.

    Parameters
    ----------
    topology, pieces : as of `all_reduce_in_switch`; the switch need not multicast. Pieces are parts of a share.

    Returns
    -------
    InSwitch

    Raises
    ------
    ArgumentError
        As of `all_reduce_in_switch`.
    """
    return _made("reduce_scatter", topology, pieces, _reduce_scatter_rows)


@typed
def all_gather_in_switch(topology: Topology, pieces: int = 1) -> InSwitch:
    """Send each share to the switch, which multicasts it to all others.

    Parameters
    ----------
    topology, pieces : as of `all_reduce_in_switch`; the switch need not reduce. Pieces are parts of a share.

    Returns
    -------
    InSwitch

    Raises
    ------
    ArgumentError
        As of `all_reduce_in_switch`.
    """
    return _made("all_gather", topology, pieces, _all_gather_rows)


#: By the collective: its function, and the abilities that the switch needs, as the topology's attributes.
IN_SWITCH: dict[str, tuple[Callable[..., InSwitch], tuple[str, ...]]] = {
    "all_reduce": (all_reduce_in_switch, ("reduces", "multicasts")),
    "broadcast": (broadcast_in_switch, ("multicasts",)),
    "reduce_scatter": (reduce_scatter_in_switch, ("reduces",)),
    "all_gather": (all_gather_in_switch, ("multicasts",)),
}
NAMES = frozenset(f"{kind}_in_switch" for kind in IN_SWITCH)


def able_switch(topology: Topology, kind: Kind) -> int | None:
    """Return the first switch that can do a collective for all ranks: it has the abilities, and a link to and from each
    rank; None where there is none."""
    if topology.rank_count < 2 or kind not in IN_SWITCH:
        return None
    able = sorted({*topology.reduces, *topology.multicasts})
    return next((switch for switch in able if _is_able(topology, kind, switch)), None)


def _is_able(topology: Topology, kind: Kind, switch: int) -> bool:
    links, n = topology.links, topology.rank_count
    up = links["src"][links["dst"] == switch]
    down = links["dst"][links["src"] == switch]
    return all(switch in getattr(topology, ability) for ability in IN_SWITCH[kind][1]) and all(
        len(set(ends[ends < n].tolist())) == n for ends in (up, down)
    )


def _made(
    kind: Kind, topology: Topology, pieces: int, rows: Callable[[int, int], Iterator[_Row]], root: int = 0
) -> InSwitch:
    switch = able_switch(topology, kind)
    if switch is None:
        needed = " and ".join(IN_SWITCH[kind][1])
        raise ArgumentError(
            f"{kind}_in_switch: expected a switch that {needed} and has a link to and from each of at least two ranks; "
            f"topology '{topology.name}' has none. State it with Topology.replaced where a switch can do that."
        )
    if not 1 <= pieces <= _MOST_PIECES:
        raise ArgumentError(f"{kind}_in_switch: expected 1 … {_MOST_PIECES} pieces, found {pieces}")
    n = topology.rank_count
    star, weights = _promise(kind, n, pieces, root)
    schedule = Schedule.from_transfers(star, list(rows(n, pieces)), chunk_weights=weights)
    return InSwitch(f"{kind}_in_switch", kind, topology, switch, root, pieces, schedule)


def _promise(kind: Kind, n: int, pieces: int, root: int) -> tuple[Collective, list[int]]:
    """Return the collective of the n ranks and the switch, and the weights of its chunks: 0 for those of the switch,
    which nobody sends."""
    if kind == "broadcast":
        return Collective.make(kind, n + 1, pieces, root), [1] * pieces
    if kind == "all_reduce":
        count = -(-pieces // (n + 1)) * (n + 1)
        return Collective.make(kind, n + 1, count), [1] * pieces + [0] * (count - pieces)
    return Collective.make(kind, n + 1, (n + 1) * pieces), [1] * (n * pieces) + [0] * pieces


def _all_reduce_rows(n: int, pieces: int) -> Iterator[_Row]:
    for chunk in range(-(-pieces // (n + 1)) * (n + 1)):
        yield from ((chunk, rank, n, chunk, True) for rank in range(n))
        yield from ((chunk + 1, n, rank, chunk, False) for rank in range(n))


def _broadcast_rows(n: int, pieces: int, root: int) -> Iterator[_Row]:
    for chunk in range(pieces):
        yield chunk, root, n, chunk, False
        yield from ((chunk + 1, n, rank, chunk, False) for rank in range(n) if rank != root)


def _reduce_scatter_rows(n: int, pieces: int) -> Iterator[_Row]:
    """An owner's own part stays: it adds the switch's sum of all others."""
    for piece in range(pieces):
        for owner in range(n + 1):
            chunk = owner * pieces + piece
            yield from ((piece, rank, n, chunk, True) for rank in range(n) if rank != owner)
            if owner < n:
                yield piece + 1, n, owner, chunk, True


def _all_gather_rows(n: int, pieces: int) -> Iterator[_Row]:
    for piece in range(pieces):
        for owner in range(n + 1):
            chunk = owner * pieces + piece
            if owner < n:
                yield piece, owner, n, chunk, False
            yield from ((piece + 1, n, rank, chunk, False) for rank in range(n) if rank != owner)


def seconds_by_formula(kind: Kind, topology: Topology, switch: int, nbytes: int, pieces: int) -> float:
    """Return the time of a collective in a switch, as `InSwitch.formula_s` says; it needs no schedule."""
    if nbytes == 0:
        return topology.launch_s
    n, links = topology.rank_count, topology.links
    shares = {"reduce_scatter": ((n - 1) / n, 1 / n), "all_gather": (1 / n, (n - 1) / n)}
    share_up, share_down = shares.get(kind, (1.0, 1.0))
    up = links[(links["dst"] == switch) & (links["src"] < n)]
    down = links[(links["src"] == switch) & (links["dst"] < n)]
    up_s = _piece_s(up, "src", n, share_up * nbytes / pieces)
    down_s = _piece_s(down, "dst", n, share_down * nbytes / pieces)
    latency_s = float(up["latency_s"].max()) + float(down["latency_s"].max())
    return topology.launch_s + latency_s + up_s + down_s + (pieces - 1) * max(up_s, down_s)


def _piece_s(ports: NDArray[np.void], end: str, n: int, nbytes: float) -> float:
    """Return how long a piece takes the rank whose links to or from the switch carry least together."""
    slowest = float(np.bincount(ports[end], weights=ports["bandwidth"], minlength=n)[:n].min())
    return float(ports["message_s"].max()) + nbytes / slowest


def _with_switch_as_rank(topology: Topology, switch: int) -> Topology:
    n, count = topology.rank_count, topology.switch_count
    number = np.arange(n + count)
    number[n : switch + 1] = [*range(n + 1, switch + 1), n]
    links = topology.links.copy()
    links["src"], links["dst"] = number[links["src"]], number[links["dst"]]
    return Topology(
        n + 1,
        links,
        switch_count=count - 1,
        nodes=[*topology.nodes.tolist(), int(topology.nodes[0])],
        nics=topology.nics,
        launch_s=topology.launch_s,
        name=f"{topology.name}, the switch as a rank",
    )
