# SPDX-License-Identifier: Apache-2.0
"""The least time of a collective on a topology, with its proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hemiola._core import Bound, Topology, exchange_lower_bounds, lower_bounds
from hemiola.algorithms.block_sizes import BlockSizes, SizeTable
from hemiola.algorithms.task import bytes_and_sizes
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.conditions import Conditions, least_share
from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar
from hemiola.topology.named_nics import settled
from hemiola.units import format_seconds

_WITHOUT_ZEROS = "what is not zero, and the entropy of where"
_UNION = "what is not zero in the sum of all others, and the entropy of where"


@dataclass(frozen=True, repr=False)
class LowerBound:
    """No schedule is faster than this.

    Attributes
    ----------
    seconds : float, the largest of the bounds.
    witness : str, its proof in words.
    bounds : tuple of Bound, all of them, largest first, each with name, seconds, witness and assumes.
    assumes : str, what the proof takes for granted beside the topology's figures.
    """

    seconds: float
    witness: str
    bounds: tuple[Bound, ...]

    @property
    def assumes(self) -> str:
        """What the largest bound takes for granted beside the topology's figures, in words."""
        return self.bounds[0].assumes

    @typed
    def after_launch(self, launch_s: float) -> LowerBound:
        """Return the same where every rank launches the operation before it sends, for so many seconds.

        Parameters
        ----------
        launch_s : float >= 0, in seconds.

        Returns
        -------
        LowerBound

        Raises
        ------
        ArgumentError
            The launch takes less than no time, or no finite time.
        """
        bounds = tuple(bound.after_launch(launch_s) for bound in self.bounds)
        witness = f"{self.witness}, after a launch of {format_seconds(launch_s)}"
        return LowerBound(self.seconds + launch_s, witness, bounds)

    def __repr__(self) -> str:
        return f"<LowerBound {format_seconds(self.seconds)}: {self.witness}>"


