"""StragglAR's Table 1 and Figures 5, 6, 7 and 9 from simulations, each beside `all_reduce_late` and the bound, and
what real processes take.

Times are *exposed*: from the late rank's arrival to the end. The network is the paper's: every rank one port to one
switch, 3 µs, 450 GB/s (DGX H100) or 300 GB/s (DGX A100) [StragglAR, §4.3]."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.bounds import lower_bound
from hemiola.conditions import Conditions
from hemiola.reproduce.paper import Paper
from hemiola.reproduce.report import Report
from hemiola.reproduce.stragglar_measured import measure
from hemiola.simulate import simulate

LATENCY_S = 3e-6
H100, A100 = 450e9, 300e9
MIB, GIB = 1 << 20, 1 << 30
#: The matching for even counts takes seconds from here on.
_MATCHING_RANKS = 64
POWERS_OF_TWO = (4, 8, 16, 32, 64, 128, 256)
OTHER_COUNTS = (3, 5, 6, 7, 12, 24, 48, 100, 200)


@dataclass(frozen=True)
class Case:
    """One all-reduce: the last rank is late by `delay_s`, or by just as long as the others' reduce-scatter takes."""

    rank_count: int
    nbytes: int
    bandwidth: float = H100
    delay_s: float | None = None

    @property
    def late_rank(self) -> int:
        return self.rank_count - 1

    @property
    def cluster(self) -> Topology:
        return topologies.switch(self.rank_count, latency_s=LATENCY_S, bandwidth=self.bandwidth)

    @property
    def delay(self) -> float:
        return reduce_scatter_seconds(self) if self.delay_s is None else self.delay_s

    def exposed(self, schedule: Schedule) -> float:
        """Simulate, and return the seconds after the late rank's arrival."""
        late = Conditions(late={self.late_rank: self.delay} if self.delay else {})
        return simulate(schedule, self.cluster, self.nbytes, conditions=late).seconds - self.delay


def reduce_scatter_seconds(case: Case) -> float:
    """Return (n-2)α + (n-2)/(n-1)·sβ, the ring reduce-scatter of the n-1 early ranks [StragglAR, §B]."""
    n = case.rank_count
    return (n - 2) * LATENCY_S + (n - 2) / (n - 1) * case.nbytes / case.bandwidth


@lru_cache(maxsize=64)
def _late(rank_count: int, chunk_count: int) -> Schedule:
    return algorithms.all_reduce_late(rank_count, rank_count - 1, chunk_count)


