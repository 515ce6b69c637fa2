# SPDX-License-Identifier: Apache-2.0
"""The all-reduces that SpCCL is compared with, as their papers describe them, run on data and counted byte by byte.

SparCML: pairs of index and value (COO), recursive doubling or split and all-gather, dense from half the elements on.
OmniReduce: blocks of 256 elements that are not all zero, through aggregators. ZEN: COO to servers by a hash, a bitmap
and values back. Ok-Topk: lossy, the k largest elements of the sum alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import ArgumentError
from papers.spccl.arrays import Floats
from papers.spccl.ours import direct, ring_gather, spccl_ring
from papers.spccl.traffic import Ports, Summed, chunks

#: An index and a value of 4 bytes each.
_PAIR = 8
#: Elements of OmniReduce's blocks, and a block's number and that of the next one, 4 bytes each.
_BLOCK, _BLOCK_HEADER = 256, 8
#: Knuth's multiplier: ZEN spreads indices over its servers by a hash.
_HASH = np.uint64(2654435761)


def sparcml_recursive_doubling(xs: Sequence[Floats]) -> Summed:
    """[SparCML]: in round k partners at distance 2^k exchange all that they have; a power of two of ranks."""
    p, ports = len(xs), Ports(len(xs))
    if p & (p - 1):
        raise ArgumentError(f"recursive doubling: expected a power of two of ranks, found {p}")
    have = [x.copy() for x in xs]
    distance = 1
    while distance < p:
        for rank in range(p):
            ports.message(rank, rank ^ distance, _sparcml_bytes(have[rank]))
        have = [have[min(r, r ^ distance)] + have[max(r, r ^ distance)] for r in range(p)]
        distance *= 2
        ports.end_phase()
    return Summed(have[0], ports.busiest_bytes)


def sparcml_split(xs: Sequence[Floats]) -> Summed:
    """[SparCML]: every rank sends each owner its part, and the owners' sums are gathered; dense where shorter."""
    p, ports = len(xs), Ports(len(xs))
    sums = _reduced_by_owners(ports, [chunks(x, p) for x in xs], _sparcml_bytes)
    ring_gather(ports, [_sparcml_bytes(total) for total in sums])
    return Summed(np.concatenate(sums), ports.busiest_bytes)


