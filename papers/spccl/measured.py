# SPDX-License-Identifier: Apache-2.0
"""Collectives and training between hosts on this machine, with NICs of a limited rate."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hemiola.cluster import Cluster
from hemiola.errors import ClusterError
from papers import ROOT
from papers.report import Report
from papers.spccl import arrays

#: Payload's share of what a NIC carries, with TCP and an MTU of 1,500.
_GOODPUT = 0.955
_MIB = 1 << 20
#: How many times (n-1)/n of the buffer passes a port.
_PHASES = {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 2}
_LIMIT_S = 3600.0


@dataclass(frozen=True)
class Hosts:
    """A cluster on this machine."""

    count: int = 8
    megabits: int = 100

    def run(self, cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Run cases, with a rank on each host, in a cluster that lives as long."""
        name = f"spccl{os.getpid()}"
        with Cluster(self.count, rate=f"{self.megabits}mbit", name=name):
            program = [
                "cluster",
                "run",
                "--name",
                name,
                "--no-labels",
                "-m",
                "papers.spccl.host_rank",
            ]
            command = [sys.executable, "-m", "hemiola", *program, json.dumps(list(cases))]
            ended = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=_LIMIT_S, check=False
            )
        if ended.returncode != 0:
            raise ClusterError(f"measuring: a rank ended with {ended.returncode}; its message is above")
        found: list[dict[str, Any]] = json.loads(ended.stdout)
        return found

    def best_s(self, kind: str, nbytes: int) -> float:
        """Return the time of dense bytes at their optimum."""
        passing = _PHASES[kind] * (self.count - 1) / self.count * nbytes
        return passing / (self.megabits * 125_000 * _GOODPUT)

    def words(self) -> str:
        """Describe it."""
        return f"{self.count} hosts (network namespaces) with NICs of {self.megabits} Mbit/s on this machine"


_SPARSE: dict[str, Any] = {"sparse": True}
_DENSE: dict[str, Any] = {"sparse": False}


def _case(
    kind: str, nbytes: int, pattern: str, density: float, turns: int, ways: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "kind": kind, "bytes": nbytes, "pattern": pattern, "density": density, "turns": turns, "ways": list(ways)
    }  # fmt: skip


