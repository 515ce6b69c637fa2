# SPDX-License-Identifier: Apache-2.0
"""`hemiola verify`: verdicts, explanations, exit codes. Which schedules are wrong is the judge's business."""

import pytest

import hemiola as hm
from hemiola.cli import verify as command


class _Fake:
    """A stand-in for what the judge says."""

    rule, step, rank, chunk = "missing_contribution", 6, 2, 1
    message = "rank 2 ends without rank 0's part of chunk 1"


def test_a_correct_algorithm_is_said_to_be_so(hemiola) -> None:
    ran = hemiola("verify", "all_reduce_ring", "--ranks", 4)
    assert ran.code == 0
    assert ran.out == "correct  all_reduce_ring: all_reduce, 4 ranks, 4 chunks, 6 steps, 24 transfers\n"


def test_json_lists_every_schedule_in_order(hemiola) -> None:
    ran = hemiola("verify", "all_reduce_ring", "all_gather_ring", "-n", 3, "--json")
    assert [entry["schedule"] for entry in ran.data] == ["all_reduce_ring", "all_gather_ring"]
    assert all(entry["is_correct"] and entry["violations"] == [] for entry in ran.data)


def test_a_wrong_schedule_exits_with_1_and_says_where(hemiola, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_violations", lambda schedule, **_: [_Fake()])
    ran = hemiola("verify", "all_reduce_ring", "--ranks", 4)
    assert ran.code == 1
    assert "1 violation" in ran.out
    assert _Fake.message in ran.out


def test_explain_shows_the_transfers_of_the_place(hemiola, monkeypatch: pytest.MonkeyPatch) -> None:
    # In the ring of 4, chunk 1 goes 2+3, 3+0, 0+1, 1>2, 2>3, 3>0: rank 2 is in steps 0, 3 and 4.
    monkeypatch.setattr(command, "find_violations", lambda schedule, **_: [_Fake()])
    ran = hemiola("verify", "all_reduce_ring", "--ranks", 4, "--explain")
    lines = [line.strip() for line in ran.out.splitlines()[2:]]
    assert lines == [
        "step 0: rank 2 adds its chunk into rank 3's",
        "step 3: rank 1 copies its chunk over rank 2's",
        "step 4: rank 2 copies its chunk over rank 3's",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["no such file"],
        ["all_reduce_ring"],
        ["/tmp"],
        ["all_reduce_ring", "-n", "0"],
        ["x\0y"],
        ["a" * 5000],
        [],
    ],
)
def test_what_is_no_schedule_is_one_line_and_exit_code_2(hemiola, arguments: list[str]) -> None:
    ran = hemiola("verify", *arguments)
    assert ran.is_users_mistake(), ran


def test_a_near_miss_is_told_the_name(hemiola) -> None:
    assert "all_reduce_ring" in hemiola("verify", "all_reduce_rng", "-n", 4).err


@pytest.mark.parametrize(("ranks", "said"), [(10, "100 violations"), (11, "more than 100 violations")])
def test_it_says_that_it_stopped_counting(hemiola, tmp_path, ranks: int, said: str) -> None:
    # Derivation: of an all-reduce without transfers every rank lacks every chunk: ranks times 10 violations.
    nothing = hm.Schedule.from_transfers(hm.Collective.with_owners("all_reduce", ranks, [0] * 10), [])
    nothing.save(tmp_path / "nothing.sched")
    ran = hemiola("verify", tmp_path / "nothing.sched")
    assert ran.code == 1
    assert f": {said} in" in " ".join(ran.out.split())
    assert ("at least 97 more" in ran.out) == (ranks > 10)
    entry = hemiola("verify", tmp_path / "nothing.sched", "--json").data[0]
    assert len(entry["violations"]) == 100
    assert entry["has_more_violations"] == (ranks > 10)
