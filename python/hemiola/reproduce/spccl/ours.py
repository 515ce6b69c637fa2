"""Hemiola's and SpCCL's all-reduce on data: direct rounds and a ring that forwards, against a ring that
recompresses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hemiola import codecs
from hemiola.reproduce.spccl.arrays import Floats, message_bytes
from hemiola.reproduce.spccl.traffic import Ports, Summed, chunks

#: SpCCL's header and ours; the formats' bodies are alike in size.
_SPCCL_HEADER = 48
_HEADER = 32
#: [SpCCL, §4.3]: below this sparsity a reducing hop between nodes goes dense, and an all-gather.
_INTER, _GATHER = 0.5, 0.1


def direct(xs: Sequence[Floats]) -> Summed:
    """Direct rounds to the owners, then a ring of what the owners' sums were coded as, once."""
    p, ports = len(xs), Ports(len(xs))
    mine = [chunks(x, p) for x in xs]
    sums = []
    for owner in range(p):
        total = mine[owner][owner].copy()
        for src in range(p):
            if src != owner:
                ports.message(src, owner, message_bytes(mine[src][owner]))
                total += mine[src][owner]
        sums.append(total)
    ring_gather(ports, [message_bytes(total) for total in sums])
    return Summed(np.concatenate(sums), ports.busiest_bytes)


def ring_gather(ports: Ports, sizes: Sequence[int]) -> None:
    """Count a ring all-gather of chunks of those sizes: rank r forwards every chunk but that of rank r+1."""
    p = len(sizes)
    for rank in range(p):
        following = (rank + 1) % p
        ports.message(rank, following, sum(sizes) - sizes[following])


def spccl_ring(xs: Sequence[Floats], format: str = "pici") -> Summed:
    """[SpCCL, §4]: a ring that recompresses at every hop until the last known sparsity is below its threshold.

    The first hop is always compressed; after a dense hop the density is extrapolated by equation 7.
    """
    p, ports = len(xs), Ports(len(xs))
    mine = [chunks(x, p) for x in xs]
    sums, gathered = [], []
    for chunk in range(p):
        start = (chunk + 1) % p
        total = mine[start][chunk].copy()
        own = density = float(np.count_nonzero(total)) / max(1, total.size)
        for hop in range(p - 1):
            src = (start + hop) % p
            if hop == 0 or 1 - density > _INTER:
                ports.message(src, (src + 1) % p, _spccl_bytes(total, format))
                density = float(np.count_nonzero(total)) / max(1, total.size)
            else:
                ports.message(src, (src + 1) % p, total.nbytes + _SPCCL_HEADER)
                density = 1 - (1 - density) * (1 - own)
            total += mine[(src + 1) % p][chunk]
        sums.append(total)
        sparsity = 1 - float(np.count_nonzero(total)) / max(1, total.size)
        gathered.append(_spccl_bytes(total, format) if sparsity > _GATHER else total.nbytes + _SPCCL_HEADER)
    ring_gather(ports, gathered)
    return Summed(np.concatenate(sums), ports.busiest_bytes)


def _spccl_bytes(x: Floats, format: str) -> int:
    return len(codecs.encode(x, format)) - _HEADER + _SPCCL_HEADER
