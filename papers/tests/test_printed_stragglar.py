# SPDX-License-Identifier: Apache-2.0
"""What docs/results/stragglar.md prints and StragglAR has a closed form for, or two ports do, computed again from the
formula, which is written here once more: nothing of what made the report is used."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable

from printed import GIB, MIB, ROOT, Row, check, check_quotient, half, report, rows_of, tables

# [StragglAR, §4.3]: α = 3 µs, 450 or 300 GB/s; n ranks, s bytes.
ALPHA = 3e-6
H100, A100 = 450e9, 300e9
SPEEDS = {"H100": H100, "A100": A100}


def ring_s(n: int, nbytes: float, alpha: float = ALPHA, bandwidth: float = H100) -> float:
    return 2 * (n - 1) * (alpha + nbytes / n / bandwidth)


def stragglar_s(n: int, nbytes: float) -> float:
    """[StragglAR, Table 1], after arrival, for powers of two."""
    return (n + math.log2(n) - 2) * (ALPHA + nbytes / (n - 1) / H100)


def direct_s(n: int, nbytes: float, bandwidth: float) -> float:
    """[StragglAR, §4]: one round for each half, in which a rank sends to all others at once."""
    return 2 * ALPHA + 2 * (n - 1) / n * nbytes / bandwidth


def halving_s(n: int, nbytes: float, bandwidth: float) -> float:
    """For powers of two. Of its 2·log2(n) latencies [StragglAR, §F] those pass while other chunks are on their way that
    do not follow a round of one chunk: log2(n) + 1 remain."""
    return (math.log2(n) + 1) * ALPHA + 2 * (n - 1) / n * nbytes / bandwidth


def reduce_scatter_s(n: int, nbytes: float, bandwidth: float) -> float:
    """[StragglAR, §B], of the ranks in time."""
    return (n - 2) * (ALPHA + nbytes / (n - 1) / bandwidth)


def bound_s(n: int, nbytes: float, delay: float, bandwidth: float) -> float:
    """After arrival: all of the late rank's buffer leaves it, or 2(n-1) buffers pass n ports, one of them only from
    the arrival on; and one latency."""
    late = nbytes / bandwidth
    ports = (2 * (n - 1) * nbytes / bandwidth + delay) / n - delay
    return ALPHA + max(late, ports)


def baselines(
    row: Row, n: int, nbytes: float, delay: float, bandwidth: float, shown: Callable[[float], float]
) -> None:
    """Check what does not look at who is late: a ring, recursive halving, all pairs; and that StragglAR's schedule
    takes what its bytes do and at most its latencies beside. `shown` makes what is printed of seconds after arrival."""
    power = n & (n - 1) == 0
    forms = {"ring": ring_s(n, nbytes, bandwidth=bandwidth), "allpairs": direct_s(n, nbytes, bandwidth)}
    if power:
        forms["rhd"] = halving_s(n, nbytes, bandwidth)
    for column, seconds in forms.items():
        check(row[column], shown(seconds), row)
    if power:
        rounds, waits_s = n + math.log2(n) - 2, max(0.0, reduce_scatter_s(n, nbytes, bandwidth) - delay)
        ends = [shown(waits_s + rounds * (nbytes / (n - 1) / bandwidth + alpha)) for alpha in (0.0, ALPHA)]
        at = half(row["stragglar"])
        assert min(ends) - at <= float(row["stragglar"]) <= max(ends) + at, row


def in_ms(seconds: float) -> float:
    return 1e3 * seconds


def speed_of(nbytes: float) -> Callable[[float], float]:
    return lambda seconds: nbytes / seconds / 1e9


def test_rounds() -> None:
    for row in rows_of("stragglar", "Table 1", "n", "ring rounds", "late"):
        n = int(row["n"])
        least = n + math.ceil(math.log2(n)) - 2
        check(row["ring rounds"], 2 * (n - 1), row)
        check(row["ring bytes"], 2 * (n - 1) / n, row)
        check(row["bound"], least, row)
        check(row["late"], least, row)
        check(row["late bytes"], least / (n - 1), row)
        for column in ("paper (printed)", "stragglar"):
            if n & (n - 1) == 0:
                check(row[column], n + math.log2(n) - 2, row)
            else:
                assert row[column] == "–", row


def test_training_gains_as_its_share_of_communication_does() -> None:
    """Of a share f, of which r is saved: 1/(1 - f·r) - 1. Given the row's 60 %, expect the others."""
    shares = (10, 20, 30, 40, 50, 60)
    for row in rows_of("stragglar", "Figure 2", "n", "delay", "60 %"):
        saved = (1 - 1 / (1 + float(row["60 %"]) / 100)) / 0.6
        for share in shares:
            found = 100 * (1 / (1 - share / 100 * saved) - 1)
            check(row[f"{share} %"], found, row, 1e-3)


