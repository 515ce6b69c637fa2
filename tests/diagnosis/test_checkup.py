# SPDX-License-Identifier: Apache-2.0
"""Real ranks with faults put in: few and large ones, because a test's machine does other things, too. All of it, with
faults of all sizes, is benchmarks/diagnose.py."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.cli import main
from hemiola.diagnosis import Cause
from hemiola.errors import ArgumentError
from hemiola.measure.checkup import Checkup, Faults, check_up
from json_documents import read_document
from undisturbed import undisturbed

LIMIT_S = 120
SWITCH = hm.topologies.switch(4, latency_s=50e-6, bandwidth=20e6)
SWITCH_OF_TWO = hm.topologies.switch(2, latency_s=50e-6, bandwidth=20e6)
SQUARE = hm.topologies.mesh([2, 2], latency_s=50e-6, bandwidth=20e6)


@pytest.mark.parametrize(
    ("network", "faults", "cause", "where"),
    [
        (SWITCH, Faults(late={1: 40e-3}), Cause.COMPUTE_LATE, "rank 1"),
        (SWITCH, Faults(slow={2: 4.0}), Cause.NIC_SLOW, "rank 2"),
        (SQUARE, Faults(slow_links={(1, 3): 4.0}), Cause.LINK_SLOW, "link 1 to 3"),
        (SWITCH, Faults(slow_hosts={3: 30.0}), Cause.HOST_SLOW, "host 3 (rank 3)"),
    ],
    ids=["late", "nic", "link", "host"],
)
def test_what_was_put_in_is_what_is_found(
    network: hm.Topology, faults: Faults, cause: Cause, where: str
) -> None:
    def causes() -> list[tuple[Cause, str]]:
        found = check_up(Checkup(4, network, faults, steps=24), timeout_s=LIMIT_S).findings
        return [(one.cause, one.where) for one in found if one.cause is not Cause.OVERSUBSCRIBED]

    expected = [(cause, where)]
    assert undisturbed(causes, lambda found: found == expected) == expected


def test_where_a_step_takes_long_few_are_judged_and_what_they_do_not_show_is_said() -> None:
    found = check_up(Checkup(2, SWITCH_OF_TWO, longest_s=1e-6), timeout_s=LIMIT_S)
    assert found.operation_count < 6
    assert (
        next(note.split(" so far")[0] for note in found.notes) == f"only {found.operation_count} operations"
    )


def test_over_shared_memory_a_late_rank_is_found_and_the_rest_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def causes() -> list[tuple[str, str]]:
        assert main(["diagnose", "-n", "3", "--late", "2=30ms", "--steps", "24", "--json"]) == 1
        told = read_document(capsys.readouterr().out)
        assert any("shared memory" in note for note in told["notes"])
        found = told["findings"]
        return [(one["cause"], one["where"]) for one in found if one["cause"] != Cause.OVERSUBSCRIBED]

    expected = [("compute late", "rank 2")]
    assert undisturbed(causes, lambda found: found == expected) == expected


@pytest.mark.parametrize(
    "faults",
    [
        Faults(slow={0: 2.0}),
        Faults(slow_links={(0, 1): 2.0}),
        Faults(slow_hosts={1: 2.0}),
        Faults(late={9: 1.0}),
    ],
)
def test_faults_that_cannot_be_put_in_are_refused(faults: Faults) -> None:
    with pytest.raises(ArgumentError):
        check_up(Checkup(2, None, faults))


def test_a_link_that_the_cluster_does_not_have_is_refused() -> None:
    with pytest.raises(ArgumentError, match="found 0-3"):
        check_up(Checkup(4, SQUARE, Faults(slow_links={(0, 3): 2.0})))