def measured(
    report: Report, command: str, *, hosts: Hosts = Hosts(), nbytes: int = 64 * _MIB, turns: int = 15
) -> None:
    """High sparsity, over dense bytes at their optimum, beside rings."""
    cases = [
        _case(kind, nbytes, "random", density, turns, [_SPARSE, _SPARSE | {"schedule": f"{kind}_ring"}])
        for kind in _PHASES
        for density in (0.01, 0.001)
    ]
    found = hosts.run(cases)
    report.section(
        f"Measured: {hosts.words()}, {nbytes // _MIB} MiB",
        "Single operations with a barrier before each, seconds of the slowest rank, medians, least and most; "
        f"float32 at random places, other ones on every rank; {turns} times each, in turn. Over dense bytes "
        f"at their optimum, {_GOODPUT:.1%} of the NICs' rate. `ring`: the same codec on the paper's schedule. "
        f"To reach at 99 %: 60, 50 and 16.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for case, answer in zip(cases, found, strict=True):
        direct, ring = answer["seconds"]
        best = hosts.best_s(case["kind"], nbytes)
        zeros = f"{100 * (1 - case['density']):g} %"
        middle = statistics.median(direct)
        rows.append((case["kind"], zeros, *_spread(direct), best / middle, best / statistics.median(ring)))
    columns = ("collective", "zeros", "median, ms", "least … most", "over dense's optimum", "ring, over it")
    report.table("measured", columns, rows)


def measured_sparsities(
    report: Report,
    command: str,
    *,
    hosts: Hosts = Hosts(),
    nbytes: int = 16 * _MIB,
    turns: int = 3,
    pairs: int = 30,
    sparsities: Sequence[float] = arrays.SPARSITIES,
) -> None:
    """All sparsities, and the kinds of data, sparse and dense in turn."""
    ways, kinds = [_SPARSE, _DENSE], [pattern for pattern in arrays.PATTERNS if pattern != "random"]
    smallest = _case("all_gather", nbytes, "random", 0.95, pairs, ways)
    cases = [_case(kind, nbytes, pattern, 0.01, turns, ways) for kind in _PHASES for pattern in kinds]
    # From sparse to dense: what was found dense is looked at again only now and then.
    for sparsity in sorted(sparsities, reverse=True):
        cases += [_case(kind, nbytes, "random", 1 - sparsity, turns, ways) for kind in _PHASES]
    many, *found = hosts.run([smallest, *cases])
    report.section(
        f"Measured by sparsity: {hosts.words()}, {nbytes // _MIB} MiB",
        "Sparse and dense in turn, seconds of the slowest rank. The gain is the median dense time over the "
        f"median sparse one. In brackets stand its least and most among pairs of the {turns} turns.",
        command,
    )
    gains: dict[tuple[str, str, float], str] = {}
    for case, answer in zip(cases, found, strict=True):
        gains[case["kind"], case["pattern"], case["density"]] = _gain(*answer["seconds"])
    rows = [(f"{100 * s:g} %", *(gains[kind, "random", 1 - s] for kind in _PHASES)) for s in sparsities]
    report.table("measured_sparsities", ("zeros, random", *_PHASES), rows)
    rows = [(pattern, *(gains[kind, pattern, 0.01] for kind in _PHASES)) for pattern in kinds]
    report.table("measured_patterns", ("99 % zeros", *_PHASES), rows)
    report.table(
        "measured_smallest",
        ("all-gather, 5 % zeros", "gain (least … most of the pairs)", "to reach"),
        [(f"{pairs} pairs", _gain(*many["seconds"]), "at least 1.03")],
    )


def measured_training(
    report: Report,
    command: str,
    *,
    hosts: Hosts = Hosts(),
    widths: Sequence[int] = (64, 2048, 2048, 10),
    steps: int = 7,
    batch: int = 64,
) -> None:
    """A step of a network of four million parameters, dense and pruned in turn."""
    settings = {"kind": "training", "widths": list(widths), "batch": batch}
    (found,) = hosts.run([settings | {"densities": [1.0, 0.01], "steps": steps}])
    report.section(
        f"Measured: training steps, {hosts.words()}",
        f"A perceptron of {'-'.join(map(str, widths))} on digits, {found['parameters']:,} parameters, "
        f"gradients of float32, a batch of {batch}; dense steps and steps pruned to 1 % with error feedback "
        f"in turn, {steps} of each. Medians of the slowest rank's time in each part. To reach: dense over "
        f"pruned at least 5. All ranks compute and prune on this machine's {os.cpu_count()} cores, which sets "
        f"the limit: a dense step over one of computing and pruning alone.",
        command,
    )
    dense, pruned = found["steps"]
    parts = [[statistics.median(step[i] for step in run) for i in range(4)] for run in (dense, pruned)]
    rows = [(name, *(1e3 * s for s in part)) for name, part in zip(("dense", "pruned"), parts, strict=True)]
    report.table("measured_training", ("", "compute, ms", "prune, ms", "all-reduce, ms", "step, ms"), rows)
    alone = parts[1][0] + parts[1][1]
    report.table(
        "measured_training_ratios",
        ("dense over pruned", "step (least … most of the turns)", "all-reduce"),
        [
            ("found", *(_gain([s[i] for s in pruned], [s[i] for s in dense]) for i in (3, 2))),
            ("limit", f"{parts[0][3] / alone:.3g}", "–"),
        ],
    )


def _spread(times: Sequence[float]) -> tuple[float, str]:
    return 1e3 * statistics.median(times), f"{1e3 * min(times):.0f} … {1e3 * max(times):.0f}"


def _gain(sparse: Sequence[float], dense: Sequence[float]) -> str:
    pairs = [b / a for a, b in zip(sparse, dense, strict=True)]
    return f"{statistics.median(dense) / statistics.median(sparse):.3g} ({min(pairs):.3g} … {max(pairs):.3g})"
