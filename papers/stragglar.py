# SPDX-License-Identifier: Apache-2.0
"""StragglAR's Table 1 and its figures from simulations, each beside `all_reduce_late` and the bound, and the times of
real processes."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hemiola import algorithms
from papers.paper import Paper
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
    late_chunk_counts,
    late_exposed,
    late_schedule,
    reduce_scatter_seconds,
    segmented_exposed,
)
from papers.stragglar_delays import figure_2, figure_5_average, figure_10
from papers.stragglar_measured import measure

POWERS_OF_TWO = (4, 8, 16, 32, 64, 128, 256)
OTHER_COUNTS = (3, 5, 6, 7, 12, 24, 48, 100, 200)


def table_1(
    report: Report, command: str, *, rank_counts: Iterable[int] = sorted((*POWERS_OF_TWO, *OTHER_COUNTS))
) -> None:
    """Count the messages after arrival, from the schedules themselves."""
    rows = []
    for n in rank_counts:
        late = late_schedule(n, n - 1)
        paper = algorithms.all_reduce_stragglar(n, n - 1) if n & (n - 1) == 0 else None
        rows.append(
            (
                n,
                2 * (n - 1),
                2 * (n - 1) / n,
                n + math.floor(math.log2(n)) - 2 if n & (n - 1) == 0 else None,
                paper.step_count - (n - 2) if paper else None,
                late.step_count - (n - 2),
                (late.step_count - (n - 2)) / (n - 1),
                n + math.ceil(math.log2(n)) - 2,
            )
        )
    report.section(
        "Table 1: rounds after arrival",
        "One chunk per early rank. `all_reduce_late` needs n + ⌈log2 n⌉ - 2 rounds for every n, the lower bound; the "
        "paper's schedule exists for powers of two. Bytes are in units of the buffer.",
        command,
    )
    columns = (
        "n",
        "ring rounds",
        "ring bytes",
        "paper (printed)",
        "stragglar",
        "late",
        "late bytes",
        "bound",
    )
    report.table("table_1", columns, rows)


def figure_5(report: Report, command: str) -> None:
    """Eight ranks: buffer sizes with full delay, and delays at 4 GiB."""
    sizes = [16 * MIB << k for k in range(9)]
    report.section(
        "Figure 5: 8 ranks",
        "(a, d) The delay hides the early ranks' reduce-scatter: algorithm bandwidth (buffer over exposed time), GB/s. "
        "(c, f) A 4 GiB buffer and a growing delay: time from the early ranks' call to the end, ms. `late, segmented` "
        "decides at the arrival how many of 8 segments get the short finish.",
        command,
    )
    for name, bandwidth in (("H100, 450 GB/s", H100), ("A100, 300 GB/s", A100)):
        report.text(f"**{name}**")
        rows = []
        for nbytes in sizes:
            case = Case(8, nbytes, bandwidth)
            times = [case.exposed(schedule) for schedule in baselines(8).values()]
            times += [late_exposed(case), bound_exposed(case)]
            rows.append((nbytes // MIB, *(nbytes / t / 1e9 for t in times), times[0] / times[-2]))
        columns = ("MiB", *baselines(8), "late", "bound", "late / ring")
        report.table(f"figure_5_sizes_{name[:4]}", columns, rows)
        report.curves(
            f"figure_5_sizes_{name[:4]}",
            f"8 ranks, {name}, one late: algorithm bandwidth",
            sizes,
            {label: [row[1 + i] for row in rows] for i, label in enumerate(columns[1:-1])},
            x_label="buffer, bytes",
            y_label="GB/s",
            log="x",
        )
        _delays(report, name, bandwidth)


def _delays(report: Report, name: str, bandwidth: float) -> None:
    delays = [0.001 * ms for ms in range(13)]
    rows = []
    for delay in delays:
        case = Case(8, 4 * GIB, bandwidth, delay)
        times = [case.exposed(schedule) for schedule in baselines(8).values()]
        times += [late_exposed(case), segmented_exposed(case, 16), bound_exposed(case)]
        rows.append((delay * 1e3, *((t + delay) * 1e3 for t in times)))
    columns = ("delay ms", *baselines(8), "late", "late, segmented", "bound")
    report.table(f"figure_5_delays_{name[:4]}", columns, rows)
    report.curves(
        f"figure_5_delays_{name[:4]}",
        f"8 ranks, {name}, 4 GiB: from the early ranks' call to the end",
        [d * 1e3 for d in delays],
        {label: [row[1 + i] for row in rows] for i, label in enumerate(columns[1:])},
        x_label="delay, ms",
        y_label="ms",
    )


def figure_6(report: Report, command: str, *, rank_counts: Iterable[int] = POWERS_OF_TWO) -> None:
    """The early ranks' reduce-scatter, and scaling at 1 GiB."""
    report.section(
        "Figure 6: the delay that hides the reduce-scatter, and scaling",
        "(a, b) Time of the early ranks' reduce-scatter, 8 ranks: a late rank's delay that is hidden in full. "
        "(c) 1 GiB, 450 GB/s: exposed time, ms, with full delay and with none. `late` is `all_reduce_late` by name, "
        "with the best of a few chunk counts. From 64 ranks on `hm.plan` takes StragglAR's schedule, also at 256, "
        "where `late` by name is faster.",
        command,
    )
    sizes = [16 * MIB << k for k in range(9)]
    rows = [(s // MIB, *(reduce_scatter_seconds(Case(8, s, b)) * 1e3 for b in (H100, A100))) for s in sizes]
    report.table("figure_6_reduce_scatter", ("MiB", "H100 ms", "A100 ms"), rows)
    _scaling(report, "figure_6_scaling", "Powers of two: exposed time, 1 GiB, 450 GB/s", rank_counts)


def figure_9(report: Report, command: str, *, rank_counts: Iterable[int] = OTHER_COUNTS) -> None:
    """Rank counts that are no powers of two, odd ones too."""
    report.section(
        "Figure 9: rank counts that are no powers of two",
        "1 GiB, 450 GB/s: exposed time, ms. The paper covers even counts by a matching (here up to 64 ranks); "
        "`all_reduce_late` covers all.",
        command,
    )
    _scaling(report, "figure_9_scaling", "Other rank counts: exposed time, 1 GiB, 450 GB/s", rank_counts)


def _scaling(report: Report, key: str, title: str, rank_counts: Iterable[int]) -> None:
    counts, rows, ahead = list(rank_counts), [], []
    for n in counts:
        case, prompt = Case(n, GIB), Case(n, GIB, delay_s=0.0)
        times = {name: case.exposed(schedule) for name, schedule in baselines(n).items()}
        late, no_delay = late_exposed(case), segmented_exposed(prompt)
        ring = times["ring"]
        ring_prompt = prompt.exposed(baselines(n)["ring"])
        known = [times.get(name) for name in ("ring", "rhd", "allpairs", "stragglar")]
        if times.get("stragglar", late) < late:
            ahead.append(str(n))
        values = [*known, late, no_delay, bound_exposed(case)]
        rows.append(
            (n, *(None if t is None else t * 1e3 for t in values), ring / late, ring_prompt / no_delay)
        )
    columns = ("n", "ring", "rhd", "allpairs", "stragglar", "late", "late, no delay", "bound")
    report.table(key, (*columns, "ring / late", "ring / late, no delay"), rows)
    if ahead:
        report.text(f"StragglAR's schedule is ahead of `late` at n = {' and '.join(ahead)}.")
    report.curves(
        key,
        title,
        counts,
        {label: [row[1 + i] for row in rows] for i, label in enumerate(columns[1:])},
        x_label="ranks",
        y_label="ms",
        log="x",
    )


def figure_7(report: Report, command: str, *, rank_counts: Iterable[int] = POWERS_OF_TWO) -> None:
    """The delay from which a late-aware schedule is no slower than the ring."""
    report.section(
        "Figure 7: critical delay",
        "1 GiB, 450 GB/s: the delay from which the schedule beats the ring. "
        "The paper's is (log2 n - 2)α + log2(n)/n·sβ. "
        "`late` is one reduce-scatter and one finish, serially. Segmented, there is no critical delay. The "
        "column gives ring over segmented with no delay at all. (b) The paper's β-competitive ratio, log2(n)/n; "
        "`serial` is the same of ours: its critical delay over sβ.",
        command,
    )
    rows = []
    for n in rank_counts:
        case, prompt = Case(n, GIB), Case(n, GIB, delay_s=0.0)
        log = math.log2(n)
        ring = prompt.exposed(baselines(n)["ring"])
        critical = max(0.0, min(prompt.exposed(late_schedule(n, m)) for m in late_chunk_counts(case)) - ring)
        printed = (log - 2) * LATENCY_S + log / n * GIB / H100
        ratios = log / n, critical * H100 / GIB
        rows.append((n, printed * 1e3, critical * 1e3, ring / segmented_exposed(prompt), *ratios))
    columns = (
        "n",
        "paper, ms",
        "late, serial, ms",
        "ring / segmented, no delay",
        "ratio, paper",
        "ratio, serial",
    )
    report.table("figure_7", columns, rows)
    report.curves(
        "figure_7",
        "Critical delay, 1 GiB, 450 GB/s",
        [row[0] for row in rows],
        {"paper": [row[1] for row in rows], "late, serial": [row[2] for row in rows]},
        x_label="ranks",
        y_label="ms",
        log="x",
    )


PAPER = Paper(
    "stragglar",
    "StragglAR: an all-reduce that a late rank cannot hold up",
    {
        "table_1": table_1,
        "figure_2": figure_2,
        "figure_5": figure_5,
        "figure_5_average": figure_5_average,
        "figure_6": figure_6,
        "figure_7": figure_7,
        "figure_9": figure_9,
        "figure_10": figure_10,
        "measured": measure,
    },
    takes="4 minutes, two of them with eight processes",
)