def late_chunk_counts(case: Case) -> list[int]:
    """Return the chunk counts worth trying: around M* = sqrt((q-1)·sβ/α), multiples or whole parts of n-1."""
    early, q = case.rank_count - 1, math.ceil(math.log2(case.rank_count))
    best = math.sqrt(max(q - 1, 1) * case.nbytes / case.bandwidth / LATENCY_S)
    if best >= early:
        return [early * round(best / early), early * (round(best / early) + 1)]
    parts = round(early / best)
    return sorted({max(1, early // p) for p in (parts, parts + 1, max(1, parts - 1))})


def late_exposed(case: Case) -> float:
    """Return the exposed time of `all_reduce_late` with the best of a few chunk counts."""
    return min(case.exposed(_late(case.rank_count, chunks)) for chunks in late_chunk_counts(case))


def segmented_exposed(case: Case, segments: int = 8) -> float:
    """Return the exposed time when the segments reduced by the late rank's arrival get the short finish."""
    n = case.rank_count
    share = case.delay / reduce_scatter_seconds(case)
    reduced = min(segments, math.floor(share * segments + 1e-9))
    best = round(math.sqrt(math.log2(n) * case.nbytes / case.bandwidth / LATENCY_S) / (n - 1) / segments)
    return min(
        case.exposed(
            algorithms.all_reduce_late_segmented(
                n, case.late_rank, segments=segments, reduced=reduced, chunks_per_owner=per_owner
            )
        )
        for per_owner in sorted({1, max(1, best)})
    )


def bound_exposed(case: Case) -> float:
    """Return the lower bound on the exposed time."""
    late = Conditions(late={case.late_rank: case.delay} if case.delay else {})
    return lower_bound(case.cluster, "all_reduce", case.nbytes, conditions=late).seconds - case.delay


def table_1(
    report: Report, command: str, *, rank_counts: Iterable[int] = sorted((*POWERS_OF_TWO, *OTHER_COUNTS))
) -> None:
    """Count what moves after arrival, from the schedules themselves."""
    rows = []
    for n in rank_counts:
        late = _late(n, n - 1)
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
            times = [case.exposed(schedule) for schedule in _baselines(8).values()]
            times += [late_exposed(case), bound_exposed(case)]
            rows.append((nbytes // MIB, *(nbytes / t / 1e9 for t in times), times[0] / times[-2]))
        columns = ("MiB", *_baselines(8), "late", "bound", "late / ring")
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
        times = [case.exposed(schedule) for schedule in _baselines(8).values()]
        times += [late_exposed(case), segmented_exposed(case, 16), bound_exposed(case)]
        rows.append((delay * 1e3, *((t + delay) * 1e3 for t in times)))
    columns = ("delay ms", *_baselines(8), "late", "late, segmented", "bound")
    report.table(f"figure_5_delays_{name[:4]}", columns, rows)
    report.curves(
        f"figure_5_delays_{name[:4]}",
        f"8 ranks, {name}, 4 GiB: from the early ranks' call to the end",
        [d * 1e3 for d in delays],
        {label: [row[1 + i] for row in rows] for i, label in enumerate(columns[1:])},
        x_label="delay, ms",
        y_label="ms",
    )


@lru_cache(maxsize=16)
def _baselines(rank_count: int) -> dict[str, Schedule]:
    found = {
        "ring": algorithms.all_reduce_ring(rank_count),
        "rhd": algorithms.all_reduce_recursive_halving_doubling(rank_count),
        "allpairs": algorithms.all_reduce_direct(rank_count),
    }
    if rank_count & (rank_count - 1) == 0:
        found["stragglar"] = algorithms.all_reduce_stragglar(rank_count, rank_count - 1)
    elif rank_count % 2 == 0 and rank_count <= _MATCHING_RANKS:
        found["stragglar"] = algorithms.all_reduce_stragglar_matching(rank_count, rank_count - 1)
    return found


def figure_6(report: Report, command: str, *, rank_counts: Iterable[int] = POWERS_OF_TWO) -> None:
    """The early ranks' reduce-scatter, and scaling at 1 GiB."""
    report.section(
        "Figure 6: the delay that hides the reduce-scatter, and scaling",
        "(a, b) Time of the early ranks' reduce-scatter, 8 ranks: a late rank's delay that is hidden in full. "
        "(c) 1 GiB, 450 GB/s: exposed time, ms, with full delay and with none.",
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
    counts, rows = list(rank_counts), []
    for n in counts:
        case, prompt = Case(n, GIB), Case(n, GIB, delay_s=0.0)
        times = {name: case.exposed(schedule) for name, schedule in _baselines(n).items()}
        late, no_delay = late_exposed(case), segmented_exposed(prompt)
        ring = times["ring"]
        ring_prompt = prompt.exposed(_baselines(n)["ring"])
        known = [times.get(name) for name in ("ring", "rhd", "allpairs", "stragglar")]
        values = [*known, late, no_delay, bound_exposed(case)]
        rows.append(
            (n, *(None if t is None else t * 1e3 for t in values), ring / late, ring_prompt / no_delay)
        )
    columns = ("n", "ring", "rhd", "allpairs", "stragglar", "late", "late, no delay", "bound")
    report.table(key, (*columns, "ring / late", "ring / late, no delay"), rows)
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
        "`late` is one reduce-scatter and one finish, serially; segmented, there is no critical delay: the column "
        "gives ring over segmented with no delay at all.",
        command,
    )
    rows = []
    for n in rank_counts:
        case, prompt = Case(n, GIB), Case(n, GIB, delay_s=0.0)
        log = math.log2(n)
        ring = prompt.exposed(_baselines(n)["ring"])
        critical = max(0.0, min(prompt.exposed(_late(n, m)) for m in late_chunk_counts(case)) - ring)
        printed = (log - 2) * LATENCY_S + log / n * GIB / H100
        rows.append((n, printed * 1e3, critical * 1e3, ring / segmented_exposed(prompt)))
    columns = ("n", "paper, ms", "late, serial, ms", "ring / segmented, no delay")
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
        "figure_5": figure_5,
        "figure_6": figure_6,
        "figure_7": figure_7,
        "figure_9": figure_9,
        "measured": measure,
    },
    takes="4 minutes, two of them with eight processes",
)
