# SPDX-License-Identifier: Apache-2.0
"""What docs/results/tacos.md prints and follows from TACOS's ideal, from bytes over links, or from other numbers that
it prints, computed again: nothing of what made the report is used.

A network is what a rank's links carry, and how many there are; N bytes, n ranks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import mean

import pytest
from printed import MIB, ROOT, Row, check, check_quotient, half, rows_of, section, tables, tables_in

MB, GB = 10**6, 10**9


@dataclass(frozen=True)
class Network:
    """Ranks; the least and the sum of what ranks can send, in bytes per second; seconds a hop, and hops between the
    ranks farthest apart; and, where faster links join ranks to islands, how many of these there are, and what all
    send to other ones together."""

    n: int
    least_port: float
    all_ports: float
    hop_s: float
    hops: int
    islands: tuple[tuple[int, float], ...] = ()

    def ideal_s(self, nbytes: float) -> float:
        """[TACOS, §V-A]: 2(n-1)/n of the buffer through the slowest rank's links, and the diameter."""
        return nbytes * 2 * (self.n - 1) / self.n / self.least_port + self.hops * self.hop_s

    def bound_s(self, nbytes: float) -> float:
        """All must send 2(n-1) buffers, k islands 2(k-1) to each other, and the slowest rank receives one, the last of
        it from the farthest."""
        moved = 2 * (self.n - 1) * nbytes / self.all_ports + self.hop_s
        between = [2 * (k - 1) * nbytes / rate for k, rate in self.islands]
        return max(moved, *between, nbytes / self.least_port + self.hops * self.hop_s)


