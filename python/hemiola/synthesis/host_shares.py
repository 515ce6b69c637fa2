"""Broadcasts between hosts of several ranks, each with a port of its own: shares that go through all ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule

_Ints = NDArray[np.integer]


def broadcast_through_hosts(host_count: int, ranks_per_host: int, root: int, pieces: int = 1) -> Schedule:
    """Cut the buffer into a slice for each rank of a host, and a slice into a share for each other host.

    ::

        root ──► ranks of its host, a slice each ──► rank of the same number on each other host, a share of it each
             ──► ranks of that number on all hosts ──► all ranks of a host

    Where ranks are numbered host by host and each of g has a port of N/(g · t) beyond its host, K pieces take three
    latencies between ranks, one within a host, and 2t beside what the slices take within hosts; trees would take a
    latency for each level. Run backwards, it is a reduce.
    """
    home, own = divmod(root, ranks_per_host)
    hosts = np.arange(host_count, dtype=np.int32)
    others = np.delete(hosts, home)
    slices, owners, piece = np.meshgrid(
        *(np.arange(count, dtype=np.int32) for count in (ranks_per_host, len(others), pieces)), indexing="ij"
    )
    chunk = (slices * len(others) + owners) * pieces + piece
    relay = others[owners]  # host of the rank that hands a share on

    def rows(step: _Ints, src: _Ints, dst: _Ints, kept: NDArray[np.bool_]) -> _Ints:
        columns = np.broadcast_arrays(step, src, dst, chunk[..., None], np.int32(0), kept)
        return np.stack([column[columns[-1]] for column in columns[:-1]], axis=-1, dtype=np.int32)

    slices, piece, relay = slices[..., None], piece[..., None], relay[..., None]
    at_home = home * ranks_per_host + slices
    everybody = np.arange(host_count * ranks_per_host, dtype=np.int32)
    transfers = [
        rows(piece, np.array([root]), at_home, slices != own),
        rows(piece + 1, at_home, relay * ranks_per_host + slices, np.array([True])),
        rows(
            piece + pieces + 1,
            relay * ranks_per_host + slices,
            hosts * ranks_per_host + slices,
            (hosts != relay) & (hosts != home),
        ),
        rows(
            piece + pieces + 2,
            everybody // ranks_per_host * ranks_per_host + slices,
            everybody,
            (everybody % ranks_per_host != slices) & (everybody != root),
        ),
    ]
    collective = Collective.make("broadcast", host_count * ranks_per_host, chunk.size, root)
    return Schedule.from_transfers(collective, np.concatenate(transfers))
