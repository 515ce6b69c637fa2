# SPDX-License-Identifier: Apache-2.0
"""Collectives with an array of any size for each rank."""

from __future__ import annotations

from collections.abc import Callable

import block_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 90


@pytest.fixture(params=["shm", "tcp"])
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ranks share memory, or meet as those of several hosts do."""
    if request.param == "tcp":
        monkeypatch.setenv("HEMIOLA_WIRE", "tcp")
        monkeypatch.setenv("HEMIOLA_INTERFACE", "127.0.0.0/8")


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("work_of_ranks", [work.exchanged, work.gathered, work.scattered])
def test_blocks_of_any_sizes_and_types_arrive_where_they_belong_and_nowhere_else(
    work_of_ranks: Callable[[], list[str]],
) -> None:
    assert hm.launch(work_of_ranks, 3, timeout_s=LIMIT_S) == [[], [], []]


@pytest.mark.parametrize("work_of_ranks", [work.gathered, work.scattered])
def test_blocks_are_gathered_and_reduced_on_an_emulated_network(
    work_of_ranks: Callable[[], list[str]],
) -> None:
    network = hm.topologies.hosts(
        2, 2, 1, latency_s=1e-6, bandwidth=1e10, nic_latency_s=5e-6, nic_bandwidth=1e9
    )
    assert hm.launch(work_of_ranks, 4, emulate=network, timeout_s=LIMIT_S) == [[]] * 4


@pytest.mark.usefixtures("wire")
def test_ranks_that_disagree_about_gathered_and_reduced_blocks_all_hear_of_it() -> None:
    alike = ("longer", "as many in all", "dtype", "background", "op", "another call")
    for rank, found in enumerate(hm.launch(work.disagreeing_about_all, 3, timeout_s=LIMIT_S)):
        assert found.pop("afterwards") == ("", "")
        for name, (kind, text) in found.items():
            is_own = rank == 1 and name.split(": ")[-1] not in alike
            assert kind == ("ArgumentError" if is_own else "MismatchError"), (name, text)
            assert "rank 1" in text or rank == 1, (name, text)
        for name in ("gathered: as many in all", "reduced: as many in all"):
            assert "blocks of 3, 2, 1 elements of float64" in found[name][1]


@pytest.mark.usefixtures("wire")
def test_ranks_that_disagree_about_blocks_all_hear_who_and_what_before_anything_moves() -> None:
    for rank, found in enumerate(hm.launch(work.disagreeing, 3, timeout_s=LIMIT_S)):
        assert found.pop("afterwards") == ("", "")
        for name, (kind, text) in found.items():
            is_own = rank == 1 and name not in ("size", "dtype", "in the background")
            assert kind == ("ArgumentError" if is_own else "MismatchError"), (name, text)
            assert "rank 1" in text or is_own
        for name in ("size", "in the background"):
            assert "rank 0 gives rank 1 2 elements, rank 1 expects 1 of rank 0" in found[name][1]
        assert "float64" in found["dtype"][1]
        assert "int64" in found["dtype"][1]


def test_lists_of_equal_arrays_are_used_where_they_lie_beside_ranks_that_pass_one_array() -> None:
    assert hm.launch(work.lists, 4, timeout_s=LIMIT_S) == [[], [], [], []]


def test_what_is_wrong_with_a_list_is_told_to_all_and_they_go_on() -> None:
    zero, one = hm.launch(work.wrong_lists, 2, timeout_s=LIMIT_S)
    assert zero.pop("afterwards") == one.pop("afterwards") == ("", "")
    for name, words in (
        ("count", "out is a list of 1 arrays, expected one for each of 2 ranks"),
        ("sizes", "array 1 of the list: expected 2 elements of float64, as in the first, found 3"),
        ("dtypes", "found 2 of int64"),
        ("empty", "found an empty list"),
        ("what", "array 1 of the list: expected an array"),
        ("read-only", "read-only"),
        ("over the input", "must be apart"),
        ("no blocks", "the array is a list of 2 arrays, expected one array"),
    ):
        assert one[name][0] == "ArgumentError", (name, one[name])
        assert zero[name][0] == "MismatchError", (name, zero[name])
        assert words in one[name][1]
        assert words in zero[name][1]
    for seen in (zero, one):
        assert seen["other sizes"][0] == "MismatchError"
        assert "float64[2, 2]" in seen["other sizes"][1] or "float64[2,2]" in seen["other sizes"][1]


@pytest.mark.parametrize("hosts", [2, 3])
def test_blocks_that_ranks_pass_on_to_share_nics_arrive_where_they_belong(hosts: int) -> None:
    network = hm.topologies.hosts(
        hosts, 2, 2, latency_s=1e-6, bandwidth=1e10, nic_latency_s=5e-6, nic_bandwidth=1e8
    )
    found = hm.launch(work.exchanged_over_nics, 2 * hosts, emulate=network, timeout_s=LIMIT_S)
    assert found == [[]] * (2 * hosts)


def test_blocks_must_be_as_long_as_their_schedule_says() -> None:
    for kind, text in hm.launch(work.exchanged_by_another_schedule, 2, timeout_s=LIMIT_S):
        assert kind == "ArgumentError"
        assert "elements, as was agreed, found 3" in text


@pytest.mark.usefixtures("wire")
def test_blocks_move_by_a_plan_for_their_sizes_and_by_no_other() -> None:
    for rank, found in enumerate(hm.launch(work.exchanged_as_planned, 4, timeout_s=LIMIT_S)):
        assert found.pop("planned") == found.pop("afterwards") == ("", "")
        kind, text = found.pop("another table")
        assert kind == "MismatchError"
        assert f"the schedule has 5 bytes from rank 0 to rank 1, the block there has {work.LONG}" in text
        for name, (kind, text) in found.items():
            is_own = rank == 1 and name in ("a name on one", "an all-gather on one", "a wrong one on one")
            assert kind == ("ArgumentError" if is_own else "MismatchError"), (name, text)
            assert is_own or "rank 1" in text, (name, text)
