# SPDX-License-Identifier: Apache-2.0
"""A library's own time for a call: it uses no link, each call pays it, and the bound does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.workload import transformer
from hemiola.workload.course import Course
from hemiola.workload.libraries import GLOO, HEMIOLA, OTHERS
from hemiola.workload.pricing import Prices
from hemiola.workload.running import Cost, Ran, run
from hemiola.workload.task import Call, Program, Step, Task

SWITCH = hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e9)
SMALL = transformer(2, 64)
AT_THE_END = hm.Parallel(bucket=0)
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


def test_a_library_pays_for_its_own_calls_and_the_bound_for_none() -> None:
    """Given: one all-reduce at the end, which costs gloo 5 ms. Expect: gloo's step 5 ms longer, and no other one."""
    plain = hm.whatif(SMALL, SWITCH, parallel=AT_THE_END)
    found = hm.whatif(SMALL, SWITCH, parallel=AT_THE_END, software_s={GLOO: 5e-3})
    assert found.others == pytest.approx({**plain.others, GLOO: plain.others[GLOO] + 5e-3})
    assert (found.seconds, found.bound_s, found.calls) == (plain.seconds, plain.bound_s, plain.calls)


def test_equal_costs_on_both_sides_shift_both() -> None:
    plain = hm.whatif(SMALL, SWITCH, parallel=AT_THE_END)
    found = hm.whatif(SMALL, SWITCH, parallel=AT_THE_END, software_s=dict.fromkeys((HEMIOLA, *OTHERS), 5e-3))
    assert found.seconds == pytest.approx(plain.seconds + 5e-3)
    assert found.others == pytest.approx({name: other + 5e-3 for name, other in plain.others.items()})
    assert found.bound_s == plain.bound_s
    assert found.exposed_s == pytest.approx(plain.exposed_s + 5e-3)
    assert found.calls[0].seconds == pytest.approx(plain.calls[0].seconds + 5e-3)


def test_messages_between_stages_pay() -> None:
    """Given: two stages and one micro-batch, so a message there and one back. Expect: twice the software."""
    split = hm.Parallel(pp=2, tp=2)
    blocks = transformer(2, 64, vocabulary=0)
    plain, found = (
        Prices(SWITCH, split.on(4), hm.Conditions(), HEMIOLA, software_s)(Call("send", 1 << 20, "pp"), 0.0)
        for software_s in (0.0, 5e-3)
    )
    assert (found.seconds, found.software_s) == (pytest.approx(plain.seconds + 5e-3), 5e-3)
    steps = [hm.whatif(blocks, SWITCH, parallel=split, software_s=told) for told in ({}, {HEMIOLA: 1.0})]
    calls = {call.kind: call.count for call in steps[0].calls}
    assert steps[1].seconds - steps[0].seconds == pytest.approx(2 + 2 * calls["all_reduce"], rel=1e-3)


@pytest.mark.parametrize("library", [HEMIOLA, GLOO])
def test_a_late_rank_pays_too(library: str) -> None:
    call, split = Call("all_reduce", 1 << 20, "dp"), hm.Parallel().on(4)
    plain, found = (Prices(SWITCH, split, hm.Conditions(), library, told) for told in (0.0, 5e-3))
    for spread_s in (0.0, 1e-4, 1.0):
        cost = found(call, spread_s)
        assert cost.seconds == pytest.approx(plain(call, spread_s).seconds + 5e-3)
        assert cost.software_s == 5e-3


@pytest.mark.parametrize(("rank_count", "nbytes"), [(1, 1 << 20), (4, 0)])
def test_a_call_that_moves_nothing_pays_nothing(rank_count: int, nbytes: int) -> None:
    network = hm.topologies.switch(rank_count, latency_s=1e-6, bandwidth=1e9)
    prices = Prices(network, hm.Parallel().on(rank_count), hm.Conditions(), HEMIOLA, 5e-3)
    assert prices(Call("all_reduce", nbytes, "world"), 0.0).seconds == 0.0


def test_an_answer_says_which_libraries_pay() -> None:
    assert "No library's software takes time." in hm.whatif(SMALL, SWITCH, software_s={GLOO: 0.0}).explain()
    told = hm.whatif(SMALL, SWITCH, software_s={GLOO: 5e-3, HEMIOLA: 1e-3}).explain()
    assert "5 ms with gloo-like, 1 ms with hemiola; none with others, nor in the lower bound" in told
    assert "No library's software" not in told


@pytest.mark.parametrize(
    ("software_s", "words"),
    [
        ({"nccl": 1.0}, "hemiola, ring, nccl-like, pccl-like, gloo-like, found 'nccl'"),
        ({"bound": 1.0}, "found 'bound'"),
        ({GLOO: -1.0}, "software_s of 'gloo-like' of 0 seconds or more, found -1"),
        ({HEMIOLA: math.nan}, "found nan"),
        ({HEMIOLA: math.inf}, "found inf"),
    ],
)
def test_software_that_cannot_be_is_refused(software_s: dict[str, float], words: str) -> None:
    with pytest.raises(ArgumentError, match="expected") as raised:
        hm.whatif(SMALL, SWITCH, software_s=software_s)
    assert words in str(raised.value)