def test_the_reduce_scatter_that_a_delay_hides() -> None:
    for row in rows_of("stragglar", "Figure 6", "MiB", "H100 ms"):
        for name, bandwidth in SPEEDS.items():
            hidden_s = reduce_scatter_s(8, int(row["MiB"]) * MIB, bandwidth)
            check(row[f"{name} ms"], 1e3 * hidden_s, row)


def test_ring_and_bound_by_rank_count() -> None:
    for heading in ("Figure 6", "Figure 9"):
        for row in rows_of("stragglar", heading, "n", "ring", "bound"):
            n = int(row["n"])
            baselines(row, n, GIB, reduce_scatter_s(n, GIB, H100), H100, in_ms)
            check(row["bound"], 1e3 * (ALPHA + GIB / H100), row)
            check_quotient(row["ring / late, no delay"], row["ring"], row["late, no delay"], row)


def sized(heading: str) -> list[tuple[Row, float]]:
    rows = list(rows_of("stragglar", heading, "MiB", "ring", "bound"))
    return list(zip(rows, [H100] * 9 + [A100] * 9, strict=True))


def test_ring_and_bound_by_size() -> None:
    for row, bandwidth in sized("Figure 5: 8 ranks\n"):
        nbytes = int(row["MiB"]) * MIB
        hidden_s = reduce_scatter_s(8, nbytes, bandwidth)
        baselines(row, 8, nbytes, hidden_s, bandwidth, speed_of(nbytes))
        check(row["bound"], nbytes / bound_s(8, nbytes, hidden_s, bandwidth) / 1e9, row)


def growing(heading: str, n: int, nbytes: float, speeds: tuple[float, ...]) -> None:
    """Check a table of a growing delay, in ms from the early ranks' call."""
    rows = list(rows_of("stragglar", heading, "delay ms", "ring", "bound"))
    each = len(rows) // len(speeds)
    for row, bandwidth in zip(rows, [b for b in speeds for _ in range(each)], strict=True):
        delay = float(row["delay ms"]) / 1e3
        baselines(row, n, nbytes, delay, bandwidth, lambda seconds, delay=delay: 1e3 * (seconds + delay))
        check(row["bound"], 1e3 * (bound_s(n, nbytes, delay, bandwidth) + delay), row)
        if "broadcast" in row:
            check(row["broadcast"], 1e3 * (broadcast_s(n, nbytes, delay, bandwidth) + delay), row)


def test_ring_and_bound_by_delay() -> None:
    growing("Figure 5: 8 ranks\n", 8, 4 * GIB, (H100, A100))
    growing("Figure 10", 4, GIB, (100e9,))


def broadcast_s(n: int, nbytes: float, delay: float, bandwidth: float) -> float:
    """[StragglAR, §F]: the others' all-reduce as far as the delay does not hide it, an exchange, a broadcast."""
    log = math.log2(n)
    whole = (2 * n + log - 4) * ALPHA + (log + 2 * (n - 2) / (n - 1)) * nbytes / bandwidth
    return max(log * (ALPHA + nbytes / bandwidth), whole - delay)


def test_broadcast_ring_and_bound_whatever_the_delay() -> None:
    average = rows_of("stragglar", "Figure 5: 8 ranks, average", "MiB", "broadcast")
    four = rows_of("stragglar", "Figure 10", "MiB", "broadcast")
    hidden = [2 / 3 * (MIB << k) / 100e9 + 2 * ALPHA for k in range(4, 13)]
    settings = [(8, H100, 4.48e-3)] * 9 + [(8, A100, 9.46e-3)] * 9
    settings += [(4, 100e9, delay) for delay in hidden] + [(4, 100e9, 9.45e-3)] * 9
    for row, (n, bandwidth, delay) in zip((*average, *four), settings, strict=True):
        nbytes = int(row["MiB"]) * MIB
        baselines(row, n, nbytes, delay, bandwidth, speed_of(nbytes))
        check(row["broadcast"], nbytes / broadcast_s(n, nbytes, delay, bandwidth) / 1e9, row)
        check(row["bound"], nbytes / bound_s(n, nbytes, delay, bandwidth) / 1e9, row)
        faster = max(row["late"], row["late, segmented"], key=float)
        check_quotient(row["ring / late"], faster, row["ring"], row)  # of times, printed as bytes over them


