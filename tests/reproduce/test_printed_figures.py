"""Figures that a report prints and a paper has a closed form for, computed again from the paper's formula, which is
written here once more: nothing of what made the report is used."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIB, GIB = 1 << 20, 1 << 30
#: Four digits are printed.
DIGITS = 6e-4

Row = dict[str, str]


@lru_cache(maxsize=8)
def report(paper: str) -> str:
    return (ROOT / "docs" / "results" / f"{paper}.md").read_text(encoding="utf-8")


def tables(paper: str, heading: str) -> list[list[Row]]:
    """Return the tables of the section whose heading begins so."""
    (section,) = (part for part in report(paper).split("\n## ")[1:] if part.startswith(heading))
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", section + "\n", re.M):
        columns, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        )
        found.append([dict(zip(columns, row, strict=True)) for row in rows])
    return found


def rows_of(paper: str, heading: str, *columns: str) -> Iterator[Row]:
    """Return the rows of all tables of a section that have these columns."""
    rows = [row for table in tables(paper, heading) for row in table if set(columns) <= set(row)]
    assert rows, f"{paper}.md, {heading}: no table has the columns {', '.join(columns)}"
    return iter(rows)


def check(printed: str, expected: float, where: object, tolerance: float = DIGITS) -> None:
    assert float(printed) == pytest.approx(expected, rel=tolerance), where


# [StragglAR, §4.3]: α = 3 µs, 450 or 300 GB/s; n ranks, s bytes.
ALPHA = 3e-6
H100, A100 = 450e9, 300e9


def ring_s(n: int, nbytes: float, alpha: float = ALPHA, bandwidth: float = H100) -> float:
    return 2 * (n - 1) * (alpha + nbytes / n / bandwidth)


def stragglar_s(n: int, nbytes: float) -> float:
    """[StragglAR, Table 1], after arrival, for powers of two."""
    return (n + math.log2(n) - 2) * (ALPHA + nbytes / (n - 1) / H100)


def test_stragglars_rounds() -> None:
    for row in rows_of("stragglar", "Table 1", "n", "ring rounds", "late"):
        n = int(row["n"])
        least = n + math.ceil(math.log2(n)) - 2
        check(row["ring rounds"], 2 * (n - 1), row)
        check(row["ring bytes"], 2 * (n - 1) / n, row)
        check(row["bound"], least, row)
        check(row["late bytes"], float(row["late"]) / (n - 1), row)
        if n & (n - 1) == 0:
            check(row["paper (printed)"], n + math.log2(n) - 2, row)


def test_stragglars_ring_the_bound_and_the_reduce_scatter_that_a_delay_hides() -> None:
    for row in rows_of("stragglar", "Figure 6", "MiB", "H100 ms"):
        for column, bandwidth in (("H100 ms", H100), ("A100 ms", A100)):
            hidden_s = 6 * ALPHA + 6 / 7 * int(row["MiB"]) * MIB / bandwidth
            check(row[column], 1e3 * hidden_s, row)
    for heading in ("Figure 6", "Figure 9"):
        for row in rows_of("stragglar", heading, "n", "ring", "bound"):
            check(row["ring"], 1e3 * ring_s(int(row["n"]), GIB), row)
            check(row["bound"], 1e3 * (ALPHA + GIB / H100), row)
            check(row["ring / late"], float(row["ring"]) / float(row["late"]), row, 2 * DIGITS)
    sizes = list(rows_of("stragglar", "Figure 5: 8 ranks\n", "MiB", "ring"))
    for row, bandwidth in zip(sizes, [H100] * 9 + [A100] * 9, strict=True):
        nbytes = int(row["MiB"]) * MIB
        check(row["ring"], nbytes / ring_s(8, nbytes, bandwidth=bandwidth) / 1e9, row)


def test_stragglars_critical_delay() -> None:
    for row in rows_of("stragglar", "Figure 7", "n", "paper, ms"):
        log = math.log2(int(row["n"]))
        check(row["paper, ms"], 1e3 * ((log - 2) * ALPHA + log / int(row["n"]) * GIB / H100), row)
        check(row["ratio, paper"], log / int(row["n"]), row)
    for row in rows_of("stragglar", "Figure 5: 8 ranks, average", "machine", "formula, ms"):
        check(
            row["formula, ms"],
            1e3 * (ALPHA + 3 / 8 * 4 * GIB / {"H100": H100, "A100": A100}[row["machine"]]),
            row,
        )


def broadcast_s(n: int, nbytes: float, delay: float, bandwidth: float) -> float:
    """[StragglAR, §F]: the others' all-reduce as far as the delay does not hide it, an exchange, a broadcast."""
    log = math.log2(n)
    whole = (2 * n + log - 4) * ALPHA + (log + 2 * (n - 2) / (n - 1)) * nbytes / bandwidth
    return max(log * (ALPHA + nbytes / bandwidth), whole - delay)


