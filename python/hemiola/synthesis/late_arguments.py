# SPDX-License-Identifier: Apache-2.0
"""The arguments of schedules around a late rank, checked."""

from __future__ import annotations

import numpy as np

from hemiola._core import Topology
from hemiola.errors import ArgumentError

_MOST_PIECES = 4096


def check_late_rank(function: str, late_rank: int, rank_count: int) -> None:
    """Raise ArgumentError, in the name of a function, unless it is one of the ranks."""
    if not 0 <= late_rank < rank_count:
        raise ArgumentError(f"{function}: expected late_rank in 0 … {rank_count - 1}, found {late_rank}")


def check_pieces(function: str, pieces: int) -> None:
    """Raise ArgumentError unless so many pieces may be made."""
    if not 1 <= pieces <= _MOST_PIECES:
        raise ArgumentError(f"{function}: expected pieces in 1 … {_MOST_PIECES}, found {pieces}")


def ranks_per_host(function: str, topology: Topology, least: int = 1) -> int:
    """Return of how many ranks each host is; raise ArgumentError for one host, for fewer ranks, or for hosts that are
    not alike or in order."""
    nodes = np.asarray(topology.nodes)
    hosts, counts = np.unique(nodes, return_counts=True)
    is_alike = len(set(counts.tolist())) == 1 and counts[0] >= least
    if len(hosts) < 2 or not is_alike or (np.diff(nodes) < 0).any():
        raise ArgumentError(f"{function}: expected hosts of as many ranks each, numbered host by host")
    return int(counts[0])
