# SPDX-License-Identifier: Apache-2.0
"""Figure 19: the time that a search takes as networks grow, and schedules of tens of thousands of ranks on disk."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hemiola import topologies
from hemiola._core import ScheduleFile, Topology
from hemiola.errors import TimeoutError
from hemiola.simulate import simulate
from hemiola.synthesis import synthesize, synthesize_to_file
from hemiola.synthesis.optimal import taccl
from hemiola.verify import verify
from hemiola.whole_file import write_whole
from papers.report import Report
from papers.tacos.measure import GB, LINK, one_trial
from papers.tacos.targets import slot_bound

MESHES, GRIDS = (4, 6, 10, 16, 32), (3, 4, 6, 8, 10)
#: Streamed to disk.
LARGE = ((32, 32), (64, 64), (100, 100), (200, 200), (10, 10, 10), (16, 16, 16), (22, 22, 22), (35, 35, 35))
#: Hours on 64 threads, as printed.
_PRINTED_H = {40_000: 2.52, 42_875: 3.29}
_MOST_FOR_TACCL = 36
#: Of the schedules that are simulated from disk.
_CHUNK_BYTES = 1 << 20


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
        "All-gather with one chunk per rank, `hemiola.synthesize` with one trial on one thread, the best of three "
        "in wall time. The paper's all-reduce is two such searches. TACCL-like: the all-gather's integer program.",
        command,
    )
    for kind, networks in (
        ("2D mesh", [topologies.mesh([side] * 2, **LINK) for side in meshes]),
        ("3D hypercube", [topologies.hypercube([side] * 3, **LINK) for side in grids]),
    ):
        rows = [_row(network, taccl_limit_s) for network in networks]
        key = f"figure_19_{kind[:2]}"
        report.text(f"**{kind}**")
        columns = ("ranks", "search, s", "slots", "slots / bound", "TACCL-like, s")
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
        report.text(_growth([(row[0], row[1]) for row in rows if row[0] >= 100]))


Row = tuple[int, float, int, float, float | None]


def _row(network: Topology, taccl_limit_s: float) -> Row:
    n = network.rank_count
    schedule, taken_s = one_trial(
        lambda: synthesize(network, "all_gather", trials=1, threads=1, progress=False)
    )
    slots = schedule.step_count
    return n, taken_s, slots, slots / slot_bound(network, 1), _taccl_s(network, taccl_limit_s)


def _taccl_s(network: Topology, limit_s: float) -> float | None:
    if network.rank_count > _MOST_FOR_TACCL:
        return None
    try:
        return taccl(network, "all_gather", time_limit_s=limit_s).seconds_to_solve
    except TimeoutError:
        return None


def _growth(times: Sequence[tuple[int, float]]) -> str:
    """Say by which power of the number of ranks the time grows from the first to the last."""
    if len(times) < 2:
        return "Too few networks to say how the time grows."
    (few, short_s), (many, long_s) = times[0], times[-1]
    power = math.log(long_s / short_s) / math.log(many / few)
    grows = f"From {few:,} to {many:,} ranks the time grows as n^{power:.2f}"
    return f"{grows} (the paper: n^2; its code, measured: n^3.2)."


def on_disk(sides: Sequence[int], threads: int | None = None, *, is_torus: bool = False) -> dict[str, Any]:
    """Write an all-gather of a mesh to disk while it is found, verify and simulate the file; return the cost of
    each."""
    network = (topologies.torus if is_torus else topologies.mesh)(list(sides), **LINK)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.schedb"
        started = time.monotonic()
        nbytes = network.rank_count * _CHUNK_BYTES
        made = synthesize_to_file(network, "all_gather", path, threads=threads, nbytes=nbytes, progress=False)
        written = time.monotonic()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        file = ScheduleFile(path)
        violations = verify(file)
        verified = time.monotonic()
        simulated = simulate(file, network, nbytes, network="fifo")
        return {
            "mesh": f"{_name(sides)} torus" if is_torus else _name(sides),
            "ranks": network.rank_count,
            "transfers": made.transfer_count,
            "slots": made.step_count,
            "bound": slot_bound(network, 1),
            "synthesis_s": round(written - started, 3),
            "verify_s": round(verified - written, 3),
            "simulate_s": round(time.monotonic() - verified, 3),
            "simulated_slots": round(simulated.seconds / (_CHUNK_BYTES / LINK["bandwidth"]), 3),
            "peak_bytes": peak,
            "file_bytes": path.stat().st_size,
            "violations": len(violations),
        }


def record_in(folder: Path) -> Path:
    """Return the path of the measurements of `on_disk`, beside the report in that folder: a JSON object per mesh."""
    return folder / "tacos" / "large.json"


def _kept(record: Path) -> dict[str, dict[str, Any]]:
    """Read a record, by mesh."""
    if not record.exists():
        return {}
    kept: dict[str, dict[str, Any]] = json.loads(record.read_text(encoding="utf-8"))
    return kept


def keep(record: Path, measured: dict[str, Any]) -> None:
    """Put a measurement of `on_disk` into a record, in the place of the earlier one of that mesh."""
    kept = _kept(record)
    kept[measured["mesh"]] = measured
    record.parent.mkdir(parents=True, exist_ok=True)
    lines = (f'"{mesh}": {json.dumps(entry)}' for mesh, entry in kept.items())
    write_whole(record, "{\n" + ",\n".join(lines) + "\n}\n")


def measure_large(record: Path) -> None:
    """Measure all large networks, each in a process of its own, whose memory is then its own."""
    spawn = multiprocessing.get_context("spawn")
    for sides in LARGE:
        with spawn.Pool(1) as pool:
            keep(record, pool.apply(on_disk, (sides,)))


def large(report: Report, command: str) -> None:
    """Tens of thousands of ranks; the last measurements, since all of them take a quarter of an hour."""
    report.section(
        "Tens of thousands of ranks, on disk",
        "All-gather with one chunk per rank on all processors, written to disk while it is found, read back, "
        "verified and simulated (chunks of 1 MiB). Times are wall time; memory is the process's peak while it "
        "searches; `simulated` is the simulated time over that of a chunk on a link. Measured one mesh "
        "after the other with `python -m papers.tacos.scale SIDES --record docs/results/tacos/large.json`; "
        "`--big` measures all of them. Printed: 64 threads, an all-reduce, which is two such searches.",
        f"{command} --big",
    )
    measured = _kept(record_in(report.path.parent))
    for kind, dimensions in (("2D mesh", 2), ("3D hypercube", 3)):
        entries = [measured[name] for name in map(_name, LARGE) if name in measured]
        entries = [entry for entry in entries if entry["mesh"].count("x") == dimensions - 1]
        report.text(f"**{kind}**")
        report.table(f"large_{dimensions}D", _LARGE_COLUMNS, [_large_row(entry) for entry in entries])
        report.text(_growth([(entry["ranks"], entry["synthesis_s"]) for entry in entries]))


_LARGE_COLUMNS = (
    "mesh",
    "ranks",
    "transfers",
    "slots",
    "bound",
    "synthesis, s",
    "memory, GB",
    "file, GB",
    "verified, s",
    "violations",
    "simulated, slots",
    "simulated, s",
    "TACOS, h (printed)",
)


def _large_row(entry: dict[str, Any]) -> tuple[object, ...]:
    counts = tuple(entry[key] for key in ("mesh", "ranks", "transfers", "slots", "bound"))
    sizes = (entry["peak_bytes"] / GB, entry["file_bytes"] / GB)
    printed = _PRINTED_H.get(entry["ranks"])
    proof = (entry["verify_s"], entry["violations"])
    simulated = (entry.get("simulated_slots"), entry.get("simulate_s"))
    return (*counts, entry["synthesis_s"], *sizes, *proof, *simulated, printed)


def _name(sides: Sequence[int]) -> str:
    return "x".join(map(str, sides))


def main() -> None:
    """Measure one network, and print the result."""
    parser = argparse.ArgumentParser(description="Stream one all-gather to disk, and verify the file.")
    parser.add_argument("sides", metavar="SIDES", help="of the mesh, such as 200x200")
    parser.add_argument("--torus", action="store_true", help="its links lead around the ends")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--record", type=Path, help="JSON file in which the result replaces an earlier one")
    arguments = parser.parse_args()
    sides = [int(side) for side in arguments.sides.split("x")]
    measured = on_disk(sides, arguments.threads, is_torus=arguments.torus)
    print(json.dumps(measured))
    if arguments.record:
        keep(arguments.record, measured)


if __name__ == "__main__":
    main()
