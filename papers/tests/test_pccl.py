# SPDX-License-Identifier: Apache-2.0
"""PCCL's report: closed forms against the paper's figures worked by hand, against schedules, and sections in small."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_reports import written

import hemiola as hm
from hemiola.errors import ArgumentError
from papers import pccl
from papers.pccl import (
    between_nodes,
    claims,
    closed_forms,
    constants,
    fitted,
    heat_maps,
    interpreted,
    mpi4py_rank,
    printed,
    scale,
    scaling,
    speedups,
    traffic,
    training,
)
from papers.pccl.machine import ALL_GATHER, FRONTIER, KINDS, MIB, PERLMUTTER
from papers.report import Report

SMALL = {
    "constants": constants.constants,
    "claims": claims.claims,
    "closed_forms": partial(constants.closed_forms, node_counts=(2, 4)),
    "figure_1": partial(scaling.figure_1, rank_counts=(32,)),
    "figure_2": training.figure_2,
    "figure_3": partial(traffic.figure_3, rank_counts=(16,), nics_of=16),
    "figure_4": partial(traffic.figure_4, rank_counts=(16,)),
    "figure_6_left": partial(between_nodes.figure_6_left, sizes=(16,), rank_counts=(32, 128)),
    "figure_7": partial(scaling.figure_7, rank_counts=(32, 64)),
    "figure_8": partial(scaling.figure_8, rank_counts=(32, 64)),
    "figure_9": partial(heat_maps.figure_9, sizes=(16, 1024), rank_counts=(32, 64)),
    "figure_10": partial(scaling.figure_10, rank_counts=(32, 64)),
    "figure_11": partial(heat_maps.figure_11, sizes=(16, 1024), rank_counts=(32, 64)),
    "scale": partial(scale.scale, machines=(FRONTIER,), rank_counts=(16_384,), sizes=(16,)),
}


#: Those that plan at every size.
LONG = ("figure_7", "figure_8", "figure_9", "figure_10", "figure_11")


@pytest.mark.parametrize(
    "section", ["constants", "claims", *(pytest.param(name, marks=pytest.mark.long) for name in LONG)]
)
def test_a_section_writes_true_tables_and_the_pictures_it_names(section: str, tmp_path: Path) -> None:
    written(SMALL[section], tmp_path)


def test_closed_forms_are_what_the_simulator_finds(tmp_path: Path) -> None:
    rows = written(SMALL["closed_forms"], tmp_path).data["closed_forms"]
    of_a_ring = [row for row in rows if (row["machine"], row["schedule"]) == ("Frontier", "ring")]
    assert len(of_a_ring) >= 3
    for row in of_a_ring:
        assert row["least"] == pytest.approx(1, rel=1e-6), row
        assert row["most"] == pytest.approx(1, rel=1e-6), row
    assert all(0 < row["least"] <= row["most"] for row in rows)


def test_figure_1_has_one_ring_beside_four(tmp_path: Path) -> None:
    """Given 4 nodes of 8 ranks: 31/32 of the buffer leave a node by one NIC of 25 GB/s, or by all four."""
    for row in written(SMALL["figure_1"], tmp_path).data["figure_1"]:
        through_one_ms = 31 / 32 * row["MiB"] * MIB / 25e9 * 1e3
        assert through_one_ms < row["MPICH, physical"] < 1.05 * through_one_ms
        assert through_one_ms / 4 < row["RCCL, physical"] < 1.1 * through_one_ms / 4


def test_figure_2_has_the_sizes_of_messages(tmp_path: Path) -> None:
    """Given h = 4096: 402,759,680 B of a block in FSDP, 2·4·h² B gathered, an eighth of that for each of 8."""
    rows = {row["model"]: row for row in written(SMALL["figure_2"], tmp_path).data["figure_2"]}
    row = next(row for name, row in rows.items() if "7B" in name)
    assert row["FSDP, both"] == 402_759_680 / MIB
    assert (row["ZeRO-3, gathered"], row["AxoNN, whole"], row["AxoNN, of 8"]) == (128.0, 128.0, 16.0)
    assert row["10⁹ parameters"] == pytest.approx(6.650068992)


def test_figure_3_counts_what_each_nic_moves(tmp_path: Path) -> None:
    """Given 16 ranks on two nodes and 512 MiB: one ring sends 15/16 of it by one NIC, four rings a quarter by each."""
    rows = written(SMALL["figure_3"], tmp_path).data["figure_3_nics"]
    moved = {(row["library"], row[""]): [row[f"NIC {nic}"] for nic in range(4)] for row in rows}
    assert moved["MPICH", "sent"] == [0, 0, 0, 480]
    assert moved["MPICH", "received"] == [480, 0, 0, 0]
    assert moved["RCCL", "sent"] == moved["RCCL", "received"] == [120] * 4


def test_figure_4_ends_where_the_paper_prints(tmp_path: Path) -> None:
    for row in written(SMALL["figure_4"], tmp_path).data["figure_4"]:
        assert row["printed"] == "10 to 15"
        assert 10 <= row["MPICH / RCCL"] <= 15
        assert row["MPICH moves"] < row["its ring, GPU adds"] < row["MPICH"] < row["MPICH, staged"]


def test_figure_6_has_the_quotient_of_the_equations(tmp_path: Path) -> None:
    (row,) = written(SMALL["figure_6_left"], tmp_path).data["figure_6_equations"]
    assert 1 < float(row["32"]) < float(row["128"])


def test_at_scale_nothing_is_faster_than_the_bound_or_slower_than_pccl(tmp_path: Path) -> None:
    rows = written(SMALL["scale"], tmp_path).data["scale_Frontier"]
    assert [(row["ranks"], row["MiB"]) for row in rows] == [(16_384, 16)] * 2
    for row in rows:
        assert row["Hemiola / bound"] >= 1
        assert row["Hemiola, ms"] <= row["PCCL, ms"] <= row["rings, ms"]


def test_every_section_has_a_name_for_the_command_line() -> None:
    assert set(pccl.PAPER.sections) == {*SMALL, "figure_6_right"}


def test_the_papers_equations_are_as_printed() -> None:
    """Given 8 ranks, 5 µs, 800 kB and 1 GB/s: 7·5 µs or 3·5 µs, and 7/8 of 800 µs."""
    assert closed_forms.equation_1(8, 800_000, 5e-6, 1e9) == pytest.approx(735e-6, rel=1e-12)
    assert closed_forms.equation_2(8, 800_000, 5e-6, 1e9) == pytest.approx(715e-6, rel=1e-12)


def test_a_ring_never_wins_by_the_papers_equations() -> None:
    grid = [(p, m, a) for p in (2, 4, 64, 4096) for m in (1e3, 1e9) for a in (0.0, 1e-6, 1e-3)]
    for p, m, alpha in grid:
        assert closed_forms.equation_1(p, m, alpha, 1e9) >= closed_forms.equation_2(p, m, alpha, 1e9)


def test_phases_on_frontier_are_what_a_pencil_finds() -> None:
    """Given 256 nodes of 8 GCDs and 1 GiB.

    Derivation: X = 255/256·2^30/(4·25 GB/s) = 10.6955 ms, Y = 7/8·2^30/(100 GB/s) = 9.3952 ms; eight rounds of 5 µs and
    two messages of 1 µs, 56 µs; seven hops of 2 µs inside, 14 µs. The shuffle reads and writes 2^30 bytes at 1.6 TB/s.
    """
    assert closed_forms.nic_s(FRONTIER, 256, 1 << 30) == pytest.approx(10.6955e-3, rel=1e-5)
    assert closed_forms.inside_s(FRONTIER, 1 << 30) == pytest.approx(9.39524e-3, rel=1e-5)
    expected = 10.695475e-3 + 9.395241e-3 + 56e-6 + 14e-6
    assert closed_forms.pccl_s(FRONTIER, 256, "recursive", 1 << 30) == pytest.approx(expected, rel=1e-6)
    assert closed_forms.shuffle_s(FRONTIER, 1 << 30) == pytest.approx(1.342177e-3, rel=1e-6)


@pytest.mark.parametrize("machine", [FRONTIER, PERLMUTTER], ids=lambda machine: machine.name)
@pytest.mark.parametrize("between", ["ring", "recursive"])
def test_pccls_reduce_scatter_takes_what_its_closed_form_says(machine: Any, between: str) -> None:
    nodes, nbytes = 4, 16 * MIB
    schedule = hm.algorithms.reduce_scatter_pccl(nodes, machine.ranks_per_node, between)
    simulated = hm.simulate(schedule, machine.network(nodes * machine.ranks_per_node), nbytes).seconds
    assert closed_forms.pccl_s(machine, nodes, between, nbytes) == pytest.approx(simulated, rel=1e-6)


def test_a_flat_ring_takes_what_its_closed_form_says() -> None:
    schedule, network = hm.algorithms.all_gather_ring(32), FRONTIER.network(32)
    for nbytes in (MIB, 16 * MIB, 256 * MIB):
        simulated = hm.simulate(schedule, network, nbytes).seconds
        assert closed_forms.rings_s(FRONTIER, 4, 1, nbytes) == pytest.approx(simulated, rel=1e-6)


def test_fitted_constants_give_what_the_paper_prints() -> None:
    """Recomputed from the constants alone: ratio = ((p-1)·hop + (p-1)/p·m/ring) / (log2 N·round + X + Y)."""
    for kind in KINDS:
        found = fitted.fitted(FRONTIER, kind)
        for cell in printed.FRONTIER[kind]:
            p, m, nodes = cell.rank_count, cell.size_mib * 2**20, cell.rank_count // 8
            rccl = (p - 1) * found.hop_s + (p - 1) / p * m / found.ring
            ours = (
                np.log2(nodes) * found.round_s
                + (nodes - 1) / nodes * m / found.between
                + 7 / 8 * m / found.inside
            )
            assert rccl / ours == pytest.approx(cell.ratio, rel=0.12)
            assert found.vendor_s(p, m) / found.pccl_s(p, m) == pytest.approx(rccl / ours, rel=1e-12)


def test_a_fit_is_the_same_every_time() -> None:
    once = fitted.fitted(FRONTIER, ALL_GATHER)
    fitted.fitted.cache_clear()
    assert fitted.fitted(FRONTIER, ALL_GATHER) == once


def test_the_hop_that_the_equations_need_gives_the_printed_ratio() -> None:
    for cell in printed.FRONTIER[ALL_GATHER]:
        hop_s = claims.needed_hop_s(cell, 100e9)
        if cell.ratio < 1:
            assert hop_s is None
            continue
        assert hop_s is not None
        at = (cell.rank_count, cell.size_mib * MIB, hop_s, 100e9)
        assert closed_forms.equation_1(*at) / closed_forms.equation_2(*at) == pytest.approx(cell.ratio)


def test_a_ring_receives_the_output_less_its_own_chunk() -> None:
    assert claims.received_share(8) == 7 / 8


def test_one_ring_uses_one_nic_each_way_and_four_rings_all() -> None:
    """Given 2 nodes: a ring in order takes 15/16 of the buffer over each border, out by NIC 3 and in by NIC 0."""
    machine, nbytes = FRONTIER, 16 * MIB
    network = hm.topologies.hosts(
        2, 8, 4, latency_s=0, bandwidth=machine.inside, nic_latency_s=0, nic_bandwidth=machine.nic
    )
    rings = traffic.rings(ALL_GATHER, 16)
    sent, received = traffic.nic_bytes(rings["MPICH"], network, nbytes)
    assert sent == pytest.approx([0, 0, 0, 15 * MIB])
    assert received == pytest.approx([15 * MIB, 0, 0, 0])
    sent, received = traffic.nic_bytes(rings["RCCL"], network, nbytes)
    assert sent == received == pytest.approx([15 * MIB / 4] * 4)


def test_one_rank_stands_for_its_node_between_nodes() -> None:
    """Between nodes all ranks do the same: one with all NICs takes as long."""
    nbytes = 64 * MIB
    one = between_nodes.reduce_scatter_s(FRONTIER, between_nodes.NETWORKS[0], 4, "ring", nbytes)
    assert one == pytest.approx(closed_forms.pccl_s(FRONTIER, 4, "ring", nbytes), rel=1e-6)


def test_a_ring_wins_between_nodes_where_groups_are_tapered() -> None:
    at = (16, 256 * MIB)
    ring, halving = (
        between_nodes.reduce_scatter_s(FRONTIER, between_nodes.NETWORKS[2], at[0], between, at[1])
        for between in ("ring", "recursive")
    )
    assert ring < halving


def test_message_sizes_are_what_a_pencil_finds() -> None:
    """Given h = 4096: 12h² + 13h = 201,379,840 parameters a block; 32 of them and 50,272·h make 6.65·10⁹."""
    model = training.Transformer("7B", 32, 4096)
    assert model.block == 201_379_840
    assert model.parameters == 32 * 201_379_840 + 50_272 * 4096
    assert training.fsdp(model) == (402_759_680, 402_759_680)
    assert training.zero_3(model) == (2 * 4 * 4096**2, 1_000_000_000)
    assert training.axonn(model, 8) == (2 * 4 * 4096**2 // 8,) * 2


def test_the_planner_is_never_behind_rings_or_pccl_at_the_papers_corners() -> None:
    for machine, ranks, size in ((FRONTIER, 32, 1024), (FRONTIER, 2048, 16), (PERLMUTTER, 512, 64)):
        times = speedups.physical_times(machine, ALL_GATHER, ranks, size * MIB)
        assert times.planned.seconds <= min(times.vendor_s, times.pccl_s, times.mpich_s)
        assert times.planned.seconds >= times.planned.bound_s


def test_ranks_that_fill_no_whole_nodes_are_refused() -> None:
    with pytest.raises(ArgumentError, match="multiples of 8, as Frontier's nodes have them, found 12"):
        FRONTIER.network(12)


@pytest.mark.parametrize("between", ["ring", "recursive"])
def test_messages_of_a_step_are_runs_of_chunks(between: str) -> None:
    """Given 4 ranks, 16 elements: halving sends rank 0's far half to rank 2 at once; a ring one block a step."""
    schedule = hm.algorithms.reduce_scatter_pccl(4, 1, between)
    steps = mpi4py_rank.messages_of(schedule, 0, 16)
    sizes = [[one.elements.stop - one.elements.start for one in sent] for sent, _ in steps]
    assert sizes == ([[4], [4], [4]] if between == "ring" else [[8], [4]])
    assert all(len(sent) == len(received) == 1 for sent, received in steps)


def test_what_is_missing_for_mpi_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(interpreted.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match="expected mpi4py and an mpirun, found no"):
        interpreted.figure_6_right(Report("small", "Small", tmp_path), "")


@pytest.mark.long
def test_the_schedule_in_python_and_in_the_engine_are_exact(tmp_path: Path) -> None:
    report = Report("small", "Small", tmp_path)
    setting = interpreted.Setting(2, "recursive", sizes=(4096, 1 << 16), rounds=1, repeats=3, warmups=1)
    interpreted.figure_6_right(report, "the command", [setting])
    rows = report.data["figure_6_right"]
    assert [row["wrong"] for row in rows] == [0, 0]
    for row in rows:
        assert row["mpi4py / engine by MPI"] == pytest.approx(row["mpi4py"] / row["engine by MPI"])
        assert min(row["mpi4py"], row["engine by MPI"], row["MPI's own"], row["engine by memory"]) > 0