def test_stragglars_curves_of_a_broadcast_and_of_the_ring_whatever_the_delay() -> None:
    average = rows_of("stragglar", "Figure 5: 8 ranks, average", "MiB", "broadcast")
    four = rows_of("stragglar", "Figure 10", "MiB", "broadcast")
    hidden = [2 / 3 * (MIB << k) / 100e9 + 2 * ALPHA for k in range(4, 13)]
    settings = [(8, H100, 4.48e-3)] * 9 + [(8, A100, 9.46e-3)] * 9
    settings += [(4, 100e9, delay) for delay in hidden] + [(4, 100e9, 9.45e-3)] * 9
    for row, (n, bandwidth, delay) in zip((*average, *four), settings, strict=True):
        nbytes = int(row["MiB"]) * MIB
        check(row["ring"], nbytes / ring_s(n, nbytes, bandwidth=bandwidth) / 1e9, row)
        check(row["broadcast"], nbytes / broadcast_s(n, nbytes, delay, bandwidth) / 1e9, row)


def test_readmes_ratios_for_a_late_rank_are_the_papers_formula_and_the_reports() -> None:
    """The paper's by its formula; beside it what its schedule takes in the simulator that ours is judged by."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    by_count = {int(row["n"]): row for row in rows_of("stragglar", "Figure 6", "n", "stragglar", "late")}
    eight = re.search(r"\| 8 ranks, sim \| ([\d.]+)× \| ([\d.]+)× \| `hemiola reproduce stragglar`", text)
    many = re.search(
        r"\| 256 ranks, sim \| ([\d.]+)× by its formula, ([\d.]+)× in the simulator \| ([\d.]+)×", text
    )
    assert eight is not None
    assert many is not None
    for n, paper, ours in ((8, eight[1], eight[2]), (256, many[1], many[3])):
        row = by_count[n]
        check(paper, ring_s(n, GIB) / stragglar_s(n, GIB), row, 5e-3)
        check(ours, float(row["ring"]) / float(row["late"]), row, 5e-3)
    check(many[2], float(by_count[256]["ring"]) / float(by_count[256]["stragglar"]), many[0], 5e-3)


# [OptCC]: p ranks, N bytes, slowdown l; over the fault-free T0 = 2(p-1)N/p. Simulated with 5 µs and 25 GB/s.


def r2ccl(p: int, factor: float) -> float:
    return 1 + p * (factor - 1) / (2 * (p - 1))


def shared_bound(p: int, factors: list[float]) -> float:
    """[OptCC, Theorems 1 and 2]: everybody's bytes over everybody's ports, or all of N through the slowest."""
    ports = p - len(factors) + sum(1 / factor for factor in factors)
    return max(p / ports, max(factors) * p / (2 * (p - 1)))


def one_message_bound(p: int, factor: float) -> float:
    """[OptCC, Theorem 6]."""
    return max(p * factor / ((p - 2) * factor + 2), factor * p / (2 * (p - 1)))


def factors_of(text: str) -> list[float]:
    """Printed with four digits, of sevenths and thirds."""
    return [
        next((exact for exact in (8 / 7, 4 / 3) if f"{exact:.4g}" == one), float(one))
        for one in text.split(", ")
    ]


def test_optccs_bounds() -> None:
    for row in rows_of("optcc", "Table 1", "cluster", "shared ports"):
        if "ranks" in row["cluster"]:
            continue  # Theorem 13 is corrected here, as the report says
        p, factors = int(row["cluster"].split()[0]), factors_of(row["l"])
        check(row["shared ports"], shared_bound(p, factors), row)
        if len(factors) == 1:
            check(row["one message a port"], one_message_bound(p, factors[0]), row)
        elif len(set(factors)) == 1:
            check(row["one message a port"], one_port_limit(p, factors), row)


def test_optccs_bandwidth_only_forms() -> None:
    for row in rows_of("optcc", "Bandwidth only", "ranks", "l", "k", "time"):
        p, k, factors = int(row["ranks"]), int(row["k"]), factors_of(row["l"])
        check(row["ICCL"], max(factors), row)
        if len(factors) > 1:
            if (
                row["schedule"] == "all_reduce_relayed_exchange"
            ):  # a body more than segments fills its pipeline
                check(row["time"], one_port_limit(p, factors) * (k + 1) / k, row)
            continue
        (factor,) = factors
        check(row["R²CCL"], r2ccl(p, factor), row)
        check(row["bound"], one_message_bound(p, factor), row)
        many = 2 * (p - 1) * factor / ((p - 2) * factor + 2) * (k + factor - 1) / k
        found = factor * (k + 1) / k if factor >= 2 else many
        check(row["time"], found * p / (2 * (p - 1)), row)


def test_optccs_figure_8_its_ring_and_r2ccl() -> None:
    section = report("optcc").split("## Figures 8 and 20")[1].split("\n## ")[0]
    parts = re.split(r"\n\*\*(.*)\*\*\n", section)[1:]
    seen = 0
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        size, count = re.search(r"(\d+) GiB", title), re.search(r"(\d+) ranks", title)
        factor = 8 / 7 if "8/7" in title else 2.0
        lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
        for cells in lines[1:]:
            values = dict(zip(lines[0], cells, strict=True))
            p = int(values.get("ranks") or count[1])  # type: ignore[index]
            nbytes = int(values["MiB"]) * MIB if "MiB" in values else int(size[1]) * GIB  # type: ignore[index]
            slow = factors_of(values["l"])[0] if "l" in values else factor
            check(values["R²CCL"], r2ccl(p, slow), (title, cells))
            check(values["ring ms"], 1e3 * ring_s(p, nbytes, 5e-6, 25e9), (title, cells))
            seen += 1
    assert seen > 40


def one_port_limit(p: int, factors: list[float]) -> float:
    """By equal prices of all ports, for slow ranks of one factor that own nothing, over the ring. With two of them that
    is so where 3/2 of their factor, for all trees in which one hangs on the other, is 2 at least."""
    (factor,) = set(factors)
    m = len(factors)
    return max(factor, 2 * (p - 1 - m + m * factor) / p) * p / (2 * (p - 1))


def test_optccs_figure_9_its_ring_and_the_bound_for_shared_ports() -> None:
    for row in rows_of("optcc", "Figures 9 and 21: two slow hosts", "ranks", "ring ms", "paced"):
        check(row["ring ms"], 1e3 * ring_s(int(row["ranks"]), 8 * GIB, 5e-6, 25e9), row)
    sweeps = "Figures 9 and 21, sweeps"
    for row in rows_of("optcc", sweeps, "MiB", "ring ms"):
        check(row["ring ms"], 1e3 * ring_s(64, int(row["MiB"]) * MIB, 5e-6, 25e9), row)
    for row in rows_of("optcc", sweeps, "l of both", "ring ms", "bound, shared"):
        base, slow = ring_s(64, 8 * GIB, 5e-6, 25e9), [factors_of(row["l of both"])[0]] * 2
        check(row["ring ms"], 1e3 * base, row)
        ideal = (
            2 * 63 / 64 * 8 * GIB / 25e9 / base
        )  # without latencies, of which the bounds know a few microseconds
        check(row["bound, shared"], shared_bound(64, slow) * ideal, row, 1e-3)
        if 1.5 * slow[0] >= 2:  # a faster one has time to own something, which is no formula
            check(row["bound, one message"], one_port_limit(64, slow) * ideal, row, 1e-3)


def test_optccs_figure_10_the_ring_on_each_nic_and_the_papers_own_form() -> None:
    columns = ("hosts", "k", "ring, ms")
    rows = [
        *rows_of("optcc", "Figures 10 and 22: four ranks", *columns),
        *rows_of("optcc", "Eight ranks a host", *columns),
    ]
    for row in rows:
        g = int(row["g"]) if "g" in row else 4
        p, k = g * int(row["hosts"]), int(row["k"])
        check(row["ring, ms"], 1e3 * 2 * (p - 1) * 8 * GIB / (g * p) / 25e9, row)
        check(row["paper, l = 2"], 2 * (k + 5.5) / k * p / (2 * (p - 1)), row)


def test_optccs_sweeps_of_hosts_their_ring_and_iccl() -> None:
    for row in rows_of("optcc", "Figures 10 and 22, sweeps", "g", "l", "ring, ms", "ICCL"):
        g, nbytes = int(row["g"]), int(row.get("MiB", "8192")) * MIB
        check(row["ring, ms"], 1e3 * 2 * 63 * nbytes / (g * 64) / 25e9, row)
        check(row["ICCL"], factors_of(row["l"])[0], row, 1e-3)
    for row in rows_of("optcc", "Appendix E.5", "hosts", "l", "ring, ms", "ICCL"):
        p = 4 * int(row["hosts"])
        check(row["ring, ms"], 1e3 * 2 * (p - 1) * 8 * GIB / (4 * p) / 25e9, row)
        check(row["ICCL"], max(factors_of(row["l"])), row, 1e-3)


# [TACOS, §V-A]: 2(n-1)/n of the buffer through the slowest rank's links, and the diameter.


def tacos_ideal_s(n: int, nbytes: float, port: float, diameter: float) -> float:
    return nbytes * 2 * (n - 1) / n / port + diameter


#: Section, network: ranks, the least of a rank's links together, the diameter in seconds.
IDEALS = {
    "Figure 2(a)": {
        "FullyConnected": (64, 63 * 50e9, 0.5e-6),
        "Ring": (64, 2 * 50e9, 32 * 0.5e-6),
        "2D mesh": (64, 2 * 50e9, 14 * 0.5e-6),
        "3D hypercube": (64, 3 * 50e9, 9 * 0.5e-6),
    },
    "Figure 15": {
        "DragonFly 4x5": (20, 3 * 400e9 + 200e9, 3 * 0.5e-6),
        "2D switch 8x4": (32, 325e9, 2 * 0.5e-6),
        "3D-RFS 2x4x8": (64, 200e9 + 3 * 100e9 + 50e9, 3 * 0.5e-6),
    },
    "Figure 16": {"torus": (64, 6 * 25e9, 6 * 0.7e-6), "hypercube": (64, 3 * 25e9, 9 * 0.7e-6)},
    "Figure 17(a)": {"torus": (64, 4 * 16e9, 8 * 0.15e-6), "mesh": (64, 2 * 16e9, 14 * 0.15e-6)},
    "Figure 17(b)": {"DGX-1": (8, 6 * 25e9, 2 * 0.7e-6)},
}


@pytest.mark.parametrize("heading", IDEALS)
def test_tacoss_ideal(heading: str) -> None:
    rows = list(rows_of("tacos", heading, "ideal"))
    networks = IDEALS[heading]
    each = len(rows) // len(networks)
    settings = [setting for setting in networks.values() for _ in range(each)]
    for row, (n, port, diameter) in zip(rows, settings, strict=True):
        assert row.get("network", next(iter(networks))) in networks
        nbytes = float(row.get("MB", 1000)) * 1e6
        check(row["ideal"], nbytes / tacos_ideal_s(n, nbytes, port, diameter) / 1e9, row)


def test_tacoss_bound_in_slots() -> None:
    """⌈(n-1)·k / smallest in-degree⌉; a mesh's corner has a link per dimension, a torus two."""
    for row in rows_of("tacos", "Slots", "grid", "k", "bound"):
        kind, sides = row["grid"].split()
        dims = [int(side) for side in sides.split("x")]
        ports = len(dims) * (2 if kind == "torus" else 1)
        check(row["bound"], math.ceil((math.prod(dims) - 1) * int(row["k"]) / ports), row)
        check(row["Hemiola / bound"], int(row["Hemiola"]) / int(row["bound"]), row)


