# SPDX-License-Identifier: Apache-2.0
"""The ranks' observations of a job's latest operations: plain numbers, and the network's shared parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: The pairs of sender and receiver.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Way:
    """A part of the network that several pairs of ranks share: it is slow only if all of them are.

    Attributes
    ----------
    rank : int or None, the rank whose ports these are; None for a link.
    link : (src, dst) or None, the ends of a link; switches are numbered from the number of ranks up.
    pairs : frozenset of (src, dst), the ranks that reach each other through it.
    """

    rank: int | None
    link: Pair | None
    pairs: frozenset[Pair]


@dataclass(frozen=True)
class Nic:
    """The NIC by which ranks reach other hosts.

    Attributes
    ----------
    name : str, as its host's system calls it; empty where nobody knows.
    host : int, the host that it is in.
    ranks : tuple of int, those that go out by it, the one that has surveyed first.
    """

    name: str
    host: int
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class Evidence:
    """The input of `judge`.

    Attributes
    ----------
    host_of : tuple of int, the host of each rank.
    step_s : float, seconds from one operation to the next, typically.
    own_s : array of shape (operations, ranks), seconds that each rank took from leaving an operation to coming to the
        next: its own time, which no network explains.
    work_s : array of shape (ranks,), processor seconds that a fixed piece of work took at best; NaN where nobody has
        tried.
    waited_s : array of shape (ranks,), seconds per step that each rank was ready to run but had no core.
    ran_s : array of shape (ranks,), seconds per step that it had one.
    share : array of shape (ranks, ranks), the best share of its healthy speed that messages from src to dst have
        certainly reached; NaN where nothing was measured, everywhere where there is nothing but shared memory.
    ways : tuple of Way, the parts of the network that could be slow.
    core_count : int, cores that the ranks share on this machine.
    host_names : tuple of str, as hosts call themselves, by number; empty where they are numbers only.
    vertex_names : tuple of str, the topology's names of its vertices, "" for those without; empty where none has one.
    nics : tuple of Nic, which the ranks on several hosts have surveyed; empty where there was no survey.
    speeds : array of shape (NICs, NICs), bytes per second from the first to the second; NaN where not measured.
    expected : array of shape (NICs,), bytes per second that a given topology says that each carries; ones where nobody
        knows.
    noticed : mapping of rank to factor, the slow ports that `health` has from operations, or from the survey.
    """

    host_of: tuple[int, ...]
    step_s: float
    own_s: Floats
    work_s: Floats
    waited_s: Floats
    ran_s: Floats
    share: Floats
    ways: tuple[Way, ...] = field(default=())
    core_count: int = 1
    host_names: tuple[str, ...] = ()
    vertex_names: tuple[str, ...] = ()
    nics: tuple[Nic, ...] = ()
    speeds: Floats = field(default_factory=lambda: np.empty((0, 0)))
    expected: Floats = field(default_factory=lambda: np.empty(0))
    noticed: Mapping[int, float] = field(default_factory=dict)

    @property
    def rank_count(self) -> int:
        """How many ranks there are."""
        return len(self.host_of)

    @cached_property
    def hosts(self) -> dict[int, tuple[int, ...]]:
        """The ranks of each host."""
        found: dict[int, list[int]] = {}
        for rank, host in enumerate(self.host_of):
            found.setdefault(host, []).append(rank)
        return {host: tuple(ranks) for host, ranks in sorted(found.items())}

    @property
    def sees_network(self) -> bool:
        """Whether anything has been measured of ports and links."""
        return bool(np.isfinite(self.share).any() or np.isfinite(self.speeds).any())

    @property
    def nic_shares(self) -> Floats:
        """The share of its expected rate that each pair of NICs has reached."""
        return np.asarray(self.speeds / np.minimum.outer(self.expected, self.expected))

    def host_name(self, host: int) -> str:
        """Return a host's name for people."""
        return self.host_names[host] if self.host_names else f"host {host}"

    def nic_name(self, nic: Nic) -> str:
        """Return a NIC's name for people."""
        return f"{nic.name or 'NIC'} of {self.host_name(nic.host)}"
