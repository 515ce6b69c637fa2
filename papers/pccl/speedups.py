# SPDX-License-Identifier: Apache-2.0
"""The times of MPICH, the vendor's library, PCCL and the planner's choice at one size and scale, under both
constants."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from hemiola.arguments.names import Kind
from hemiola.planner import plan
from papers.pccl.closed_forms import pccl_s, rings_s, shuffle_s
from papers.pccl.fitted import Fitted, fitted
from papers.pccl.machine import Machine


@dataclass(frozen=True)
class Planned:
    """The planner's choice: its name, predicted seconds, the lower bound, and processor seconds that planning took."""

    label: str
    seconds: float
    bound_s: float
    cpu_s: float


@lru_cache(maxsize=1024)
def planned(machine: Machine, kind: Kind, rank_count: int, nbytes: int) -> Planned:
    """Plan on the machine's network; `cpu_s` includes no making of the network or the schedule."""
    network = machine.network(rank_count)
    began = time.process_time()
    found = plan(network, kind, nbytes)
    cpu_s = time.process_time() - began
    label = found.alternatives[0].label.removeprefix(f"{kind}_")
    return Planned(label, found.seconds, found.bound_s, cpu_s)


@dataclass(frozen=True)
class Times:
    """Seconds of one collective; `vendor_s` is RCCL's or NCCL's."""

    mpich_s: float
    vendor_s: float
    pccl_s: float
    planned: Planned

    @property
    def pccl_speedup(self) -> float:
        """The vendor's time over PCCL's."""
        return self.vendor_s / self.pccl_s

    @property
    def planned_speedup(self) -> float:
        """The vendor's time over the planned schedule's."""
        return self.vendor_s / self.planned.seconds


def physical_times(machine: Machine, kind: str, rank_count: int, nbytes: int) -> Times:
    """Price the algorithms at the network's costs; PCCL is the better of its two, with its shuffle."""
    nodes = machine.nodes(rank_count)
    return Times(
        rings_s(machine, nodes, 1, nbytes),
        rings_s(machine, nodes, machine.nics, nbytes),
        best_pccl_s(machine, nodes, nbytes),
        planned(machine, kind, rank_count, nbytes),
    )


def best_pccl_s(machine: Machine, nodes: int, nbytes: int) -> float:
    """Return the better of PCCL's two ways between nodes (their number a power of two), and its shuffle."""
    phases_s = min(pccl_s(machine, nodes, between, nbytes) for between in ("ring", "recursive"))
    return phases_s + shuffle_s(machine, nbytes)


def fitted_times(machine: Machine, kind: str, rank_count: int, nbytes: int) -> Times:
    """Price them at the costs that the paper's ratios need; a planned schedule pays as much for messages as PCCL."""
    constants: Fitted = fitted(machine, kind)
    return Times(
        constants.mpich_s(rank_count, nbytes),
        constants.vendor_s(rank_count, nbytes),
        constants.pccl_s(rank_count, nbytes),
        planned(constants.as_machine, kind, rank_count, nbytes),
    )


#: By what the columns of tables are called.
TIMES = {"fitted": fitted_times, "physical": physical_times}