def grid(sides: tuple[int, ...], wires: str, hop_s: float, speed: float) -> Network:
    """A torus ("ring": more than two a side), or a grid without links around ("line")."""
    n, around = math.prod(sides), wires == "ring"
    per_rank = len(sides) * (2 if around else 1) * speed
    links = sum(n // side * 2 * (side if around else side - 1) for side in sides)
    hops = sum(side // 2 if around else side - 1 for side in sides)
    return Network(n, per_rank, links * speed, hop_s, hops)


def rfs(nodes: int) -> Network:
    """Two a ring of one wire of 200 GB/s, four fully connected by 100, nodes of eight on a switch by a port of 50."""
    n = 8 * nodes
    islands = ((n // 2, n * 350e9), (nodes, n * 50e9))
    return Network(n, 550e9, n * 550e9, 0.5e-6, 3, islands)


HALF_US = 0.5e-6
OF_64 = {
    "FullyConnected": Network(64, 63 * 50e9, 64 * 63 * 50e9, HALF_US, 1),
    "Ring": grid((64,), "ring", HALF_US, 50e9),
    "2D mesh": grid((8, 8), "line", HALF_US, 50e9),
    "3D hypercube": grid((4, 4, 4), "line", HALF_US, 50e9),
}
#: Five groups of four, of which each rank has a link of 200 GB/s to one other group; ports of 300 GB/s to eight, 25 to
#: four.
EXPLORED = {
    "DragonFly 4x5": Network(20, 1400e9, 20 * 1400e9, HALF_US, 3, ((5, 20 * 200e9),)),
    "2D switch 8x4": Network(32, 325e9, 32 * 325e9, HALF_US, 2, ((4, 32 * 25e9),)),
    "3D-RFS 2x4x8": rfs(8),
}
FIGURE_16 = {"3D torus 4x4x4": ("ring", (4, 4, 4)), "3D hypercube 4x4x4": ("line", (4, 4, 4))}
FIGURE_17 = {"2D torus 8x8": ("ring", (8, 8)), "2D mesh 8x8": ("line", (8, 8))}
DGX_1 = Network(8, 6 * 25e9, 8 * 6 * 25e9, 0.7e-6, 2)
BASELINES = {
    "2D mesh 10x10": grid((10, 10), "line", HALF_US, 50e9),
    **{name: grid(sides, wires, 0.7e-6, 25e9) for name, (wires, sides) in FIGURE_16.items()},
    **{name: network for name, network in EXPLORED.items() if "RFS" not in name},
    **{f"3D-RFS, {8 * nodes} ranks": rfs(nodes) for nodes in (2, 4, 8, 16)},
}
FIGURE_18 = {
    "3D torus 5x5x5": grid((5, 5, 5), "ring", HALF_US, 50e9),
    "2D mesh 10x10": grid((10, 10), "line", HALF_US, 50e9),
    "3D hypercube 5x5x5": grid((5, 5, 5), "line", HALF_US, 50e9),
}


def titled(heading: str) -> Iterator[tuple[str, Row]]:
    """Return the rows of a section's tables, each with the bold title above it."""
    parts = re.split(r"\n\*\*(.*)\*\*\n", section("tacos", heading))[1:]
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        for row in tables_in(text)[0]:
            yield title, row


def speeds(row: Row, network: Network, nbytes: float) -> None:
    """Check the columns in GB/s of what nothing else is said of."""
    if "ideal" in row:
        check(row["ideal"], nbytes / network.ideal_s(nbytes) / 1e9, row)
    check(row["bound"], nbytes / network.bound_s(nbytes) / 1e9, row)


def test_slots() -> None:
    """⌈(n-1)·k / smallest in-degree⌉; a mesh's corner has a link per dimension, a torus two."""
    for row in rows_of("tacos", "Slots", "grid", "k", "bound"):
        kind, sides = row["grid"].split()
        dims = [int(side) for side in sides.split("x")]
        ports = len(dims) * (2 if kind == "torus" else 1)
        check(row["bound"], math.ceil((math.prod(dims) - 1) * int(row["k"]) / ports), row, digits=9)


def test_unequal_meshes() -> None:
    """A corner has one link of each speed, which carries whole chunks of 1 GiB/(nk), half a microsecond each."""
    for row in rows_of("tacos", "Heterogeneous", "mesh, GiB/s", "k", "bound, µs"):
        sides, speeds_of = (re.findall(r"\d+", part) for part in row["mesh, GiB/s"].split())
        n, k = int(sides[0]) * int(sides[1]), int(row["k"])
        chunk_s = [HALF_US + 1 / (n * k) / int(speed) for speed in speeds_of]
        needed = (n - 1) * k
        ends = sorted(j * one for one in chunk_s for j in range(1, needed + 1))
        check(row["bound, µs"], 1e6 * ends[needed - 1], row)


def test_loads() -> None:
    """MB of 1 GB on 64 ranks. Direct: 2/64 of it from each to each, and through the middle of a line or of a ring (its
    farthest pairs all go one way). Halving sends half to one partner, and gets it back, over a wire each or over all
    wires between; a two-way ring half of 2·63/64 each way, on a grid also on its way back from the end. Nothing is
    spread more evenly than 2·63 buffers over all links."""
    piece = 2 * 1000 / 64
    direct = {
        "FullyConnected": piece,
        "Ring": sum(range(1, 33)) * piece,
        "2D mesh": 32 * 32 / 8 * piece,
        "3D hypercube": 32 * 32 / 16 * piece,
    }
    rings = {"FullyConnected": 1, "Ring": 1, "2D mesh": 2, "3D hypercube": 2}
    for row in rows_of("tacos", "Figure 1:", "network", "Direct"):
        name = row["network"]
        links = OF_64[name].all_ports / 50e9
        check(row["Direct"], direct[name], row)
        check(row["Ring"], rings[name] * 1000 * 63 / 64, row)
        check(row["Hemiola"], 2 * 63 * 1000 / links, row)
    (full,) = (row for row in rows_of("tacos", "Figure 1:", "RHD") if row["network"] == "FullyConnected")
    check(full["RHD"], 1000, full)


def test_figure_2a() -> None:
    rows = {row["network"]: row for row in rows_of("tacos", "Figure 2(a)", "network", "bound")}
    for name, row in rows.items():
        speeds(row, OF_64[name], GB)
    (on_ring, full) = rows_of("tacos", "Figure 2(a)", "ratio", "here")
    check_quotient(on_ring["here"], rows["Ring"]["Ring"], rows["Ring"]["Direct"], on_ring)
    check_quotient(full["here"], rows["FullyConnected"]["Direct"], rows["FullyConnected"]["Ring"], full)


def test_figure_2b() -> None:
    ring = grid((128,), "ring", 30e-9, 150e9)
    for row in rows_of("tacos", "Figure 2(b)", "bytes", "bound"):
        speeds(row, ring, int(row["bytes"]))


def test_an_all_gather_on_nine() -> None:
    """Each of nine ranks receives eight chunks."""
    used = [int(row["links used of 24"]) for row in rows_of("tacos", "Figure 14", "step")]
    assert sum(used) == 9 * 8
    assert max(used) <= 24
    assert len(used) == math.ceil(8 / 2)


def test_figure_15() -> None:
    rows = list(rows_of("tacos", "Figure 15", "network", "bound"))
    for row in rows:
        network = EXPLORED[row["network"]]
        speeds(row, network, GB)
        if row["network"] in TO_NODES:
            for column, seconds in between_nodes_s(network.n, TO_NODES[row["network"]]).items():
                check(row[column], GB / seconds / 1e9, row, 1e-3)
    faster = mean(float(row["Hemiola"]) / float(row[other]) for row in rows for other in ("Ring", "Direct"))
    (row,) = rows_of("tacos", "Figure 15", "speed-up over Ring and Direct, mean")
    check(row["Hemiola"], faster, row, 5e-4)


#: Bytes per second from a rank to other nodes of eight, through a switch.
TO_NODES = (
    {"2D switch 8x4": 25e9}
    | {f"3D-RFS, {8 * nodes} ranks": 50e9 for nodes in (2, 4, 8, 16)}
    | {"3D-RFS 2x4x8": 50e9}
)


def between_nodes_s(n: int, port: float) -> dict[str, float]:
    """Return what 1 GB takes a rank's port to other nodes: a two-way ring half of it twice, (n-1)/n of that each time;
    direct 1 - 8/n of it in each half of an all-reduce. Latencies are 1 in 5,000."""
    return {"Ring": (n - 1) / n * GB / port, "Direct": 2 * (1 - 8 / n) * GB / port}


def share(printed: str, seconds: float, ms: str, where: object) -> None:
    """Check that a share is these seconds over so many printed milliseconds."""
    check(printed, 1e3 * seconds / float(ms), where, half(ms) / float(ms))


def test_table_v() -> None:
    for row in rows_of("tacos", "Table V", "ranks", "Hemiola, ms"):
        network = rfs(int(row["ranks"]) // 8)
        share(row["Hemiola / ideal"], network.ideal_s(GB), row["Hemiola, ms"], row)
        share(row["Hemiola / bound"], network.bound_s(GB), row["Hemiola, ms"], row)
        for column, seconds in between_nodes_s(network.n, 50e9).items():
            here = row[column].split(" (")[0]
            check(here, 1e3 * seconds / float(row["Hemiola, ms"]), row, 1e-3, digits=3)


#: [TACOS, Table V]: over TACOS, TACOS's share of the ideal, and ms to synthesize.
PRINTED = {
    "16": {
        "TACCL-like": "2.89",
        "Ring": "7.14",
        "RHD": "5.27",
        "Direct": "4.04",
        "share": "1",
        "ms": (0.63, 790),
    },
    "32": {
        "TACCL-like": "4.10",
        "Ring": "5.10",
        "RHD": "4.42",
        "Direct": "7.86",
        "share": "0.72",
        "ms": (8.9, 2001),
    },
    "64": {
        "TACCL-like": "4.27",
        "Ring": "4.80",
        "RHD": "5.83",
        "Direct": "16.84",
        "share": "0.68",
        "ms": (97.92, 7016),
    },
    "128": {
        "TACCL-like": "–",
        "Ring": "4.82",
        "RHD": "9.85",
        "Direct": "36.02",
        "share": "0.68",
        "ms": (1080, 0),
    },
}


def test_table_v_quotes_the_papers() -> None:
    times, searches = tables("tacos", "Table V")
    for row in times:
        of = PRINTED[row["ranks"]]
        for column in ("TACCL-like", "Ring", "RHD", "Direct"):
            assert row[column].endswith(f" ({of[column]})"), row
        assert row["TACOS / ideal (printed)"] == of["share"], row
    for row in searches:
        for column, ms in zip(
            ("TACOS, s (printed)", "TACCL, s (printed)"), PRINTED[row["ranks"]]["ms"], strict=True
        ):
            if ms:
                check(row[column], ms / 1e3, row)
            else:
                assert row[column] == "–", row


def test_figure_16() -> None:
    for title, row in titled("Figure 16"):
        wires, sides = FIGURE_16[title]
        speeds(row, grid(sides, wires, 0.7e-6, 25e9), int(row["MB"]) * MB)
        best = max(row["Themis 4"], row["Themis 64"], key=float)
        check_quotient(row["Hemiola / best Themis"], row["Hemiola"], best, row)


def test_figure_17a() -> None:
    for title, row in titled("Figure 17(a)"):
        wires, sides = FIGURE_17[title]
        speeds(row, grid(sides, wires, 0.15e-6, 16e9), int(row["MB"]) * MB)


def test_figure_17b() -> None:
    rows = list(rows_of("tacos", "Figure 17(b)", "MB", "C-Cube"))
    for row in rows:
        speeds(row, DGX_1, int(row["MB"]) * MB)
        off = half(row["Hemiola / ideal"]) / float(row["Hemiola / ideal"])
        check(row["over printed"], float(row["Hemiola / ideal"]) / 0.3263, row, off)
    text, last = section("tacos", "Figure 17(b)"), rows[-1]
    of_ideal, ratio = (float(found) for found in re.findall(r"1 / ([\d.]+) = ([\d.]+) times", text)[0])
    check(f"{ratio}", float(last["Hemiola / C-Cube"]), last, digits=3)
    check(f"{of_ideal}", float(last["C-Cube / ideal"]), last, digits=2)
    check(f"{ratio}", 1 / float(last["C-Cube / ideal"]), last, digits=3)
    assert f"as built here it is {ratio}. Our C-Cube" in text
    assert f"reaches {of_ideal} of the ideal" in text


def test_figure_18() -> None:
    rows = list(rows_of("tacos", "Figure 18", "network", "Hemiola, ms"))
    for row in rows:
        network = FIGURE_18[row["network"]]
        share(row["Hemiola / ideal"], network.ideal_s(GB), row["Hemiola, ms"], row)
        share(row["Hemiola / bound"], network.bound_s(GB), row["Hemiola, ms"], row)
    (row,) = rows_of("tacos", "Figure 18", "mean share of the ideal")
    check(row["Hemiola"], mean(float(each["Hemiola / ideal"]) for each in rows), row, 5e-4)


def test_the_random_matcher() -> None:
    for row in rows_of("tacos", "The paper's random matcher", "network", "random"):
        network = BASELINES[row["network"]]
        ms = row["Hemiola, ms"]
        share(row["Hemiola / ideal"], network.ideal_s(GB), ms, row)
        if row["network"] in TO_NODES:
            ring_s = between_nodes_s(network.n, TO_NODES[row["network"]])["Ring"]
            check(row["ring"], 1e3 * ring_s / float(ms), row, 1e-3)
        over = float(row["random"])
        off = half(ms) / float(ms) + half(row["random"]) / over
        for column, seconds in (("ideal", network.ideal_s(GB)), ("bound", network.bound_s(GB))):
            check(row[f"random / {column}"], 1e3 * seconds / float(ms) / over, row, off)


def test_direct_through_switches_and_through_what_they_are_unwound_to() -> None:
    """By the load of a rank's port to other nodes, 50 GB/s: 1 - 8/n of the buffer in each half of an all-reduce, or
    half of nodes - 1 buffers."""
    for row in rows_of("tacos", "Two baselines", "ranks", "switch", "unwound"):
        n = int(row["ranks"])
        ideal = GB * 2 * (n - 1) / n / 550e9
        check(row["switch"], 2 * (1 - 8 / n) * GB / 50e9 / ideal, row, 1e-3)
        check(row["unwound"], (n / 8 - 1) * GB / 50e9 / ideal, row, 1e-3)
        over, of_ideal = {16: (4.04, 1), 32: (7.86, 0.72), 64: (16.84, 0.68), 128: (36.02, 0.68)}[n]
        check(row["printed"], over / of_ideal, row)
    four = [row for row in rows_of("tacos", "Two baselines", "side") if row["side"] == "4"]
    cube = [row for title, row in titled("Figure 16") if "hypercube" in title and row["MB"] == "1000"]
    assert four[0]["Themis 64 / ideal"] == cube[0]["Themis 64 / ideal"]


def grows(heading: str, column: str) -> None:
    """Check the power of n with which seconds grow, said under each table of two of its rows."""
    parts = re.split(r"\n\*\*.*\*\*\n", section("tacos", heading))[1:]
    assert len(parts) == 2
    for part in parts:
        (table,) = tables_in(part)
        said = re.search(r"From ([\d,]+) to ([\d,]+) ranks the time grows as n\^([\d.]+)", part)
        assert said is not None
        first, last = (int(count.replace(",", "")) for count in said.groups()[:2])
        at = {int(row["ranks"]): float(row[column]) for row in table}
        # Of two times with three digits: log(1.001)/log(10).
        check(said[3], math.log(at[last] / at[first]) / math.log(last / first), part[:20], 1e-3, digits=3)


def test_slots_and_growth_of_a_search() -> None:
    for title, row in titled("Figure 19"):
        n, dimensions = int(row["ranks"]), 2 if title.startswith("2D") else 3
        bound = math.ceil((n - 1) / dimensions)
        check(row["slots / bound"], int(row["slots"]) / bound, row)
        assert int(row["slots"]) >= bound
    grows("Figure 19", "search, s")


def test_executed() -> None:
    rows = list(rows_of("tacos", "Executed", "network", "schedule"))
    rings = {row["network"]: row for row in rows if row["schedule"] == "Ring"}
    for row in rows:
        for which in ("simulated", "measured"):
            column = f"{which}, ms"
            check_quotient(row[f"Ring / this, {which}"], rings[row["network"]][column], row[column], row)


def test_tens_of_thousands_of_ranks() -> None:
    """All chunks but its own come to every rank, over as many links as a corner has; measured is what is recorded."""
    record = json.loads((ROOT / "docs/results/tacos/large.json").read_text(encoding="utf-8"))
    for _, row in titled("Tens of thousands"):
        dims = [int(side) for side in row["mesh"].split("x")]
        n = math.prod(dims)
        assert int(row["ranks"]) == n
        assert int(row["transfers"]) == n * (n - 1)
        assert int(row["bound"]) == math.ceil((n - 1) / len(dims))
        of = record[row["mesh"]]
        for column, value in (
            ("slots", of["slots"]), ("synthesis, s", of["synthesis_s"]), ("verified, s", of["verify_s"]),
            ("memory, GB", of["peak_bytes"] / GB), ("file, GB", of["file_bytes"] / GB),
            ("simulated, slots", of["simulated_slots"]), ("simulated, s", of["simulate_s"]),
        ):  # fmt: skip
            check(row[column], value, row)
        assert of["violations"] == 0
        # A slot of 1 MiB over 50 GB/s, and a last latency.
        assert float(row["simulated, slots"]) + half(row["simulated, slots"]) >= int(
            row["bound"]
        ) + HALF_US / (MIB / 50e9)
    grows("Tens of thousands", "synthesis, s")


@pytest.mark.parametrize("heading", ["Figure 2(a)", "Figure 15"])
def test_no_speed_is_above_the_bound(heading: str) -> None:
    for row in rows_of("tacos", heading, "network", "bound"):
        for column in ("Ring", "Direct", "Hemiola"):
            assert float(row[column]) <= float(row["bound"]) + half(row["bound"]), row
