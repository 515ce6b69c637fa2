# SPDX-License-Identifier: Apache-2.0
"""Beyond the paper: 16,384 and 131,072 ranks, from one rank's program."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola.progress import ProgressBar
from papers.pccl.machine import ALL_GATHER, FRONTIER, MIB, PERLMUTTER, REDUCE_SCATTER, Machine
from papers.pccl.speedups import fitted_times, physical_times
from papers.report import Report

_RANK_COUNTS = (16_384, 131_072)
_SIZES = (1, 16, 64, 256, 1024)


def scale(
    report: Report,
    command: str,
    *,
    machines: Sequence[Machine] = (FRONTIER, PERLMUTTER),
    rank_counts: Sequence[int] = _RANK_COUNTS,
    sizes: Sequence[int] = _SIZES,
) -> None:
    """One table per machine."""
    report.section(
        "16,384 and 131,072 ranks",
        "No schedule is made: that of one rank says how long all take, since all do the same at the same time. "
        "`rings` are as many as a node has NICs. Both columns of constants as under Figure 7; `bound` is "
        "`hemiola.lower_bound`. `plan` is processor time of this machine, the network being there.",
        command,
    )
    for machine in machines:
        report.text(f"**{machine.name}**")
        rows: list[tuple[object, ...]] = []
        for kind in (ALL_GATHER, REDUCE_SCATTER):
            for ranks in rank_counts:
                with ProgressBar("scale") as bar:
                    rows += [_row(machine, kind, ranks, size) for size in bar.each(sizes)]
        columns = ("rings, ms", "PCCL, ms", "Hemiola, ms", "Hemiola / bound", "chosen", "plan, s")
        ratios = (
            "rings / PCCL",
            "rings / Hemiola",
            *(f"{machine.vendor} / {x}, fitted" for x in ("PCCL", "Hemiola")),
        )
        report.table(f"scale_{machine.name}", ("", "ranks", "MiB", *columns, *ratios), rows)


def _row(machine: Machine, kind: str, ranks: int, size: int) -> tuple[object, ...]:
    physical = physical_times(machine, kind, ranks, size * MIB)
    fitted = fitted_times(machine, kind, ranks, size * MIB)
    planned = physical.planned
    return (
        kind.replace("_", "-"),
        ranks,
        size,
        1e3 * physical.vendor_s,
        1e3 * physical.pccl_s,
        1e3 * planned.seconds,
        planned.seconds / planned.bound_s,
        planned.label,
        planned.cpu_s,
        physical.pccl_speedup,
        physical.planned_speedup,
        fitted.pccl_speedup,
        fitted.planned_speedup,
    )
