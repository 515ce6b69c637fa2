# SPDX-License-Identifier: Apache-2.0
"""The systems beside each other: bytes of an all-reduce on the same data, and the least that the union of supports
allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.report import Report
from papers.spccl import arrays
from papers.spccl.arrays import message_bytes
from papers.spccl.competitors import ALL_REDUCES
from papers.spccl.gradients import pruned_gradients
from papers.spccl.ours import direct_to, gathered_bytes, ring_gather, ring_to
from papers.spccl.traffic import Ports, dense_bytes

_SHARE_GOAL = 0.9


def competitors(
    report: Report,
    command: str,
    *,
    rank_count: int = 8,
    elements: int = 1 << 20,
    sparsities: Sequence[float] = arrays.SPARSITIES,
    steps: int = 40,
) -> None:
    """A table for each kind of data."""
    report.section(
        "Competitors: bytes of an all-reduce",
        f"Every system's all-reduce run on the data of {rank_count} ranks, {elements:,} float32 each, in one "
        "process, and its messages counted; dense bytes of a port, 2(p-1)/p of the buffer, over those of the "
        "busiest port, sent or received. Phases that wait for each other count one by one. SpCCL's ring "
        "recompresses at every hop and goes dense by its thresholds between nodes (0.5; all-gather 0.1; "
        "after a dense hop by its equation 7), 48 bytes of header a message. SparCML: pairs, dense from half "
        "the elements on; doubling, or split and all-gather. OmniReduce: blocks of 256 with 8 bytes of "
        "header, aggregators on the ranks' own hosts. ZEN: pairs up, bitmap and values down. Ok-Topk keeps "
        "the k largest sums, k one rank's nonzeros, and loses the rest: `lost` is the share of the sum's "
        "norm. All others are exact to rounding, which is checked here.",
        command,
    )
    ours: dict[tuple[str, float], float] = {}
    for pattern, made in arrays.PATTERNS.items():
        rows = []
        for sparsity in sparsities:
            xs = [made(1 - sparsity, elements, rank) for rank in range(rank_count)]
            gains = _gains(xs)
            ours[pattern, sparsity] = gains[0]
            rows.append((f"{100 * sparsity:g} %", *gains))
        report.text(f"Places {pattern}:")
        report.table(f"competitors_{pattern.split()[0]}", ("zeros", *ALL_REDUCES, "lost"), rows)
    report.text(
        "One dense layer in ten against the same nonzeros spread evenly, Hemiola's bytes; to reach: 0.9. Of each of "
        "up to 64 segments every rank owns a piece of 64 KiB at least:"
    )
    pairs = [(ours["skewed by layer", s], ours["random", s]) for s in sparsities]
    rows = [(f"{100 * s:g} %", *pair, pair[0] / pair[1]) for s, pair in zip(sparsities, pairs, strict=True)]
    report.table("competitors_dense_layer", ("zeros", "dense layer", "spread evenly", "share"), rows)
    rows = []
    for density in (0.1, 0.01, 0.001):
        xs = pruned_gradients(density, rank_count, steps)
        shared = float(np.count_nonzero(np.any([x != 0 for x in xs], axis=0))) / xs[0].size
        own = float(np.mean([np.count_nonzero(x) for x in xs])) / xs[0].size
        rows.append((f"{100 * (1 - own):.4g} %", shared, arrays.union(own, rank_count), *_gains(xs)))
    report.text(
        f"Gradients of a training on digits, pruned with error feedback, those of step {steps} ({xs[0].size:,} "
        "parameters). `union`: share of elements that some rank sends, beside the share for independent places:"
    )
    columns = ("zeros", "union", "independent", *ALL_REDUCES, "lost")
    report.table("competitors_gradients", columns, rows)


def _gains(xs: Sequence[arrays.Floats]) -> tuple[float, ...]:
    """Return dense bytes over each system's, and the norm that the lossy one lost."""
    total = np.sum(np.array(xs, np.float64), axis=0)
    dense, gains, lost = dense_bytes(len(xs), xs[0].nbytes), [], 0.0
    norm = float(np.linalg.norm(total)) or 1.0
    for name, run in ALL_REDUCES.items():
        outcome = run(xs)
        away = float(np.linalg.norm(outcome.result - total)) / norm
        if "lossy" in name:
            lost = away
        elif away > 1e-5:
            raise AssertionError(f"{name}: expected the sum, found one that is {away:.2g} of its norm away")
        gains.append(dense / max(1, outcome.port_bytes))
    return (*gains, lost)


def allowed(
    report: Report,
    command: str,
    *,
    rank_counts: Sequence[int] = (8, 16, 64),
    chunk_elements: int = 1 << 18,
    sparsities: Sequence[float] = (0.9, 0.99, 0.999),
) -> None:
    """The share of the bytes that the union of the supports allows."""
    report.section(
        "All-reduce bytes: the share of what the union allows",
        "Every rank must learn the sum of the others: entropy of the union's places and 32 bits for each of its "
        "values. That over the bytes of the busiest port, counted on random data of "
        f"{chunk_elements:,} float32 a rank and owner, other ones on every rank, of Hemiola's direct rounds and of the "
        f"paper's ring with Pici and its thresholds. To reach at 99 %: {_SHARE_GOAL:g} with 16 and 64 ranks.",
        command,
    )
    rows = []
    for p in rank_counts:
        for sparsity in sparsities:
            elements = p * chunk_elements
            limit = arrays.limit_bytes(elements, elements * arrays.union(1 - sparsity, p - 1))
            dense = dense_bytes(p, 4 * elements)
            found, ring = both_bytes(p, 1 - sparsity, chunk_elements)
            gains = (dense / found, dense / ring, dense / limit, limit / found, limit / ring)
            rows.append((p, f"{100 * sparsity:g} %", *gains))
    columns = (
        "dense over ours",
        "dense over the Pici ring",
        "dense over the limit",
        "share",
        "the ring's share",
    )
    report.table("union_share", ("ranks", "zeros", *columns), rows)


def both_bytes(p: int, density: float, chunk_elements: int) -> tuple[int, int]:
    """Return bytes of the busiest port, ours and the paper's, chunk by chunk, so that no rank's array is whole."""
    ours, ring = Ports(p), Ports(p)
    direct_sums, ring_sums = [], []
    for owner in range(p):
        parts = [arrays.random(density, chunk_elements, p * owner + src) for src in range(p)]
        direct_sums.append(message_bytes(direct_to(ours, owner, parts)))
        ring_sums.append(gathered_bytes(ring_to(ring, owner, parts, "pici"), "pici"))
    ring_gather(ours, direct_sums)
    ring_gather(ring, ring_sums)
    return ours.busiest_bytes, ring.busiest_bytes
