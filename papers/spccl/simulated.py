# SPDX-License-Identifier: Apache-2.0
"""Sparse collectives in the event-driven simulator, from 8 to 1,024 ranks."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola import algorithms, codecs, topologies
from hemiola._core import Schedule
from hemiola.conditions import Conditions
from hemiola.simulate import simulate
from papers.report import Report
from papers.spccl.arrays import union
from papers.spccl.figures import GBIT, MIB, Measured, measured_codec

_LATENCY_S = 10e-6
#: Density at which it is seen what a position takes.
_OF_POSITIONS = 0.1
#: What runs with zeros left out, and the dense call that it is compared with: a ring.
_KINDS = {
    "all-gather": ("all_gather_ring", "all_gather_ring"),
    "reduce-scatter": ("reduce_scatter_direct_rounds", "reduce_scatter_ring"),
    "all-reduce": ("all_reduce_direct_rounds", "all_reduce_ring"),
}


def simulated(
    report: Report,
    command: str,
    *,
    codec_of: Measured = measured_codec,
    rank_counts: Sequence[int] = (8, 16, 64, 256, 1024),
    gbits: Sequence[float] = (0.1, 10),
    densities: Sequence[float] = (0.1, 0.01, 0.001),
    mib_per_rank: int = 8,
) -> None:
    """Ranks from 8 to 1,024."""
    codec_of(None), codec_of("pici")  # measured before the machine's load is noted
    report.section(
        f"Simulated: 8 to 1,024 ranks, {mib_per_rank} MiB a rank",
        "`hemiola.simulate` with `Conditions(density=…)` over a switch, one port and one core a rank, 10 µs "
        "a message: times as fast as the dense ring. All-gather by a ring, the others in direct rounds; sums "
        "hold the union of independent places. The core's speeds, by density, measured just before; an "
        "all-reduce decodes at the speed of its full sums. To reach with 8 ranks at 99 % and 10 "
        "Gbit/s: 20, 12 and 10.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    for ranks in rank_counts:
        schedules = {kind: [_schedule(name, ranks) for name in names] for kind, names in _KINDS.items()}
        nbytes = ranks * mib_per_rank * MIB
        for gbit in gbits:
            network = topologies.switch(ranks, latency_s=_LATENCY_S, bandwidth=gbit * GBIT)
            dense = {
                kind: simulate(plain, network, nbytes, unchecked=True).seconds
                for kind, (_, plain) in schedules.items()
            }
            for density in densities:
                now, gains = Conditions(density=density), []
                for kind, (sparse, _) in schedules.items():
                    speeds = _speeds(codec_of, density, ranks if kind == "all-reduce" else 1)
                    found = simulate(sparse, network, nbytes, conditions=now, codecs=speeds, unchecked=True)
                    gains.append(dense[kind] / found.seconds)
                rows.append((ranks, gbit, f"{100 * (1 - density):g} %", *gains))
    report.table("simulated", ("ranks", "Gbit/s", "zeros", *_KINDS), rows)


def _speeds(codec_of: Measured, density: float, summed: int) -> codecs.Speeds:
    """Return what a core does with bitmaps at that density, and decodes at that of the sum of so many; and what each
    place beside that takes it which is told by a number."""
    numbers, bitmaps = codec_of(None), codec_of("pici")
    own, filled = bitmaps.at(density), bitmaps.at(union(density, summed))
    slower, faster = numbers.at(_OF_POSITIONS), bitmaps.at(_OF_POSITIONS)
    plain_bytes = 4 / _OF_POSITIONS
    return codecs.Speeds(
        own.compress,
        filled.decompress,
        own.add,
        max(0.0, plain_bytes * (1 / slower.compress - 1 / faster.compress)),
        max(0.0, plain_bytes * (1 / slower.decompress - 1 / faster.decompress)),
    )


def _schedule(name: str, rank_count: int) -> Schedule:
    made = getattr(algorithms, name)(rank_count)
    assert isinstance(made, Schedule)
    return made
