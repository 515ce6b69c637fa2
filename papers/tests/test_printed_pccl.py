# SPDX-License-Identifier: Apache-2.0
"""What docs/results/pccl.md prints and follows from PCCL's equations, from this report's closed forms or from other
numbers that it prints, computed again from the formula, which is written here once more: nothing of what made the
report is used. p ranks on N nodes of M ranks and K NICs, m bytes of the whole buffer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from printed import MIB, Row, check, check_quotient, report, rows_of, section, tables, tables_in

#: Of what is printed with four digits and then used.
FOUR = 5e-4


@dataclass(frozen=True)
class Machine:
    """Seconds and bytes per second of a NIC, of a rank's port inside its node, and of a rank's memory."""

    ranks: int
    inside: float
    memory: float
    nics: int = 4
    nic_s: float = 5e-6
    nic: float = 25e9
    message_s: float = 1e-6
    inside_s: float = 2e-6

    def rings_s(self, p: int, m: float, rings: int) -> float:
        """The longest of a chunk's way from node to node, what a NIC passes on, and what a rank's port does."""
        nodes, chunk = p // self.ranks, m / (p * rings)
        across_s = self.message_s + chunk / self.nic
        inside_s = (nodes * (self.ranks - 1) - 1) * (self.inside_s + chunk / self.inside)
        way_s = inside_s + nodes * (self.nic_s + across_s)
        return max(way_s, (p - 1) * across_s + self.nic_s, (p - 1) / p * m / self.inside)

    def phases_s(self, p: int, m: float, rounds: int) -> float:
        """So many rounds between nodes and X, where M/K ranks share a NIC, and a ring inside and Y."""
        nodes = p // self.ranks
        messages_s = self.nic_s + max(1, self.ranks // self.nics) * self.message_s
        between_s = rounds * messages_s + (nodes - 1) / nodes * m / (self.nics * self.nic)
        return between_s + (self.ranks - 1) * self.inside_s + (self.ranks - 1) / self.ranks * m / self.inside

    def pccl_s(self, p: int, m: float) -> float:
        """By halving, which is never slower than a ring here, and a copy of all that was gathered."""
        return self.phases_s(p, m, int(math.log2(p // self.ranks))) + 2 * m / self.memory


FRONTIER, PERLMUTTER = Machine(8, 100e9, 1.6e12), Machine(4, 200e9, 1.555e12)
MACHINES = {"Frontier": FRONTIER, "Perlmutter": PERLMUTTER}
VENDORS = {"Frontier": "RCCL", "Perlmutter": "NCCL"}


def linear_s(p: int, m: float, alpha: float, bandwidth: float) -> float:
    """[PCCL, eq. 1]."""
    return (p - 1) * alpha + (p - 1) / p * m / bandwidth


def halving_s(p: int, m: float, alpha: float, bandwidth: float) -> float:
    """[PCCL, eq. 2]."""
    return math.log2(p) * alpha + (p - 1) / p * m / bandwidth


@dataclass(frozen=True)
class Fitted:
    """A row of the fitted constants."""

    row: Row
    machine: Machine

    def of(self, column: str) -> float:
        return float(self.row[column]) * (1e-6 if column.endswith("µs") else 1e9)

    def vendor_s(self, p: int, m: float) -> float:
        return linear_s(p, m, self.of("hop, µs"), self.of("ring, GB/s"))

    def mpich_s(self, p: int, m: float) -> float:
        return linear_s(p, m, self.of("MPICH's hop, µs"), 25e9)

    def pccl_s(self, p: int, m: float) -> float:
        ranks, nodes = self.machine.ranks, p // self.machine.ranks
        between_s = math.log2(nodes) * self.of("PCCL's round, µs") + (nodes - 1) / nodes * m / self.of(
            "between, GB/s"
        )
        return between_s + (ranks - 1) / ranks * m / self.of("inside, GB/s")


def fitted(machine: str, kind: str) -> Fitted:
    names = {machine, f"{machine}, {kind}"}
    (row,) = (row for row in rows_of("pccl", "Constants", "fitted") if row["fitted"] in names)
    return Fitted(row, MACHINES[machine])


def test_physical_constants_are_those_of_the_closed_forms() -> None:
    for row in rows_of("pccl", "Constants", "physical"):
        of = MACHINES[row["physical"]]
        for column, expected in (
            ("ranks a node", of.ranks), ("NICs", of.nics), ("NIC, µs", 1e6 * of.nic_s), ("NIC, GB/s", of.nic / 1e9),
            ("a message, µs", 1e6 * of.message_s), ("inside, µs", 1e6 * of.inside_s),
            ("inside, GB/s", of.inside / 1e9), ("memory, GB/s", of.memory / 1e9),
        ):  # fmt: skip
            check(row[column], expected, row)


#: Ranks and MiB of two cells, and MPICH over PCCL there [PCCL, §6.1].
MPICH_OVER_PCCL = {
    "Frontier": ((2048, 64, 82.0), (2048, 512, 27.0)),
    "Perlmutter": ((2048, 64, 15.0), (1024, 128, 8.8)),
}


def test_mpichs_hop_is_the_mean_of_what_two_printed_ratios_need() -> None:
    for machine, kind in (("Frontier", "all-gather"), ("Frontier", "reduce-scatter"), ("Perlmutter", "")):
        one = fitted(machine, kind)
        hops = [
            (ratio * one.pccl_s(p, mib * MIB) - (p - 1) / p * mib * MIB / 25e9) / (p - 1)
            for p, mib, ratio in MPICH_OVER_PCCL[machine]
        ]
        check(one.row["MPICH's hop, µs"], 1e6 * math.sqrt(math.prod(hops)), one.row, 2 * FOUR)


def test_errors_of_the_fit_are_those_of_the_cells_that_it_was_made_from() -> None:
    """A range counts by the end at which the fit puts the cell."""
    ends = {"> 30": 30.0, "1 / 1.5": 1 / 1.5}
    given = {("3 to 5", 16): 5.0, ("3 to 5", 32): 3.0, ("1.3 to 4.6", 64): 4.6, ("1.3 to 4.6", 128): 1.3,
             ("2 to 3", 128): 3.0, ("2 to 3", 512): 2.0}  # fmt: skip
    for machine, kind, heading, index in (
        ("Frontier", "all-gather", "Figure 9:", 0),
        ("Frontier", "reduce-scatter", "Figure 9:", 1),
        ("Perlmutter", "", "Figure 11:", 0),
    ):
        table = [each for each in tables("pccl", heading) if "printed" in each[0]][index]
        logs = []
        for row in table:
            words = row["printed"]
            ratio = given.get((words, int(row["MiB"]))) or ends.get(words) or float(words)
            logs.append(math.log(float(row["PCCL, fitted"]) / ratio))
        rms = math.sqrt(sum(log * log for log in logs) / len(logs))
        printed = fitted(machine, kind).row["rms of log ratio"]
        assert abs(float(printed.rstrip("%")) - 100 * rms) <= 0.06, (machine, kind)


def scaling(heading: str) -> Iterator[tuple[str, str, Row]]:
    """Return machine and kind of each row of Figures 1, 7, 8 and 10."""
    machine = "Perlmutter" if "10" in heading else "Frontier"
    kind = "reduce-scatter" if "8" in heading else "all-gather"
    for row in rows_of("pccl", heading, "MiB", "ranks", "MPICH, fitted"):
        yield machine, kind, row


@pytest.mark.parametrize("heading", ["Figure 1:", "Figure 7:", "Figure 8:", "Figure 10:"])
def test_libraries_and_pccl_by_rank_count(heading: str) -> None:
    for machine, kind, row in scaling(heading):
        p, m, of, vendor = int(row["ranks"]), int(row["MiB"]) * MIB, MACHINES[machine], VENDORS[machine]
        constants = fitted(machine, kind)
        check(row["MPICH, fitted"], 1e3 * constants.mpich_s(p, m), row, FOUR)
        check(row[f"{vendor}, fitted"], 1e3 * constants.vendor_s(p, m), row, FOUR)
        check(row["MPICH, physical"], 1e3 * of.rings_s(p, m, 1), row)
        check(row[f"{vendor}, physical"], 1e3 * of.rings_s(p, m, of.nics), row)
        if heading != "Figure 1:":
            check(row["PCCL, fitted"], 1e3 * constants.pccl_s(p, m), row, FOUR)
            check(row["PCCL, physical"], 1e3 * of.pccl_s(p, m), row)


def planned(heading: str, index: int) -> dict[tuple[int, int], Row]:
    """Return the rows of the index-th table by rank count, by ranks and MiB."""
    found = [table for table in tables("pccl", heading) if "Hemiola, fitted" in table[0]][index]
    return {(int(row["ranks"]), int(row["MiB"])): row for row in found}


#: Figure 9's and 11's tables of a kind: machine, kind, and where their planned times stand.
HEAT = {
    ("Figure 9:", "all-gather"): ("Frontier", "Figure 7:", 0),
    ("Figure 9:", "reduce-scatter"): ("Frontier", "Figure 8:", 0),
    ("Figure 11:", "all-gather"): ("Perlmutter", "Figure 10:", 0),
    ("Figure 11:", "reduce-scatter"): ("Perlmutter", "Figure 10:", 1),
}


def heat(heading: str, kind: str) -> Iterator[tuple[str, list[Row]]]:
    """Return the grids of a kind, with the title above each."""
    parts = re.split(r"\n\*\*(.*)\*\*\n", section("pccl", heading))[1:]
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        if title.startswith(kind):
            yield title, tables_in(text)[0]


def over_pccl_s(machine: str, kind: str, which: str, p: int, m: float) -> tuple[float, float]:
    """Return the vendor's library and PCCL."""
    if which == "fitted":
        constants = fitted(machine, kind)
        return constants.vendor_s(p, m), constants.pccl_s(p, m)
    of = MACHINES[machine]
    return of.rings_s(p, m, of.nics), of.pccl_s(p, m)