def test_tacoss_direct_through_switches_and_through_what_they_are_unwound_to() -> None:
    """By the load of a rank's port to other nodes, 50 GB/s: 1 - 8/n of the buffer in each half of an all-reduce, or
    half of nodes - 1 buffers."""
    for row in rows_of("tacos", "Two baselines", "ranks", "switch", "unwound"):
        n = int(row["ranks"])
        ideal = tacos_ideal_s(n, 1e9, 550e9, 0)
        check(row["switch"], 2 * (1 - 8 / n) * 1e9 / 50e9 / ideal, row, 2e-3)
        check(row["unwound"], (n / 8 - 1) * 1e9 / 50e9 / ideal, row, 2e-3)
        over, share = {16: (4.04, 1), 32: (7.86, 0.72), 64: (16.84, 0.68), 128: (36.02, 0.68)}[n]
        check(row["printed"], over / share, row)


# [PCCL, §4.2], equations (1) and (2): p ranks, m bytes.


def linear_s(p: int, m: float, alpha: float, bandwidth: float) -> float:
    return (p - 1) * alpha + (p - 1) / p * m / bandwidth


def halving_s(p: int, m: float, alpha: float, bandwidth: float) -> float:
    return math.log2(p) * alpha + (p - 1) / p * m / bandwidth


