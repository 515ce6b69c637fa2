# SPDX-License-Identifier: Apache-2.0
"""All-reduces around a late rank on large networks: matched both ways, right by `verify`, and near a broadcast."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import late_matched, search

COST = {"latency_s": 0.5e-6, "bandwidth": 50e9}
NBYTES, DELAY_S = 256 << 20, 1.0
NETWORKS = {
    "torus": lambda: hm.topologies.torus([5, 5, 5], **COST),
    "mesh": lambda: hm.topologies.mesh([6, 5], **COST),
    "ring": lambda: hm.topologies.ring(9, **COST),
    "2D switch": lambda: hm.topologies.switch_2d([4, 4], latency_s=[0.5e-6, 1e-6], bandwidth=[300e9, 25e9]),
    "RFS": lambda: hm.topologies.rfs_3d([2, 4, 4], latency_s=[0.5e-6] * 3, bandwidth=[200e9, 100e9, 50e9]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_whoever_is_late_is_added_exactly_once(name: str) -> None:
    network = NETWORKS[name]()
    for late_rank in (0, network.rank_count // 2, network.rank_count - 1):
        for chunks in (1, 40):
            schedule = late_matched(network, late_rank, chunks=chunks)
            assert hm.verify(schedule, topology=network) == [], (late_rank, chunks)
            rows = schedule.transfers
            assert late_rank not in schedule.collective.owner
            # The late rank gets every chunk once, complete.
            assert sorted(rows["chunk"][rows["dst"] == late_rank]) == list(range(chunks))
            assert not rows["reduce"][rows["dst"] == late_rank].any()


@pytest.mark.parametrize("name", ["torus", "mesh", "ring"])
def test_what_is_left_after_the_arrival_is_the_broadcast(name: str) -> None:
    # Derivation: links back to the late rank are idle in a broadcast from it, so that only the last chunk's way back
    # comes on top: a latency and what a link takes for a chunk.
    network, late_rank, chunks = NETWORKS[name](), 4, 256
    broadcast = search(
        network, "broadcast", chunks, root=late_rank, nbytes=NBYTES, trials=1, threads=1, progress=False
    )
    schedule = late_matched(network, late_rank, chunks=chunks, nbytes=NBYTES)
    late = hm.Conditions(late={late_rank: DELAY_S})
    after_s = hm.simulate(schedule, network, NBYTES, late).seconds - DELAY_S
    back_s = COST["latency_s"] + NBYTES / chunks / COST["bandwidth"]
    assert broadcast.seconds <= after_s + 1e-9
    assert after_s <= broadcast.seconds + back_s + 1e-9


def test_a_slow_rank_is_gone_round() -> None:
    # Given a torus of 5³ with a rank slow by 2, whose three inner links then carry what six do: bound 1.792 ms.
    network, slow = NETWORKS["torus"](), {7: 2.0}
    conditions = hm.Conditions(late={65: DELAY_S}, slow=slow)
    schedule = late_matched(network.degraded(slow), 65, chunks=512, nbytes=NBYTES)
    after_s = hm.simulate(schedule, network, NBYTES, conditions).seconds - DELAY_S
    bound_s = hm.lower_bound(network, "all_reduce", NBYTES, conditions=conditions).seconds - DELAY_S
    assert bound_s <= after_s <= 1.06 * bound_s


def test_it_is_the_same_every_time() -> None:
    network = NETWORKS["mesh"]()
    first, second = (late_matched(network, 3, chunks=20) for _ in range(2))
    assert np.array_equal(first.transfers, second.transfers)


def test_who_is_reached_through_the_late_rank_alone_cannot_reduce_without_it() -> None:
    line = hm.topologies.mesh([5], **COST)
    with pytest.raises(ArgumentError):
        late_matched(line, 2)
    assert hm.verify(late_matched(line, 0, chunks=4), topology=line) == []


@pytest.mark.parametrize(
    ("ranks", "late_rank", "chunks", "message"),
    [(2, 0, 4, "at least 3 ranks"), (4, 4, 4, "0 … 3"), (4, -1, 4, "0 … 3"), (4, 0, 0, "chunks")],
)
def test_what_cannot_be_is_refused(ranks: int, late_rank: int, chunks: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        late_matched(hm.topologies.ring(ranks, **COST), late_rank, chunks=chunks)
