"""A rank that comes late to large all-reduces between hosts: all look for it unasked, from the same operation on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from collective_rank import LATE_MORE
from jobs import running, said

from hemiola.cluster import Cluster

#: At 400 Mbit/s the others' reduce-scatter takes 60 ms; the rank is late by 200.
HOSTS, RATE = 4, 400e6 / 8
#: As many operations are looked at before ranks look for a late one (LateWatch::kOperations).
LOOKED_AT = 8


def test_all_ranks_look_for_a_late_rank_from_the_same_operation_on_and_cease_to_when_it_comes_in_time(
    clusters: Callable[..., Cluster],
) -> None:
    with running(clusters(HOSTS, rate=RATE), "late_rank") as ranks:
        told = said(ranks)
    expected = f"began {LOOKED_AT} last [{HOSTS - 1}] of {LOOKED_AT + LATE_MORE}"
    assert told == [f"{rank}: {expected}" for rank in range(HOSTS)]


@pytest.mark.parametrize(("hosts", "per_host"), [(4, 2), (3, 3)])
def test_ranks_that_share_a_hosts_nic_look_for_a_late_one_together_and_results_are_exact(
    clusters: Callable[..., Cluster], hosts: int, per_host: int
) -> None:
    with running(clusters(hosts, rate=RATE), "late_rank_found", per_host, HEMIOLA_SILENCE="30") as ranks:
        told = said(ranks)
    expected = f"began {LOOKED_AT} last [{hosts * per_host - 1}] of {LOOKED_AT + LATE_MORE}"
    assert told == [f"{rank}: {expected}" for rank in range(hosts * per_host)]