@pytest.mark.parametrize(("heading", "kind"), HEAT)
def test_times_faster_than_the_vendors_library(heading: str, kind: str) -> None:
    machine, by_ranks, index = HEAT[heading, kind]
    times, seen = planned(by_ranks, index), 0
    for title, table in heat(heading, kind):
        if "printed" in table[0]:
            continue
        which = "fitted" if "fitted" in title else "physical"
        least = []
        for row in table:
            mib = int(row["MiB"])
            for column in list(row)[1:]:
                pccl, ours = row[column].split(" → ")
                vendor_s, pccl_s = over_pccl_s(machine, kind, which, int(column), mib * MIB)
                check(pccl, vendor_s / pccl_s, (title, row, column), 2 * FOUR, digits=3)
                least.append(min(float(ours), float(ours) / (vendor_s / pccl_s)))
                if (at := times.get((int(column), mib))) is not None:
                    of = at[f"Hemiola, {which}"], at[f"{VENDORS[machine]}, {which}"]
                    check_quotient(ours, of[1], of[0], (title, row, column), digits=3)
                    seen += 1
        said = re.search(r"at worst the planned schedule is ([\d.]+) times", title)
        assert said is not None
        check(said[1], min(least), title, 5e-3, digits=3)
    assert seen > 20


@pytest.mark.parametrize(("heading", "kind"), HEAT)
def test_cells_that_the_paper_prints_are_those_of_the_grids(heading: str, kind: str) -> None:
    grids = dict(heat(heading, kind))
    compared = [table for table in grids.values() if "printed" in table[0]]
    if (heading, kind) != ("Figure 11:", "reduce-scatter"):
        assert len(compared) == 1
    machine = HEAT[heading, kind][0]
    for row in (row for table in compared for row in table):
        p, mib = int(row["ranks"]), int(row["MiB"])
        for which in ("fitted", "physical"):
            (grid,) = (table for title, table in grids.items() if f", {which} constants" in title)
            (cell,) = (each[str(p)] for each in grid if each["MiB"] == str(mib))
            vendor_s, pccl_s = over_pccl_s(machine, kind, which, p, mib * MIB)
            check(row[f"PCCL, {which}"], vendor_s / pccl_s, row, 2 * FOUR)
            ours = float(row[f"Hemiola, {which}"])
            check(cell.split(" → ")[1], ours, row, FOUR, digits=3)


