# SPDX-License-Identifier: Apache-2.0
"""The output of `hemiola doctor --truth`: predictions beside measurements, row by row, and how far they are apart."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from hemiola.cli.output import answer, fitted, line_above_bar, table
from hemiola.doctor.settings import every_job, sampled_jobs
from hemiola.doctor.truth import Row, Summary, hold_to_truth, summaries
from hemiola.machine.capacity import describe_machine
from hemiola.units import format_bytes, format_seconds

#: Measuring may take this part of a sample's two minutes; the rest is for settings that have begun, and their job.
_BUDGET_S = 90.0


def tell_truth(*, everything: bool, seed: int, as_json: bool) -> bool:
    """Measure, say each row as it comes, and print all that there is, on Ctrl-C, too; return whether every element was
    right."""
    rows: list[Row] = []

    def show(row: Row) -> None:
        rows.append(row)
        line_above_bar(_in_words(row), sys.stderr)

    load_before = os.getloadavg()[0]
    try:
        if everything:
            hold_to_truth(every_job(), show)
        else:
            hold_to_truth(sampled_jobs(seed), show, _BUDGET_S)
    except KeyboardInterrupt:
        _print(rows, load_before, as_json, seed=None if everything else seed, interrupted=True)
        raise
    _print(rows, load_before, as_json, seed=None if everything else seed, interrupted=False)
    return not any(row.wrong for row in rows)


def _in_words(row: Row) -> str:
    setting = row.setting
    times = ", ".join(format_seconds(each_s) for each_s in (row.predicted_s, *row.measured_s))
    return (
        f"{setting.kind} {format_bytes(setting.nbytes)}, {setting.job.rank_count} ranks, {setting.job.wire}, "
        f"{setting.job.condition}: {times} ({row.error:+.0%})"
    )


def _print(
    rows: Sequence[Row], load_before: float, as_json: bool, *, seed: int | None, interrupted: bool
) -> None:
    summed, load = summaries(rows), (load_before, os.getloadavg()[0])
    where = f"{describe_machine()}; load {load[0]:.1f} before, {load[1]:.1f} after"
    data = {
        "machine": describe_machine(),
        "load": load,
        "seed": seed,
        "interrupted": interrupted,
        "summaries": [asdict(each) for each in summed],
        "rows": [_row_data(row) for row in rows],
    }
    answer(as_json, data, _row_table(rows, where), _summary_table(summed), Text(_NOTES, style="dim"))


_NOTES = (
    "error: how far the prediction lies outside two runs of the setting, as a share of the nearer (below 0: predicted "
    "too low); network alone: the median if the engine cost nothing; again: by how much the slower of the two took "
    "longer; broken bounds: both runs faster than the bound."
)


def _row_data(row: Row) -> dict[str, Any]:
    setting, job = row.setting, row.setting.job
    return {
        "collective": setting.kind,
        "nbytes": setting.nbytes,
        "rank_count": job.rank_count,
        "wire": job.wire,
        "condition": job.condition,
        "algorithm": row.algorithm,
        "predicted_s": row.predicted_s,
        "bound_s": row.bound_s,
        "network_s": row.network_s,
        "measured_s": list(row.measured_s),
        "error": row.error,
        "network_error": row.network_error,
        "repeatability": row.repeatability,
        "bound_is_broken": row.is_bound_broken,
        "wrong": row.wrong,
    }


def _row_table(rows: Sequence[Row], where: str) -> RenderableType:
    columns = (
        "collective",
        "size",
        "ranks",
        "wire",
        "who",
        "bound",
        "predicted",
        "measured",
        "error",
        "again",
    )
    shown = table(*columns, title=f"Predicted and measured: {where}", left=("collective", "wire", "who"))
    for row in rows:
        setting = row.setting
        bound = format_seconds(row.bound_s)
        shown.add_row(
            setting.kind,
            format_bytes(setting.nbytes),
            str(setting.job.rank_count),
            setting.job.wire,
            setting.job.condition,
            f"[bold red]{bound}[/]" if row.is_bound_broken else bound,
            format_seconds(row.predicted_s),
            format_seconds(min(row.measured_s)),
            f"[bold red]{row.wrong} wrong[/]" if row.wrong else f"{row.error:+.1%}",
            f"{row.repeatability:.1%}",
        )
    return fitted(shown, dropped=("bound", "again", "predicted", "measured"))


def _summary_table(summed: Sequence[Summary]) -> RenderableType:
    columns = (
        "wire",
        "settings",
        "median error",
        "p95",
        "network alone",
        "median again",
        "p95 again",
        "broken bounds",
    )
    shown = table(*columns, title="Errors beyond repeatability", left=("wire",))
    for each in summed:
        shares = (
            each.median,
            each.p95,
            each.network_median,
            each.median_repeatability,
            each.p95_repeatability,
        )
        shown.add_row(
            each.wire,
            f"{each.count:,}",
            *(f"{share:.1%}" for share in shares),
            str(each.broken_bounds),
        )
    return fitted(shown, dropped=("p95 again", "network alone", "median again"))
