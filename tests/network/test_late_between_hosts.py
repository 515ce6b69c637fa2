# SPDX-License-Identifier: Apache-2.0
"""A rank that comes late to large all-reduces between hosts: all look for it unasked, from the same operation on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from collective_rank import LATE_MORE
from jobs import running, said

from hemiola.cluster import Cluster

#: At 400 Mbit/s the others' reduce-scatter takes 60 ms; the rank is late by 200.
HOSTS, RATE = 4, 400e6 / 8
#: As many operations are looked at before ranks look for a late one (LateWatch::kOperations).
LOOKED_AT = 8


def assert_all_began_together(told: list[str], rank_count: int) -> None:
    """All began at one operation, not before they had looked at enough, and later only by those in which a rank that
    had no core for a while made looking seem not to pay."""
    began = re.fullmatch(rf"0: began (\d+) last \[{rank_count - 1}\] of (\d+)", told[0])
    assert began is not None, told
    operations, known = map(int, began.groups())
    assert operations >= LOOKED_AT
    assert known == operations + LATE_MORE
    assert told == [told[0].replace("0", str(rank), 1) for rank in range(rank_count)]


def test_all_ranks_look_for_a_late_rank_from_the_same_operation_on_and_cease_to_when_it_comes_in_time(
    clusters: Callable[..., Cluster],
) -> None:
    with running(clusters(HOSTS, rate=RATE), "late_rank") as ranks:
        told = said(ranks)
    assert_all_began_together(told, HOSTS)


@pytest.mark.parametrize(("hosts", "per_host"), [(4, 2), (3, 3)])
def test_ranks_that_share_a_hosts_nic_look_for_a_late_one_together_and_results_are_exact(
    clusters: Callable[..., Cluster], hosts: int, per_host: int
) -> None:
    with running(clusters(hosts, rate=RATE), "late_rank_found", per_host, HEMIOLA_SILENCE="30") as ranks:
        told = said(ranks)
    assert_all_began_together(told, hosts * per_host)
