"""How fast a collective can possibly be on a topology, and what proves it."""

from __future__ import annotations

from dataclasses import dataclass

from hemiola._core import Bound, Topology, lower_bounds
from hemiola.arguments import typed
from hemiola.conditions import Conditions, refuse_density
from hemiola.progress import ProgressBar
from hemiola.topology.named_nics import settled


@dataclass(frozen=True)
class LowerBound:
    """No schedule is faster than this.

    Attributes
    ----------
    seconds : float, the largest of the bounds.
    witness : str, what proves it, in words.
    bounds : tuple of Bound, all of them, largest first, each with name, seconds and witness.
    """

    seconds: float
    witness: str
    bounds: tuple[Bound, ...]


@typed
def lower_bound(
    topology: Topology,
    kind: str,
    nbytes: int,
    conditions: Conditions | None = None,
    root: int = 0,
    *,
    ports: str = "shared",
) -> LowerBound:
    """Bound the time of a collective from below, whatever the schedule.

    Parameters
    ----------
    topology : Topology
    kind : str, such as "all_reduce".
    nbytes : int >= 0, one rank's buffer in bytes; chunks are owned in equal shares where ownership matters.
    conditions : Conditions, late and slow ranks, slow NICs; all arrive at once and run at full speed by default.
    root : int, of a broadcast, reduce, gather or scatter.
    ports : "shared", a port carries any number of messages at once, so that the bound holds for every schedule; or
        "one", it carries one at a time at the pace of the slower of its two ends, as where every schedule step sends
        one message per port. Slow ranks then hold up the ports of those who talk to them.

    Returns
    -------
    LowerBound

    Raises
    ------
    ArgumentError
        The kind is unknown or custom, an argument is out of range, conditions have a density, or a rank cannot reach
        one that needs its data.

    Notes
    -----
    Eight bounds: ports (what a rank must send or receive, over its links), traffic (the same for all ranks
    together; an all-reduce moves 2(n-1) times its buffer at least [patarasuk2009]), hosts (the same for hosts and their
    NICs), islands (the same, in an all-reduce, for whatever faster links join), relays (traffic
    with every hop from rank to rank counted, for what cannot be merged or copied on its way), cut (what one
    side of the network needs of the other, over the links between: the exact bandwidth optimum of all kinds
    but all_reduce and all_to_all, by maximum flows [ForestColl, §4], up to about 1,000 ranks), distance (what
    one rank needs of another must leave, travel and enter) and arrival. They hold for both network models of
    `simulate`, up to its rounding of each message to a picosecond.

    Under slow ranks ports and traffic are the two regimes of [OptCC, Theorems 1 and 2], and cut and hosts those
    of its Theorem 3; the witness names the theorem that binds. With ``ports="one"`` an all-reduce has a ninth
    bound, one_port: Theorem 6, for hosts with a NIC per rank Theorem 13, both for any number of slow ones; and all
    traffic over NICs and the links inside hosts, which lies above Theorem 13 where that one is not tight.

    Cost: a shortest-path search per rank, on large topologies from some, and for the cut a few maximum flows per
    rank. A progress bar appears on a terminal once a second has passed, elsewhere a line every 30 s.
    """
    refuse_density(conditions or Conditions(), "lower_bound")
    topology, now = settled(topology, conditions or Conditions())
    with ProgressBar("bounding"):
        bounds = tuple(
            lower_bounds(
                topology, kind, nbytes, late=dict(now.late), slow=now.slow_ranks, root=root, ports=ports
            )
        )
    return LowerBound(bounds[0].seconds, bounds[0].witness, bounds)