def test_equations_on_their_grid() -> None:
    grid = tables("pccl", "Figure 6, left")[0]
    ratios = []
    for row in grid:
        for column, printed in list(row.items())[1:]:
            sizes = int(column), int(row["MiB"]) * MIB, 5e-6, 25e9
            ratios.append(linear_s(*sizes) / halving_s(*sizes))
            check(printed, ratios[-1], (row, column))
    assert f"ratio is {min(ratios):.6f} to {max(ratios):.0f}, never below 1" in report("pccl")


def test_halving_over_a_ring_between_nodes_of_one_switch() -> None:
    """Both exactly as the closed forms say, and the same where all nodes fit into one group; the rest is simulated."""
    _, *networks = tables("pccl", "Figure 6, left")
    for grid, most_nodes in zip(networks, (256, 128, 8), strict=True):
        for row in grid:
            m = int(row["MiB"]) * MIB
            for column in list(row)[1:]:
                p = int(column)
                if p // 8 <= most_nodes:
                    ring_s = FRONTIER.phases_s(p, m, p // 8 - 1)
                    halved_s = FRONTIER.phases_s(p, m, int(math.log2(p // 8)))
                    check(row[column], ring_s / halved_s, (row, column))


def needed_alpha(p: int, m: float, ratio: float) -> float:
    """(p-1)α + X = r(log2(p)·α + X) of a ratio r, with 100 GB/s a node."""
    return (ratio - 1) * (p - 1) / p * m / 100e9 / (p - 1 - ratio * math.log2(p))


def test_which_latency_the_equations_need() -> None:
    for row in rows_of("pccl", "What the paper's own equations contradict", "printed", "α, µs"):
        alpha = needed_alpha(int(row["ranks"]), int(row["MiB"]) * MIB, float(row["printed"].lstrip("> ")))
        if alpha < 0:
            assert row["α, µs"] == "none"
        else:
            check(row["α, µs"].removeprefix("at least "), 1e6 * alpha, row, digits=3)
    text = section("pccl", "What the paper's own equations contradict")
    at = 2048, 512 * MIB
    said = re.search(
        r"([\d.]+) times at 2,048 ranks and 512 MB needs (\d+) µs .* with 5 µs they give ([\d.]*\d)", text
    )
    assert said is not None
    check(said[2], 1e6 * needed_alpha(*at, float(said[1])), said[0], digits=2)
    check(said[3], linear_s(*at, 5e-6, 100e9) / halving_s(*at, 5e-6, 100e9), said[0], digits=3)
    assert f"receives {7 / 8:g} = (p-1)/p of its output" in text
    assert "of 8 ranks), 7 times its input" in text


def test_buffers_of_training() -> None:
    for row in rows_of("pccl", "Figure 2 and Table 1", "hidden"):
        h, layers = int(row["hidden"]), int(row["layers"])
        block, matrix = 12 * h * h + 13 * h, 4 * h * h
        check(row["10⁹ parameters"], (layers * block + 50_272 * h) / 1e9, row)
        check(row["FSDP, both"], 2 * block / MIB, row)
        check(row["ZeRO-3, gathered"], 2 * max(matrix, min(5e7, block)) / MIB, row)
        check(row["ZeRO-3, scattered"], 2 * 5e8 / MIB, row)
        check(row["AxoNN, whole"], 2 * matrix / MIB, row)
        check(row["AxoNN, of 8"], 2 * matrix / 8 / MIB, row)
    said = re.search(r"of 1,024 ranks a block of (\d+) MiB would be ([\d.]+) MiB", report("pccl"))
    assert said is not None
    check(said[2], int(said[1]) / 1024, said[0], digits=1)


def moves(row: Row, library: str, column: str) -> None:
    """A schedule's time is simulated; large buffers move as the closed form says, within 2 in 1,000."""
    p, m = int(row["ranks"]), int(row["MiB"]) * MIB
    check(row[column], 1e3 * FRONTIER.rings_s(p, m, {"MPICH": 1, "RCCL": 4}[library]), row, 2e-3)


def test_rings_where_bandwidth_decides() -> None:
    for row in rows_of("pccl", "Figure 3", "MPICH, ms", "RCCL, ms"):
        moves(row, "MPICH", "MPICH, ms")
        moves(row, "RCCL", "RCCL, ms")
    for row in rows_of("pccl", "Figure 3", "library", "NIC 0"):
        # A node of 8 of 64 ranks: all of 512 MiB but one rank's part passes its border.
        whole, out = 512 * 63 / 64, row[""] == "sent"
        one = {"MPICH": [0.0, 0.0, 0.0, whole] if out else [whole, 0.0, 0.0, 0.0], "RCCL": [whole / 4] * 4}
        for nic, mib in enumerate(one[row["library"]]):
            check(row[f"NIC {nic}"], mib, row)


def test_adding_on_processors() -> None:
    """3(p-1)/p·m of memory traffic at 205/8 GB/s a rank or 1.6 TB/s; staged (p-1)/p·m at 36 GB/s beside it."""
    for row in rows_of("pccl", "Figure 4", "MPICH moves"):
        p, m = int(row["ranks"]), int(row["MiB"]) * MIB
        part, moved = (p - 1) / p * m, float(row["MPICH moves"])
        moves(row, "MPICH", "MPICH moves")
        processor_ms, gpu_ms = (1e3 * 3 * part / rate for rate in (205e9 / 8, 1.6e12))
        staged_ms = moved + processor_ms + 1e3 * part / 36e9
        check(row["MPICH"], moved + processor_ms, row, FOUR)
        check(row["MPICH, staged"], staged_ms, row, FOUR)
        check(row["its ring, GPU adds"], moved + gpu_ms, row, FOUR)
        check(row["RCCL"], 1e3 * FRONTIER.rings_s(p, m, 4) + gpu_ms, row, 2e-3)
        check_quotient(row["staged / RCCL"], row["MPICH, staged"], row["RCCL"], row)
        check_quotient(row["staged / GPU adds"], row["MPICH, staged"], row["its ring, GPU adds"], row)


def test_closed_forms_beside_the_simulator_are_exact_where_the_report_says_so() -> None:
    for row in rows_of("pccl", "Closed forms beside the simulator", "schedule", "least"):
        assert float(row["least"]) <= float(row["most"]), row
        if row["schedule"].startswith(
            "pccl"
        ):  # of its two collectives one is exact, the other one's phases overlap
            check(row["least"], 1.0, row)


def test_16384_and_131072_ranks() -> None:
    for machine, of in MACHINES.items():
        vendor = VENDORS[machine]
        for row in rows_of("pccl", "16,384", "MiB", f"{vendor} / PCCL, fitted"):
            p, m = int(row["ranks"]), int(row["MiB"]) * MIB
            check(row["rings, ms"], 1e3 * of.rings_s(p, m, of.nics), row)
            check(row["PCCL, ms"], 1e3 * of.pccl_s(p, m), row)
            constants = fitted(machine, row[""])
            check(
                row[f"{vendor} / PCCL, fitted"],
                constants.vendor_s(p, m) / constants.pccl_s(p, m),
                row,
                2 * FOUR,
            )
            nodes = p // of.ranks
            bound_s = (nodes - 1) / nodes * m / (of.nics * of.nic)
            # Of 1 MiB latencies bind on Frontier, 2 % above what its NICs take.
            off = FOUR if m > MIB else 2.5e-2
            check(row["Hemiola / bound"], float(row["Hemiola, ms"]) / 1e3 / bound_s, row, off)