@typed
def lower_bound(
    topology: Topology,
    kind: Kind,
    nbytes: int | SizeTable,
    conditions: Conditions | None = None,
    root: int = 0,
    *,
    ports: str = "shared",
) -> LowerBound:
    """Bound the time of a collective from below, for every schedule.

    Parameters
    ----------
    topology : Topology
    kind : str, such as "all_reduce".
    nbytes : int >= 0, one rank's buffer in bytes; chunks are owned in equal shares where ownership matters. Of an
        all_to_all whose blocks differ: their sizes, an array of int >= 0 of shape (ranks, ranks), by sender and
        receiver.
    conditions : Conditions, late and slow ranks, slow NICs, density; all arrive at once, run at full speed and need all
        their bytes by default.
    root : int, of a broadcast, reduce, gather or scatter.
    ports : "shared": a port carries any number of messages at once, so that the bound holds for every schedule. "one":
        it carries one at a time at the pace of the slower of its two ends. That is so where every schedule step sends
        one message per port. Slow ranks then hold up their partners' ports.

    Returns
    -------
    LowerBound

    Raises
    ------
    ArgumentError
        The kind is unknown or custom, or an argument is out of range. A rank cannot reach one that needs its data.
        There are sizes of blocks for another kind than all_to_all, or with ``ports="one"``.

    Notes
    -----
    Eleven bounds:

    - ports: the bytes that a rank must send or receive, over its links;
    - traffic: the same for all ranks together; an all-reduce moves 2(n-1) times its buffer at least
      [patarasuk2009];
    - hosts: the same for hosts and their NICs;
    - islands: the same, in an all-reduce, for any ranks that faster links join; in an all-to-all whose blocks differ,
      the host or such ranks with most to send, or to receive, for their links;
    - relays: traffic with every hop from rank to rank counted, for bytes that cannot be merged or copied on
      their path;
    - cut: the bytes that one side of the network needs of the other, over the links between. It is the exact
      bandwidth optimum of all kinds but all_reduce and all_to_all, by maximum flows [ForestColl, §4], up to
      about 1,000 ranks;
    - distance: one rank's data for another must leave, travel and enter;
    - arrival: a rank's own delay;
    - late: data that depends on a late rank must cross every cut around it after it has come. Let k of n ranks
      come late together in an all-reduce. Then n-2+k of the 2(n-1) buffers that all send count, n-1+k less
      the bytes that may enter the late ranks before they come;
    - exchange: an all-to-all by lengths of links, the dual of its linear program;
    - trees: the same for an all-reduce, by trees.

    Where the topology has switches that reduce or multicast, traffic counts what enters and leaves ranks; islands,
    trees, one_port and a part of late do not apply, nor does hosts if such a switch joins hosts. `Bound.assumes` says
    so. Schedules that ranks run have the bound of `topology.replaced(reduces=[], multicasts=[])`.

    The last two are searched for, longer on smaller networks. All hold for both network models of
    `simulate`, up to its rounding of each message to a picosecond.

    Under slow ranks ports and traffic are the two regimes of [OptCC, Theorems 1 and 2]. Cut and hosts are
    those of its Theorem 3. The witness names the theorem that binds. With ``ports="one"`` an all-reduce has a twelfth
    bound, one_port: Theorem 6, or Theorem 13 for hosts with a NIC per rank, both for any number of slow ones. It
    also counts all traffic over NICs and the links inside hosts, which lies above Theorem 13 where that is not tight.

    With a density every byte counts for its nonzero values and the entropy of their places. An all-reduce has one
    more bound of ports: every rank must learn the sum of the others, of which 1-(1-density)^(n-1) is not zero.

    Cost: a shortest-path search per rank, on large topologies from some, and for the cut a few maximum flows per
    rank. A progress bar appears on a terminal once a second has passed, elsewhere a line every 30 s.
    """
    topology, now = settled(topology, conditions or Conditions())
    size, sizes = bytes_and_sizes(nbytes, kind, topology.rank_count)
    if sizes is not None and ports != "shared":
        raise ArgumentError(f"expected ports 'shared' beside sizes of blocks, found {ports!r}")
    with ProgressBar("bounding"):
        if sizes is not None:
            return _bounded_blocks(topology, sizes, now)
        return _bounded(topology, kind, size, now, root, ports)


def _bounded_blocks(topology: Topology, sizes: BlockSizes, now: Conditions) -> LowerBound:
    blocks = np.floor(sizes.table * least_share(now.density)).astype(np.int64)
    late, slow = dict(now.late), now.slow_ranks
    bounds = exchange_lower_bounds(topology, blocks.ravel().tolist(), late=late, slow=slow)
    note = "" if now.density == 1 else f" ({_WITHOUT_ZEROS})"
    return LowerBound(bounds[0].seconds, f"{bounds[0].witness}{note}", tuple(bounds))


def _bounded(
    topology: Topology, kind: Kind, nbytes: int, now: Conditions, root: int, ports: str
) -> LowerBound:
    def found(of_kind: str, size: float) -> list[Bound]:
        late, slow = dict(now.late), now.slow_ranks
        return lower_bounds(topology, of_kind, int(size), late=late, slow=slow, root=root, ports=ports)

    if now.density == 1:
        bounds = found(kind, nbytes)
        return LowerBound(bounds[0].seconds, bounds[0].witness, tuple(bounds))
    own = found(kind, nbytes * least_share(now.density))
    best = LowerBound(own[0].seconds, f"{own[0].witness} ({_WITHOUT_ZEROS})", tuple(own))
    n = topology.rank_count
    if kind != "all_reduce" or n == 1:
        return best
    # The data that every rank must learn: the others' sum, as if all had a part of it to send.
    learnt = nbytes * least_share(now.density, n - 1) * n / (n - 1)
    union = next(bound for bound in found("all_gather", learnt) if bound.name == "ports")
    if union.seconds <= best.seconds:
        return best
    return LowerBound(union.seconds, f"{union.witness} ({_UNION})", (union, *own))
