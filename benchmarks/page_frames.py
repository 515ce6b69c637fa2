# SPDX-License-Identifier: Apache-2.0
"""How long a frame of a page to explore takes in headless Chromium, while it plays.

Goals: at 1280 × 800 a median of at most 17 ms, 95 % within 50 ms, and at most 0.5 MB for 64 ranks. A display of 60 Hz
has a frame every 16.7 ms, so no page is faster."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import hemiola as hm
import history
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from browser import Browser, missing
from measured_like import measured_like

#: Goals: the median and the 95th percentile of a frame, in ms; the bytes of a page of 64 ranks.
MEDIAN_MS, P95_MS, MOST_BYTES = 17.0, 50.0, 500_000
#: One play, as the page offers it.
PLAY_S = 8


def pages() -> dict[str, Callable[[Path], Path]]:
    """Return by name how each page is made."""
    h100 = hm.topologies.dgx_h100(8)
    mesh = hm.topologies.mesh([10, 10], latency_s=0.5e-6, bandwidth=50e9)
    switch = hm.topologies.switch(16, latency_s=5e-6, bandwidth=25e9)

    def simulated(
        schedule: hm.Schedule, topology: hm.Topology, *, beside: bool = False
    ) -> Callable[[Path], Path]:
        def make(file: Path) -> Path:
            timeline = hm.simulate(schedule, topology, 64 << 20)
            return hm.explore(timeline, file, measured=measured_like(timeline) if beside else None)

        return make

    ring, direct = hm.algorithms.all_reduce_ring, hm.algorithms.all_reduce_direct
    return {
        "ring of 16": simulated(ring(16), switch),
        "8 hosts × 8 ranks, ring": simulated(ring(64), h100),
        "8 hosts × 8 ranks, direct": simulated(direct(64), h100),
        "8 hosts × 8 ranks, direct, with a run beside it": simulated(direct(64), h100, beside=True),
        "mesh 10 × 10, ring": simulated(ring(100), mesh),
        "16 hosts × 8 ranks, folded": simulated(ring(128), hm.topologies.dgx_h100(16)),
    }


def frames_of(window: Browser, page: Path) -> dict[str, Any]:
    """Play a page once, and return its size and its frames' times."""
    window.open(page)
    window.ask(f"(document.getElementById('speed').value = {PLAY_S}, h.play(), 0)")
    time.sleep(PLAY_S + 1)
    return {"bytes": page.stat().st_size, **window.ask("h.frameStats()")}


def is_met(row: dict[str, Any]) -> bool:
    """Return whether a page keeps to the goals."""
    return bool(row["median"] <= MEDIAN_MS and row["p95"] <= P95_MS and row["bytes"] <= MOST_BYTES)


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print a row per page."""
    title = f"Frames in headless Chromium, 1280 × 800, one play of {PLAY_S} s each; {describe_machine()}"
    shown = table("page", "kB", "frames", "median, ms", "95 %, ms", "goals", title=title, left=("page",))
    for row in rows:
        times = (f"{row[key]:.1f}" for key in ("median", "p95"))
        size, met = f"{row['bytes'] / 1e3:.0f}", "met" if is_met(row) else "missed"
        shown.add_row(row["page"], size, str(row["count"]), *times, met)
    console.print(shown)


def main() -> int:
    """Measure each page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print lines of JSON instead of a table")
    history.add_option(parser)
    given = parser.parse_args()
    if missing():
        print(missing(), file=sys.stderr)
        return 1
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        window = Browser(Path(folder) / "profile")
        for name, make in pages().items():
            rows.append({"page": name, **frames_of(window, make(Path(folder) / "page.html"))})
        window.close()
    return history.conclude(given, rows, show, is_met)


if __name__ == "__main__":
    sys.exit(main())
