# SPDX-License-Identifier: Apache-2.0
"""A collective in the switch, offered beside a plan: ranks cannot run it, so that no plan chooses it.

See docs/decisions/0053."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from hemiola._core import Topology
from hemiola.algorithms import InSwitch
from hemiola.algorithms.in_switch import IN_SWITCH, able_switch, seconds_by_formula
from hemiola.arguments.names import Kind
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.simulate import simulate

#: Parts that follow each other through the switch. 64 leave 1/64 of the time to the way through it.
_PIECES = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Offer:
    """A collective in the switch beside a plan.

    Attributes
    ----------
    schedule : InSwitch, in as many pieces as are fastest by formula.
    seconds : float, simulated.
    bound_s : float, the lower bound that counts what switches do.
    """

    schedule: InSwitch
    seconds: float
    bound_s: float


def in_switch_offer(
    topology: Topology, kind: Kind, nbytes: int, conditions: Conditions, root: int
) -> Offer | None:
    """Return the offer for a collective with all its elements; None where no switch can do it for all ranks."""
    switch = able_switch(topology, kind)
    if switch is None:
        return None
    dense = replace(conditions, density=1.0)
    pieces = min(
        (count for count in _PIECES if count <= max(1, nbytes)),
        key=partial(seconds_by_formula, kind, topology, switch, nbytes),
    )
    options = {"root": root} if kind == "broadcast" else {}
    best = IN_SWITCH[kind][0](topology, pieces, **options)
    seconds = simulate(best, topology, nbytes, conditions=dense).seconds
    bound = lower_bound(topology, kind, nbytes, conditions=dense, root=root)
    return Offer(best, seconds, bound.seconds)
