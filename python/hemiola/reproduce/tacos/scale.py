"""Figure 19: the time that a search takes as networks grow."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from hemiola import topologies
from hemiola._core import Topology
from hemiola.errors import TimeoutError
from hemiola.optimal import taccl
from hemiola.reproduce.report import Report
from hemiola.reproduce.tacos.measure import LINK
from hemiola.reproduce.tacos.targets import slot_bound
from hemiola.synthesis import search, synthesize_to_file

MESHES, GRIDS = (4, 6, 10, 16, 32), (3, 4, 6, 8, 10)
BIG_MESHES, BIG_GRIDS = (64, 100, 200), (16, 22, 35)
#: Hours on 64 threads, as printed.
_PRINTED_H = {40_000: 2.52, 42_875: 3.29}
_MOST_FOR_TACCL = 36
_MOST_IN_MEMORY = 5_000


def figure_19(
    report: Report,
    command: str,
    *,
    meshes: Sequence[int] = MESHES,
    grids: Sequence[int] = GRIDS,
    taccl_limit_s: float = 60.0,
) -> None:
    """All-gather, whose search is that of either half of an all-reduce."""
    report.section(
        "Figure 19: time to synthesize",
        "All-gather with one chunk per rank, one trial on one thread. The paper's all-reduce is two "
        "such searches on 64 threads; printed: 2.52 h for 40,000 and 3.29 h for 43,000 ranks. "
        "TACCL-like: the all-gather's integer program.",
        command,
    )
    for kind, networks in (
        ("2D mesh", [topologies.mesh([side] * 2, **LINK) for side in meshes]),
        ("3D hypercube", [topologies.hypercube([side] * 3, **LINK) for side in grids]),
    ):
        rows = [_row(network, taccl_limit_s) for network in networks]
        key = f"figure_19_{kind[:2]}"
        report.text(f"**{kind}**")
        columns = ("ranks", "search, s", "slots", "slots / bound", "TACCL-like, s", "TACOS, h (printed)")
        report.table(key, columns, rows)
        report.curves(
            key,
            f"{kind}: time to synthesize an all-gather",
            [row[0] for row in rows],
            {"Hemiola": [row[1] for row in rows], "TACCL-like": [row[4] for row in rows]},
            x_label="ranks",
            y_label="s",
            log="xy",
        )
        report.text(_growth(rows))


Row = tuple[int, float, int, float, float | None, float | None]


def _row(network: Topology, taccl_limit_s: float) -> Row:
    n = network.rank_count
    started = time.perf_counter()
    slots = _streamed(network) if n > _MOST_IN_MEMORY else _searched(network)
    taken_s = time.perf_counter() - started
    share = slots / slot_bound(network, 1)
    return n, taken_s, slots, share, _taccl_s(network, taccl_limit_s), _PRINTED_H.get(n)


def _searched(network: Topology) -> int:
    return search(network, "all_gather", trials=1, threads=1).schedule.step_count


def _streamed(network: Topology) -> int:
    """Write the schedule to disk while it is found, as schedules that do not fit in memory are."""
    with tempfile.TemporaryDirectory() as folder:
        return synthesize_to_file(network, "all_gather", Path(folder) / "large.schedb", threads=1).step_count


def _taccl_s(network: Topology, limit_s: float) -> float | None:
    if network.rank_count > _MOST_FOR_TACCL:
        return None
    try:
        return taccl(network, "all_gather", time_limit_s=limit_s).seconds_to_solve
    except TimeoutError:
        return None


def _growth(rows: Sequence[Row]) -> str:
    """Say by which power of n the search grows between the first network of 100 ranks or more and the last."""
    large = [row for row in rows if row[0] >= 100]
    if len(large) < 2:
        return "Too few networks of 100 ranks or more to say how the time grows."
    (few, short_s, *_), (many, long_s, *_) = large[0], large[-1]
    power = math.log(long_s / short_s) / math.log(many / few)
    return f"From {few} to {many:,} ranks the time grows as n^{power:.2f} (the paper: n^2; its code, measured: n^3.2)."