def test_pccls_equations_on_its_grid() -> None:
    grid = tables("pccl", "Figure 6, left")[0]
    ratios = []
    for row in grid:
        for column, printed in list(row.items())[1:]:
            sizes = int(column), int(row["MiB"]) * MIB, 5e-6, 25e9
            ratios.append(linear_s(*sizes) / halving_s(*sizes))
            check(printed, ratios[-1], (row, column))
    assert f"ratio is {min(ratios):.6f} to {max(ratios):.0f}, never below 1" in report("pccl")


def test_which_latency_pccls_equations_need() -> None:
    """(p-1)α + X = r(log2(p)·α + X) of a ratio r."""
    for row in rows_of("pccl", "What the paper's own equations contradict", "printed", "α, µs"):
        p, m, ratio = int(row["ranks"]), int(row["MiB"]) * MIB, float(row["printed"].lstrip("> "))
        moved_s = (p - 1) / p * m / 100e9
        alpha = (ratio - 1) * moved_s / (p - 1 - ratio * math.log2(p))
        if alpha < 0:
            assert row["α, µs"] == "none"
        else:
            check(row["α, µs"].removeprefix("at least "), 1e6 * alpha, row, 5e-3)


def test_pccls_libraries_under_fitted_constants() -> None:
    (fitted,) = (
        row for row in rows_of("pccl", "Constants", "fitted") if row["fitted"] == "Frontier, all-gather"
    )
    hops = {
        "RCCL": (fitted["hop, µs"], 1e9 * float(fitted["ring, GB/s"])),
        "MPICH": (fitted["MPICH's hop, µs"], 25e9),
    }
    for row in rows_of("pccl", "Figure 1:", "MiB", "ranks"):
        for library, (hop, bandwidth) in hops.items():
            found_s = linear_s(int(row["ranks"]), int(row["MiB"]) * MIB, 1e-6 * float(hop), bandwidth)
            check(row[f"{library}, fitted"], 1e3 * found_s, row, 2 * DIGITS)


