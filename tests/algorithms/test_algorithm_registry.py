# SPDX-License-Identifier: Apache-2.0
"""The registry: what it lists, how it answers questions that make no sense."""

import re
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.algorithms.in_switch import NAMES as IN_SWITCH_NAMES
from hemiola.errors import ArgumentError

NAMES = hm.algorithms.names()
CONDITIONAL = [name for needs in ["late", "slow", "topology"] for name in hm.algorithms.names(needs=needs)]
REQUIRED = [
    "all_gather_ring",
    "all_gather_ring_two_way",
    "reduce_scatter_ring",
    "reduce_scatter_ring_two_way",
    "all_reduce_ring",
    "all_reduce_ring_two_way",
    "all_gather_direct",
    "reduce_scatter_direct",
    "all_reduce_direct",
    "all_gather_recursive_doubling",
    "reduce_scatter_recursive_halving",
    "all_reduce_recursive_doubling",
    "all_reduce_recursive_halving_doubling",
    "all_gather_bruck",
    "all_reduce_double_binary_tree",
    "broadcast_binomial",
    "broadcast_chain",
    "reduce_binomial",
    "reduce_chain",
    "all_to_all_direct",
    "all_to_all_pairwise",
    "gather_direct",
    "gather_binomial",
    "scatter_direct",
    "scatter_binomial",
]


def test_names_are_unique_and_say_their_collective() -> None:
    assert len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        assert name.startswith(hm.algorithms.get(name).kind + "_")
        assert re.fullmatch(r"[a-z0-9_]+", name)


def test_the_classical_algorithms_are_there() -> None:
    assert set(REQUIRED) <= set(NAMES)


def test_names_of_one_collective() -> None:
    assert hm.algorithms.names("all_reduce") == [n for n in NAMES if n.startswith("all_reduce_")]
    assert hm.algorithms.names(kind="custom") == []


def test_algorithms_that_need_more_than_a_rank_count_are_listed_apart() -> None:
    assert "all_reduce_late" in hm.algorithms.names(needs="late")
    assert "all_reduce_weighted_exchange" in hm.algorithms.names(needs="slow")
    assert "all_reduce_themis" in hm.algorithms.names("all_reduce", needs="topology")
    assert not set(CONDITIONAL) & set(NAMES)
    with pytest.raises(ArgumentError, match="early"):
        hm.algorithms.names(needs="early")


@pytest.mark.parametrize("name", CONDITIONAL)
def test_a_rank_count_is_not_enough_for_them(name: str) -> None:
    algorithm = hm.algorithms.get(name)
    assert not algorithm.is_valid(8)
    for ask in [algorithm.generate, algorithm.step_count, algorithm.transfer_count]:
        with pytest.raises(ArgumentError, match=algorithm.needs):
            ask(8)


def test_every_name_is_exported() -> None:
    no_schedules = {
        "all_reduce_recursive_multiplying_transfers",
        "best_optcc_segment_count",
        "best_segment_count",
    }
    registry = {
        "Algorithm",
        "Candidate",
        "Paper",
        "Task",
        "Variant",
        "candidates",
        "get",
        "names",
        "register",
    }
    parts = {name for name in hm.algorithms.__all__ if name.endswith("_parts")}
    in_switch = {"InSwitch", *IN_SWITCH_NAMES}
    functions = set(hm.algorithms.__all__) - registry - no_schedules - parts - in_switch
    assert functions == {*NAMES, *CONDITIONAL}
    assert all(hasattr(hm.algorithms, name) for name in hm.algorithms.__all__)


def test_every_paper_is_in_the_bibliography() -> None:
    bibliography = (Path(__file__).parents[2] / "docs" / "references.bib").read_text()
    keys = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
    for name in [*NAMES, *CONDITIONAL]:
        paper = hm.algorithms.get(name).paper
        assert paper.key in keys
        assert re.search(r"(19|20)\d\d", paper.citation)


def test_entries_describe_themselves() -> None:
    ring = hm.algorithms.get("all_reduce_ring")
    assert ring.name == "all_reduce_ring"
    assert ring.kind == "all_reduce"
    assert ring.paper.key == "patarasuk2009"
    assert ring.sizes == "any n ≥ 1"
    assert ring.formula == "2(n-1)·α + 2(n-1)/n·N·β"
    assert ring.needs == ""
    assert not ring.is_rooted
    assert not ring.is_pipelined
    assert repr(ring) == "<Algorithm all_reduce_ring>"
    assert hm.algorithms.get("broadcast_chain").is_rooted
    assert hm.algorithms.get("broadcast_chain").is_pipelined


@pytest.mark.parametrize("name", NAMES)
def test_validity_is_a_matter_of_rank_and_transfer_count(name: str) -> None:
    algorithm = hm.algorithms.get(name)
    assert all(algorithm.is_valid(n) for n in range(1, 257))
    assert not any(algorithm.is_valid(n) for n in [0, -1, 2**20 + 1, 2**40])


def test_too_many_transfers_are_refused_before_memory_is_touched() -> None:
    """A million ranks all to all would be 10^12 transfers; 2^28 are allowed."""
    direct = hm.algorithms.get("all_to_all_direct")
    assert not direct.is_valid(1_000_000)
    with pytest.raises(ArgumentError, match="transfers"):
        direct.generate(1_000_000)
    assert hm.algorithms.get("broadcast_binomial").is_valid(1_000_000)
    with pytest.raises(ArgumentError, match="transfers"):
        hm.algorithms.broadcast_chain(1000, chunk_count=1_000_000)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ArgumentError, match="all_reduce_rng"):
        hm.algorithms.get("all_reduce_rng")
    with pytest.raises(ArgumentError, match="all_reduced"):
        hm.algorithms.names("all_reduced")


@pytest.mark.parametrize("rank_count", [0, -3, 2**20 + 1])
def test_rank_counts_out_of_range_are_refused(rank_count: int) -> None:
    with pytest.raises(ArgumentError, match=str(rank_count)):
        hm.algorithms.all_reduce_ring(rank_count)


@pytest.mark.parametrize("root", [-1, 4])
def test_roots_out_of_range_are_refused(root: int) -> None:
    with pytest.raises(ArgumentError, match=f"root {root}"):
        hm.algorithms.broadcast_binomial(4, root=root)


def test_a_root_for_an_unrooted_collective_is_refused() -> None:
    with pytest.raises(ArgumentError, match="root"):
        hm.algorithms.get("all_reduce_ring").generate(4, root=1)


@pytest.mark.parametrize("chunk_count", [0, -2, 3, 2**40])
def test_chunk_counts_that_do_not_fit_are_refused(chunk_count: int) -> None:
    with pytest.raises(ArgumentError, match=f"found {chunk_count}"):
        hm.algorithms.all_reduce_double_binary_tree(4, chunk_count=chunk_count)


def test_a_chunk_count_for_an_algorithm_that_chooses_its_own_is_refused() -> None:
    with pytest.raises(ArgumentError, match="chunk_count"):
        hm.algorithms.get("all_reduce_ring").generate(4, chunk_count=8)


@pytest.mark.parametrize(
    ("nbytes", "latency_s", "bandwidth"),
    [(-1, 1e-6, 1e9), (10, -1e-6, 1e9), (10, float("nan"), 1e9), (10, 1e-6, 0.0), (10, 1e-6, float("inf"))],
)
def test_costs_of_impossible_networks_are_refused(nbytes: int, latency_s: float, bandwidth: float) -> None:
    with pytest.raises(ArgumentError):
        hm.algorithms.get("all_reduce_ring").seconds(4, nbytes, latency_s, bandwidth)
