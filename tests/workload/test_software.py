# SPDX-License-Identifier: Apache-2.0
"""A library's own time for a call: it uses no link, each call pays it, and the bound does not."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.workload.course import Course
from hemiola.workload.libraries import GLOO, HEMIOLA
from hemiola.workload.pricing import Prices
from hemiola.workload.running import Cost, Ran, run
from hemiola.workload.task import Call, Program, Step, Task

SUM = Call("all_reduce", 1, "dp")
LINK = np.array([1.0])


def beside(*pairs: tuple[Cost, int]) -> Ran:
    """Run calls of one role, each on a stream of its own and so many times."""
    costs = {str(place): cost for place, (cost, _) in enumerate(pairs)}
    tasks = (
        Task(("all",), str(place), (), 0.0, Call("all_reduce", 1, str(place), count))
        for place, (_, count) in enumerate(pairs)
    )
    return run(Step("calls", tuple(tasks), ("all",)), lambda call, _: costs[call.group])


def on_link(software_s: float, network_s: float = 1.0) -> Cost:
    """Return the cost of a call that fills a link behind its software."""
    return Cost(software_s + network_s, LINK, software_s=software_s)


def test_blocking_calls_pay_one_after_the_other() -> None:
    """Given: 1 s of computation, a call of 0.5 s and 0.25 s of software, and both again. Expect: 3.5 s."""
    program, needs = Program(), list[int]()
    for _ in range(2):
        computed = program.compute("all", 1.0, needs)
        needs = [program.call(["all"], SUM, [computed])]
    found = run(Step("blocking", tuple(program.tasks), ("all",)), lambda *_: on_link(0.25, 0.5))
    assert found.seconds == pytest.approx(2 * (1.0 + 0.25 + 0.5))


def test_in_its_software_a_call_leaves_the_link_to_others() -> None:
    """Given: two calls of 1 s on a link, one behind 0.4 s of software.

    Derivation: the other has 0.6 s left then, for which it needs 1.2 s. At 1.6 s the first has 0.4 s left, alone.
    """
    found = beside((on_link(0.4), 1), (on_link(0.0), 1))
    assert found.end_s == pytest.approx([2.0, 1.6])


def test_the_software_of_two_calls_passes_at_once() -> None:
    assert beside((on_link(0.4), 1), (on_link(0.4), 1)).end_s == pytest.approx([2.4, 2.4])


def test_each_of_equal_calls_pays() -> None:
    """Given: two calls of 0.4 s of software and 1 s on a link, in turn, beside one of 5 s.

    Derivation: the link is never idle, so that all is done after 7 s. A pair of 1 s takes 2 s on the link.
    """
    assert beside((on_link(0.4), 2)).seconds == pytest.approx(2.8)
    found = beside((on_link(0.4), 2), (on_link(0.0, 5.0), 1))
    assert found.end_s == pytest.approx([2 * (0.4 + 2.0), 7.0])


def test_a_course_begins_behind_the_software() -> None:
    """Given: two direct all-to-alls of L + B seconds at once, one behind L of software. Expect: L + 2·B, thrice.

    Derivation: the other's bytes are under way from L on, the first's from 2·L < L + B on. So the ports have no pause.
    """
    network = hm.topologies.switch(8, latency_s=2e-6, bandwidth=25e9)
    timeline = hm.simulate(hm.algorithms.all_to_all_direct(8), network, 256 << 10, unchecked=True)
    own = Course(timeline.seconds, lambda: timeline, lambda busy_s: busy_s)
    latency_s, busy_s = 2e-6, 7 * (32 << 10) / 25e9
    behind, at_once = Cost(own.seconds + latency_s, own, software_s=latency_s), Cost(own.seconds, own)
    assert beside((behind, 1), (at_once, 1)).seconds == pytest.approx(latency_s + 2 * busy_s, rel=1e-3)
    one = beside((behind, 1), (behind, 1)).seconds
    assert one == pytest.approx(2 * latency_s + 2 * busy_s, rel=1e-3)
    assert beside((behind, 3), (behind, 3)).seconds == pytest.approx(3 * one, rel=1e-6)


@pytest.mark.parametrize("library", [HEMIOLA, GLOO])
def test_a_late_rank_pays_too(library: str) -> None:
    call, split = Call("all_reduce", 1 << 20, "dp"), hm.Parallel().on(4)
    plain, found = (
        Prices(hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9), split, hm.Conditions(), library, told)
        for told in (0.0, 5e-3)
    )
    for spread_s in (0.0, 1e-4, 1.0):
        cost = found(call, spread_s)
        assert cost.seconds == pytest.approx(plain(call, spread_s).seconds + 5e-3)
        assert cost.software_s == 5e-3


@pytest.mark.parametrize(("rank_count", "nbytes"), [(1, 1 << 20), (4, 0)])
def test_a_call_that_moves_nothing_pays_nothing(rank_count: int, nbytes: int) -> None:
    network = hm.topologies.switch(rank_count, latency_s=1e-6, bandwidth=1e9)
    prices = Prices(network, hm.Parallel().on(rank_count), hm.Conditions(), HEMIOLA, 5e-3)
    assert prices(Call("all_reduce", nbytes, "world"), 0.0).seconds == 0.0