def test_critical_delay() -> None:
    for row in rows_of("stragglar", "Figure 7", "n", "paper, ms"):
        log, moved_s = math.log2(int(row["n"])), GIB / H100
        check(row["paper, ms"], 1e3 * ((log - 2) * ALPHA + log / int(row["n"]) * moved_s), row)
        check(row["ratio, paper"], log / int(row["n"]), row)
        serial = float(row["late, serial, ms"])
        over = 5e-4  # serial is printed with four digits, too
        check(row["ratio, serial"], serial / 1e3 / moved_s, row, over)
    no_delay = {row["n"]: row for row in rows_of("stragglar", "Figure 6", "n", "ring / late, no delay")}
    for row in rows_of("stragglar", "Figure 7", "n", "ring / segmented, no delay"):
        of = no_delay[row["n"]]
        check_quotient(row["ring / segmented, no delay"], of["ring"], of["late, no delay"], row)


def test_critical_delays_of_eight_ranks_are_what_the_schedules_lose_without_a_delay() -> None:
    prompt = [
        row for row in rows_of("stragglar", "Figure 5: 8 ranks\n", "delay ms") if row["delay ms"] == "0"
    ]
    rows = rows_of("stragglar", "Figure 5: 8 ranks, average", "machine", "formula, ms")
    for row, at in zip(rows, prompt, strict=True):
        check(row["formula, ms"], 1e3 * (ALPHA + 3 / 8 * 4 * GIB / SPEEDS[row["machine"]]), row)
        for column, schedule in (("stragglar, ms", "stragglar"), ("late, serial, ms", "late")):
            lost = float(at[schedule]) - float(at["ring"])
            assert abs(float(row[column]) - lost) <= half(at[schedule]) + half(at["ring"]), row


def test_measured_ratios() -> None:
    for heading in ("Measured: 8 processes, 32 MiB", "Measured: 8 processes, 2 MiB"):
        times, (ratio,) = tables("stragglar", heading)
        ring, late = times[:2]
        for column, of in (
            ("simulated", "simulated"),
            ("of the fastest", "fastest"),
            ("of the medians", "median"),
        ):
            check_quotient(ratio[column], ring[of], late[of], ratio)
        for row in times:
            check_quotient(row["median / simulated"], row["median"], row["simulated"], row)
    # 28.8 ms of 32 MiB/7 over 200 MB/s six times, and 48 messages of 100 µs.
    for nbytes, bandwidth in ((32 * MIB, 200e6), (2 * MIB, 12.5e6)):
        hidden_ms = 1e3 * 6 * (nbytes / 7 / bandwidth + 8 * 100e-6)
        assert f"late by {hidden_ms:.0f} ms" in report("stragglar")


def test_measured_trainings() -> None:
    seeds, summary = tables("stragglar", "Measured: training")
    for row in seeds:
        for column, under in (("ring / late", "late"), ("ring / planner's own", "planner's own")):
            check_quotient(row[column], row["ring"], row[under], row)
    for row in summary:
        ratios = [float(seed[row[""]]) for seed in seeds]
        for column, found in (
            ("least", min(ratios)), ("median", statistics.median(ratios)), ("greatest", max(ratios)),
        ):  # fmt: skip
            check(row[column], found, row, 5e-4)


def test_the_summarys_ratios_for_a_late_rank_are_the_papers_formula_and_the_reports() -> None:
    """The paper's by its formula; beside it what its schedule takes in the simulator that ours is judged by."""
    text = (ROOT / "docs/results/README.md").read_text(encoding="utf-8")
    by_count = {int(row["n"]): row for row in rows_of("stragglar", "Figure 6", "n", "stragglar", "late")}
    eight = re.search(r"\| 8 ranks, sim \| ([\d.]+)× \| ([\d.]+)× \| `python -m papers stragglar`", text)
    many = re.search(
        r"\| 256 ranks, sim \| ([\d.]+)× by its formula, ([\d.]+)× in the simulator \| ([\d.]+)×", text
    )
    assert eight is not None
    assert many is not None
    for n, paper, ours in ((8, eight[1], eight[2]), (256, many[1], many[3])):
        row = by_count[n]
        check(paper, ring_s(n, GIB) / stragglar_s(n, GIB), row, digits=3)
        check_quotient(ours, row["ring"], row["late"], row, digits=3)
    check_quotient(many[2], by_count[256]["ring"], by_count[256]["stragglar"], many[0], digits=3)
