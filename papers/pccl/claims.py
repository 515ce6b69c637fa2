# SPDX-License-Identifier: Apache-2.0
"""The paper's statements that its own equations and figures contradict, each with the numbers that show it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hemiola import algorithms
from papers.pccl import printed
from papers.pccl.closed_forms import equation_1, equation_2
from papers.pccl.machine import ALL_GATHER, FRONTIER, MIB, RANK_COUNTS, SIZES_MIB
from papers.pccl.printed import Printed
from papers.report import Report


def received_share(rank_count: int) -> float:
    """Return the bytes that a rank receives in a ring's all-gather over the whole buffer, counted in the schedule
    itself."""
    schedule = algorithms.all_gather_ring(rank_count)
    to_first = np.asarray(schedule.transfers)["dst"] == 0
    return float(to_first.sum()) / schedule.chunk_count


def needed_hop_s(cell: Printed, bandwidth: float) -> float | None:
    """Return the α by which eq. (1) over eq. (2) is the printed ratio, both with 1/β = bandwidth; None where none
    is."""
    p, nbytes = cell.rank_count, cell.size_mib * MIB
    bytes_s = equation_1(p, nbytes, 0.0, bandwidth)
    hops = (p - 1) - cell.ratio * (p.bit_length() - 1)
    return (cell.ratio - 1) * bytes_s / hops if cell.ratio > 1 and hops > 0 else None


def claims(report: Report, command: str) -> None:
    """One row per claim."""
    report.section(
        "What the paper's own equations contradict",
        "Every claim stands beside its equations (1) and (2), or another of its sentences, computed here where "
        "possible.",
        command,
    )
    report.table("claims", ("where", "claim", "against it"), [*_equations(), *_sentences()])
    report.text(
        "**Which α equations (1) and (2) need** for the ratios printed of Figure 9, with 100 GB/s a node: a ring "
        "of all ranks over recursive halving of all ranks. About 30 µs serve for all printed ratios of 2,048 "
        "ranks, several times a message's time on that network. For a ratio below 1 there is none: by the "
        "equations halving cannot lose."
    )
    rows = []
    for cell in printed.FRONTIER[ALL_GATHER]:
        hop_s = needed_hop_s(cell, FRONTIER.nics * FRONTIER.nic)
        needed = "none" if hop_s is None else f"{hop_s * 1e6:.3g}"
        at_least = "at least " if cell.words.startswith(">") else ""
        rows.append((cell.rank_count, cell.size_mib, cell.words, f"{at_least}{needed}"))
    report.table("needed_hops", ("ranks", "MiB", "printed", "α, µs"), rows)


def _ratio(rank_count: int, size_mib: int, bandwidth: float) -> float:
    """Return eq. (1) over eq. (2) with the network's latency."""
    at = (rank_count, size_mib * MIB, FRONTIER.nic_s, bandwidth)
    return equation_1(*at) / equation_2(*at)


def _equations() -> Iterator[tuple[str, str, str]]:
    ratios = [_ratio(p, size, FRONTIER.nic) for p in RANK_COUNTS for size in SIZES_MIB]
    yield (
        "Figure 6, §4.3",
        "the ring between nodes is the choice at few ranks or large sizes",
        f"(1) ≥ (2) for all p, m, α: on the paper's grid the ratio is {min(ratios):.6f} to {max(ratios):.3g}, "
        "never below 1",
    )
    p = 8
    share = received_share(p)
    yield (
        "eq. (1)",
        "m is the input buffer on each GPU",
        f"a rank of an all-gather receives {share:g} = (p-1)/p of its output (counted in the schedule of {p} "
        f"ranks), {share * p:g} times its input: the term is right for the output alone, p times too small as said",
    )
    cell, all_nics = printed.FRONTIER[ALL_GATHER][3], FRONTIER.nics * FRONTIER.nic
    hop = needed_hop_s(cell, all_nics)
    assert hop is not None
    at_network = _ratio(cell.rank_count, cell.size_mib, all_nics)
    yield (
        "§§3.4, 6.1.1",
        "RCCL is slow at scale because a ring's latency is linear in p",
        f"{cell.words} times at {cell.rank_count:,} ranks and {cell.size_mib} MB needs {hop * 1e6:.3g} µs a hop "
        f"in (1) and (2), several times a network's; with {FRONTIER.nic_s * 1e6:g} µs they give {at_network:.3g}. "
        "The rest is no algorithm's",
    )
    yield (
        "Figure 9",
        "0.52 and 0.55 at 32 GCDs and 1 GB: a ring has more bandwidth than two phases",
        "(1) and (2) know one β and no phases: by them PCCL cannot lose. True of X + Y beside max(X, Y), which "
        "the paper does not write; phases that overlap lose nothing (Figure 9, Hemiola)",
    )


def _sentences() -> Iterator[tuple[str, str, str]]:
    yield (
        "§2.2",
        'halving for all-gathers, doubling for reduce-scatters, "respectively"',
        "exchanged: §4.3 has doubling for all-gathers and halving for reduce-scatters, as Thakur has",
    )
    yield (
        "Figure 2",
        "its axis: input of all-gathers, output of reduce-scatters",
        "§§3.1 and 5.1 count output and input; p times apart (Figure 2 below)",
    )
    yield (
        "§3.2",
        "Cray MPICH routes all traffic through a single NIC, a fault of its own",
        "both run rings, says §3.4; a single ring through ranks in order uses NIC 3 out and NIC 0 in, whoever "
        "routes it (Figure 3 below)",
    )
    yield (
        "Abstract",
        "6–33× over RCCL and 28–70× over Cray MPICH for all-gather on 2,048 GCDs",
        "§6.1.1: 7–24× and 27–82× in Figure 7; and Figure 9 has > 30 at 64 MB, which is in Figure 7's range of "
        "sizes",
    )
    yield (
        "§4.1, Figure 5",
        "a shuffle is needed, since the result is in an incorrect order",
        "chunks can be received where they belong: `all_gather_pccl` and `all_gather_hierarchical` are verified "
        "without one",
    )
    yield (
        "§5.2",
        "Frontier from 128 to 1,024 GCDs, Perlmutter from 256 to 2,048",
        "§6.2 has results of 2,048 GCDs on Frontier, and of Perlmutter up to 1,024",
    )
    yield ("Abstract", "60 % and 40 % in training", "§6.2: 60 % and 39 %")
