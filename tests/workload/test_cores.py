# SPDX-License-Identifier: Apache-2.0
"""Ranks that share cores: a rank that waits leaves its core to the others."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.workload import transformer
from hemiola.workload.cores import Cores, ranks_of_roles
from hemiola.workload.lateness import with_late_rank
from hemiola.workload.running import Cost, run
from hemiola.workload.task import Call, Program, Step

SWITCH = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9)
SMALL = transformer(2, 64)


def step(seconds: float) -> Step:
    """Return some computation, and then an all-reduce."""
    program = Program()
    computed = program.compute("all ranks", seconds)
    program.call(["all ranks"], Call("all_reduce", 1, "world"), [computed])
    return Step("step", tuple(program.tasks), ("all ranks",))


def test_roles_have_the_ranks_of_their_stage_and_a_late_one_is_one_rank() -> None:
    assert ranks_of_roles(["all ranks", "all ranks, late"], 4) == {"all ranks": 3, "all ranks, late": 1}
    assert ranks_of_roles(["stage 0", "stage 1", "stage 1, late"], 8) == {
        "stage 0": 4,
        "stage 1": 3,
        "stage 1, late": 1,
    }


@pytest.mark.parametrize(
    ("count", "computing", "speed"),
    [(2, ["a", "b"], 1.0), (2, ["a"], 4 / 3), (2, ["b"], 2.0), (4, ["b"], 1.0), (9, ["a"], 1.0)],
)
def test_few_ranks_are_faster_but_never_have_more_than_a_core(
    count: int, computing: list[str], speed: float
) -> None:
    assert Cores(count, {"a": 3, "b": 1}).speed(computing) == pytest.approx(speed)


def test_a_late_rank_makes_up_for_a_part_of_its_delay() -> None:
    """Given: 4 ranks on 2 cores, 0.4 s of computation while all compute, one rank 0.1 s late.

    Derivation: for 0.1 s three ranks have 2/3 of a core and not 1/2. They have done 0.4/3 s of their work then. All
    four need 0.8/3 s for the rest of it. The late rank has 0.4/3 s left, which takes it half as long alone.
    """
    late = with_late_rank(step(0.4), 0.1)
    cores = Cores(2, ranks_of_roles(late.roles, 4))
    shared = run(late, lambda *_: Cost(0.0), cores=cores)
    assert shared.seconds == pytest.approx(0.1 + 0.8 / 3 + 0.2 / 3)
    assert run(late, lambda *_: Cost(0.0)).seconds == pytest.approx(0.5)


def test_without_a_late_rank_shared_cores_change_nothing() -> None:
    assert hm.whatif(SMALL, SWITCH, cores=2).seconds == pytest.approx(hm.whatif(SMALL, SWITCH).seconds)


def test_an_answer_says_how_many_cores_it_assumes() -> None:
    assert "All ranks share 2 cores" in hm.whatif(SMALL, SWITCH, cores=2).explain()
    with pytest.raises(ArgumentError, match="cores from 0, found -1"):
        hm.whatif(SMALL, SWITCH, cores=-1)
