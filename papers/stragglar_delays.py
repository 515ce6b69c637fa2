# SPDX-License-Identifier: Apache-2.0
"""StragglAR's figures under delays that were measured elsewhere: Figures 2, 5 (b, e) and 10, and its critical delays
beside those that it prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from papers.report import Report
from papers.stragglar_cases import (
    A100,
    GIB,
    H100,
    LATENCY_S,
    MIB,
    Case,
    baselines,
    bound_exposed,
    late_exposed,
    segmented_exposed,
)

#: Shares of a step's time that all-reduces take.
_EXPOSED = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
_SIZES = tuple(16 * MIB << k for k in range(9))
#: Between two A100 of a Perlmutter node [StragglAR, §4.1].
_PERLMUTTER = 100e9
_COLUMNS = ("ring", "rhd", "allpairs", "stragglar", "broadcast", "late", "late, segmented", "bound")


def broadcast_seconds(case: Case) -> float:
    """Return the paper's form of a broadcast after the late rank's exchange, log2(n)·(α + sβ), and the part of the
    others' all-reduce that the delay does not hide [StragglAR, §F]."""
    n = case.rank_count
    others_s = 2 * (n - 2) * LATENCY_S + 2 * (n - 2) / (n - 1) * case.nbytes / case.bandwidth
    return math.log2(n) * (LATENCY_S + case.nbytes / case.bandwidth) + max(0.0, others_s - case.delay)


def _all_exposed(case: Case) -> list[float]:
    of = baselines(case.rank_count)
    known = [case.exposed(of[name]) for name in ("ring", "rhd", "allpairs", "stragglar")]
    return [
        *known,
        broadcast_seconds(case),
        late_exposed(case),
        segmented_exposed(case),
        bound_exposed(case),
    ]


def figure_2(report: Report, command: str, *, rank_counts: Iterable[int] = (8, 16, 32, 64, 128, 256)) -> None:
    """Training's gain, by the share of its time that is communication."""
    report.section(
        "Figure 2: training, by the share of exposed communication",
        "(b) 4 GB, 450 GB/s, simulated: percent of a step's time that is saved or lost against the ring, where "
        "all-reduces by the ring take the share in the column's head and the rest stays. `full`: the delay hides the "
        "early ranks' reduce-scatter; `none`: there is no delay. The paper says +30 % and -3 % of its plot. "
        "(a) and Figure 8 are distributions of delays on rented machines. The text prints their means (4.48, "
        "9.45 and 9.46 ms) and one median (above 8 ms). Nothing here can make them again.",
        command,
    )
    rows = []
    for n in rank_counts:
        for delay, name in ((None, "full"), (0.0, "none")):
            case = Case(n, 4 * 10**9, delay_s=delay)
            ring = case.exposed(baselines(n)["ring"])
            best = min(segmented_exposed(case), late_exposed(case))
            for schedule, time in (
                ("stragglar", case.exposed(baselines(n)["stragglar"])),
                ("late", best),
            ):
                saved = 1 - time / ring
                rows.append((n, name, schedule, *(100 * (1 / (1 - share * saved) - 1) for share in _EXPOSED)))
    report.table(
        "figure_2", ("n", "delay", "schedule", *(f"{100 * share:.0f} %" for share in _EXPOSED)), rows
    )


def figure_5_average(report: Report, command: str, *, sizes: Sequence[int] = _SIZES) -> None:
    """Eight ranks under the average delay of the paper's training, and the critical delays that it prints."""
    report.section(
        "Figure 5: 8 ranks, average delays and critical delays",
        "(b, e) The late rank comes after the average delay of the paper's training: 4.48 ms on H100, 9.46 ms on A100, "
        "whatever the size. Algorithm bandwidth (buffer over exposed time), GB/s. `broadcast` is the paper's form, not "
        "simulated. Critical delays, 4 GiB: the least delay at which the schedule is done before the ring. The paper "
        "prints measurements; its own formula, (log2 n - 2)α + log2(n)/n·sβ, says less.",
        command,
    )
    for name, bandwidth, delay in (("H100", H100, 4.48e-3), ("A100", A100, 9.46e-3)):
        report.text(f"**{name}, {bandwidth / 1e9:.0f} GB/s, {1e3 * delay:.3g} ms**")
        rows = []
        for nbytes in sizes:
            times = _all_exposed(Case(8, nbytes, bandwidth, delay))
            rows.append((nbytes // MIB, *(nbytes / t / 1e9 for t in times), times[0] / min(times[5:7])))
        _table_and_curves(
            report, f"figure_5_average_{name}", f"8 ranks, {name}, late by {1e3 * delay:.3g} ms", rows
        )
    critical: list[tuple[object, ...]] = []
    for name, bandwidth, printed in (("H100", H100, 5.53), ("A100", A100, 7.57)):
        case = Case(8, 4 * GIB, bandwidth, 0.0)
        ring = case.exposed(baselines(8)["ring"])
        # Until the reduce-scatter is done a schedule ends when it does, whatever the delay; the ring that much later.
        serial = case.exposed(baselines(8)["stragglar"]) - ring
        formula = LATENCY_S + 3 / 8 * 4 * GIB / bandwidth
        critical.append(
            (name, printed, 1e3 * formula, 1e3 * serial, 1e3 * max(0.0, late_exposed(case) - ring))
        )
    columns = ("machine", "measured (printed), ms", "formula, ms", "stragglar, ms", "late, serial, ms")
    report.table("critical", columns, critical)


def figure_10(report: Report, command: str, *, sizes: Sequence[int] = _SIZES) -> None:
    """Four ranks with 100 GB/s between any two."""
    report.section(
        "Figure 10: 4 ranks of Perlmutter",
        "Four A100 with 100 GB/s between any two, taken as one port of 100 GB/s each, as the paper's forms do; "
        "`allpairs` would have three there. Algorithm bandwidth, GB/s: (a) the delay hides the early ranks' "
        "reduce-scatter, (b) a delay of 9.45 ms. (c) 1 GiB and a growing delay: ms from the early ranks' call to the "
        "end. Printed: StragglAR 8.3 % faster than the ring on large buffers.",
        command,
    )
    for part, delay in (("a", None), ("b", 9.45e-3)):
        cases = [Case(4, nbytes, _PERLMUTTER, delay) for nbytes in sizes]
        rows = []
        for case in cases:
            times = _all_exposed(case)
            rows.append(
                (case.nbytes // MIB, *(case.nbytes / t / 1e9 for t in times), times[0] / min(times[5:7]))
            )
        title = "the delay hides all" if delay is None else "late by 9.45 ms"
        _table_and_curves(report, f"figure_10{part}", f"4 ranks, 100 GB/s, {title}", rows)
    delays = [0.002 * step for step in range(9)]
    rows = [
        (1e3 * delay, *(1e3 * (t + delay) for t in _all_exposed(Case(4, GIB, _PERLMUTTER, delay))))
        for delay in delays
    ]
    report.text("**(c) 1 GiB, a growing delay**")
    report.table("figure_10c", ("delay ms", *_COLUMNS), rows)


def _table_and_curves(report: Report, key: str, title: str, rows: Sequence[tuple[float, ...]]) -> None:
    report.table(key, ("MiB", *_COLUMNS, "ring / late"), rows)
    report.curves(
        key,
        f"{title}: algorithm bandwidth",
        [row[0] * MIB for row in rows],
        {label: [row[1 + i] for row in rows] for i, label in enumerate(_COLUMNS)},
        x_label="buffer, bytes",
        y_label="GB/s",
        log="x",
    )
