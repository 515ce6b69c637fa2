"""One slow rank on a grid whose port between rows stays idle: right, in the time of all other ports, and run."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.algorithms import slow_bypass
from hemiola.errors import ArgumentError

NBYTES = 256 << 20


def grid(width: int, rows: int) -> hm.Topology:
    return hm.topologies.switch_2d([width, rows], latency_s=0, bandwidth=[3000e9, 25e9])


@pytest.mark.parametrize("dims", [(4, 4), (4, 3), (3, 4), (5, 6)])
def test_it_is_right_and_leaves_the_slow_port_idle(dims: tuple[int, int]) -> None:
    width, rows_count = dims
    for slow_rank in (0, width + 1, width * rows_count - 1):
        for segments in (1, 2, 7):
            schedule = hm.algorithms.all_reduce_bypassed_rail(dims, {slow_rank: 4.0}, segments)
            assert hm.verify(schedule, topology=grid(*dims)) == []
            rows = schedule.transfers
            is_inside = rows["src"] // width == rows["dst"] // width
            assert (is_inside | (rows["src"] % width == rows["dst"] % width)).all(), "along a row or a column"
            between = rows[~is_inside]
            assert slow_rank not in set(between["src"]) | set(between["dst"])


@pytest.mark.parametrize("dims", [(4, 4), (4, 3), (3, 4)])
def test_all_other_ports_between_rows_share_what_is_to_be_sent(dims: tuple[int, int]) -> None:
    # Given R rows of W: each byte goes 2(R - 1) times from row to row, through RW - 1 ports; units are whole, and of
    # five bodies more that fill and empty the pipeline only parts are there.
    width, rows = dims
    share, segments = 2 * (rows - 1) / (rows * width - 1), 64
    schedule = hm.algorithms.all_reduce_bypassed_rail(dims, {0: 4.0}, segments)
    seconds = hm.simulate(schedule, grid(*dims), NBYTES, hm.Conditions(slow={0: 4.0})).seconds
    assert share <= seconds / (NBYTES / 25e9) <= share * (segments + 5) / segments * 1.03


@pytest.mark.parametrize(
    ("dims", "slow", "segments", "named"),
    [
        ([4], {0: 4.0}, 2, "two dims"),
        ([4, 2], {0: 4.0}, 2, "3 rows"),
        ([32, 32], {0: 4.0}, 2, "256 ranks"),
        ([4, 4], {}, 2, "one slow rank, found 0"),
        ([4, 4], {0: 4.0, 1: 2.0}, 2, "one slow rank, found 2"),
        ([2, 4], {0: 4.0}, 2, "too few ports"),
        ([3, 3], {0: 4.0}, 2, "too few ports"),
        ([4, 4], {16: 2.0}, 2, "0 … 15"),
        ([4, 4], {0: 2.0}, 0, "segments"),
    ],
)
def test_what_cannot_be_is_refused(
    dims: list[int], slow: dict[int, float], segments: int, named: str
) -> None:
    with pytest.raises(ArgumentError, match=named):
        hm.algorithms.all_reduce_bypassed_rail(dims, slow, segments)


def summed() -> bool:
    comm = hm.init()
    x = np.arange(36_000, dtype=np.int64) * (comm.rank + 1)
    comm.all_reduce(x, schedule=hm.algorithms.all_reduce_bypassed_rail([4, 3], {5: 4.0}, 3))
    return bool((x == np.arange(36_000) * 78).all())


@pytest.mark.long
def test_a_communicator_runs_it() -> None:
    network = hm.topologies.switch_2d([4, 3], latency_s=1e-6, bandwidth=[1e9, 1e8])
    now = hm.Conditions(slow={5: 4.0})
    assert hm.launch(summed, 12, emulate=network, conditions=now, timeout_s=120) == [True] * 12


@pytest.mark.parametrize("dims", [(4, 4), (3, 5), (5, 6), (4, 6)])
def test_its_messages_are_counted_without_writing_them(dims: tuple[int, int]) -> None:
    schedule = hm.algorithms.all_reduce_bypassed_rail(dims, {0: 4.0}, segments=1)
    assert slow_bypass._message_count(*dims) == schedule.transfer_count


def test_a_pattern_too_large_for_a_plan_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> None:
        raise AssertionError("written")

    monkeypatch.setattr(slow_bypass, "_Bodies", write)
    network = hm.topologies.switch_2d([16, 8], latency_s=1e-6, bandwidth=[300e9, 25e9])
    hm.plan(network, "all_reduce", NBYTES, hm.Conditions(slow={5: 4.0}), effort=0.01)
