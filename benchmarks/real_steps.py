# SPDX-License-Identifier: Apache-2.0
"""Real training steps, predicted: DDP and FSDP2 of a GPT of 11 million parameters on this repository's text.

Four ranks: on this machine, and on 2 × 2 and 4 × 1 namespace hosts at 200 Mbit/s and 1 Gbit/s. Each setting runs with
gloo and with Hemiola; in some a rank is late, or a NIC slow. `hemiola.whatif` predicts all of them from one trace of
each split, recorded on this machine without faults, and from what `hemiola calibrate` measures of each network. Goals:
a median error of at most 10 %, a worst of 20 %, and Hemiola's gain over gloo within 10 points of the promised one.

    python benchmarks/real_steps.py [--steps 5] [--folder DIR] [--json] [--write]

Needs root, or a kernel on which users may make namespaces. Takes about 12 minutes. --folder keeps traces, networks and
times, and measures what a folder lacks. --again predicts from such a folder anew, and measures nothing. Exit code 1
where a goal is missed."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import hemiola as hm
import history
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole
from hemiola.workload.reading import model_or_step
from meeting import run_job
from ordered_ranks import OrderedRanks, ordered_ranks
from real_steps_page import page
from real_steps_rows import (
    CALL_BYTES,
    LATE_S,
    LIBRARIES,
    LOCAL,
    PLACES,
    SLOWER,
    SPLITS,
    Place,
    Row,
    Setting,
    call_lines,
    call_of,
    predicted,
    row_of,
    settings,
    steps_of,
    summary,
    table_lines,
)

RANK_SCRIPT = Path(__file__).with_name("real_steps_rank.py")
PAGE = RANK_SCRIPT.parent.parent / "docs/results/real-steps.md"
#: What each library's ranks of one host exchange messages by, as HEMIOLA_WIRE says it.
WIRES = {"gloo": "tcp", "hemiola": "auto"}
BATCH = 8
#: A rank whose core another program keeps is not lost: seconds of its silence.
SILENCE = "30"
#: Steps before those that count; with a slow NIC so many that Hemiola has noticed it.
WARM, WARM_SLOW = 2, 5
#: Traced.
RECORDED = 5
#: Calls of a few bytes, and those before them.
CALLS, WARM_CALLS = 200, 20


def job_on(place: Place, cluster: Cluster | None) -> AbstractContextManager[OrderedRanks]:
    """Start the ranks; end them with the block."""
    own = {"HEMIOLA_SILENCE": SILENCE, **({} if cluster else {"GLOO_SOCKET_IFNAME": "lo"})}
    return ordered_ranks(str(place), [str(RANK_SCRIPT)], cluster, place.ranks, place.per_host, own)


def network_file(folder: Path, place: Place, library: str) -> Path:
    """Return the name of a network's file; ranks that have a host each know one wire only."""
    wire = WIRES[library] if place.per_host > 1 else "tcp"
    return folder / f"{place.hosts}x{place.per_host}-{place.rate or 'local'}-{wire}.yaml"


