# SPDX-License-Identifier: Apache-2.0
"""Times of a rank's messages: those of the schedule, of the latest operations, and none where nobody asks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import hemiola as hm
from hemiola.transfers.recorded import measured_operation, whole_operations

#: Messages of three operations of a ring, as many as are kept: the measurements of `init` are numbered before.
RANKS, KEPT = 3, 24


def recorded(sizes: list[int]) -> NDArray[np.void]:
    """Be a rank: run a ring on arrays of these sizes, and return what it has kept, numbered from the first of them."""
    with hm.init() as comm:
        for size in sizes:
            comm.all_reduce(
                np.ones(size, np.float32), schedule=hm.algorithms.all_reduce_ring(comm.rank_count)
            )
        found = comm.transfers()
    found["operation"] -= found["operation"].max(initial=0) - len(sizes) + 1
    return found


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[NDArray[np.void]]:
    """What ranks have kept of three operations, of 8 messages each."""
    monkeypatch.setenv("HEMIOLA_RECORD_TRANSFERS", str(KEPT))
    return hm.launch(recorded, RANKS, [3000, 3000, 6000])


def test_rows_are_the_schedule_s_transfers_with_their_times(kept: list[NDArray[np.void]]) -> None:
    ring = {
        tuple(row)
        for row in np.asarray(hm.algorithms.all_reduce_ring(RANKS).transfers)[
            ["step", "src", "dst", "chunk", "reduce"]
        ].tolist()
    }
    for rank, rows in enumerate(kept):
        assert rows["operation"].tolist() == [0] * 8 + [1] * 8 + [2] * 8
        assert rows["nbytes"].tolist() == [4000] * 16 + [8000] * 8
        latest = rows[rows["operation"] == 2]
        own = {tuple(row) for row in latest[["step", "src", "dst", "chunk", "reduce"]].tolist()}
        assert own == {row for row in ring if rank in row[1:3]}
        assert ((rows["src"] == rank) == rows["sent"]).all()
        assert (rows["end_s"] >= rows["begin_s"]).all()


def test_both_ends_of_all_messages_make_a_whole_operation(kept: list[NDArray[np.void]]) -> None:
    assert list(whole_operations(kept)) == [0, 1, 2]
    messages = measured_operation(kept, RANKS)
    assert len(messages) == hm.algorithms.all_reduce_ring(RANKS).transfer_count
    assert messages["begin_s"].min() >= 0
    assert (messages["land_s"] >= messages["begin_s"]).all()
    # A rank passes on only what has come: its message of a step begins after the one of the step before has landed.
    for message in messages[messages["step"] > 0]:
        (before,) = messages[
            (messages["dst"] == message["src"])
            & (messages["step"] == message["step"] - 1)
            & (messages["chunk"] == message["chunk"])
        ]
        assert message["begin_s"] >= before["land_s"]


def test_an_operation_of_which_one_message_lacks_an_end_is_not_whole(kept: list[NDArray[np.void]]) -> None:
    kept[1] = kept[1][:-1]
    assert list(whole_operations(kept)) == [0, 1]
    unfinished = kept[0].copy()
    unfinished["end_s"][unfinished["operation"] == 1] = np.nan
    assert list(whole_operations([unfinished, *kept[1:]])) == [0]
    with pytest.raises(hm.ArgumentError, match="HEMIOLA_RECORD_TRANSFERS"):
        measured_operation([rows[:3] for rows in kept], RANKS)
    with pytest.raises(hm.ArgumentError, match="of 3 ranks, found those of 2"):
        measured_operation(kept[:2], RANKS)
    with pytest.raises(hm.ArgumentError, match="found int64 of rank 0"):
        whole_operations([np.zeros(3, np.int64)])


def test_the_latest_messages_are_kept_and_by_default_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(rows) for rows in hm.launch(recorded, 2, [1000])] == [0, 0]
    monkeypatch.setenv("HEMIOLA_RECORD_TRANSFERS", "5")
    for rows in hm.launch(recorded, RANKS, [3000, 3000]):
        assert rows["operation"].tolist() == [1] * 5
