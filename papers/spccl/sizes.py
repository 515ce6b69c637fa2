# SPDX-License-Identifier: Apache-2.0
"""Bytes of messages: the paper's overhead of Pici, and every format against the entropy."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola import codecs
from papers.report import Report
from papers.spccl import arrays

_FORMATS = ("dense", "pici", "coo", "hier", "ef")
#: Sparsity, at most so many times the limit as one message, and with headers in slices.
_GOALS = ((0.95, 1.02, 1.03), (0.99, 1.02, 1.03), (0.999, 1.03, 1.10))
_CLUSTERED_GOAL = 0.9


def sizes(
    report: Report,
    command: str,
    *,
    elements: int = 4 << 20,
    sparsities: Sequence[float] = arrays.SPARSITIES,
) -> None:
    """Two tables of sizes over the limit, and the goals."""
    report.section(
        "Bytes of messages",
        f"{elements:,} elements of float32 encoded; bytes of the whole message, header included, over the "
        "entropy of random places and 32 bits per nonzero value. `slices`: the smallest format of every 1 "
        "MiB slice, as the engine sends them. In runs of 64 the same limit is no bound.",
        command,
    )
    found: dict[tuple[str, float], dict[str, float]] = {}
    for pattern in ("random", "clustered"):
        rows: list[tuple[object, ...]] = []
        for sparsity in sparsities:
            x = arrays.PATTERNS[pattern](1 - sparsity, elements, 0)
            nonzeros = codecs.describe(codecs.encode(x, "coo")).nonzeros
            limit = arrays.limit_bytes(elements, nonzeros)
            taken = {name: len(codecs.encode(x, name)) / limit for name in _FORMATS}
            smallest = codecs.describe(codecs.encode(x)).format
            sliced = arrays.message_bytes(x)
            found[pattern, sparsity] = taken | {"slices": sliced / limit}
            rows.append((_percent(sparsity), *taken.values(), smallest, sliced / limit, x.nbytes / sliced))
        report.text(f"Places {pattern}:")
        columns = ("zeros", *_FORMATS, "smallest", "slices", "dense over slices")
        report.table(f"bytes_{pattern}", columns, rows)
    pici = len(codecs.encode(arrays.random(0.01, elements, 0), "pici"))
    nonzeros = codecs.describe(codecs.encode(arrays.random(0.01, elements, 0), "pici")).nonzeros
    overhead = (pici - 4 * nonzeros) / (4 * elements)
    goals: list[tuple[object, ...]] = [
        ("Pici's index over dense bytes, 4-byte elements", f"{overhead:.2%}", "3.15 %")
    ]
    for sparsity, whole, with_headers in _GOALS:
        if sparsity in sparsities:
            taken = found["random", sparsity]
            goals.append((f"ef, {_percent(sparsity)}, one message", taken["ef"], f"at most {whole:g}"))
            goals.append(
                (f"smallest, {_percent(sparsity)}, slices", taken["slices"], f"at most {with_headers:g}")
            )
    if 0.99 in sparsities:
        goals.append(
            ("clustered, 99 %, slices", found["clustered", 0.99]["slices"], f"at most {_CLUSTERED_GOAL:g}")
        )
    report.text("The goals:")
    report.table("bytes_goals", ("bytes over the limit", "found", "to reach"), goals)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
