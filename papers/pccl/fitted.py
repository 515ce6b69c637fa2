# SPDX-License-Identifier: Apache-2.0
"""Constants under which closed forms give the paper's ratios; only ratios are printed, so one bandwidth is given.

The other library's ring: (p-1)·a + (p-1)/p·m/B. PCCL: A·log2 N + X/B' + Y/b. With five constants to six or seven
printed ratios this is an interpolation, not an explanation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from papers.pccl import printed
from papers.pccl.closed_forms import equation_1
from papers.pccl.machine import ALL_GATHER, FRONTIER, MIB, PERLMUTTER, REDUCE_SCATTER, Machine
from papers.pccl.printed import Printed

#: Limits of a ring's hop, a round of PCCL's, and the bytes per second of a ring and PCCL between nodes and inside.
_LEAST = (1e-6, 1e-6, 60e9, 60e9, 20e9)
_MOST = (300e-6, 2e-3, 100e9, 100e9, 300e9)
#: Where the search begins: in each third of the limits.
_STARTS = (0.2, 0.5, 0.8)
#: Nearer to a limit than this share of the way is at it.
_AT_LIMIT = 1e-3


@dataclass(frozen=True)
class Fitted:
    """Constants of one machine and collective.

    Attributes
    ----------
    machine : Machine, whose nodes they are of.
    hop_s, ring : float, a hop of the vendor's ring in seconds, and its bytes per second out of a node.
    round_s, between, inside : float, PCCL's round between nodes, and bytes per second out of a node and inside.
    error : float, root of the mean square of the ratios' logarithms.
    at_limits : tuple of str, constants that the limits of the search set.
    mpich_hop_s : float, a hop of Cray MPICH's ring, which leaves a node through one NIC.
    """

    machine: Machine
    hop_s: float
    ring: float
    round_s: float
    between: float
    inside: float
    error: float
    at_limits: tuple[str, ...]
    mpich_hop_s: float

    def vendor_s(self, rank_count: int, nbytes: float) -> float:
        """Return the seconds of RCCL or NCCL."""
        return equation_1(rank_count, nbytes, self.hop_s, self.ring)

    def mpich_s(self, rank_count: int, nbytes: float) -> float:
        """Return the seconds of Cray MPICH."""
        return equation_1(rank_count, nbytes, self.mpich_hop_s, self.machine.nic)

    def pccl_s(self, rank_count: int, nbytes: float) -> float:
        """Return the seconds of PCCL, recursive between nodes in a power of two."""
        constants = (self.hop_s, self.round_s, self.ring, self.between, self.inside)
        return _pccl_s(constants, self.machine, rank_count, nbytes)

    @property
    def as_machine(self) -> Machine:
        """The machine on which a message costs as much as PCCL's does here, for the planner."""
        nic = self.between / self.machine.nics
        return replace(
            self.machine, inside_s=0.0, inside=self.inside, nic_s=self.round_s, nic=nic, message_s=0.0
        )


@lru_cache(maxsize=8)
def fitted(machine: Machine, kind: str) -> Fitted:
    """Fit; deterministic. Perlmutter's ratios are printed for both collectives together."""
    if machine == FRONTIER:
        return _fit(machine, printed.FRONTIER[kind], printed.FRONTIER_MPICH)
    return _fit(machine, printed.PERLMUTTER, printed.PERLMUTTER_MPICH)


def all_fitted() -> dict[str, Fitted]:
    """Return the fitted algorithms, by name."""
    return {
        "Frontier, all-gather": fitted(FRONTIER, ALL_GATHER),
        "Frontier, reduce-scatter": fitted(FRONTIER, REDUCE_SCATTER),
        "Perlmutter": fitted(PERLMUTTER, ALL_GATHER),
    }


def _fit(machine: Machine, ratios: Sequence[Printed], mpich: Sequence[Printed]) -> Fitted:
    least, most = np.log(_LEAST), np.log(_MOST)
    if machine == FRONTIER:  # the anchor: four NICs
        least[2] = most[2] - 1e-9

    def errors(x: NDArray[np.float64]) -> list[float]:
        return _errors(np.exp(x), machine, ratios)

    found = []
    for hop in _STARTS:
        for step in _STARTS:
            share = np.array([hop, step, 0.5, 0.5, 0.5])
            start = least + share * (most - least)
            found.append(least_squares(errors, start, bounds=(least, most), xtol=1e-12))
    best = min(found, key=lambda one: float(one.cost))
    constants = tuple(map(float, np.exp(best.x)))
    hop_s, round_s, ring, between, inside = constants
    return Fitted(
        machine,
        hop_s,
        ring,
        round_s,
        between,
        inside,
        math.sqrt(2 * float(best.cost) / len(ratios)),
        _at_limits(best.x, least, most),
        _mpich_hop_s(constants, machine, mpich),
    )


def _errors(constants: NDArray[np.float64], machine: Machine, ratios: Sequence[Printed]) -> list[float]:
    hop_s, _, ring, _, _ = constants
    errors = []
    for one in ratios:
        nbytes = one.size_mib * MIB
        vendor_s = equation_1(one.rank_count, nbytes, hop_s, ring)
        ours = _pccl_s(tuple(constants), machine, one.rank_count, nbytes)
        errors.append(math.log(vendor_s / ours / one.ratio))
    return errors


def _pccl_s(constants: Sequence[float], machine: Machine, rank_count: int, nbytes: float) -> float:
    _, round_s, _, between, inside = constants
    nodes, per_node = machine.nodes(rank_count), machine.ranks_per_node
    between_s = (nodes - 1).bit_length() * round_s + (nodes - 1) / nodes * nbytes / between
    return between_s + (per_node - 1) / per_node * nbytes / inside


def _mpich_hop_s(constants: Sequence[float], machine: Machine, ratios: Sequence[Printed]) -> float:
    """Return the geometric mean of the hops that the printed ratios need, one NIC carrying all bytes."""
    hops = []
    for one in ratios:
        nbytes = one.size_mib * MIB
        mpich_s = one.ratio * _pccl_s(constants, machine, one.rank_count, nbytes)
        bytes_s = equation_1(one.rank_count, nbytes, 0.0, machine.nic)
        hops.append((mpich_s - bytes_s) / (one.rank_count - 1))
    return math.exp(sum(map(math.log, hops)) / len(hops))


def _at_limits(
    x: NDArray[np.float64], least: NDArray[np.float64], most: NDArray[np.float64]
) -> tuple[str, ...]:
    names = ("ring hop", "PCCL round", "ring", "between", "inside")
    near = (np.minimum(x - least, most - x) < _AT_LIMIT * (most - least)) & (most - least > 1e-6)
    return tuple(name for name, is_near in zip(names, near, strict=True) if is_near)