def omnireduce(xs: Sequence[Floats]) -> Summed:
    """[OmniReduce]: block b goes to the aggregator on host b mod p where it is not all zero, and its sum back to
    all."""
    p, ports = len(xs), Ports(len(xs))
    blocks = -(-xs[0].size // _BLOCK)
    is_sent = np.array([_nonzero_blocks(x, blocks) for x in xs])
    wanted = np.logical_or.reduce(is_sent, axis=0)
    for host in range(p):
        of_host = slice(host, None, p)
        back = int(wanted[of_host].sum()) * (4 * _BLOCK + _BLOCK_HEADER)
        for rank in range(p):
            if rank != host:
                ports.message(rank, host, int(is_sent[rank, of_host].sum()) * (4 * _BLOCK + _BLOCK_HEADER))
                ports.message(host, rank, back)
    return Summed(_total(xs), ports.busiest_bytes)


def zen(xs: Sequence[Floats]) -> Summed:
    """[ZEN]: pairs go to the server that a hash of the index names; a bitmap of its indices and values come back."""
    p, ports = len(xs), Ports(len(xs))
    total = _total(xs)
    server = ((np.arange(total.size, dtype=np.uint64) * _HASH) >> np.uint64(16)) % np.uint64(p)
    owned = np.bincount(server.astype(np.int64), minlength=p)
    union = np.any([x != 0 for x in xs], axis=0)
    back = _by_server(server, union, p)
    for rank, x in enumerate(xs):
        up = _by_server(server, x != 0, p)
        for other in range(p):
            if other != rank:
                ports.message(rank, other, _PAIR * int(up[other]))
    ports.end_phase()
    for rank in range(p):
        for other in range(p):
            if other != rank:
                ports.message(rank, other, -(-int(owned[rank]) // 8) + 4 * int(back[rank]))
    return Summed(total, ports.busiest_bytes)


def ok_topk(xs: Sequence[Floats]) -> Summed:
    """[OkTopk]: pairs go to the owners of regions that hold equally many; the k largest sums, k a rank's own nonzeros,
    are spread evenly over the ranks and gathered. The other values are lost."""
    p, ports = len(xs), Ports(len(xs))
    k = int(np.mean([np.count_nonzero(x) for x in xs]))
    ends = _balanced_ends(xs)
    regions = [np.split(x, ends) for x in xs]
    sums = np.concatenate(_reduced_by_owners(ports, regions, _pairs_bytes))
    kept = np.zeros_like(sums)
    largest = np.argpartition(np.abs(sums), sums.size - k)[sums.size - k :] if k else np.zeros(0, np.int64)
    kept[largest] = sums[largest]
    ports.end_phase()
    held = [int(np.count_nonzero(part)) for part in np.split(kept, ends)]
    _balance(ports, held)
    even = [_PAIR * (sum(held) * (r + 1) // p - sum(held) * r // p) for r in range(p)]
    ring_gather(ports, even)
    return Summed(kept, ports.busiest_bytes)


#: By name; the last is lossy.
ALL_REDUCES: dict[str, Callable[[Sequence[Floats]], Summed]] = {
    "Hemiola": direct,
    "SpCCL, Pici ring": spccl_ring,
    "SpCCL, COO ring": lambda xs: spccl_ring(xs, "coo"),
    "SparCML, doubling": sparcml_recursive_doubling,
    "SparCML, split": sparcml_split,
    "OmniReduce": omnireduce,
    "ZEN": zen,
    "Ok-Topk (lossy)": ok_topk,
}


def _total(xs: Sequence[Floats]) -> Floats:
    total = xs[0].copy()
    for x in xs[1:]:
        total += x
    return total


def _pairs_bytes(x: Floats) -> int:
    return _PAIR * int(np.count_nonzero(x))


def _sparcml_bytes(x: Floats) -> int:
    """Pairs, or all elements where these take less: from half of them on."""
    return min(_pairs_bytes(x), x.nbytes)


def _reduced_by_owners(
    ports: Ports, parts: Sequence[Sequence[Floats]], size_of: Callable[[Floats], int]
) -> list[Floats]:
    """Let every rank send each owner its part, counted by `size_of`; return the owners' sums."""
    sums = []
    for owner in range(len(parts)):
        total = parts[owner][owner].copy()
        for src, own in enumerate(parts):
            if src != owner:
                ports.message(src, owner, size_of(own[owner]))
                total += own[owner]
        sums.append(total)
    return sums


def _nonzero_blocks(x: Floats, blocks: int) -> NDArray[np.bool_]:
    padded = np.zeros(blocks * _BLOCK, np.float32)
    padded[: x.size] = x
    return np.asarray(padded.reshape(blocks, _BLOCK).any(axis=1))


def _by_server(server: NDArray[np.uint64], chosen: NDArray[np.bool_], p: int) -> NDArray[np.int64]:
    return np.bincount(server[chosen].astype(np.int64), minlength=p)


def _balanced_ends(xs: Sequence[Floats]) -> list[int]:
    """Return where regions end: the ranks' own cuts into parts of equally many nonzeros, averaged."""
    p, cuts = len(xs), []
    for x in xs:
        places = np.flatnonzero(x)
        at = [len(places) * i // p for i in range(1, p)]
        cuts.append(places[at] if len(places) else np.arange(1, p) * x.size // p)
    return [int(end) for end in np.mean(cuts, axis=0)]


def _balance(ports: Ports, held: Sequence[int]) -> None:
    """Count pairs that move from ranks that hold more than their share of them to those that hold less."""
    p, total = len(held), sum(held)
    begins = np.concatenate([[0], np.cumsum(held)])
    for src in range(p):
        for dst in range(p):
            low, high = max(begins[src], total * dst // p), min(begins[src + 1], total * (dst + 1) // p)
            if src != dst and high > low:
                ports.message(src, dst, _PAIR * int(high - low))
