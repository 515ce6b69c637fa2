# SPDX-License-Identifier: Apache-2.0
"""TACOS's report: its measures against hand-worked cases, and every section on networks small enough for a test."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from small_reports import written

import hemiola as hm
from papers import tacos
from papers.report import Report
from papers.tacos import (
    asymmetric,
    baselines,
    executed,
    measure,
    motivation,
    pictures,
    scale,
    symmetric,
    targets,
)
from papers.tacos.random_matching import all_reduce_by_random_matching

COST = {"latency_s": 1e-6, "bandwidth": 1e9}
SMALL = {
    "slots": partial(targets.slots, largest=100),
    "heterogeneous": partial(targets.unequal_meshes, largest=64),
    "figure_2b": partial(motivation.figure_2b, rank_count=8),
    "figure_14": motivation.figure_14,
    "table_v": partial(symmetric.table_v, node_counts=[2]),
    "figure_16": partial(
        symmetric.figure_16,
        grids=[symmetric.Grid("3D torus 2x2x3", (2, 2, 3), "ring", COST)],
        sizes=[measure.MB],
    ),
    "figure_17a": partial(
        asymmetric.figure_17a,
        grids=[symmetric.Grid("2D mesh 3x3", (3, 3), "line", COST)],
        sizes=[measure.MB],
    ),
    "figure_17b": partial(asymmetric.figure_17b, sizes=[measure.MB]),
    "figure_18": partial(asymmetric.figure_18, side=2, nbytes=measure.MB),
    "baselines": partial(baselines.baselines, on={"a square": hm.topologies.mesh([2, 2], **COST)}),
    "stronger": partial(baselines.stronger, node_counts=[2], sides=[2]),
    "figure_19": partial(scale.figure_19, meshes=[3, 10, 12], grids=[2]),
    "executed": partial(
        executed.executed, networks={"a square": hm.topologies.mesh([2, 2], **COST)}, nbytes=800
    ),
}


@pytest.mark.parametrize(
    "section",
    [name if name in ("slots", "stronger") else pytest.param(name, marks=pytest.mark.long) for name in SMALL],
)
def test_a_section_writes_true_tables_and_the_pictures_it_names(section: str, tmp_path: Path) -> None:
    written(SMALL[section], tmp_path)


@pytest.mark.long
def test_executed_all_reduces_are_exact(tmp_path: Path) -> None:
    report = Report("small", "Small", tmp_path)
    networks = {"a path": hm.topologies.mesh([3], **COST)}
    executed.executed(report, "", networks=networks, nbytes=1000)
    assert [(row["schedule"], row["wrong"]) for row in report.data["executed"]] == [
        ("Ring", 0),
        ("Hemiola", 0),
    ]


def test_every_section_has_a_name_for_the_command_line() -> None:
    assert set(SMALL) <= set(tacos.PAPER.sections)


def test_slots_are_within_one_of_the_bound(tmp_path: Path) -> None:
    report = Report("small", "Small", tmp_path)
    targets.slots(report, "", largest=100)
    for row in report.data["slots"]:
        assert row["bound"] <= row["Hemiola"] <= row["bound"] + 1


def test_slot_bound_of_a_mesh_is_that_of_its_corners() -> None:
    """Given a 3x3 mesh: a corner receives 8 chunks over 2 links; with 4 per rank 32."""
    mesh = hm.topologies.mesh([3, 3], **COST)
    assert targets.slot_bound(mesh, 1) == 4
    assert targets.slot_bound(mesh, 4) == 16


def test_ideal_is_the_papers_formula() -> None:
    """Given a ring of 4, 1 GB/s and 1 µs a link: 2·3/4 of 8 GB through 2 GB/s takes 6 s; two ranks are 2 µs apart."""
    ring = hm.topologies.ring(4, **COST)
    assert measure.ideal_s(ring, 8_000_000_000) == pytest.approx(6 + 2e-6, rel=1e-12)


def test_ideal_counts_a_rank_s_ports_on_switches() -> None:
    """Given 4 ranks with one port of 1 GB/s on a switch, 1 µs from rank to rank: 2·3/4 of 8 GB takes 12 s."""
    assert measure.ideal_s(hm.topologies.switch(4, **COST), 8_000_000_000) == pytest.approx(12 + 1e-6)


def test_link_bytes_of_a_ring_all_reduce_are_the_same_everywhere() -> None:
    """Given 4 ranks around a one-way ring: every link carries 2·3/4 of the buffer."""
    ring = hm.topologies.ring(4, bidirectional=False, **COST)
    carried = measure.link_bytes(hm.algorithms.all_reduce_ring(4), ring, 4_000_000)
    assert carried.tolist() == pytest.approx([6_000_000] * 4)


def test_utilization_is_the_share_of_time_that_links_are_busy() -> None:
    """Given 4 ranks around a one-way ring without latency: 6 steps of 1 ms, all links busy; then nothing."""
    ring = hm.topologies.ring(4, latency_s=0, bandwidth=1e9, bidirectional=False)
    edges = np.array([0, 3e-3, 6e-3, 9e-3])
    shares = measure.utilization(hm.algorithms.all_reduce_ring(4), ring, 4_000_000, edges)
    assert shares.tolist() == pytest.approx([1, 1, 0])


def test_synthesized_keeps_the_fastest_of_chunk_counts_and_forests() -> None:
    mesh = hm.topologies.mesh([2, 3], **COST)
    each = [measure.synthesized(mesh, measure.MB, [chunks]).seconds for chunks in (1, 4)]
    best = measure.synthesized(mesh, measure.MB, [1, 4])
    assert best.seconds == min(each)
    assert best.how.split()[1] in ("chunks", "pieces")


def test_a_forest_is_taken_where_it_is_faster() -> None:
    """Given a DGX-1, whose GPUs have unequal links: matching one chunk at a time reaches two thirds of the bound."""
    box = hm.topologies.dgx1(latency_s=0.7e-6, bandwidth=25e9)
    best = measure.synthesized(box, measure.GB, [1, 2])
    assert best.how.endswith("pieces")
    assert measure.bound_s(box, measure.GB) > 0.99 * best.seconds


@pytest.mark.parametrize(
    ("name", "steps"), [("fully_connected", 1), ("ring", 3)], ids=["fully connected", "one-way ring"]
)
def test_random_matching_of_networks_that_leave_no_choice(name: str, steps: int) -> None:
    """Given 4 ranks: one step where all are linked, three around a one-way ring; twice for a sum."""
    ways = {} if name == "fully_connected" else {"bidirectional": False}
    network = getattr(hm.topologies, name)(4, **COST, **ways)
    matched = all_reduce_by_random_matching(network, measure.MB)
    assert (matched.step_count, matched.transfer_count) == (2 * steps, 24)


@pytest.mark.parametrize("seed", range(3))
def test_random_matching_sends_what_is_there_on_unequal_links_too(seed: int) -> None:
    mesh = hm.topologies.mesh([3, 4], latency_s=1e-6, bandwidth=[1e9, 3e9])
    matched = all_reduce_by_random_matching(mesh, measure.MB, chunks_per_rank=2, seed=seed)
    assert hm.verify(matched, topology=mesh) == []
    assert matched.transfer_count == 2 * 12 * 11 * 2
    again = all_reduce_by_random_matching(mesh, measure.MB, chunks_per_rank=2, seed=seed)
    assert matched.digest == again.digest


def test_link_matrix_tells_idle_links_from_absent_ones() -> None:
    ring = hm.topologies.ring(3, bidirectional=False, **COST)
    matrix = pictures.link_matrix(ring, np.array([1.0, 0.0, 2.0]))
    assert matrix[0, 1] == 1
    assert matrix[1, 2] == 0
    assert np.isnan(matrix[1, 0])


def test_a_part_of_a_report_takes_its_older_self_s_place_and_keeps_the_rest(tmp_path: Path) -> None:
    whole = Report("r", "Title", tmp_path)
    whole.section("One", "old one", "c")
    whole.section("Two", "old two", "c")
    whole.write()
    for heading, text in (("One", "new one"), ("Three", "new three")):
        part = Report("r", "Title", tmp_path, part=True)
        part.section(heading, text, "c")
        part.write()
    text = whole.path.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith(("#", "old", "new"))] == [
        "# Title", "## One", "new one", "## Two", "old two", "## Three", "new three",
    ]  # fmt: skip


@pytest.mark.long
def test_a_large_mesh_is_written_read_back_and_verified(tmp_path: Path) -> None:
    report = Report("tacos", "Small", tmp_path)
    scale.keep(scale.record_in(report.path.parent), scale.on_disk([10, 10, 10]))
    scale.large(report, "")
    [row] = report.data["large_3D"]
    assert (row["ranks"], row["slots"], row["bound"], row["violations"]) == (1000, 333, 333, 0)
    assert report.data["large_2D"] == []


@pytest.mark.long
@pytest.mark.parametrize("name", executed.small_networks())
def test_a_synthesized_all_reduce_is_exact_on_real_processes_over_each_small_graph(name: str) -> None:
    # The same graphs with links a thousand times as fast: what is tested is the sum, not the time.
    slow = executed.small_networks()[name]
    links = [
        (int(link["src"]), int(link["dst"]), 1e-6, 1e3 * float(link["bandwidth"])) for link in slow.links
    ]
    network = hm.Topology(slow.rank_count, links)
    schedules = {"Hemiola": executed.fastest(network, 28_800)}
    assert hm.verify(schedules["Hemiola"], topology=network) == []
    assert executed.measure(network, schedules, 28_800, repetitions=1)["Hemiola"].wrong == 0
