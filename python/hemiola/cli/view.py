# SPDX-License-Identifier: Apache-2.0
"""`hemiola view`: look at a schedule (chunks by steps), at times that `run` or `plan --json` printed, or at the records
of a job."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import RenderableType
from rich.text import Text

from hemiola._core import Schedule, Violation
from hemiola.algorithms.schedule_text import describe, step_cells
from hemiola.cli import options, values
from hemiola.cli.inputs import is_folder, load_if_schedule, load_schedule, read_text, read_topology
from hemiola.cli.output import answer, console, counted, fitted, printable, table, written
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.cli.values import read_conditions, read_output
from hemiola.cli.violations import violation_data, warning
from hemiola.conditions import Conditions
from hemiola.diagnosis.recorded_job import RecordedJob
from hemiola.errors import ArgumentError, FormatError
from hemiola.synthesis import DEFAULT_NBYTES
from hemiola.units import format_bytes, format_seconds
from hemiola.verify import first_violation
from hemiola.view.algorithm_time import AlgorithmTime, TimesAtSize

#: The part of a schedule that is printed.
_CHUNKS_SHOWN, _STEPS_SHOWN = 32, 64
#: The latest calls and ranks that are printed.
_LATE_SHOWN = 8


def view(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Schedule file, name of an algorithm, the output of run or plan --json (.json), or a job's folder "
            "of records.",
        ),
    ],
    ranks: options.Ranks = None,
    chart: options.Chart = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            parser=options.reads(read_output),
            help="Write a page to explore. A schedule needs --topology.",
        ),
    ] = None,
    topology: Annotated[
        Path | None, typer.Option("--topology", metavar="FILE", help="The network of --html.")
    ] = None,
    nbytes: Annotated[
        int,
        typer.Option(
            "--size",
            metavar="SIZE",
            parser=options.reads(values.read_size),
            help="Bytes of one rank's buffer, for --html.",
        ),
    ] = DEFAULT_NBYTES,
    late: options.Late = None,
    slow: options.Slow = None,
    as_json: options.Json = False,
) -> None:
    """Look at a schedule as chunks by steps, at times measured and predicted, or at a job's records.

    In a cell, 0>1 copies rank 0's chunk to rank 1, and 0+1 adds it to rank 1's; 0.2 is rank 0's second scratch
    slot. A schedule's JSON lists its transfers. A wrong schedule is shown, too, after its first fault; exit code 1.

    Of the folder of HEMIOLA_RECORD it says which rank failed first, how the others reacted, and which came late.

    --html writes one file that shows the schedule's simulation on a network, or the job, and makes no request.
    --late and --slow belong to it.

    Examples: hemiola view all_reduce_ring --ranks 4; hemiola view times.json --chart times.png; hemiola view records;
    hemiola view all_reduce_ring --topology cluster.yaml --size 64MiB --late 7=5ms --html ring.html
    """
    if html is not None:
        _write_page(source, html, topology, nbytes, late, slow, as_json)
    elif topology is not None or late or slow:
        raise ArgumentError("--topology, --late and --slow belong to a page; say --html FILE, too")
    elif is_folder(source):
        _view_job(source, chart, as_json)
    elif not source.endswith(".json"):
        _view_schedule(source, load_schedule(source, ranks), chart, as_json)
    elif (schedule := load_if_schedule(source)) is not None:
        _view_schedule(source, schedule, chart, as_json)
    else:
        _view_times(Path(source), chart, as_json)


def _write_page(
    source: str,
    html: Path,
    topology_file: Path | None,
    nbytes: int,
    late: list[str] | None,
    slow: list[str] | None,
    as_json: bool,
) -> None:
    from hemiola.view.page import explore

    if is_folder(source):
        path = printable(str(explore(source, html)))
        answer(as_json, _page_data(source, html), Text(path))
        return
    if topology_file is None:
        raise ArgumentError("a page shows a schedule on a network; say which: --topology cluster.yaml")
    topology = read_topology(topology_file).topology
    conditions = read_conditions(late, slow, topology.rank_count, topology=topology)
    schedule = load_schedule(
        source, topology.rank_count, topology=topology, nbytes=nbytes, conditions=conditions
    )
    title = Path(printable(source)).name
    path = printable(str(explore(schedule, html, topology, nbytes, conditions, title=title)))
    asked = {
        **network_asked(topology, topology_file),
        **conditions_asked(conditions),
        "collective": schedule.collective.kind,
        "nbytes": nbytes,
    }
    answer(as_json, {**_page_data(source, html), **asked}, Text(path))


def _page_data(source: str, html: Path) -> dict[str, Any]:
    return {"source": printable(source), "file": printable(str(html)), "bytes": html.stat().st_size}


def _view_schedule(source: str, schedule: Schedule, chart: Path | None, as_json: bool) -> None:
    name = Path(printable(source)).name
    if chart is not None:
        from hemiola.view.steps import draw_steps

        draw_steps(schedule, chart, title=name)
    violation = first_violation(schedule)
    answer(
        as_json,
        {"source": printable(source), **_schedule_data(schedule, violation)} if as_json else None,
        *_schedule_table(name, schedule),
        *([] if violation is None else [warning(name, violation)]),
        *written(chart),
    )
    if violation is not None:
        raise typer.Exit(1)


def _schedule_table(name: str, schedule: Schedule) -> list[RenderableType]:
    rows = step_cells(schedule, _CHUNKS_SHOWN, _STEPS_SHOWN)
    steps = _steps_that_fit(rows)
    shown = table("chunk", *(f"step {step}" for step in range(steps)))
    for chunk, cells in enumerate(rows):
        shown.add_row(str(chunk), *cells[:steps])
    hidden = []
    if schedule.chunk_count > len(rows):
        hidden.append(f"{schedule.chunk_count - len(rows):,} more chunks")
    if schedule.step_count > steps:
        hidden.append(f"{schedule.step_count - steps:,} more steps")
    parts: list[RenderableType] = [Text.assemble((name, "bold"), f": {describe(schedule)}"), shown]
    if hidden:
        parts.append(Text(f"and {' and '.join(hidden)}; --chart FILE draws them all", style="dim"))
    return parts


def _steps_that_fit(rows: list[list[str]]) -> int:
    """Return how many steps fit side by side in the terminal."""
    left = console().width - len("chunk") - 2
    for step in range(len(rows[0])):
        left -= max(len(f"step {step}"), *(len(row[step]) for row in rows)) + 3
        if left < 0:
            return step
    return len(rows[0])


def _schedule_data(schedule: Schedule, violation: Violation | None) -> dict[str, Any]:
    transfers = np.asarray(schedule.transfers)
    return {
        "collective": schedule.collective.kind,
        "rank_count": schedule.rank_count,
        "chunk_count": schedule.chunk_count,
        "step_count": schedule.step_count,
        "violation": None if violation is None else violation_data(violation),
        "transfers": [dict(zip(transfers.dtype.names or (), row, strict=True)) for row in transfers.tolist()],
    }


def _view_job(source: str, chart: Path | None, as_json: bool) -> None:
    if chart is not None:
        raise ArgumentError("a job's records have no chart; say --html FILE for a page")
    job = RecordedJob.read(source)
    happened = table("after", "rank", "what happened", left=("what happened",))
    for one in job.findings:
        happened.add_row(
            "-" if one.at_s is None else format_seconds(one.at_s), str(one.rank), Text(printable(one.text))
        )
    late = table("by", "rank", "came last to", title="Late after the median call", left=("came last to",))
    for call in job.late_calls[:_LATE_SHOWN]:
        late.add_row(format_seconds(call.late_s), str(call.rank), printable(call.name))
    for rank, count, seconds in job.late_ranks[:_LATE_SHOWN]:
        late.add_row(format_seconds(seconds), str(rank), f"{counted(count, 'operation')} in all", style="dim")
    first = "No operation failed." if job.failed_first is None else f"Rank {job.failed_first} failed first."
    answer(
        as_json,
        _job_data(source, job) if as_json else None,
        Text(f"{printable(source)}: {printable(job.summary)}"),
        Text(first, style="bold"),
        *([happened] if job.findings else []),
        *([late] if job.late_calls else []),
    )


def _job_data(source: str, job: RecordedJob) -> dict[str, Any]:
    return {
        "source": printable(source),
        "ranks": list(job.members),
        "missing": list(job.missing),
        "operation_count": len(job.operations),
        "seconds": job.seconds,
        "failed_first": job.failed_first,
        "findings": [asdict(one) for one in job.findings],
        "late_calls": [asdict(one) for one in job.late_calls],
        "late_ranks": [
            {"rank": rank, "count": count, "late_s": late_s} for rank, count, late_s in job.late_ranks
        ],
    }


def _view_times(path: Path, chart: Path | None, as_json: bool) -> None:
    document = _read_document(path)
    try:
        of_ranks = f"over {document['rank_count']} ranks"
        sizes = document.get("sizes") or [document]
        size = f" of {format_bytes(sizes[0]['nbytes'])}" if len(sizes) == 1 else ""
        title = f"{document['collective']}{size} {of_ranks}"
        prefix = f"{document['collective']}_"
        times = [_times_at_size(one) for one in sizes]
        conditions = _conditions(document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise FormatError(
            f"'{printable(str(path))}': expected the output of 'run --json' or 'plan --json'"
        ) from None
    if chart is not None:
        from hemiola.view.over_sizes import draw_over_sizes

        where = printable(document.get("topology") or path.name)
        draw_over_sizes(times, chart, title=f"{title}, {where}", conditions=conditions, prefix=prefix)
    tables = [
        _times_table(
            f"{document['collective']} of {format_bytes(one.nbytes)} {of_ranks}", one.times, prefix=prefix
        )
        for one in times
    ]
    answer(as_json, document, *tables, *written(chart))


def _times_at_size(document: dict[str, Any]) -> TimesAtSize:
    """Read one size of a document of `run`, or the one of a document of `plan`."""
    rows = document["algorithms"] if "algorithms" in document else document["alternatives"]
    bound_s = None if document["bound_s"] is None else float(document["bound_s"])
    return TimesAtSize(int(document["nbytes"]), tuple(_time(row) for row in rows), bound_s)


def _time(row: dict[str, Any]) -> AlgorithmTime:
    """Read one algorithm of a document of `run` (predicted_s, p50_s) or `plan` (formula_s, simulated_s)."""
    predicted = row.get("predicted_s") or row.get("simulated_s") or row.get("formula_s")
    predicted_s = None if predicted is None else float(predicted)
    name = str(row["algorithm"]) + (f" ({row['variant']})" if row.get("variant") else "")
    durations_s = [float(one) for one in row.get("durations_s") or ()]
    if durations_s:
        return AlgorithmTime.measured(name, durations_s, predicted_s)
    measured = row.get("p50_s")
    return AlgorithmTime(name, None if measured is None else float(measured), predicted_s)


def _conditions(document: dict[str, Any]) -> Conditions:
    """Read late and slow ranks as `run` and `plan` write them; a dead NIC's factor is a text."""
    slow = {
        int(key) if key.isdigit() else key: float(factor) for key, factor in document.get("slow", {}).items()
    }
    late = {int(rank): float(late_s) for rank, late_s in document.get("late", {}).items()}
    return Conditions(late, slow, float(document.get("density", 1.0)))


def _times_table(title: str, times: Sequence[AlgorithmTime], *, prefix: str) -> RenderableType:
    shown = table("algorithm", "predicted", "measured", title=title, left=("algorithm",))
    for time in times:
        known = (
            "-" if seconds is None else format_seconds(seconds)
            for seconds in (time.predicted_s, time.measured_s)
        )
        shown.add_row(time.name, *known)
    return fitted(shown, dropped=("predicted",), prefix=prefix)


def _finite(text: str) -> float:
    """Read a number; what JSON cannot hold, such as 1e999, raises ValueError."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"expected finite numbers, found {text[:40]}")
    return number


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(read_text(path), parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"'{printable(str(path))}' is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise FormatError(
            f"'{printable(str(path))}': expected a JSON object, found {type(document).__name__}"
        )
    return document
