# SPDX-License-Identifier: Apache-2.0
"""Hemiola's and SpCCL's all-reduce on data: direct rounds and a ring that forwards, against a ring that
recompresses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hemiola import codecs
from papers.spccl.arrays import Floats, message_bytes
from papers.spccl.traffic import Ports, Summed, chunks

#: SpCCL's header and ours; the formats' bodies are alike in size.
_SPCCL_HEADER = 48
_HEADER = 32
#: How the engine cuts an all-reduce by direct rounds.
_MOST_SEGMENTS, _PIECE_BYTES = 64, 64 << 10
#: [SpCCL, §4.3]: below this sparsity a reducing hop between nodes goes dense, and an all-gather.
_INTER, _GATHER = 0.5, 0.1


def direct(xs: Sequence[Floats]) -> Summed:
    """Direct rounds to the owners, then a ring of the owners' sums, coded once.

    Owners take turns: of each of up to 64 segments every rank owns a piece of 64 KiB at least.
    """
    p, ports = len(xs), Ports(len(xs))
    segments = min(_MOST_SEGMENTS, max(1, xs[0].nbytes // (p * _PIECE_BYTES)))
    pieces = [[piece for segment in chunks(x, segments) for piece in chunks(segment, p)] for x in xs]
    sums = [direct_to(ports, place % p, list(parts)) for place, parts in enumerate(zip(*pieces, strict=True))]
    ring_gather(ports, [sum(map(message_bytes, sums[owner::p])) for owner in range(p)])
    return Summed(np.concatenate(sums), ports.busiest_bytes)


def direct_to(ports: Ports, owner: int, parts: Sequence[Floats]) -> Floats:
    """Count the bytes that the ranks send the owner of a chunk; return its sum."""
    total = parts[owner].copy()
    for src, part in enumerate(parts):
        if src != owner:
            ports.message(src, owner, message_bytes(part))
            total += part
    return total


def ring_gather(ports: Ports, sizes: Sequence[int]) -> None:
    """Count a ring all-gather of chunks of those sizes, a phase: rank r forwards every chunk but that of rank r+1."""
    ports.end_phase()
    p = len(sizes)
    for rank in range(p):
        following = (rank + 1) % p
        ports.message(rank, following, sum(sizes) - sizes[following])


def spccl_ring(xs: Sequence[Floats], format: str = "pici") -> Summed:
    """[SpCCL, §4]: a ring that recompresses at every hop until the last known sparsity is below its threshold, and a
    ring of the sums."""
    p, ports = len(xs), Ports(len(xs))
    parts = zip(*(chunks(x, p) for x in xs), strict=True)
    sums = [ring_to(ports, owner, list(of_owner), format) for owner, of_owner in enumerate(parts)]
    ring_gather(ports, [gathered_bytes(total, format) for total in sums])
    return Summed(np.concatenate(sums), ports.busiest_bytes)


def ring_to(ports: Ports, owner: int, parts: Sequence[Floats], format: str) -> Floats:
    """Count a chunk's way around to its owner; return its sum.

    The first hop is always compressed; after a dense hop the density is extrapolated by equation 7.
    """
    p = len(parts)
    src = (owner + 1) % p
    total = parts[src].copy()
    own = density = _density(total)
    for hop in range(p - 1):
        if hop == 0 or 1 - density > _INTER:
            nbytes, density = _spccl_bytes(total, format), _density(total)
        else:
            nbytes, density = total.nbytes + _SPCCL_HEADER, 1 - (1 - density) * (1 - own)
        ports.message(src, (src + 1) % p, nbytes)
        src = (src + 1) % p
        total += parts[src]
    return total


def gathered_bytes(total: Floats, format: str) -> int:
    """Return a sum's bytes in the paper's all-gather: coded, or dense where it has hardly a zero."""
    return _spccl_bytes(total, format) if 1 - _density(total) > _GATHER else total.nbytes + _SPCCL_HEADER


def _density(x: Floats) -> float:
    return float(np.count_nonzero(x)) / max(1, x.size)


def _spccl_bytes(x: Floats, format: str) -> int:
    return len(codecs.encode(x, format)) - _HEADER + _SPCCL_HEADER