def test_pccls_buffers_of_training() -> None:
    for row in rows_of("pccl", "Figure 2 and Table 1", "hidden"):
        h = int(row["hidden"])
        check(row["FSDP, both"], 2 * (12 * h * h + 13 * h) / MIB, row)
        check(row["ZeRO-3, scattered"], 2 * 5e8 / MIB, row)
        check(row["AxoNN, whole"], 2 * 4 * h * h / MIB, row)
        check(row["AxoNN, of 8"], h * h / MIB, row)


# [SpCCL, §3]: density d of 32-bit elements, by their bits.


def entropy(d: float) -> float:
    return 0.0 if d in (0, 1) else -d * math.log2(d) - (1 - d) * math.log2(1 - d)


FORMATS: dict[str, Callable[[float], float]] = {
    "dense": lambda d: 32,
    "pici": lambda d: 32 * d + 1 + 1 / 128,
    "coo": lambda d: 64 * d,
}


def test_spccls_formats_over_the_entropy() -> None:
    """Given one draw of 4 Mi places. Derivation: their number has a relative deviation of √((1-d)/(d·n)). Expect:
    within four of these."""
    for row in tables("spccl", "Bytes of messages")[0]:
        d = 1 - float(row["zeros"].rstrip(" %")) / 100
        for name, bits in FORMATS.items():
            expected = bits(d) / (entropy(d) + 32 * d)
            check(row[name], expected, row, DIGITS + 4 * math.sqrt((1 - d) / (d * 4 * MIB)))


def test_what_the_union_allows_an_all_reduce() -> None:
    for row in rows_of("spccl", "All-reduce bytes", "ranks", "zeros", "dense over the limit"):
        p, zeros = int(row["ranks"]), float(row["zeros"].rstrip(" %")) / 100
        union = 1 - zeros ** (p - 1)
        check(row["dense over the limit"], 2 * (p - 1) / p * 32 / (entropy(union) + 32 * union), row)