def calibrate(place: Place, cluster: Cluster | None, folder: Path) -> None:
    """Let `hemiola calibrate` measure the network of each wire."""
    for library in LIBRARIES:
        path = network_file(folder, place, library)
        if path.exists():
            continue
        wire = [f"HEMIOLA_WIRE={WIRES[library]}", f"HEMIOLA_SILENCE={SILENCE}"]
        measure = ["-m", "hemiola", "calibrate", "-o", str(path)]
        if cluster is None:
            launch = [sys.executable, "-m", "hemiola", "launch", "-n", str(place.ranks), *measure]
            subprocess.run(["env", *wire, *launch], check=True, stdout=subprocess.DEVNULL)
        else:
            placement = [rank // place.per_host for rank in range(place.ranks)]
            run_job(cluster, placement, ["env", *wire, sys.executable, *measure], place.per_host)


def record(job: OrderedRanks, folder: Path) -> None:
    """Record the trace of each split: gloo's, whose works the profiler marks. Time the same steps without it, too."""
    untraced = {}
    for split in SPLITS:
        (folder / split).mkdir(exist_ok=True)
        answers = job.ask(
            split=split, library="gloo", batch=BATCH, record=str(folder / split), steps=RECORDED
        )
        untraced[split] = statistics.median(steps_of([answer["ends"] for answer in answers]))
    write_whole(folder / "untraced.json", json.dumps(untraced))


def measure(job: OrderedRanks, setting: Setting, library: str, steps: int) -> tuple[list[float], list[float]]:
    """Return the seconds of a setting's steps, and the ranks' last losses."""
    late_s = LATE_S if setting.fault == "late rank" else 0.0
    warm = WARM_SLOW if setting.fault == "slow NIC" else WARM
    answers = job.ask(
        split=setting.split, library=library, batch=BATCH, warm=warm, steps=steps, late_s=late_s
    )
    return steps_of([answer["ends"] for answer in answers]), [answer["loss"] for answer in answers]


def measure_calls(job: OrderedRanks) -> dict[str, float]:
    """Return the seconds of an all-reduce of a few bytes with each library."""
    found = {}
    for library in LIBRARIES:
        answers = job.ask(calls=CALLS, warm=WARM_CALLS, nbytes=CALL_BYTES, library=library)
        found[library] = statistics.median(steps_of([answer["ends"] for answer in answers]))
    return found


class Measured:
    """The measurements that a folder has: steps of settings, calls of each place, and the load when they began."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[dict[str, Any]] = self._read("measured.json", [])
        self.calls: dict[str, dict[str, float]] = self._read("calls.json", {})
        self.load: float = self._read("load.json", os.getloadavg()[0])

    def lacks_steps(self, place: Place) -> bool:
        return all(one["place"] != str(place) for one in self.steps)

    def lacks_calls(self, place: Place) -> bool:
        return str(place) not in self.calls

    def write(self) -> None:
        write_whole(self.folder / "measured.json", json.dumps(self.steps, indent=1))
        write_whole(self.folder / "calls.json", json.dumps(self.calls, indent=1))
        write_whole(self.folder / "load.json", json.dumps(self.load))

    def _read(self, name: str, none: Any) -> Any:
        file = self.folder / name
        return json.loads(file.read_text()) if file.exists() else none


def measure_all(found: Measured, steps: int, places: Sequence[Place]) -> None:
    """Measure what the folder lacks, place by place; write what was found there."""
    places = [place for place in places if found.lacks_steps(place) or found.lacks_calls(place)]
    began = time.monotonic()
    for shape in dict.fromkeys((place.hosts, place.per_host) for place in places):
        of_shape = [place for place in places if (place.hosts, place.per_host) == shape]
        with ExitStack() as stack:
            cluster = stack.enter_context(Cluster(shape[0])) if shape[0] > 1 else None
            job = stack.enter_context(job_on(of_shape[0], cluster))
            for place in of_shape:
                _set_rates(cluster, place)
                calibrate(place, cluster, found.folder)
                if place == LOCAL and found.lacks_steps(place):
                    record(job, found.folder)
                job.ask(measure_links=True)
                if found.lacks_calls(place):
                    found.calls[str(place)] = measure_calls(job)
                if found.lacks_steps(place):
                    found.steps += measure_steps(job, cluster, place, steps, began)
                found.write()


def measure_steps(
    job: OrderedRanks, cluster: Cluster | None, place: Place, steps: int, began: float
) -> list[dict[str, Any]]:
    """Measure every setting of a place."""
    found = []
    for setting in settings([place]):
        _set_rates(cluster, place, is_slow=setting.fault == "slow NIC")
        for library in LIBRARIES:
            seconds, losses = measure(job, setting, library, steps)
            one = {"place": str(place), "split": setting.split, "fault": setting.fault}
            found.append(one | {"library": library, "seconds": seconds, "losses": losses})
            words = f"{place}, {setting.split}, {setting.fault}, {library}"
            print(
                f"{time.monotonic() - began:4.0f} s  {words}: {sorted(seconds)[len(seconds) // 2]:.3f} s",
                file=sys.stderr,
                flush=True,
            )
    return found


def _set_rates(cluster: Cluster | None, place: Place, *, is_slow: bool = False) -> None:
    """Limit the NICs, the last host's more where it is slow."""
    if cluster is None:
        return
    for host in range(place.hosts):
        cluster.set_rate(host, place.rate)
    if is_slow:
        full, _ = cluster.rates(place.hosts - 1)
        assert full is not None
        cluster.set_rate(place.hosts - 1, full / SLOWER)


def rows_of(found: Measured) -> tuple[list[Row], list[Row]]:
    """Predict what was measured; return the rows of steps and those of calls."""
    if not found.steps:
        raise SystemExit(f"{found.folder}: expected measured.json, found none; measure with --folder")
    missing = [place for place in PLACES if found.lacks_calls(place) and not found.lacks_steps(place)]
    if missing:
        raise SystemExit(
            f"{found.folder}: expected calls.json to have '{missing[0]}', found no calls there; measure them with "
            "--folder"
        )
    networks = {
        (str(place), library): hm.Topology.load(path)
        for place in PLACES
        for library in LIBRARIES
        if (path := network_file(found.folder, place, library)).exists()
    }
    calls = {
        (str(place), library): call_of(
            place, library, found.calls[str(place)][library], networks[str(place), library]
        )
        for place in PLACES
        for library in LIBRARIES
        if not found.lacks_calls(place)
    }
    traces = {split: model_or_step(found.folder / split) for split in SPLITS}
    untraced = json.loads((found.folder / "untraced.json").read_text())
    rows = []
    for one in found.steps:
        setting = next(each for each in settings() if _is_of(one, each))
        key = one["place"], one["library"]
        split = setting.split
        told_s = predicted(setting, calls[key], traces[split], untraced[split], networks[key])
        rows.append(row_of(setting, one["library"], one["seconds"], told_s))
    return rows, list(calls.values())


def _is_of(one: dict[str, Any], setting: Setting) -> bool:
    return (one["place"], one["split"], one["fault"]) == (str(setting.place), setting.split, setting.fault)


def main() -> int:
    """Measure, predict, compare, print; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=5, help="that count, of each setting")
    parser.add_argument("--places", nargs="+", choices=[str(place) for place in PLACES], default=())
    parser.add_argument("--folder", type=Path, help="keep traces, networks and times there")
    parser.add_argument("--again", type=Path, help="predict from what such a folder has")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each row")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} in docs/results")
    history.add_option(parser)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = options.again or options.folder
        folder = (folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        measured = Measured(folder)
        if not options.again:
            chosen = [
                place for place in PLACES if not options.places or str(place) in (str(LOCAL), *options.places)
            ]
            measure_all(measured, options.steps, chosen)
        rows, calls = rows_of(measured)
    found = summary(rows)
    if options.json:
        print(*(json.dumps(row | {"machine": describe_machine()}) for row in rows), sep="\n")
    else:
        print(*table_lines(rows), "", *call_lines(calls), "", json.dumps(found), sep="\n")
        print(f"{describe_machine()}; load {measured.load:.1f} before the run")
    if options.write:
        write_whole(PAGE, page(rows, calls, measured.load, PAGE.read_text() if PAGE.exists() else ""))
    history.record(options, rows)
    return 0 if found["is_met"] else 1


if __name__ == "__main__":
    sys.exit(main())
