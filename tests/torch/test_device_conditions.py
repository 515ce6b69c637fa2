# SPDX-License-Identifier: Apache-2.0
"""Late ranks, slow ranks and sparse data on the device path, over gloo's messages and with Triton's interpreter."""

from __future__ import annotations

from typing import Any

import pytest
from forked import run
from of_pytorch import needs_triton

import hemiola as hm
from hemiola.torch import Options
from hemiola.torch.errors import GroupArgumentError

FUNCTIONS = [
    "with_slow_ranks",
    "with_told_late_ranks",
    "with_found_late_ranks",
    "with_sparse_data",
    "captured",
    "in_groups",
    "refused",
]


@pytest.fixture(scope="module", params=[3, pytest.param(2, marks=pytest.mark.long)])
def found(request: pytest.FixtureRequest) -> dict[str, list[Any]]:
    """What every function has returned, by rank, on so many ranks."""
    told: dict[str, list[Any]] = {}
    for some in (FUNCTIONS[:2], FUNCTIONS[2:]):  # each has its own limit
        told |= run("device_condition_ranks", some, request.param)
    return told


@needs_triton
def test_a_slow_ranks_schedule_has_the_bits_of_the_hosts_executor(found: dict[str, list[Any]]) -> None:
    changed = found["with_slow_ranks"]
    assert len(set(changed)) == 1
    assert changed[0] > 0 or len(changed) == 2, "of two ranks alone none has anything to shift"


@needs_triton
def test_a_late_ranks_schedule_has_the_bits_of_the_hosts_executor(found: dict[str, list[Any]]) -> None:
    changed = found["with_told_late_ranks"]
    assert len(set(changed)) == 1
    assert changed[0] > 0 or len(changed) == 2, "of two ranks alone none reduces without the other"


@needs_triton
def test_ranks_agree_on_who_is_late_before_the_first_group_begins(found: dict[str, list[Any]]) -> None:
    n = len(found["with_found_late_ranks"])
    # A busy machine may keep another rank for longer than the one that sleeps.
    for around in found["with_found_late_ranks"]:
        assert around >= (n - 1 if n > 2 else 0)


@needs_triton
def test_coded_messages_are_shorter_and_leave_the_bits_of_plain_ones(found: dict[str, list[Any]]) -> None:
    for told in found["with_sparse_data"]:
        assert told == found["with_sparse_data"][0]
        empty, sparse, half, dense = told
        assert all(coded < 0.5 * plain for coded, plain in empty)
        for row in (sparse, half):
            assert row[0][0] < row[0][1]  # others may be too short for a bitmap to pay
            assert all(coded <= plain for coded, plain in row)
        assert all(coded == plain for coded, plain in dense)


@needs_triton
def test_options_that_do_not_fit_the_group_are_refused_on_all_ranks(found: dict[str, list[Any]]) -> None:
    for told in found["refused"]:
        assert [kind for kind, _ in told] == ["ArgumentError"] * 3 + ["MismatchError"] * 2 + ["ArgumentError"]
        n = len(found["refused"])
        assert f"found [{n}]" in told[0][1]
        assert f"found [{n + 1}]" in told[1][1]
        assert "no NIC 'mlx5_7'" in told[2][1]
        assert "rank 1 has another" in told[3][1]
        assert "rank 1 has another" in told[4][1]
        assert f"found {n + 1}" in told[5][1]


@needs_triton
def test_a_groups_options_reach_its_device(found: dict[str, list[Any]]) -> None:
    n = len(found["in_groups"])
    for told in found["in_groups"]:
        assert told == [[float(n), *(1.0 + rank for rank in range(n))]] * 3


@needs_triton
def test_a_graph_may_not_capture_what_is_asked_in_each_operation(found: dict[str, list[Any]]) -> None:
    for sparse, late, plain in found["captured"]:
        assert sparse.startswith("device_sparse: expected no graph that captures")
        if len(found["captured"]) > 2:
            assert late.startswith("device_finds_late: expected no graph that captures")
        assert plain == "nothing"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"device_conditions": hm.Conditions(density=0.5)},
            "device_conditions: found conditions with density",
        ),
        (
            {"device_conditions": hm.Conditions(late={1: 1e-3}), "device_finds_late": True},
            "expected no late rank in device_conditions",
        ),
        ({"device_sparse": True, "device_finds_late": True}, "device_sparse: expected nobody late"),
        (
            {"device_sparse": True, "device_conditions": hm.Conditions(late={1: 1e-3})},
            "device_sparse: expected nobody late",
        ),
    ],
    ids=["density", "late twice", "late and sparse", "told late and sparse"],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(GroupArgumentError, match=text):
        Options(**options)
